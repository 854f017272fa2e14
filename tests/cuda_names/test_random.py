"""Random numbers in kernels against the algorithm in Python's integers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from portagpu import cuda, errors
from portagpu.cuda.random import (
    create_xoroshiro128p_states,
    init_xoroshiro128p_state,
    init_xoroshiro128p_states,
    init_xoroshiro128p_states_cpu,
    xoroshiro128p_dtype,
    xoroshiro128p_jump,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)

pytestmark = pytest.mark.one_device

MASK = 2**64 - 1
JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)


def rotated(x, k):
    return (x << k | x >> 64 - k) & MASK


def step(state):
    s0, s1 = state
    result = (s0 + s1) & MASK
    s1 ^= s0
    return (rotated(s0, 55) ^ s1 ^ (s1 << 14) & MASK, rotated(s1, 36)), result


def jumped(state):
    s0 = s1 = 0
    for word in JUMP:
        for bit in range(64):
            if word >> bit & 1:
                s0, s1 = s0 ^ state[0], s1 ^ state[1]
            state, _ = step(state)
    return s0, s1


def pairs(states):
    return [(int(s["s0"]), int(s["s1"])) for s in states.copy_to_host()]


def test_seeds_and_jumps(device):
    first = 0x910A2DEC89025CC1  # SplitMix64's first number for seed 1, from the authors' program
    expected = [(first, first)]
    for _ in range(12):
        expected.append(jumped(expected[-1]))
    states = create_xoroshiro128p_states(10, seed=1)
    assert states.dtype == xoroshiro128p_dtype
    assert pairs(states) == expected[:10]
    assert pairs(create_xoroshiro128p_states(10, seed=1, subsequence_start=3)) == expected[3:]
    assert len(np.unique(create_xoroshiro128p_states(1000, seed=2).copy_to_host())) == 1000


def test_states_on_a_stream_and_again(device):
    stream = cuda.stream()
    states = create_xoroshiro128p_states(5, seed=7, stream=stream)
    stream.synchronize()
    other = create_xoroshiro128p_states(5, seed=8)
    init_xoroshiro128p_states(other, seed=7, stream=stream)
    stream.synchronize()
    assert pairs(states) == pairs(other)


@cuda.jit
def draw(states, integers, u32, u64, n32, n64):
    i = cuda.grid(1)
    if i < states.shape[0]:
        for n in range(integers.shape[1]):
            integers[i, n] = xoroshiro128p_next(states, i)
        u32[i] = xoroshiro128p_uniform_float32(states, i)
        u64[i] = xoroshiro128p_uniform_float64(states, i)
        n32[i] = xoroshiro128p_normal_float32(states, i)
        n64[i] = cuda.random.xoroshiro128p_normal_float64(states, i)


def test_numbers_of_every_kind(device):
    count = 70
    states = create_xoroshiro128p_states(count, seed=12345)
    before = pairs(states)
    integers = np.zeros((count, 4), np.uint64)
    u32, n32 = np.zeros((2, count), np.float32)
    u64, n64 = np.zeros((2, count))
    draw[3, 32](states, integers, u32, u64, n32, n64)
    after = pairs(states)
    for i, state in enumerate(before):
        numbers = []
        for _ in range(10):
            state, number = step(state)
            numbers.append(number)
        units = [(x >> 11) * 2.0**-53 for x in numbers]
        assert [int(x) for x in integers[i]] == numbers[:4]
        assert (u32[i], u64[i]) == (np.float32(units[4]), units[5])
        for found, (a, b), tolerance in ((n32[i], units[6:8], 4e-6), (n64[i], units[8:10], 1e-12)):
            a, b = (np.float32(a), np.float32(b)) if found.dtype == np.float32 else (a, b)
            expected = math.sqrt(-2 * math.log(a)) * math.cos(2 * math.pi * b)
            assert found == pytest.approx(expected, rel=tolerance, abs=tolerance)
        assert after[i] == state


def test_jump_and_seed_in_kernels(device):
    @cuda.jit
    def advance(states):
        xoroshiro128p_jump(states, cuda.grid(1))

    @cuda.jit
    def seed(states, value):
        init_xoroshiro128p_state(states, cuda.grid(1), value)

    states = create_xoroshiro128p_states(4, seed=5)
    before = pairs(states)
    advance[1, 4](states)
    assert pairs(states) == [jumped(s) for s in before]
    seed[1, 4](states, 5)
    assert pairs(states) == [before[0]] * 4


def test_distributions(device):
    @cuda.jit
    def fill(states, uniform, normal):
        i = cuda.grid(1)
        for n in range(uniform.shape[1]):
            uniform[i, n] = xoroshiro128p_uniform_float32(states, i)
            normal[i, n] = xoroshiro128p_normal_float64(states, i)

    states = create_xoroshiro128p_states(256, seed=1)
    uniform, normal = np.zeros((256, 100), np.float32), np.zeros((256, 100))
    fill[4, 64](states, uniform, normal)
    # means of 25,600 numbers: five standard deviations of the mean
    assert abs(uniform.mean() - 0.5) < 5 * 0.289 / 160
    assert 0 <= uniform.min() < 0.001 < 0.999 < uniform.max() <= 1
    assert abs(normal.mean()) < 5 / 160
    assert abs(normal.std() - 1) < 5 / (160 * 2**0.5)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: create_xoroshiro128p_states(-1, seed=1), ValueError),
        (lambda: create_xoroshiro128p_states(1.5, seed=1), ValueError),
        (lambda: create_xoroshiro128p_states(1, seed="one"), TypeError),
        (lambda: init_xoroshiro128p_states(np.zeros(3, xoroshiro128p_dtype), 1), TypeError),
        (lambda: init_xoroshiro128p_states(cuda.device_array(3), 1), TypeError),
    ],
)
def test_wrong_uses(device, call, kind):
    with pytest.raises(errors.PortaGPUError) as caught:
        call()
    assert isinstance(caught.value, kind)


def test_states_in_host_memory_are_those_of_the_device(device):
    host = np.zeros(5, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(host, seed=11, subsequence_start=3)
    assert host.tolist() == create_xoroshiro128p_states(5, 11, 3).copy_to_host().tolist()
    with pytest.raises(errors.ArgumentTypeError, match="a NumPy array, not DeviceNDArray"):
        init_xoroshiro128p_states_cpu(cuda.to_device(host), 1)
    with pytest.raises(errors.DTypeError, match="not 1-D of float32"):
        init_xoroshiro128p_states_cpu(np.zeros(5, np.float32), 1)
