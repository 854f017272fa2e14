"""``x.view(dtype)`` of single numbers."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelTypeError, KernelValueError

pytestmark = pytest.mark.one_device


def test_fast_inverse_square_root(device):
    """The bits of a float32, changed as an int32, and back."""

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            bits = np.int32(0x5F3759DF) - (x[i].view(np.int32) >> np.int32(1))
            y = bits.view(np.float32)
            out[i] = y * (np.float32(1.5) - np.float32(0.5) * x[i] * y * y)

    x = np.linspace(0.1, 50, 100, dtype=np.float32)
    out = np.zeros_like(x)
    kernel[1, 128](x, out)
    np.testing.assert_allclose(out, 1 / np.sqrt(x), rtol=2e-3)


@pytest.mark.parametrize(("first", "second"), [("f4", "u4"), ("f8", "i8"), ("u8", "f8"), ("i2", "u2"), ("u1", "i1")])
def test_there_and_back(device, first, second):
    """Both directions give NumPy's bits."""
    other = np.dtype(second)

    @cuda.jit
    def kernel(x, bits, back):
        i = cuda.grid(1)
        bits[i] = x[i].view(other)
        back[i] = x[i].view(other).view(x.dtype)

    x = np.array([0, 1, 5, 100, 200, 77], first)
    bits, back = np.zeros(6, second), np.zeros(6, first)
    kernel[1, 6](x, bits, back)
    np.testing.assert_array_equal(bits, x.view(second))
    np.testing.assert_array_equal(back, x)


def test_python_numbers_and_constants(device):
    """Python's integers have 64 bits; constants of NumPy's are viewed while compiling."""

    @cuda.jit
    def kernel(out, n):
        out[0] = (cuda.grid(1) - n).view(np.uint64) >> np.uint64(60)
        out[1] = np.float32(1).view(np.int32)

    out = np.zeros(2, np.int64)
    kernel[1, 1](out, 1)
    assert out.tolist() == [15, 0x3F800000]


def test_mistakes(device):
    """Sizes that differ, and types without such bits."""

    @cuda.jit
    def sizes(x):
        x[0] = x[0].view(np.int64)

    @cuda.jit
    def kinds(x):
        x[0] = x[0].view(np.complex64)

    @cuda.jit
    def nothing(x):
        x[0] = x[0].view(3)

    x = np.zeros(1, np.float32)
    with pytest.raises(KernelValueError, match="differ in size"):
        sizes[1, 1](x)
    with pytest.raises(KernelTypeError, match="cannot be viewed as complex64"):
        kinds[1, 1](np.zeros(1))
    with pytest.raises(KernelValueError, match="view needs a dtype"):
        nothing[1, 1](x)
