"""``c = beta * c``, for products whose sums are empty or not wanted, and functions of what is there already."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.gemm.core.alignment import new_aligned_rows, swapped
from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.kernel_arguments import ALPHA, ALPHA_AND_BETA, SUM, Complex, Factors, Matrix
from portagpu.blas.gemm.core.operands import index_type, placed_operand, real_dtype, real_flat
from portagpu.blas.gemm.kernels.epilogue import finish_elements, scale_elements
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream

_THREADS = 64


def scale(c: DeviceNDArray, beta: complex, stream: Stream) -> None:
    """Enqueue ``c = beta * c`` for a matrix or a batch; with ``beta`` 0, c is not read."""
    if beta == 1:
        return
    order = order_of(c)
    if not order:
        held = new_aligned_rows(c, stream, copied=beta != 0)
        scale(held, beta, stream)
        copy_strided(held, c, stream)
        return
    matrix = swapped(c) if order == "F" else c
    m, n = matrix.shape[-2:]
    x = placed_operand(matrix)
    is_complex = c.dtype.kind == "c"
    width = 2 if is_complex and (beta == 0 or np.imag(beta) == 0) else 1
    pairs = 2 if is_complex else 1
    array = real_flat(matrix) if is_complex else x.array
    mode = 0 if beta == 0 else 2 if pairs > width else 1
    kind = real_dtype(c.dtype) if is_complex else np.dtype("float64" if c.dtype.name == "float64" else "float32")
    if c.dtype.kind in "iu":
        kind = c.dtype if c.itemsize > 2 else np.dtype(np.uint32)  # C multiplies shorter ones as signed numbers
    number = index_type(array)
    batch = matrix.shape[0] if matrix.ndim == 3 else 1
    threads = min(_THREADS, c.context.capabilities.max_work_group_size)
    scale_elements[-(-m * n * width * batch // threads), threads, stream](
        Matrix(array, number(x.pitch * pairs), number(x.batch * pairs)),
        number(m),
        number(n * width),
        number(batch),
        Complex(kind.type(np.real(beta)), kind.type(np.imag(beta))),
        mode,
    )


def finish(c: DeviceNDArray, beta: complex, fusion: Fusion, stream: Stream) -> None:
    """Enqueue ``c = function(beta * c)`` for a matrix or a batch of any strides; with ``beta`` 0, c is not read."""
    (m, n), batch = c.shape[-2:], c.shape[0] if c.ndim == 3 else 1
    kind: Any = np.float32 if c.dtype.name in ("float16", "bfloat16") else c.dtype.type
    number = index_type(c)
    threads = min(_THREADS, c.context.capabilities.max_work_group_size)
    finish_elements[-(-m * n * batch // threads), threads, stream](
        c,
        number(m),
        number(n),
        number(batch),
        Factors(kind(1), kind(beta), fusion.fused()),
        SUM if beta == 0 else ALPHA if beta == 1 else ALPHA_AND_BETA,
    )
