"""NumPy's differences, integrals and interpolations between neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import accumulations, functions
from portagpu.expressions.writing import chosen, place
from portagpu.primitives.gathers.gathering import Subscripts, gather, normal_axis
from portagpu.primitives.sorts.searching import searchsorted
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.layout import strides_as
from portagpu.runtime.arrays.numpy_dispatch import call, register
from portagpu.ufuncs.operands import operand
from portagpu.xp import creation, indexing, manipulation
from portagpu.xp.conversion import along, array_of, arrays_of, context_of_any


def _check_subtracts(x: DeviceNDArray) -> None:
    if x.dtype.kind == "b":
        raise DTypeError("bools have no differences in NumPy", hint="np.diff, or x.astype(np.int8)")


def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> DeviceNDArray:
    x = array_of(ary, context_of_any(to_end, to_begin)).ravel()
    _check_subtracts(x)
    found = accumulations.differences(x)
    ends = [None if e is None else array_of(e, x.context).ravel() for e in (to_begin, to_end)]
    for end in ends:
        if end is not None and not np.can_cast(end.dtype, x.dtype, "same_kind"):
            raise DTypeError(f"differences of {x.dtype} do not go with ends of {end.dtype}")
    parts = [part for part in (ends[0], found, ends[1]) if part is not None]
    return found if len(parts) == 1 else manipulation.concat([part.astype(x.dtype, copy=False) for part in parts])


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> DeviceNDArray:
    """The integral along an axis of what goes straight from element to element: one kernel."""
    values = array_of(y, context_of_any(x, dx))
    at = normal_axis(axis, values.ndim)
    if x is None:
        step: Any = dx if type(dx) in (int, float) else array_of(dx, values.context)
        if isinstance(step, DeviceNDArray) and step.ndim == 1:
            step = _along(step, at, values.ndim)
    else:
        places = array_of(x, values.context)
        step = accumulations.differences(places, -1 if places.ndim == 1 else axis)
        if places.ndim == 1:
            step = _along(step, at, values.ndim)
    later, before = (values._view(along(at, key)) for key in (slice(1, None), slice(None, -1)))
    parts = apply(np.divide, apply(np.multiply, step, apply(np.add, later, before)), 2.0)
    return functions.reduce(np.add, parts, at)


def _along(x: DeviceNDArray, axis: int, ndim: int) -> DeviceNDArray:
    found: DeviceNDArray = x.reshape(*(x.size if n == axis else 1 for n in range(ndim)))
    return found


def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Second-order central differences, at the ends of first or second order. See `numpy.gradient` for the source."""
    x = array_of(f, context_of_any(*varargs))
    _check_subtracts(x)
    axes = tuple(range(x.ndim)) if axis is None else functions.axes_in(axis, x.ndim)
    steps = list(varargs) if varargs else [1.0]
    if len(steps) == 1 and (np.ndim(steps[0]) == 0 or len(axes) == 1):
        steps *= len(axes)
    if len(steps) != len(axes):
        raise ArgumentTypeError(f"{len(varargs)} distances are given for {len(axes)} axes")
    if edge_order not in (1, 2):
        raise ArgumentTypeError(f"edge_order is 1 or 2, not {edge_order!r}")
    if x.dtype.kind not in "fc":
        x = x.astype(creation.default_float(x.context))
    found = [_derivative(x, at, step, edge_order) for at, step in zip(axes, steps, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _derivative(f: DeviceNDArray, at: int, step: Any, edge_order: int) -> DeviceNDArray:
    count = f.shape[at]
    if count < edge_order + 1:
        raise ShapeError(f"gradients of order {edge_order} at the ends need {edge_order + 1} elements, not {count}")
    distance, gaps = _distances(step, f, at)

    def part(key: slice) -> DeviceNDArray:
        return f._view(along(at, key))

    out = device_array(f.shape, f.dtype, strides_as(f, f.dtype), context=f.context)
    if count > 2:
        left, middle, right = part(slice(None, -2)), part(slice(1, -1)), part(slice(2, None))
        if gaps is None:
            inner = apply(np.divide, apply(np.subtract, right, left), 2.0 * distance)
        else:
            one, two = gaps._view(along(at, slice(None, -1))), gaps._view(along(at, slice(1, None)))
            both = apply(np.add, one, two)
            a = apply(np.divide, apply(np.negative, two), apply(np.multiply, one, both))
            b = apply(np.divide, apply(np.subtract, two, one), apply(np.multiply, one, two))
            c = apply(np.divide, one, apply(np.multiply, two, both))
            terms = [apply(np.multiply, *pair) for pair in ((a, left), (b, middle), (c, right))]
            inner = apply(np.add, apply(np.add, terms[0], terms[1]), terms[2])
        place(out._view(along(at, slice(1, -1))), inner)
    for first in (True, False):
        target = out._view(along(at, slice(None, 1) if first else slice(-1, None)))
        place(target, _end(part, gaps, distance, at, edge_order, first=first))
    return out


def _distances(step: Any, f: DeviceNDArray, at: int) -> tuple[Any, DeviceNDArray | None]:
    """The distance between all elements along an axis, or, where places differ in it, an array of each.

    In NumPy's dtypes: float64 of integers, that of other places, none of Python's numbers. The host waits for whether
    places are evenly spaced: derivatives do not depend on the element itself then, which may be infinite.
    """
    real, given = creation.default_float(f.context), operand(step)
    if np.iscomplexobj(given) and f.dtype.kind != "c":
        raise DTypeError(f"complex distances are not those of {f.dtype}", hint="f.astype(complex)")
    if not hasattr(given, "dtype"):  # Python's numbers
        return given, None
    if np.ndim(given):
        _check_subtracts(given)
    if given.dtype.kind in "biu" or given.dtype == np.float64:
        given = given.astype(real, copy=False)
    if not np.ndim(given):
        return given, None
    places = array_of(given, f.context)
    if places.shape != f.shape[at : at + 1]:
        raise ShapeError(f"places of shape {places.shape} are not those of {f.shape[at]} elements along axis {at}")
    gaps = accumulations.differences(places)
    if functions.reduce(np.logical_and, apply(np.equal, gaps, gaps[:1]), None).item():
        return _along(gaps[:1], at, f.ndim), None
    return None, _along(gaps, at, f.ndim)


def _end(
    part: Any, gaps: DeviceNDArray | None, distance: Any, at: int, edge_order: int, *, first: bool
) -> DeviceNDArray:
    """The derivative at one end."""
    near, next_, far = (
        (slice(None, 1), slice(1, 2), slice(2, 3)) if first else (slice(-1, None), slice(-2, -1), slice(-3, -2))
    )
    gap: Any = distance if gaps is None else gaps._view(along(at, near))
    if edge_order == 1:
        pair = (part(next_), part(near)) if first else (part(near), part(next_))
        return apply(np.divide, apply(np.subtract, *pair), gap)
    sign = 1.0 if first else -1.0
    factors: list[Any]
    if gaps is None:
        factors = [sign * n / distance for n in (-1.5, 2.0, -0.5)]
    else:
        other = gaps._view(along(at, next_))
        both, product = apply(np.add, gap, other), apply(np.multiply, gap, other)
        a = apply(np.divide, apply(np.add, gap, both), apply(np.multiply, gap, both))
        b = apply(np.divide, both, product)
        c = apply(np.divide, gap, apply(np.multiply, other, both))
        factors = [apply(np.multiply, -sign, a), apply(np.multiply, sign, b), apply(np.multiply, -sign, c)]
    terms = [apply(np.multiply, factor, part(key)) for factor, key in zip(factors, (near, next_, far), strict=True)]
    return apply(np.add, apply(np.add, terms[0], terms[1]), terms[2])


def _unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> DeviceNDArray:
    """Differences of more than half a period along an axis become those beyond it, as `numpy.unwrap`."""
    x = array_of(p)
    at = normal_axis(axis, x.ndim)
    apart = accumulations.differences(x, at)
    jump = period / 2 if discont is None else discont
    kind = np.result_type(apart.dtype, period)
    if kind.kind in "iu":
        half, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        half, ambiguous = period / 2, True
    low = -half
    moved = apply(np.add, apply(np.remainder, apply(np.subtract, apart, low), period), low)
    if ambiguous:
        edge = apply(np.logical_and, apply(np.equal, moved, low), apply(np.greater, apart, 0))
        moved = chosen(edge, half, moved)
    correction = apply(np.subtract, moved, apart)
    correction = chosen(apply(np.less, apply(np.absolute, apart), jump), 0, correction)
    out = x.astype(kind)
    if x.shape[at] > 1:
        sums = accumulations.accumulate(np.add, correction, at)
        target = out._view(along(at, slice(1, None)))
        target[...] = apply(np.add, x._view(along(at, slice(1, None))), sums)
    return out


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> DeviceNDArray:
    """Straight lines between points with rising places."""
    values, places, heights = arrays_of((x, xp, fp))
    if places.ndim != 1 or heights.shape != places.shape or not places.size:
        raise ShapeError(f"places of shape {places.shape} and heights of shape {heights.shape}: one axis, as many")
    if places.dtype.kind == "c" or values.dtype.kind == "c":
        raise DTypeError("complex places have no order", hint="np.interp(x.real, xp.real, fp)")
    kind = creation.default_float(places.context)
    values, places = values.astype(kind, copy=False), places.astype(kind, copy=False)
    heights = heights.astype(np.result_type(kind, np.complex64) if heights.dtype.kind == "c" else kind, copy=False)
    if period is not None:
        if not period:
            raise ArgumentTypeError("period= is not 0")
        length = abs(period)
        left = right = None
        values, places = (apply(np.remainder, n, length) for n in (values, places))
        order = call("argsort", places)
        places, heights = indexing.take(places, order, axis=0), indexing.take(heights, order, axis=0)
        ends = [apply(np.subtract, places[-1:], length), places, apply(np.add, places[:1], length)]
        places, heights = manipulation.concat(ends), manipulation.concat([heights[-1:], heights, heights[:1]])
    last = places.size - 1
    flat = values.ravel()
    at = apply(np.subtract, searchsorted(places, flat, side="right"), 1)
    at = apply(np.minimum, apply(np.maximum, at, 0), max(last - 1, 0))
    beside = Subscripts(at, known=True), Subscripts(apply(np.minimum, apply(np.add, at, 1), last), known=True)
    (x0, x1), (y0, y1) = ([gather(n, 0, 1, s) for s in beside] for n in (places, heights))
    found = _between(flat, x0, x1, y0, y1)
    found = chosen(apply(np.equal, flat, x0), y0, found)
    first, end = heights[:1], heights[-1:]
    found = chosen(apply(np.less, flat, places[:1]), first if left is None else left, found)
    found = chosen(apply(np.equal, flat, places[-1:]), end, found)
    found = chosen(apply(np.greater, flat, places[-1:]), end if right is None else right, found)
    found = chosen(apply(np.isnan, flat), flat, found)
    return found.astype(heights.dtype, copy=False).reshape(values.shape)


def _between(x: DeviceNDArray, x0: Any, x1: Any, y0: DeviceNDArray, y1: DeviceNDArray) -> DeviceNDArray:
    """Lines through pairs of points; of complex heights both parts apart, so that an infinite one leaves the other."""
    if y0.dtype.kind == "c":
        both = device_array(x.shape, y0.dtype, context=x.context)
        both.real[...], both.imag[...] = (_between(x, x0, x1, *ys) for ys in ((y0.real, y1.real), (y0.imag, y1.imag)))
        return both
    slope = apply(np.divide, apply(np.subtract, y1, y0), apply(np.subtract, x1, x0))
    found = apply(np.add, apply(np.multiply, slope, apply(np.subtract, x, x0)), y0)
    # beside an infinity from the other point, or what both have
    again = apply(np.add, apply(np.multiply, slope, apply(np.subtract, x, x1)), y1)
    again = chosen(apply(np.logical_and, apply(np.isnan, again), apply(np.equal, y0, y1)), y0, again)
    return chosen(apply(np.isnan, found), again, found)


register("ediff1d", _ediff1d, frozenset({"to_end", "to_begin"}))
register("trapezoid", _trapezoid, frozenset({"x", "dx", "axis"}))
register("gradient", _gradient, frozenset({"axis", "edge_order"}))
register("unwrap", _unwrap, frozenset({"discont", "axis", "period"}))
register("interp", _interp, frozenset({"left", "right", "period"}))
