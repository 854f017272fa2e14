"""Device arrays that kernels and device functions read by name: a further argument of each launch."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors

TABLE = None  # set by the tests
OTHER = None


@cuda.jit(device=True)
def entry(i):
    return TABLE[i]


@cuda.jit(device=True)
def both(i):
    return entry(i) + OTHER[i, 0]


@cuda.jit
def gather(out, shift):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = both(i) + shift
        OTHER[i, 0] = 10 * i


class Wrapper:
    """An array of another library: the interface only."""

    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__
        self.array = array


@pytest.fixture
def arrays(device, monkeypatch):
    table, other = (cuda.to_device(np.arange(n, dtype=np.float32).reshape(s)) for n, s in ((4, 4), (8, (4, 2))))
    monkeypatch.setitem(globals(), "TABLE", table)
    monkeypatch.setitem(globals(), "OTHER", other)
    return table, other


def test_device_functions_read_them_and_kernels_write_them(arrays):
    table, other = arrays
    kernel = cuda.jit(gather.py_func)
    out = cuda.device_array(4, np.float32)
    for expected in ([1.5, 4.5, 7.5, 10.5], [1.5, 12.5, 23.5, 34.5]):  # the second launch sees what the first wrote
        kernel[1, 32](out, 1.5)
        assert out.copy_to_host().tolist() == expected
    kernel[1, 32](shift=2.0, out=table)  # which the kernel captures, too
    assert table.copy_to_host().tolist() == [2, 13, 24, 35]
    assert other.copy_to_host()[:, 0].tolist() == [0, 10, 20, 30]
    with pytest.raises(errors.ArgumentCountError, match=r"takes 2 arguments, 1 given(.|\n)*parameters are out, shift$"):
        kernel[1, 32](out)


def test_arrays_of_other_libraries_and_without_axes(device):
    wrapped, single = Wrapper(cuda.to_device(np.arange(4))), cuda.to_device(np.array(5.0))

    @cuda.jit
    def kernel(out):
        local = lambda i: wrapped[i] * single[()]  # noqa: E731
        out[0] = local(3)

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 15


def test_a_compiled_kernel_keeps_its_array(arrays, monkeypatch):
    """As it keeps other globals; a kernel that is compiled anew reads the name anew."""

    @cuda.jit
    def kernel(out):
        out[0] = TABLE[1]

    floats, whole = np.zeros(1, np.float32), np.zeros(1, np.int32)
    kernel[1, 1](floats)
    monkeypatch.setitem(globals(), "TABLE", cuda.to_device(np.full(4, 9, np.float32)))
    kernel[1, 1](floats)
    kernel[1, 1](whole)
    assert (floats[0], whole[0]) == (1, 9)


def test_a_declared_signature_has_no_place_for_them(arrays):
    with pytest.raises(errors.KernelTypeError, match="`TABLE` is a device array that the kernel captures"):

        @cuda.jit("void(float32[:])")
        def kernel(out):
            out[0] = TABLE[0]

        kernel[1, 1](np.zeros(1, np.float32))


def test_kernels_specialised_for_types(arrays):
    """Before and after the first launch, which tells that arrays are captured."""
    kernel = cuda.jit(gather.py_func)
    out = cuda.device_array(4, np.float32)
    for _ in range(2):
        arrays[1][:, 0] = 0
        kernel.specialize(out, np.float32(2))[1, 32](out, np.float32(2))
        assert out.copy_to_host().tolist() == [2, 3, 4, 5]
        kernel[1, 32](out, 2.0)


def test_items_of_captured_tuples_are_no_constants(arrays):
    """An element of a device array is read by each launch, not by the compiler."""
    rows = (arrays[0], 1.5)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = rows[0][0] + rows[0][i] * rows[1]

    out = cuda.device_array(4, np.float32)
    for first in (0, 10):
        arrays[0][0] = first
        kernel[1, 32](out)
        assert out.copy_to_host().tolist() == [2.5 * first, first + 1.5, first + 3, first + 4.5]
