"""What programs that simulate particles and fields do: functions made by factories, decorated again, loose bounds."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import KernelTypeError


def soft_sphere(power):
    def potential(distance, strength):
        scaled = (1.0 / distance) ** power
        return strength * scaled, power * strength * scaled / distance

    return potential


def with_cutoff(function, radius):
    inner = cuda.jit(device=True)(function)

    def potential(distance, strength):
        if distance >= radius:
            return 0.0, 0.0
        at_cutoff, _ = inner(radius, strength)
        energy, force = inner(distance, strength)
        return energy - at_cutoff, force

    return potential


@pytest.mark.parametrize("power", [6, 12])
def test_functions_of_factories_are_decorated_again(device, power):
    radius, count = 2.5, 40
    potential = cuda.jit(device=1)(cuda.jit(device=True)(with_cutoff(soft_sphere(power), radius)))

    @cuda.jit(device=True)
    def pairs(positions, energies, forces):
        i = cuda.grid(1)
        if i < positions.shape[0]:
            for j in range(positions.shape[0]):
                if i != j:
                    gap = positions[i] - positions[j]
                    energy, force = potential(abs(gap), np.float64(0.5))
                    energies[i] += energy / 2
                    forces[i] += force if gap > 0 else -force

    kernel = cuda.jit(device=0)(pairs)  # the same function as a kernel
    assert kernel.py_func is pairs.py_func
    x = np.cumsum(np.random.default_rng(3).uniform(0.8, 1.4, count))
    energies, forces = np.zeros(count), np.zeros(count)
    kernel[2, 32](x, energies, forces)

    gaps = x[:, None] - x[None, :]
    r = np.where(np.abs(gaps) < radius, np.abs(gaps), np.inf)
    np.fill_diagonal(r, np.inf)
    np.testing.assert_allclose(energies, np.where(r < radius, r**-power - radius**-power, 0).sum(1) / 4, rtol=1e-10)
    np.testing.assert_allclose(forces, (np.sign(gaps) * power / 2 * r ** -(power + 1)).sum(1), atol=1e-10)


def test_options_of_the_second_decorator_count(device):
    @cuda.jit
    def kernel(x):
        x[0] = 1

    assert not kernel.is_device_function
    assert cuda.jit(device=True)(kernel).is_device_function
    assert cuda.jit(debug=True, opt=False)(kernel).options.debug
    assert not kernel.options.debug


def test_functions_that_numba_compiled_are_decorated(device, monkeypatch):
    registry = ModuleType("numba.core.registry")

    class Compiled:  # as little as is known of the original's functions for the host
        def __init__(self, function):
            self.py_func = function

        def __call__(self, *args):
            return self.py_func(*args)

    Compiled.__module__ = registry.__name__
    monkeypatch.setitem(sys.modules, registry.__name__, registry)

    def doubled(x):
        return 2 * x

    def kernel(x):
        x[0] = inner(x[0]) + direct(x[1])

    direct = Compiled(doubled)
    inner = cuda.jit(device=True)(Compiled(doubled))
    x = np.array([3.0, 4.0])
    cuda.jit(Compiled(kernel))[1, 1](x)
    assert x[0] == 14


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64])
def test_builtins_of_arrays(device, dtype):
    @cuda.jit
    def kernel(box, out):
        out[0] = min(box)
        out[1] = max(box[:2])
        out[2] = sum(box)
        out[3] = sum(box, 10)
        out[4] = any(box[3:])
        out[5] = all(box)

    out = np.zeros(6)
    kernel[1, 1](np.array([5, 2, 7, 0], dtype), out)
    np.testing.assert_array_equal(out, [0, 5, 14, 24, 0, 0])


def test_min_keeps_nan_only_in_front(device):
    @cuda.jit
    def kernel(a, b, out):
        out[0] = min(a)
        out[1] = max(b)

    out = np.zeros(2)
    kernel[1, 1](np.array([np.nan, 1.0]), np.array([1.0, np.nan]), out)
    assert np.isnan(out[0])
    assert out[1] == 1


def test_builtins_of_matrices_say_what_to_do(device):
    @cuda.jit
    def kernel(a):
        a[0, 0] = max(a)

    with pytest.raises(KernelTypeError, match=r"np\.max"):
        kernel[1, 1](np.ones((2, 2)))


def test_bounds_of_ranges_lose_their_fraction(device):
    planes = 0.0

    @cuda.jit
    def kernel(out, n, x):
        for _ in range(-planes, planes + 1, 1):
            out[0] += 1
        for _ in range(n / 2):
            out[1] += 1
        for i in range(x[0], -x[0]):
            out[2] += i

    out = np.zeros(3, np.int64)
    kernel[1, 1](out, 7, np.array([-2.75], np.float32))
    assert out.tolist() == [1, 3, sum(range(-2, 2))]


def test_where_numpy_arrays_lie_does_not_choose_the_kernel(device, monkeypatch):
    compiled = []
    build_one = Dispatcher.build
    monkeypatch.setattr(Dispatcher, "build", lambda self, *a, **k: compiled.append(self) or build_one(self, *a, **k))

    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] += x[i]

    size = 4096
    memory = np.zeros((2, size + 32))
    start = -memory.ctypes.data % 128 // 8
    x, y = memory[0], memory[1].copy()
    x[:] = np.arange(x.size)
    for shift in (0, 2, 8, 16):
        a, b = x[start + shift :][:size].copy(), y[shift:][:size]
        kernel[16, 256](x[start + shift :][:size], b)
        kernel[16, 256](a, y[:size])
    assert len(compiled) == 1


def test_gpus_of_the_list_have_their_device(device):
    assert cuda.gpus[0]._device.name == cuda.gpus[0].name
