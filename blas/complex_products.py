"""Products of complex matrices as products of real ones, so that every real variant serves them.

With real and imaginary parts side by side, c (m, n) is a real (m, 2 n) and a (m, k) a real (m, 2 k); b is expanded
once to (2 k, 2 n), each ``x + iy`` to ``[[x, y], [-y, x]]``. Of a product and its transpose that one is computed
whose operands are cheaper to bring into this form: a matrix times a vector expands the vector. The multiplications
are those of the definition, four for each term. An infinite or NaN part spreads as in those, without C99's rules for
infinite complex numbers, as BLAS does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from portagpu.blas.operands import index_type, real_dtype, real_flat, real_rows
from portagpu.blas.problem import Problem
from portagpu.blas.result_kernels import expand_complex
from portagpu.blas.rows import new_rows, swapped
from portagpu.blas.scaling import scale
from portagpu.blas.variant import Product, order_of
from portagpu.runtime.array import DeviceNDArray, device_array
from portagpu.runtime.copies import copy_strided
from portagpu.runtime.stream import Stream

_THREADS = 64
_EXPANSION = 4  # numbers of an expanded matrix for each of the original


class Multiply(Protocol):
    """`portagpu.blas.gemm.gemm`."""

    def __call__(
        self,
        a: DeviceNDArray,
        b: DeviceNDArray,
        c: DeviceNDArray,
        stream: Stream,
        *,
        alpha: complex = 1.0,
        beta: complex = 0.0,
        precision: str = "",
    ) -> None:
        """Enqueue a product."""


def multiply_complex(product: Product, multiply: Multiply) -> None:
    """Enqueue a product of complex operands; ``multiply`` computes real ones."""
    turned = replace(product, a=swapped(product.b), b=swapped(product.a), c=swapped(product.c))
    _multiply(min(product, turned, key=_moved_bytes), multiply)


def as_real(problem: Problem) -> tuple[Problem, bool]:
    """The real product that `multiply_complex` computes for complex matrices without gaps, c in C order, and whether it
    is that of the transposes."""
    flipped = {"C": "F", "F": "C", "": ""}
    turned = replace(
        problem,
        m=problem.n,
        n=problem.m,
        a_order=flipped[problem.b_order],
        b_order=flipped[problem.a_order],
        c_order="",  # that of columns, which a problem does not have
    )
    first = min(problem, turned, key=_moved_numbers)
    dtype = {"complex64": "float32", "complex128": "float64"}[problem.dtype]
    rows = dict.fromkeys(("a_order", "b_order", "c_order"), "C")
    return replace(first, n=2 * first.n, k=2 * first.k, dtype=dtype, out="", **rows), first is turned  # type: ignore[arg-type]


def _moved_numbers(problem: Problem) -> int:
    m, n, k = problem.m, problem.n, problem.k
    copied = (0 if problem.a_order == "C" or k == 1 else m * k) + (0 if problem.c_order == "C" or n == 1 else m * n)
    return _moved(k * n, copied)


def _moved_bytes(product: Product) -> int:
    """What is read and written to bring a product into its real form."""
    copied = sum(_nbytes(x) for x in (product.a, product.c) if not _has_rows(x))
    return _moved(_nbytes(product.b), copied)


def _moved(expanded: int, copied: int) -> int:
    return (1 + _EXPANSION) * expanded + 2 * copied


def _nbytes(matrix: DeviceNDArray) -> int:
    return matrix[0].nbytes if _is_shared(matrix) else matrix.nbytes


def _has_rows(matrix: DeviceNDArray) -> bool:
    """Whether the numbers of a row lie side by side."""
    order = order_of(matrix)
    return order == "C" or (order == "F" and matrix.shape[-1] == 1)


def _is_shared(matrix: DeviceNDArray) -> bool:
    """Whether it is one matrix for a whole batch."""
    return matrix.ndim == 3 and matrix.strides[0] == 0


def _multiply(product: Product, multiply: Multiply) -> None:
    a, c, stream, alpha, beta = product.a, product.c, product.stream, product.alpha, product.beta
    if not _has_rows(c):
        held = new_rows(c, stream, copied=beta != 0)
        _multiply(replace(product, c=held), multiply)
        copy_strided(held, c, stream)
        return
    if np.imag(beta) != 0:
        scale(c, beta, stream)
        beta = 1.0
    if not _has_rows(a):
        shared = _is_shared(a)
        rows = new_rows(a[0] if shared else a, stream)
        a = rows.broadcast_to(a.shape) if shared else rows
    expanded = _expand(product.b, alpha if np.imag(alpha) != 0 else 1.0, stream)
    factor = 1.0 if np.imag(alpha) != 0 else float(np.real(alpha))
    multiply(
        real_rows(a),
        expanded,
        real_rows(c),
        stream,
        alpha=factor,
        beta=float(np.real(beta)),
        precision=product.precision,
    )


def _expand(b: DeviceNDArray, alpha: complex, stream: Stream) -> DeviceNDArray:
    """``alpha * b`` as real matrices, aligned."""
    shape = b.shape
    shared = _is_shared(b)
    matrix = b[0] if shared else b
    if not order_of(matrix):
        matrix = new_rows(matrix, stream)
    (k, n), item = shape[-2:], b.itemsize
    batch = matrix.shape[0] if matrix.ndim == 3 else 1
    real = real_dtype(b.dtype)
    made = device_array((*matrix.shape[:-2], 2 * k, 2 * n), real, context=b.context)
    down, right = (s // item if n > 1 else 0 for n, s in zip(matrix.shape[-2:], matrix.strides[-2:], strict=True))
    step = matrix.strides[0] // item if matrix.ndim == 3 else 0
    number = index_type(matrix, made)
    threads = min(_THREADS, b.context.capabilities.max_work_group_size)
    expand_complex[-(-k * n * batch // threads), threads, stream](
        real_flat(matrix),
        made,
        *map(number, (k, n, down, right, step, batch)),
        real.type(np.real(alpha)),
        real.type(np.imag(alpha)),
        alpha != 1,
    )
    return made.broadcast_to((shape[0], 2 * k, 2 * n)) if shared else made
