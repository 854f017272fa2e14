"""`Variant`: the interface of a GEMM variant; `Product`, `Config`."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import name_of
from portagpu.blas.tunables.variant import Config as Config
from portagpu.blas.tunables.variant import Variant as RoutineVariant
from portagpu.blas.tunables.variant import clock_mhz as clock_mhz
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """``c = alpha * a @ b + beta * c`` on device arrays, to be enqueued on a stream.

    Matrices: a (m, k), b (k, n), c (m, n). Batches: a (batch, m, k), b (batch, k, n), c (batch, m, n) with batch > 1;
    an operand that all products share has batch stride 0. Every array has at least one element; c overlaps neither a
    nor b. With ``beta`` 0, c is not read; ``alpha`` is never 0. For integer sums alpha and beta are integers, for
    complex operands they may be complex.

    A variant gets only what its `Variant.supports` said yes to for `problem`: it must look there at ``dtype``, ``out``,
    ``precision``, ``batch``, the orders, ``aligned`` and ``scaled`` as far as it has limits. What it refuses,
    `portagpu.blas.gemm.engine` turns into something that it takes: copies operands into aligned rows, computes into an
    aligned temporary result, walks along the batch.
    """

    a: DeviceNDArray
    b: DeviceNDArray
    c: DeviceNDArray
    stream: Stream
    alpha: complex = 1.0
    beta: complex = 0.0
    precision: str = ""

    @property
    def batch(self) -> int:
        """Number of products."""
        return self.c.shape[0] if self.c.ndim == 3 else 1

    @property
    def problem(self) -> Problem:
        """What is asked for, without the arrays."""
        a, b, c = self.a, self.b, self.c
        return Problem(
            m=c.shape[-2],
            n=c.shape[-1],
            k=a.shape[-1],
            dtype=name_of(a.dtype),
            out=name_of(c.dtype),
            precision=self.precision,
            batch=self.batch,
            a_order=order_of(a),
            b_order=order_of(b),
            c_order="C" if order_of(c) == "C" else "",
            aligned=is_aligned(a) and is_aligned(b) and is_aligned(c) and ends_aligned(c),
            scaled=self.alpha != 1 or self.beta != 0,
        )


ALIGNMENT = 16  # bytes: the widest load of today's GPUs


def order_of(matrix: DeviceNDArray) -> str:
    """ "C" where the elements of a row lie side by side, "F" where those of a column do, "" where neither do.

    Rows (columns) do not overlap; they, and the matrices of a batch, begin in ascending order, elements at multiples of
    their size. Of a matrix with one row or column both may hold: then the order is that in which
    neighbours lie side by side.
    """
    if matrix.layout == "C" and matrix.shape[-1] != 1 and not matrix.align:
        return "C"
    (rows, columns), (down, right), item = matrix.shape[-2:], matrix.strides[-2:], matrix.itemsize
    if matrix.align or (matrix.ndim == 3 and matrix.shape[0] > 1 and matrix.strides[0] < 0):
        return ""
    if columns == 1 and rows > 1 and down == item:
        return "F"
    if (columns == 1 or right == item) and (rows == 1 or down >= columns * item):
        return "C"
    if (rows == 1 or down == item) and (columns == 1 or right >= rows * item):
        return "F"
    return ""


def is_aligned(matrix: DeviceNDArray) -> bool:
    """Whether the base, and all steps except the one between neighbours, are multiples of 16 bytes."""
    order = order_of(matrix)
    axes = range(matrix.ndim)
    inner = {"C": matrix.ndim - 1, "F": matrix.ndim - 2}.get(order)
    steps = (s for axis, n, s in zip(axes, matrix.shape, matrix.strides, strict=True) if axis != inner and n > 1)
    return inner is not None and matrix.offset % ALIGNMENT == 0 and all(s % ALIGNMENT == 0 for s in steps)


def ends_aligned(result: DeviceNDArray) -> bool:
    """Whether rows end at multiples of 16 bytes, so that what is written in such pieces stays inside."""
    return result.shape[-1] * result.itemsize % ALIGNMENT == 0


class Variant(RoutineVariant[Problem, Product]):
    """Kernels that compute a product one way. Variants have no state; `selection.registry` lists them."""
