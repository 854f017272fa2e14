"""`inspect_sycl`: a kernel's SYCL C++, whatever device it runs on, and on none at all."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import ArgumentCountError
from portagpu.types import float32, int64, void

WITHOUT_DEVICES = """
import sys
from portagpu import cuda

@cuda.jit("void(float32[::1], float32)")
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor

(text,) = scale.inspect_sycl().values()
assert "nd_range_kernel<3>" in text
assert "dpctl" not in sys.modules
print(text)
"""


@cuda.jit
def shift(x, y):
    """Through shared memory."""
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    y[t] = tile[63 - t]


def test_launched_specialisations_have_text_in_both_languages(device):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    shift[1, 64](x, y)
    assert np.array_equal(y, x[::-1])
    (key, sycl), *others = shift.inspect_sycl().items()
    assert not others and list(shift.inspect_opencl()) == [key]
    assert "sycl::group_barrier" in sycl and "work_group_static<float[64]>" in sycl
    (opencl,) = shift.inspect_opencl().values()
    assert "barrier(CLK_LOCAL_MEM_FENCE" in opencl and "__local float" in opencl
    for text in (sycl, opencl):
        assert "tile[t] = x[t]" in text  # the Python line, as a comment
    assert shift.inspect_sycl(key) == sycl


@pytest.mark.one_device
def test_signatures_need_not_be_launched(device):
    @cuda.jit
    def fill(x, n):
        x[n] = 1

    text = fill.inspect_sycl(void(float32[::1], int64))
    assert "float* " in text and "= 1.0f;" in text
    assert fill.inspect_sycl() == {} and fill.inspect_opencl() == {}
    with pytest.raises(ArgumentCountError, match="1 types"):
        fill.inspect_sycl(void(int64))


@pytest.mark.one_device
def test_no_device_is_needed():
    done = subprocess.run([sys.executable, "-c", WITHOUT_DEVICES], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "// 9: x[i] *= factor" in done.stdout
