"""Random numbers in kernels: xoroshiro128+ with one state for each thread.

The generator is that of Blackman and Vigna (2016: rotations 55, 14, 36), seeded through SplitMix64; states are 2**64
steps apart. States, integers and uniform numbers agree bit by bit with `numba.cuda.random`; normal numbers come from
Box and Muller's method and agree up to the rounding of the device's log and cos.

::

    states = create_xoroshiro128p_states(threads, seed=1)

    @cuda.jit
    def kernel(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_uniform_float32(states, i)
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.cuda.host import DeviceNDArray, to_device
from portagpu.cuda.random_states import first_state, spaced_states
from portagpu.errors import ArgumentTypeError, DTypeError
from portagpu.runtime.arrays.checks import count
from portagpu.runtime.execution.stream import Stream
from portagpu.types import from_dtype

__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_state",
    "init_xoroshiro128p_states",
    "init_xoroshiro128p_states_cpu",
    "xoroshiro128p_dtype",
    "xoroshiro128p_jump",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_type",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
xoroshiro128p_type = from_dtype(xoroshiro128p_dtype)

_JUMP_0, _JUMP_1 = np.uint64(0xBEAC0467EBA5FACB), np.uint64(0xD86B048B86AA9922)
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_0, _MIX_1 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_UNIT32, _UNIT64 = np.float32(2.0**-53), np.float64(2.0**-53)
_TWO_PI32, _TWO_PI64 = np.float32(2 * math.pi), np.float64(2 * math.pi)


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Stream | int = 0
) -> DeviceNDArray:
    """A device array of ``n`` states, 2**64 steps apart, the first ``subsequence_start`` * 2**64 steps from the seed's.

    ``seed`` is an integer, taken modulo 2**64. Runs with other ``subsequence_start`` (n, 2 * n, ...) and the same seed
    use other parts of one sequence. The states are made on the host and copied on ``stream``. Raises
    `LaunchConfigError` where ``n`` is no count, `ArgumentTypeError` where ``seed`` is no integer.
    """
    states = _states(count(n, "a number of states is at least 0"), seed, subsequence_start)
    return to_device(states, stream=stream)


def init_xoroshiro128p_states(
    states: DeviceNDArray, seed: int, subsequence_start: int = 0, stream: Stream | int = 0
) -> None:
    """Set ``states``, a 1-D device array, as `create_xoroshiro128p_states` does.

    ``seed``, ``subsequence_start``, ``stream`` and what is raised are as there.
    """
    if not isinstance(states, DeviceNDArray):
        raise ArgumentTypeError(f"the states are a device array, not {type(states).__name__}")
    _check_states(states)
    states.copy_to_device(_states(states.size, seed, subsequence_start), stream)


def init_xoroshiro128p_states_cpu(states: np.ndarray[Any, Any], seed: int, subsequence_start: int = 0) -> None:
    """Set ``states``, a 1-D NumPy array of `xoroshiro128p_dtype`, as `create_xoroshiro128p_states` does.

    ``seed``, ``subsequence_start`` and what is raised are as there.
    """
    if not isinstance(states, np.ndarray):
        raise ArgumentTypeError(f"the states are a NumPy array, not {type(states).__name__}")
    _check_states(states)
    states[...] = _states(states.size, seed, subsequence_start)


def _check_states(states: Any) -> None:
    if states.dtype != xoroshiro128p_dtype or states.ndim != 1:
        raise DTypeError(
            f"the states are a 1-D array of {xoroshiro128p_dtype}, not {states.ndim}-D of {states.dtype}",
            hint="make them with create_xoroshiro128p_states(n, seed)",
        )


def _states(n: int, seed: int, subsequence_start: int) -> np.ndarray[Any, Any]:
    start = count(subsequence_start, "subsequence_start counts 2**64 steps")
    states = np.empty(n, xoroshiro128p_dtype)
    states["s0"], states["s1"] = spaced_states(n, first_state(seed), start)
    return states


@cuda.jit(device=True)
def init_xoroshiro128p_state(states, index, seed):
    """Set ``states[index]`` from a 64-bit seed through SplitMix64, so that small seeds give no simple sequences."""
    z = np.uint64(seed) + _STEP
    z = (z ^ (z >> 30)) * _MIX_0
    z = (z ^ (z >> 27)) * _MIX_1
    z = z ^ (z >> 31)
    states[index].s0 = z
    states[index].s1 = z


@cuda.jit(device=True)
def rotl(x, k):
    """``x`` rotated to the left by ``k`` bits."""
    return (x << k) | (x >> (64 - k))


@cuda.jit(device=True)
def xoroshiro128p_next(states, index):
    """The next random uint64 of ``states[index]``."""
    s0 = states[index].s0
    s1 = states[index].s1
    result = s0 + s1
    s1 ^= s0
    states[index].s0 = rotl(s0, np.uint64(55)) ^ s1 ^ (s1 << 14)
    states[index].s1 = rotl(s1, np.uint64(36))
    return result


@cuda.jit(device=True)
def xoroshiro128p_jump(states, index):
    """Advance ``states[index]`` by 2**64 steps."""
    s0 = np.uint64(0)
    s1 = np.uint64(0)
    for bit in range(128):
        word = _JUMP_0 if bit < 64 else _JUMP_1
        if (word >> np.uint64(bit & 63)) & np.uint64(1) != 0:
            s0 ^= states[index].s0
            s1 ^= states[index].s1
        xoroshiro128p_next(states, index)
    states[index].s0 = s0
    states[index].s1 = s1


@cuda.jit(device=True)
def xoroshiro128p_uniform_float32(states, index):
    """A float32 in [0, 1], 53 random bits rounded once; advances ``states[index]``."""
    # the float64 number rounded to float32, without float64: a product with a power of two is exact
    return np.float32(xoroshiro128p_next(states, index) >> 11) * _UNIT32


@cuda.jit(device=True)
def xoroshiro128p_uniform_float64(states, index):
    """A float64 in [0, 1) with 53 random bits; advances ``states[index]``."""
    return np.float64(xoroshiro128p_next(states, index) >> 11) * _UNIT64


@cuda.jit(device=True)
def xoroshiro128p_normal_float32(states, index):
    """A normally distributed float32 of mean 0 and deviation 1; advances ``states[index]`` by two steps."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(np.float32(-2.0) * math.log(u1)) * math.cos(_TWO_PI32 * u2)


@cuda.jit(device=True)
def xoroshiro128p_normal_float64(states, index):
    """A normally distributed float64 of mean 0 and deviation 1; advances ``states[index]`` by two steps."""
    u1 = xoroshiro128p_uniform_float64(states, index)
    u2 = xoroshiro128p_uniform_float64(states, index)
    return math.sqrt(np.float64(-2.0) * math.log(u1)) * math.cos(_TWO_PI64 * u2)
