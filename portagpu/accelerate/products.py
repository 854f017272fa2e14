"""Products of NumPy arrays on the current device: what `numpy.matmul`, `numpy.dot` and `numpy.inner` become."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portagpu.accelerate.work import Kind, Left, Plan, Sample, Work, common_dtype, flops_of_product, shapes_of
from portagpu.blas.host_arrays import are_same_elements
from portagpu.blas.matmul import matmul

Array = np.ndarray[Any, Any]
# each element is read once: moving it would cost more than NumPy's product
OF_VECTORS = "an operand is a vector"
_SMALL, _LARGE, _THIN = 128, 1024, 16
_OUTER, _LARGE_OUTER = 512, 2048


def product_work(
    extents: tuple[int, int, int], dtype: np.dtype[Any], *, count: int = 1, operands: int | None = None
) -> Work:
    """The cost of ``count`` products (m, k) @ (k, n) for ``extents`` (m, n, k).

    operands: elements of both together, where products of a batch share them.
    """
    m, n, k = extents
    elements = (count * (m * k + k * n) if operands is None else operands) + count * m * n
    flops, kind = flops_of_product(m, n, k, dtype), OUTER_PRODUCTS if k == 1 else PRODUCTS
    return Work(kind=kind, dtype=dtype.name, flops=flops, bytes=elements * dtype.itemsize, count=count)


def elements_of(a: Array, b: Array) -> int:
    """Elements of two matrices that are copied to a device."""
    return a.size if are_same_elements(a, b) else a.size + b.size


def _samples(dtype: str) -> Sequence[Sample]:
    return [product_sample(dtype, n, k) for n, k in ((_SMALL, _SMALL), (_LARGE, _THIN), (_LARGE, _LARGE))]


def product_sample(dtype: str, n: int, k: int) -> Sample:
    """A product of matrices (n, k) and (k, n) to be measured."""
    a, b = np.full((n, k), 0.5, dtype), np.full((k, n), 0.25, dtype)
    return Sample(
        work=product_work((n, n, k), a.dtype),
        numpy=functools.partial(np.matmul, a, b),
        device=functools.partial(on_device, a, b, a.dtype),
    )


PRODUCTS = Kind(name="matmul", samples=_samples)
# `numpy.matmul` has a loop of its own for these, which no BLAS computes: 2.5 to 4 ns an element
OUTER_PRODUCTS = Kind(
    name="outer products", samples=lambda dtype: [product_sample(dtype, n, 1) for n in (_OUTER, _LARGE_OUTER)]
)


def on_device(a: Array, b: Array, dtype: np.dtype[Any]) -> Array:
    """``a @ b`` for operands with at least two axes, as an array that owns its elements, as NumPy's results do."""
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    made = np.empty((*batch, a.shape[-2], b.shape[-1]), dtype)
    matmul(a, b, made)
    return made


def plan_matmul(a: Any, b: Any, /, out: Any = None, **others: Any) -> Plan | Left:
    """`numpy.matmul` where its inner loops cannot be replaced; the operands have two axes or more."""
    if out is not None or others:
        return Left(f"{'out' if out is not None else next(iter(others))}= is left to NumPy")
    dtype = common_dtype(a, b)
    if isinstance(dtype, Left):
        return dtype
    if min(a.ndim, b.ndim) < 2:
        return Left(OF_VECTORS, shapes_of(a, b), dtype.name)
    if a.shape[-1] != b.shape[-2]:
        return Left("the shapes do not fit", shapes_of(a, b), dtype.name)
    try:
        count = math.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    except ValueError:
        return Left("the shapes do not fit", shapes_of(a, b), dtype.name)
    extents = (a.shape[-2], b.shape[-1], a.shape[-1])
    if min(extents[:2]) == 1:
        return Left(OF_VECTORS, shapes_of(a, b), dtype.name)
    work = product_work(extents, dtype, count=count, operands=elements_of(a, b))
    return Plan(work=work, run=functools.partial(on_device, a, b, dtype), operands=shapes_of(a, b))


def plan_dot(a: Any, b: Any, out: Any = None) -> Plan | Left:
    """`numpy.dot`: sums over the last axis of a and the last but one of b; all other axes remain."""
    dtype = common_dtype(a, b)
    if isinstance(dtype, Left):
        return dtype
    if min(a.ndim, b.ndim) < 2:
        return Left(OF_VECTORS, shapes_of(a, b), dtype.name)
    if a.shape[-1] != b.shape[-2]:
        return Left("the shapes do not fit", shapes_of(a, b), dtype.name)
    right = b if b.ndim == 2 else np.moveaxis(b, -2, 0)
    return _of_axes(a, right, dtype, out, shapes_of(a, b))


def plan_inner(a: Any, b: Any, /) -> Plan | Left:
    """`numpy.inner`: sums over the last axes."""
    dtype = common_dtype(a, b)
    if isinstance(dtype, Left):
        return dtype
    if min(a.ndim, b.ndim) < 2:
        return Left(OF_VECTORS, shapes_of(a, b), dtype.name)
    if a.shape[-1] != b.shape[-1]:
        return Left("the shapes do not fit", shapes_of(a, b), dtype.name)
    return _of_axes(a, b.T if b.ndim == 2 else np.moveaxis(b, -1, 0), dtype, None, shapes_of(a, b))


def _of_axes(a: Array, b: Array, dtype: np.dtype[Any], out: Any, operands: str) -> Plan | Left:
    """The product over the last axis of a and the first of b."""
    shape = a.shape[:-1] + b.shape[1:]
    if out is not None and not _takes(out, shape, dtype):
        return Left("out= is none that numpy.dot takes", operands, dtype.name)
    m, n, k = math.prod(a.shape[:-1]), math.prod(b.shape[1:]), a.shape[-1]
    if min(m, n, k) == 1:
        return Left(OF_VECTORS, operands, dtype.name)

    def run() -> Array:
        made = np.empty(shape, dtype) if out is None else out
        left, right = a.astype(dtype, copy=False).reshape(m, k), b.astype(dtype, copy=False).reshape(k, n)
        matmul(left, right, made.reshape(m, n))
        return made

    moved = elements_of(a, b) if a.ndim == b.ndim == 2 else None
    return Plan(work=product_work((m, n, k), dtype, operands=moved), run=run, operands=operands)


def _takes(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    """Whether an array can take the result as it is; NumPy says what is wrong with others."""
    return type(out) is np.ndarray and out.shape == shape and out.dtype == dtype and out.flags.carray
