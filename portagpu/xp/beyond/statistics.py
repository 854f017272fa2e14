"""NumPy's statistics that the standard does not have: averages, covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, ArgumentValueError, ShapeError, ZeroWeightsError
from portagpu.expressions.apply import apply
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.layout import checked_dtype
from portagpu.runtime.arrays.numpy_dispatch import call, register
from portagpu.xp import creation, statistics
from portagpu.xp.beyond.weights import weights_like
from portagpu.xp.conversion import array_of, context_of_any
from portagpu.xp.manipulation import concat


def _average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    if weights is None:
        x = array_of(a, getattr(weights, "context", None))
        found = statistics.mean(x, axis=axis, keepdims=keepdims)
        total: Any = creation.full_like(found, x.size // max(found.size, 1))
    else:
        x = array_of(a, getattr(weights, "context", None))
        w = weights_like(weights, x, axis)
        kind = np.result_type(x.dtype, w.dtype, np.float64 if x.context.capabilities.fp64 else np.float32)
        if x.dtype.kind in "fc":
            kind = np.result_type(x.dtype, w.dtype)
        total = statistics.sum(w, axis=axis, dtype=kind, keepdims=keepdims)
        _check_total(total)
        products = apply(np.multiply, x.astype(kind, copy=False), w.astype(kind, copy=False))  # integers would wrap
        sums = statistics.sum(products, axis=axis, dtype=kind, keepdims=keepdims)
        found = apply(np.divide, sums, total)
    return (found, total) if returned else found


def _check_total(total: Any) -> None:
    """Whether weights have a sum, which is read from the device."""
    if (apply(np.equal, total, 0)).any():
        raise ZeroWeightsError("the sum of the weights is 0", hint="np.sum(x * weights) is without a quotient")


register("average", _average, frozenset({"axis", "weights", "returned", "keepdims"}))


def _cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> DeviceNDArray:
    """Rows less their means, times themselves: one product of matrices. See `numpy.cov`."""
    parts = [_variables(m, rowvar, context_of_any(m, y))]
    if y is not None:
        more = array_of(y, parts[0].context)
        parts.append(_variables(more, rowvar or more.ndim < 2 or more.shape[0] == 1, parts[0].context))
    real = creation.default_float(parts[0].context)
    kind = checked_dtype(dtype) if dtype is not None else np.result_type(*(x.dtype for x in parts))
    kind = kind if kind.kind in "fc" and dtype is not None else np.result_type(kind, real)
    x = concat([part.astype(kind, copy=False) for part in parts]) if len(parts) > 1 else parts[0]
    x = x.astype(kind, copy=False)
    _check_counts(ddof, fweights, aweights)
    correction = ddof if ddof is not None else 0 if bias else 1
    given = [array_of(w, x.context).astype(kind) for w in (fweights, aweights) if w is not None]
    if any(w.shape != (x.shape[1],) for w in given):
        raise ShapeError(f"weights are those of {x.shape[1]} observations: an array of one axis")
    if not given:
        away = apply(np.subtract, x, statistics.mean(x, axis=1, keepdims=True))
        found = away @ apply(np.conjugate, away.T)
        freedom: Any = max(x.shape[1] - correction, 0)
    else:
        weights = given[0] if len(given) == 1 else apply(np.multiply, *given)
        total = statistics.sum(weights)
        _check_total(total)
        means = apply(np.divide, statistics.sum(apply(np.multiply, x, weights), axis=1, keepdims=True), total)
        away = apply(np.subtract, x, means)
        found = away @ apply(np.conjugate, apply(np.multiply, away, weights).T)
        freedom = apply(np.subtract, total, correction)
        if aweights is not None and correction:
            lost = statistics.sum(apply(np.multiply, weights, given[-1]))
            freedom = apply(np.subtract, total, apply(np.divide, apply(np.multiply, correction, lost), total))
        freedom = apply(np.maximum, freedom, 0)
    covariances = apply(np.divide, found, freedom)
    return covariances.squeeze() if covariances.size == 1 else covariances


def _check_counts(ddof: float | None, fweights: Any, aweights: Any) -> None:
    """Weights of observations are no negative numbers, and what counts them, or degrees of freedom, whole ones."""
    if ddof is not None and ddof != int(ddof):
        raise ArgumentValueError(f"ddof is an integer, not {ddof!r}")
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        host = np.asarray(0 if weights is None else weights)
        if name == "fweights" and np.any(host != np.around(host)):
            raise ArgumentTypeError("fweights count observations, by integers", hint="aweights= are any weights")
        if np.any(host < 0):
            raise ArgumentValueError(f"{name} of observations cannot be negative")


def _variables(m: Any, rowvar: bool, context: Any) -> DeviceNDArray:
    """A row for each variable, whose elements are observations."""
    x = array_of(m, context)
    if x.ndim > 2:
        raise ShapeError(f"covariances are those of a matrix of observations, not of {x.ndim} axes")
    rows: DeviceNDArray = x.reshape(1, -1) if x.ndim < 2 else x if rowvar else x.T
    return rows


def _corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> DeviceNDArray:
    found = _cov(x, y, rowvar, dtype=dtype)
    if not found.ndim:
        return apply(np.divide, found, found)
    scale = apply(np.sqrt, call("diagonal", found).real)
    found = apply(np.divide, apply(np.divide, found, scale.reshape(-1, 1)), scale)
    if found.dtype.kind == "c":
        return found
    return apply(np.minimum, apply(np.maximum, found, -1), 1)


register("cov", _cov, frozenset({"y", "rowvar", "bias", "ddof", "fweights", "aweights", "dtype"}))
register("corrcoef", _corrcoef, frozenset({"y", "rowvar", "dtype"}))
