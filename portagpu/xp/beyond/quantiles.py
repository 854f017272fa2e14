"""NumPy's medians, quantiles and percentiles by all of its methods, with NaN and without."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, ArgumentValueError, OutOfBoundsError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import chosen, filled
from portagpu.primitives.gathers.gathering import Subscripts, gather_along, normal_axis
from portagpu.primitives.sorts.sorting import sort
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp import creation, indexing
from portagpu.xp.beyond.weights import weighted, weights_like
from portagpu.xp.conversion import array_of, into

_Places = Callable[[Any, Any], Any]
"""Of the number of elements n and a quantile q: where it is between sorted elements, counted from 0; host or device."""
_Mix = Callable[[DeviceNDArray, DeviceNDArray, DeviceNDArray], DeviceNDArray]
"""Of the elements below and above a quantile's place, and the share of the second: the quantile."""


def _continuous(alpha: float, beta: float) -> _Places:
    """Places of R. Hyndman, Y. Fan, "Sample quantiles in statistical packages", 1996, with their alpha and beta."""
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _at_step(n: Any, q: Any) -> Any:
    """The element at which the distribution function reaches q."""
    return np.maximum(np.ceil(n * q) - 1, 0)


def _nearest_even(n: Any, q: Any) -> Any:
    """The element whose number, counted from 1, is nearest to n q; of two, the even one."""
    return np.maximum(np.rint(n * q) - 1, 0)


_METHODS: dict[str, _Places] = {
    "inverted_cdf": _at_step,
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "closest_observation": _nearest_even,
    "interpolated_inverted_cdf": _continuous(0, 1),
    "hazen": _continuous(0.5, 0.5),
    "weibull": _continuous(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _continuous(1 / 3, 1 / 3),
    "normal_unbiased": _continuous(3 / 8, 3 / 8),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "nearest": lambda n, q: np.rint((n - 1) * q),
}
_OF_ELEMENTS = frozenset({"inverted_cdf", "closest_observation", "lower", "higher", "nearest"})  # nothing is mixed


def _quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    without_nan: bool = False,
    mix: _Mix | None = None,
) -> Any:
    """Sorted along an axis, then the elements at both sides of each quantile's place are mixed.

    NaN where an element is NaN, or all are (``without_nan``).
    """
    if weights is not None and method != "inverted_cdf":
        raise ArgumentValueError(f"weights= goes with method='inverted_cdf', not {method!r}")
    if method not in _METHODS:
        raise ArgumentTypeError(f"method= is one of {', '.join(_METHODS)}, not {method!r}")
    x = array_of(a, getattr(weights, "context", None))
    if x.dtype.kind == "c" and mix is None:
        raise ArgumentTypeError("complex numbers have no quantiles", hint="those of x.real and of x.imag")
    rows, shape = _rows(x, axis)
    given = np.asarray(q.copy_to_host() if isinstance(q, DeviceNDArray) else q)
    if given.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"quantiles are numbers, not {q!r}")
    if type(q) in (int, float) and x.dtype.kind in "fc":
        given = given.astype(np.finfo(x.dtype).dtype)  # Python's numbers take the elements' dtype
    if given.dtype.kind in "biu" and method == "linear":
        method = "lower"  # the first and the last element, in their dtype
    if x.dtype.kind == "b" and method not in _OF_ELEMENTS:
        raise ArgumentTypeError(f"bools are not mixed by method={method!r}", hint="method='nearest', or x.astype(...)")
    kind = _kind(x, given.dtype, method)
    places = np.asarray(q, np.float64) if type(q) in (int, float) else given.astype(np.float64)
    if not ((places >= 0) & (places <= 1)).all():
        raise ShapeError("quantiles are from 0 to 1, and percentiles from 0 to 100")
    if not rows.shape[-1]:
        if without_nan:
            return into(_nan_of_none(x, (*places.shape, *(shape if keepdims else rows.shape[:-1]))), out)
        raise OutOfBoundsError("quantiles of no elements")
    if weights is not None:
        along, _ = _rows(weights_like(weights, x, axis), axis)
        found = weighted(rows, along, given.ravel(), without_nan=without_nan)
    else:
        of_rows = _of_each if without_nan and x.dtype.kind in "fc" else _of_all
        found = of_rows(rows, places.ravel(), method, kind, mix or _between)
    found = found.transpose((found.ndim - 1, *range(found.ndim - 1)))
    return into(found.reshape(*places.shape, *(shape if keepdims else found.shape[1:])), out)


def _rows(x: DeviceNDArray, axis: Any) -> tuple[DeviceNDArray, tuple[int, ...]]:
    """The axes that are looked along as the last one, and the shape with ones in their places."""
    if axis is None:
        return x.ravel(), (1,) * x.ndim
    gone = [normal_axis(n, x.ndim) for n in (axis if isinstance(axis, tuple | list) else (axis,))]
    if len(set(gone)) < len(gone):
        raise ShapeError(f"axis {axis!r} names an axis twice")
    kept = [n for n in range(x.ndim) if n not in gone]
    moved = x.transpose((*kept, *sorted(gone)))
    if len(gone) != 1:
        moved = moved.copy().reshape(*(x.shape[n] for n in kept), math.prod(x.shape[n] for n in gone))
    return moved, tuple(1 if n in gone else extent for n, extent in enumerate(x.shape))


def _kind(x: DeviceNDArray, quantiles: np.dtype[Any], method: str) -> np.dtype[Any]:
    """The dtype of results, which NumPy promotes from elements and quantiles."""
    if method in _OF_ELEMENTS:
        return x.dtype
    kind = np.result_type(x.dtype, quantiles if quantiles.kind == "f" else np.float64)
    return kind if np.finfo(kind).bits < 64 or x.context.capabilities.fp64 else np.dtype(np.float32)


def _of_all(
    rows: DeviceNDArray, quantiles: np.ndarray[Any, Any], method: str, kind: np.dtype[Any], mix: _Mix
) -> DeviceNDArray:
    """Of each row the quantiles, along the last axis; NaN, which is the last element of what is sorted, where it is."""
    last = rows.shape[-1] - 1
    ordered = sort(rows)
    at = _METHODS[method](rows.shape[-1], quantiles)
    low = np.clip(np.floor(at), 0, last).astype(np.int64)
    high = np.clip(np.floor(at) + 1, 0, last).astype(np.int64)
    axis = ordered.ndim - 1
    below = indexing.take(ordered, low, axis=axis).astype(kind, copy=False)
    found = below
    if method not in _OF_ELEMENTS:
        share = np.clip(at, 0, last) - low
        if method == "averaged_inverted_cdf":
            share = np.where(at == np.floor(at), 0.5, 1.0)
            share[(at < 0) | (low == last)] = 0
        above = indexing.take(ordered, high, axis=axis).astype(kind, copy=False)
        found = mix(below, above, array_of(share.astype(kind), rows.context))
    if rows.dtype.kind in "fc":
        end = ordered[..., -1:]
        found = chosen(apply(np.isnan, end), end, found)
    return found


def _of_each(
    rows: DeviceNDArray, quantiles: np.ndarray[Any, Any], method: str, kind: np.dtype[Any], mix: _Mix
) -> DeviceNDArray:
    """The same of the elements that are not NaN, whose number is another one in each row."""
    ordered = sort(rows)
    real = creation.default_float(rows.context)
    count = functions.count_nonzero(apply(np.logical_not, apply(np.isnan, rows)), -1, keepdims=True).astype(real)
    shares = array_of(quantiles.astype(real), rows.context)
    last: Any = np.maximum(count - 1, 0)
    at: Any = _METHODS[method](count, shares)
    floor: Any = np.floor(at)
    places: list[Any] = [np.minimum(np.maximum(n, 0), last) for n in (floor, floor + 1)]
    below, above = (gather_along(ordered, ordered.ndim - 1, Subscripts(n.astype(np.int64), known=True)) for n in places)
    if method in _OF_ELEMENTS:
        return below
    share: Any = np.minimum(np.maximum(at, 0), last) - places[0]
    if method == "averaged_inverted_cdf":
        share = chosen(apply(np.equal, at, floor), 0.5, 1.0)
        share = chosen(apply(np.logical_or, apply(np.less, at, 0), apply(np.equal, places[0], last)), 0.0, share)
    found = mix(below, above, share.astype(kind))
    return found if kind.kind != "c" else chosen(apply(np.equal, count, 0), kind.type(math.nan), found)


def _between(below: DeviceNDArray, above: DeviceNDArray, share: DeviceNDArray) -> DeviceNDArray:
    gap = apply(np.subtract, above, below)
    found = apply(np.add, below, apply(np.multiply, gap, share))
    upper = apply(np.subtract, above, apply(np.multiply, gap, apply(np.subtract, share.dtype.type(1), share)))
    found = chosen(apply(np.greater_equal, share, 0.5), upper, found)  # so that it rises, as NumPy's
    return chosen(apply(np.equal, below, above), below, found)  # also of infinities that are equal


def _mean(below: DeviceNDArray, above: DeviceNDArray, share: DeviceNDArray) -> DeviceNDArray:
    """The mean of two, or of the element itself, which infinities beside it do not change as they would a difference.

    Of one, too, it is a quotient, which of an infinite complex number is NaN, as NumPy's.
    """
    kind = np.result_type(share.dtype, np.float32)  # NumPy adds halves in float32, too
    is_one = apply(np.equal, share, 0)
    total = chosen(is_one, below.astype(kind), apply(np.add, below.astype(kind), above.astype(kind)))
    return apply(np.divide, total, chosen(is_one, kind.type(1), kind.type(2))).astype(share.dtype)


def _percentile(a: Any, q: Any, *args: Any, **options: Any) -> Any:
    given = q.copy_to_host() if isinstance(q, DeviceNDArray) else q
    share = given / 100 if type(given) in (int, float) else np.asarray(np.true_divide(given, 100))
    return _quantile(a, share, *args, **options)


def _median(
    a: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
    *,
    without_nan: bool = False,
) -> Any:
    """The middle element, or the mean of two; NaN of no elements, as `numpy.mean` has it."""
    x = array_of(a)
    if x.dtype.kind == "b":
        x = x.astype(creation.default_float(x.context))
    rows, shape = _rows(x, axis)
    if rows.shape[-1]:
        return _quantile(x, 0.5, axis, out, keepdims=keepdims, without_nan=without_nan, mix=_mean)
    return into(_nan_of_none(x, shape if keepdims else rows.shape[:-1]), out)


def _nan_of_none(x: DeviceNDArray, shape: tuple[int, ...]) -> DeviceNDArray:
    """NaN as the mean of no elements is."""
    kind = x.dtype if x.dtype.kind in "fc" else creation.default_float(x.context)
    return filled(shape, kind.type(complex(math.nan, math.nan)) if kind.kind == "c" else math.nan, kind, x.context)


def _without_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    def called(a: Any, *args: Any, **options: Any) -> Any:
        return function(a, *args, **options, without_nan=True)

    return called


_OPTIONS = frozenset({"axis", "out", "overwrite_input", "method", "keepdims", "weights"})
register("quantile", _quantile, _OPTIONS)
register("percentile", _percentile, _OPTIONS)
register("median", _median, _OPTIONS - {"method", "weights"})
register("nanquantile", _without_nan(_quantile), _OPTIONS)
register("nanpercentile", _without_nan(_percentile), _OPTIONS)
register("nanmedian", _without_nan(_median), _OPTIONS - {"method", "weights"})
