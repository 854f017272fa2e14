"""Products of complex matrices as products of real ones, so that every real variant serves them. In one of two forms:

Expanded: with real and imaginary parts side by side, c (m, n) is a real (m, 2 n) and a (m, k) a real (m, 2 k); b
becomes (2 k, 2 n), each ``x + iy`` of it ``[[x, y], [-y, x]]``.

Separated: real and imaginary parts of a become the rows of a (2 m, k), b (k, n) is a real (k, 2 n) as it is, and c is
put together from the four products in a real (2 m, 2 n). For few rows, of which neither this nor a takes long. Of two
vectors both are read where they lie: the real parts of one row, and the imaginary ones, are two rows of any steps.

Of both forms, of a product and its transpose, that one is computed whose operands are cheapest to make: a matrix is
read where it lies if the other is a vector. The multiplications are those of the definition, four for each term. An
infinite or NaN part spreads as in those, without C99's rules for infinite complex numbers, as BLAS does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from portagpu.blas.gemm.core.alignment import new_aligned_rows, swapped
from portagpu.blas.gemm.core.interface import Product, order_of
from portagpu.blas.gemm.core.kernel_arguments import Complex, StridedMatrix
from portagpu.blas.gemm.core.operands import index_type, real_dtype, real_flat, real_rows, with_strides
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.kernels.epilogue import expand_complex, join_complex, separate_complex
from portagpu.blas.gemm.scaling import scale
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream

_THREADS = 64
_EXPANSION = 4  # numbers of an expanded matrix for each of the original


class Multiply(Protocol):
    """`portagpu.blas.gemm.engine.gemm`."""

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


@dataclass(frozen=True, slots=True)
class Form:
    """How a product is computed: as that of the transposes or as it is, separated or expanded."""

    turned: bool
    separated: bool


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Bytes, or numbers, of the operands and the result, and of which the numbers of a row lie side by side."""

    a: int
    b: int
    c: int
    a_rows: bool
    b_rows: bool
    c_rows: bool
    are_vectors: bool  # one row, one column

    def moved(self, separated: bool) -> int:
        """What is read and written beside the real product."""
        if separated and self.are_vectors:
            return (1 + _EXPANSION) * self.c
        if separated:
            return 2 * self.a + (1 + _EXPANSION) * self.c + (0 if self.b_rows else 2 * self.b)
        copied = (0 if self.a_rows else self.a) + (0 if self.c_rows else self.c)
        return (1 + _EXPANSION) * self.b + 2 * copied


def multiply_complex(product: Product, multiply: Multiply) -> None:
    """Enqueue a product of complex operands; ``multiply`` computes real ones."""
    turned = replace(product, a=swapped(product.b), b=swapped(product.a), c=swapped(product.c))
    form = _cheapest(_sizes_of(product), _sizes_of(turned))
    _multiply(turned if form.turned else product, form.separated, multiply)


def as_real(problem: Problem) -> tuple[Problem, Form]:
    """The real product that `multiply_complex` computes for complex matrices without gaps, c in C order; its form."""
    flipped = {"C": "F", "F": "C", "": ""}
    turned = replace(
        problem,
        m=problem.n,
        n=problem.m,
        a_order=flipped[problem.b_order],
        b_order=flipped[problem.a_order],
        c_order="",  # that of columns, which a problem does not have
    )
    form = _cheapest(_sizes_in(problem), _sizes_in(turned))
    first = turned if form.turned else problem
    dtype = {"complex64": "float32", "complex128": "float64"}[problem.dtype]
    rows = dict.fromkeys(("a_order", "b_order", "c_order"), "C")
    if form.separated and first.m == first.n == 1:
        rows["a_order"] = "F"
    m, k = (2 * first.m, first.k) if form.separated else (first.m, 2 * first.k)
    return replace(first, m=m, n=2 * first.n, k=k, dtype=dtype, out="", **rows), form  # type: ignore[arg-type]


def _cheapest(plain: _Sizes, turned: _Sizes) -> Form:
    forms = [Form(is_turned, separated) for separated in (False, True) for is_turned in (False, True)]
    return min(forms, key=lambda form: (turned if form.turned else plain).moved(form.separated))


def _sizes_in(problem: Problem) -> _Sizes:
    m, n, k = problem.m, problem.n, problem.k
    orders = ((problem.a_order, k), (problem.b_order, n), (problem.c_order, n))
    a_rows, b_rows, c_rows = (order == "C" or columns == 1 for order, columns in orders)
    return _Sizes(m * k, k * n, m * n, a_rows, b_rows, c_rows, m == n == 1)


def _sizes_of(product: Product) -> _Sizes:
    parts = product.a, product.b, product.c
    a, b, c = map(_nbytes, parts)
    a_rows, b_rows, c_rows = map(_has_rows, parts)
    return _Sizes(a, b, c, a_rows, b_rows, c_rows, product.c.shape[-2:] == (1, 1))


def _nbytes(matrix: DeviceNDArray) -> int:
    return matrix[0].nbytes if _is_shared(matrix) else matrix.nbytes


def _has_rows(matrix: DeviceNDArray) -> bool:
    """Whether the numbers of a row lie side by side."""
    order = order_of(matrix)
    return order == "C" or (order == "F" and matrix.shape[-1] == 1)


def _is_shared(matrix: DeviceNDArray) -> bool:
    """Whether it is one matrix for a whole batch."""
    return matrix.ndim == 3 and matrix.strides[0] == 0


def _multiply(product: Product, separated: bool, multiply: Multiply) -> None:
    c, stream, alpha, beta = product.c, product.stream, product.alpha, product.beta
    joined = separated or np.imag(alpha) != 0  # c is made of real sums by a kernel of its own
    if not (order_of(c) if joined else _has_rows(c)):
        held = new_aligned_rows(c, stream, copied=beta != 0)
        _multiply(replace(product, c=held), separated, multiply)
        copy_strided(held, c, stream)
        return
    if separated and c.shape[-2:] == (1, 1):
        left, right = _parts_as_rows(product.a), real_rows(product.b)
    elif separated:
        left, right = _separate(product.a, stream), real_rows(_in_rows(product.b, stream))
    else:
        left, right = real_rows(_in_rows(product.a, stream)), _expand(product.b, stream)
    if joined:
        # alpha times an operand could be infinite, or zero, where alpha times a sum is not
        shape = (*c.shape[:-2], left.shape[-2], right.shape[-1])
        sums = device_array(shape, real_dtype(c.dtype), context=c.context)
        multiply(left, right, sums, stream, precision=product.precision)
        _join(sums, c, alpha, beta, separated, stream)
        return
    if np.imag(beta) != 0:
        scale(c, beta, stream)
        beta = 1.0
    numbers = {"alpha": float(np.real(alpha)), "beta": float(np.real(beta))}
    multiply(left, right, real_rows(c), stream, **numbers, precision=product.precision)


def _in_rows(matrix: DeviceNDArray, stream: Stream) -> DeviceNDArray:
    """A matrix as it is if it has rows, else a copy that has."""
    if _has_rows(matrix):
        return matrix
    shared = _is_shared(matrix)
    rows = new_aligned_rows(matrix[0] if shared else matrix, stream)
    return rows.broadcast_to(matrix.shape) if shared else rows


def _parts_as_rows(a: DeviceNDArray) -> DeviceNDArray:
    """The real parts of a row, and the imaginary ones, in two rows of the same memory."""
    real = real_dtype(a.dtype)
    return with_strides(a, (*a.shape[:-2], 2, a.shape[-1]), (*a.strides[:-2], real.itemsize, a.strides[-1]), real)


def _separate(a: DeviceNDArray, stream: Stream) -> DeviceNDArray:
    """The real parts of the rows of a, then the imaginary ones, aligned."""
    return _made(a, separate_complex, lambda m, k: (2 * m, k), stream)


def _expand(b: DeviceNDArray, stream: Stream) -> DeviceNDArray:
    """b as real matrices, aligned."""
    return _made(b, expand_complex, lambda k, n: (2 * k, 2 * n), stream)


def _made(
    matrix: DeviceNDArray, kernel: Dispatcher, shape_of: Callable[[int, int], tuple[int, int]], stream: Stream
) -> DeviceNDArray:
    """Real matrices that a kernel makes of complex ones."""
    shape = matrix.shape
    shared = _is_shared(matrix)
    matrix = matrix[0] if shared else matrix
    if not order_of(matrix):
        matrix = new_aligned_rows(matrix, stream)
    (m, n), real = shape[-2:], real_dtype(matrix.dtype)
    made = device_array((*matrix.shape[:-2], *shape_of(m, n)), real, context=matrix.context)
    steps, batch = _steps(matrix)
    source = real_flat(matrix)
    number = index_type(source, made)
    threads = min(_THREADS, matrix.context.capabilities.max_work_group_size)
    given = StridedMatrix(source, *map(number, steps))
    kernel[-(-m * n * batch // threads), threads, stream](given, made, number(m), number(n), number(batch))
    return made.broadcast_to((shape[0], *made.shape)) if shared else made


def _join(
    sums: DeviceNDArray, c: DeviceNDArray, alpha: complex, beta: complex, separated: bool, stream: Stream
) -> None:
    (m, n), real = c.shape[-2:], real_dtype(c.dtype).type
    steps, batch = _steps(c)
    target = real_flat(c)
    number = index_type(sums, target)
    threads = min(_THREADS, c.context.capabilities.max_work_group_size)
    join_complex[-(-m * n * batch // threads), threads, stream](
        sums,
        StridedMatrix(target, *map(number, steps)),
        number(m),
        number(n),
        number(batch),
        Complex(real(np.real(alpha)), real(np.imag(alpha))),
        Complex(real(np.real(beta)), real(np.imag(beta))),
        separated,
        2 if np.imag(alpha) != 0 else 1,
        0 if beta == 0 else 2 if np.imag(beta) != 0 else 1,
    )


def _steps(matrix: DeviceNDArray) -> tuple[tuple[int, int, int], int]:
    """Elements between rows, columns and matrices, and how many matrices there are."""
    item = matrix.itemsize
    down, right = (s // item if n > 1 else 0 for n, s in zip(matrix.shape[-2:], matrix.strides[-2:], strict=True))
    step = matrix.strides[0] // item if matrix.ndim == 3 else 0
    return (down, right, step), matrix.shape[0] if matrix.ndim == 3 else 1
