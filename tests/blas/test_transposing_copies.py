"""Copies of operands in the other order."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.blas.gemm.core.interface import is_aligned, order_of
from portagpu.blas.gemm.kernels.transpose import swapped_order

pytestmark = pytest.mark.one_device


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
@pytest.mark.parametrize("shape", [(1, 1), (33, 70), (3, 40, 65), (2, 64, 32)])
@pytest.mark.parametrize("shared", [False, True])
def test_copies(device, dtype, shape, shared):
    host = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    x = cuda.to_device(host)
    if shared and len(shape) == 3:
        x, host = x[:1].broadcast_to(shape), np.broadcast_to(host[:1], shape)
    found = swapped_order(x, "a", cuda.current_context().default_stream)
    assert np.array_equal(found.copy_to_host(), host)
    if min(shape[-2:]) > 1:
        assert order_of(found) == "F" and is_aligned(found)
