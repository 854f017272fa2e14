"""NumPy's statistics that the standard does not have: averages, medians, quantiles, covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import chosen
from portagpu.primitives.gathers.gathering import normal_axis
from portagpu.primitives.sorts.sorting import sort
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import call, register
from portagpu.xp import creation, indexing, statistics
from portagpu.xp.conversion import array_of


def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    if weights is None:
        x = array_of(a, getattr(weights, "context", None))
        found = statistics.mean(x, axis=axis, keepdims=keepdims)
        total: Any = creation.full_like(found, x.size // max(found.size, 1))
    else:
        x = array_of(a, getattr(weights, "context", None))
        w = array_of(weights, x.context)
        if w.shape != x.shape:
            if axis is None or w.ndim != 1 or w.shape != (x.shape[axis],):
                raise ShapeError(f"weights of shape {w.shape} are not those of an array of shape {x.shape}")
            at = normal_axis(axis, x.ndim)
            w = w.reshape(*(w.size if n == at else 1 for n in range(x.ndim))).broadcast_to(x.shape)
        kind = np.result_type(x.dtype, w.dtype, np.float64 if x.context.capabilities.fp64 else np.float32)
        if x.dtype.kind in "fc":
            kind = np.result_type(x.dtype, w.dtype)
        total = statistics.sum(w, axis=axis, dtype=kind, keepdims=keepdims)
        sums = statistics.sum(apply(np.multiply, x, w), axis=axis, dtype=kind, keepdims=keepdims)
        found = apply(np.divide, sums, total)
    return (found, total) if returned else found


def _quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> DeviceNDArray:
    """Sorted along an axis, then the elements at both sides of each quantile's place are mixed; NaN where one is."""
    if method != "linear":
        raise ArgumentTypeError(f"quantiles of device arrays are found by method='linear', not {method!r}")
    x = array_of(a)
    if isinstance(axis, tuple):
        kept = [n for n in range(x.ndim) if n not in {normal_axis(m, x.ndim) for m in axis}]
        gone = [n for n in range(x.ndim) if n not in kept]
        moved = x.transpose((*kept, *gone))
        rows = moved.copy().reshape(*(x.shape[n] for n in kept), -1)
        shape = tuple(1 if n in gone else extent for n, extent in enumerate(x.shape))
    elif axis is None:
        rows, shape = x.ravel(), (1,) * x.ndim
    else:
        at = normal_axis(axis, x.ndim)
        rows = x.transpose((*(n for n in range(x.ndim) if n != at), at))
        shape = tuple(1 if n == at else extent for n, extent in enumerate(x.shape))
    places = np.asarray(q.copy_to_host() if isinstance(q, DeviceNDArray) else q, np.float64)
    if not ((places >= 0) & (places <= 1)).all():
        raise ShapeError("quantiles are from 0 to 1, and percentiles from 0 to 100")
    if not rows.shape[-1]:
        raise ShapeError("quantiles of no elements")
    found = _mixed(rows, places.ravel())
    found = found.reshape(*places.shape, *(shape if keepdims else found.shape[1:]))
    if out is None:
        return found
    out[...] = found
    given: DeviceNDArray = out
    return given


def _mixed(rows: DeviceNDArray, places: np.ndarray[Any, Any]) -> DeviceNDArray:
    """Of each row the quantiles, along a new first axis."""
    last = rows.shape[-1] - 1
    kind = rows.dtype if rows.dtype.kind == "f" else creation.default_float(rows.context)
    ordered = sort(rows)
    at = places * last
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, last)
    share = (at - low).astype(kind)
    below, above = (indexing.take(ordered, n, axis=ordered.ndim - 1).astype(kind, copy=False) for n in (low, high))
    gap = apply(np.subtract, above, below)
    found = apply(np.add, below, apply(np.multiply, gap, array_of(share, rows.context)))
    found = chosen(apply(np.equal, below, above), below, found)  # also of infinities that are equal
    if rows.dtype.kind == "f":  # NaN is the last element of what is sorted
        end = ordered[..., -1:]
        found = chosen(apply(np.isnan, end), end, found)
    return found.transpose((found.ndim - 1, *range(found.ndim - 1)))


def _percentile(a: Any, q: Any, *args: Any, **options: Any) -> DeviceNDArray:
    share = np.asarray(q.copy_to_host() if isinstance(q, DeviceNDArray) else q, np.float64) / 100
    return _quantile(a, share, *args, **options)


def _median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> DeviceNDArray:
    return _quantile(a, 0.5, axis, out, keepdims=keepdims)


_OF_QUANTILES = frozenset({"axis", "out", "overwrite_input", "method", "keepdims"})
register("quantile", _quantile, _OF_QUANTILES)
register("percentile", _percentile, _OF_QUANTILES)
register("median", _median, _OF_QUANTILES - {"method"})
register("average", _average, frozenset({"axis", "weights", "returned", "keepdims"}))


def _nanvar(name: str) -> Any:
    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False
    ) -> Any:
        x = array_of(a)
        if x.dtype.kind not in "fc":
            return call("var" if name == "nanvar" else "std", x, axis, dtype, out, ddof=ddof, keepdims=keepdims)
        there = apply(np.logical_not, apply(np.isnan, x))
        count = functions.count_nonzero(there, axis, keepdims=True)
        zero = x.dtype.type(0)
        mean = apply(np.divide, statistics.sum(chosen(there, x, zero), axis=axis, keepdims=True), count.astype(x.dtype))
        away = apply(np.absolute, chosen(there, apply(np.subtract, x, mean), zero))
        squares = statistics.sum(apply(np.square, away), axis=axis, keepdims=keepdims)
        count = functions.count_nonzero(there, axis, keepdims=keepdims)
        freedom = apply(np.subtract, count.astype(squares.dtype), squares.dtype.type(ddof))
        freedom = chosen(apply(np.greater, freedom, 0), freedom, squares.dtype.type(np.nan))
        found = apply(np.divide, squares, freedom)
        found = apply(np.sqrt, found) if name == "nanstd" else found
        found = found if dtype is None else found.astype(dtype, copy=False)
        if out is None:
            return found
        out[...] = found
        return out

    return function


for _name in ("nanvar", "nanstd"):
    register(_name, _nanvar(_name), frozenset({"axis", "dtype", "out", "ddof", "keepdims"}))


def _cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: float | None = None) -> DeviceNDArray:
    rows = array_of(m)
    if rows.ndim > 2 or y is not None:
        raise ShapeError("the covariances of device arrays are those of one matrix of observations")
    x = rows.reshape(1, -1) if rows.ndim < 2 else rows if rowvar else rows.T
    kind = x.dtype if x.dtype.kind in "fc" else creation.default_float(x.context)
    x = x.astype(kind, copy=False)
    away = apply(np.subtract, x, statistics.mean(x, axis=1, keepdims=True))
    freedom = x.shape[1] - (ddof if ddof is not None else 0 if bias else 1)
    found: DeviceNDArray = away @ apply(np.conjugate, away.T)
    return apply(np.divide, found, freedom).squeeze() if found.size == 1 else apply(np.divide, found, freedom)


def _corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> DeviceNDArray:
    found = _cov(x, y, rowvar)
    if not found.ndim:
        return apply(np.divide, found, found)
    scale = apply(np.sqrt, call("diagonal", found).real)
    return apply(np.divide, apply(np.divide, found, scale.reshape(-1, 1)), scale)


register("cov", _cov, frozenset({"rowvar", "bias", "ddof"}))
register("corrcoef", _corrcoef, frozenset({"rowvar"}))
