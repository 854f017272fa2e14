"""Weights of elements, and the quantiles of elements that have some."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.errors import ArgumentValueError, ShapeError, ShapeTypeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import accumulations, functions
from portagpu.expressions.writing import chosen
from portagpu.primitives.flat import flat
from portagpu.primitives.gathers.gathering import Subscripts, gather_along, normal_axis
from portagpu.primitives.sorts.sorting import argsort
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.ufuncs.kernel_source import launch
from portagpu.xp import creation
from portagpu.xp.conversion import array_of


def weights_like(weights: Any, x: DeviceNDArray, axis: Any) -> DeviceNDArray:
    """Weights of an array's shape, or of its extents along ``axis``, an axis or several, as a view of that shape.

    Raises `ShapeError` for weights of another shape.
    """
    given = array_of(weights, x.context)
    if given.shape == x.shape:
        return given
    axes = () if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    places = [normal_axis(n, x.ndim) for n in axes]
    if not places:
        raise ShapeTypeError(
            f"weights of shape {given.shape} are not those of an array of shape {x.shape}",
            hint="name the axes that they are along: axis=",
        )
    if given.shape != tuple(x.shape[n] for n in places):
        raise ShapeError(
            f"weights of shape {given.shape} are not those of an array of shape {x.shape}",
            hint="give weights of its shape, or of its extents along axis=",
        )
    turned = given.transpose(tuple(int(n) for n in np.argsort(places)))
    return turned.reshape(*(extent if n in places else 1 for n, extent in enumerate(x.shape))).broadcast_to(x.shape)


@cuda.jit
def first_places(sums, shares, out, length):
    """``out[row, k]``: the first place of a row of ascending sums that reaches a share, or the last one."""
    i = cuda.grid(1)
    if i < out.size:
        begin = i // shares.size * length
        share = shares[i % shares.size]
        low, high = np.int64(0), np.int64(length - 1)
        while low < high:
            middle = (low + high) >> 1
            if sums[begin + middle] >= share:
                high = middle
            else:
                low = middle + 1
        out[i] = low


def weighted(
    rows: DeviceNDArray, weights: DeviceNDArray, shares: np.ndarray[Any, Any], *, without_nan: bool
) -> DeviceNDArray:
    """Of each row the elements at which the distribution function that weights make reaches each share.

    NaN where an element is NaN, or all are (``without_nan``). The host waits until it is known whether weights are
    right. Raises `ArgumentValueError` for weights below 0, or whose sum is 0 or not finite.
    """
    context, last, axis = rows.context, rows.shape[-1] - 1, rows.ndim - 1
    real = creation.default_float(context)
    if functions.reduce(np.logical_or, apply(np.less, weights, 0), None).copy_to_host():
        raise ArgumentValueError("weights are not below 0")
    order = Subscripts(argsort(rows), known=True)
    ordered, own = (gather_along(x, axis, order) for x in (rows, weights))
    empty = None
    if rows.dtype.kind == "f":
        holes = apply(np.isnan, ordered)
        empty = holes[..., :1] if without_nan else holes[..., -1:]  # NaN are last
        own = chosen(holes, own.dtype.type(0), own) if without_nan else own
    sums = accumulations.accumulate(np.add, own.astype(real, copy=False), axis)
    parts = apply(np.divide, sums, sums[..., -1:])
    wrong = apply(np.isnan, parts[..., -1:])
    if empty is not None and without_nan:
        wrong = apply(np.logical_and, wrong, apply(np.logical_not, empty))
    if functions.reduce(np.logical_or, wrong, None).copy_to_host():
        raise ArgumentValueError("the sum of weights is 0 or not finite")
    kind = shares.dtype if shares.dtype.kind == "f" and shares.dtype.itemsize < real.itemsize else real
    parts = chosen(apply(np.equal, parts, 0), real.type(-1), parts).astype(kind, copy=False)  # what weighs nothing
    with context.unsettled:
        places = device_array((*rows.shape[:-1], shares.size), np.int64, context=context)
        if places.size:
            sought = array_of(shares.astype(kind, copy=False), context)
            launch(first_places, places.size, None, 0, (flat(parts), sought, flat(places), last + 1), context)
    found = gather_along(ordered, axis, Subscripts(places, known=True))
    return found if empty is None else chosen(empty, rows.dtype.type(np.nan), found)
