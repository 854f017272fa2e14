"""`numpy.einsum` of two operands on the device, where NumPy would not use its BLAS: without ``optimize=``.

With ``optimize=`` NumPy makes products of matrices of it itself, and those are taken over.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from portagpu.accelerate.einsum import contraction, parse, sizes_of
from portagpu.accelerate.products import OF_VECTORS, on_device, product_work
from portagpu.accelerate.work import Kind, Left, Plan, Sample, Work, common_dtype, shapes_of

_SIZES = (64, 256)


def _samples(dtype: str) -> Sequence[Sample]:
    made = []
    for n in _SIZES:
        a, b = np.full((n, n), 0.5, dtype), np.full((n, n), 0.25, dtype)
        made.append(
            Sample(
                work=_work((1, n, n, n), a, b, a.dtype),
                numpy=functools.partial(np.einsum, "ik,kj->ij", a, b),
                device=functools.partial(on_device, a, b, a.dtype),
            )
        )
    return made


EINSUM = Kind(name="einsum", samples=_samples)


def plan_einsum(*operands: Any, out: Any = None, optimize: Any = False, **others: Any) -> Plan | Left:
    """`numpy.einsum` of two plain arrays."""
    if optimize is not False:
        return Left("NumPy makes products of it", counts=False)
    if others:
        return Left(f"{next(iter(others))}= is left to NumPy")
    as_text = bool(operands) and isinstance(operands[0], str)
    subscripts = operands[0] if as_text else (*operands[1:4:2], *operands[4:])
    arrays = operands[1:] if as_text else operands[0:3:2]
    if len(arrays) != 2 or len(operands) > 5:
        return Left(f"of {len(arrays)} operands, without optimize=")
    dtype = common_dtype(*arrays)
    if isinstance(dtype, Left):
        return dtype
    shapes = shapes_of(*arrays)
    labels = parse(subscripts, arrays)
    found = None if labels is None else contraction(*labels)
    if labels is None or found is None:
        return Left("it is no product of matrices", shapes, dtype.name)
    sizes = sizes_of(labels[:2], arrays)
    if min(found.extents(sizes)[1:]) == 1:
        return Left(OF_VECTORS, shapes, dtype.name)
    shape = tuple(sizes[label] for label in found.out)
    fits = all(
        size == sizes[label]
        for names, array in zip(labels[:2], arrays, strict=True)
        for label, size in zip(names, array.shape, strict=True)
    )
    if not fits:
        return Left("axes broadcast, or do not fit", shapes, dtype.name)
    if out is not None and (type(out) is not np.ndarray or out.shape != shape or out.dtype != dtype):
        return Left("out= is of another kind than the result", shapes, dtype.name)

    def run() -> Any:
        a, b = (array.astype(dtype, copy=False) for array in arrays)
        made = found.apply(a, b, lambda left, right: on_device(left, right, dtype))
        if out is None:
            return made
        out[...] = made
        return out

    text = f"{labels[0]},{labels[1]}->{labels[2]} {shapes}"
    return Plan(work=_work(found.extents(sizes), *arrays, dtype), run=run, operands=text)


def _work(extents: tuple[int, int, int, int], a: Any, b: Any, dtype: np.dtype[Any]) -> Work:
    batch, m, n, k = extents
    of_product = product_work((m, n, k), dtype, count=batch, operands=a.size + b.size)
    return Work(kind=EINSUM, dtype=dtype.name, flops=of_product.flops * batch, bytes=of_product.bytes)
