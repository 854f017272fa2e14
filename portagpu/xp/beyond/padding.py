"""`numpy.pad`: what surrounds an array, in all of NumPy's modes.

Modes that repeat elements are one gather for each axis, whose subscripts the host makes: `numpy.pad` of 0, 1, 2 ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.constants import constant_key
from portagpu.errors import ArgumentTypeError, ArgumentValueError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.writing import NUMBERS, element_of, place
from portagpu.primitives.gathers.gathering import Subscripts, gather
from portagpu.primitives.gathers.sequences import whole_steps
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.numpy_dispatch import ANY_KEYWORDS, call, register
from portagpu.xp import creation, manipulation
from portagpu.xp.conversion import along, array_of

_REPEATING = ("edge", "reflect", "symmetric", "wrap")
_STATISTICS = {"maximum": "max", "minimum": "min", "mean": "mean", "median": "median"}
_OPTIONS = {
    "constant": {"constant_values"},
    "linear_ramp": {"end_values"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    **{name: {"stat_length"} for name in _STATISTICS},
}
_INDEX = np.dtype(np.int64)


def _pairs(value: Any, ndim: int, what: str) -> list[tuple[Any, Any]]:
    """A number for all ends, a pair for all axes, or pairs for each."""
    if isinstance(value, dict):
        value = [value.get(n, value.get(n - ndim, (0, 0))) for n in range(ndim)]
        value = [tuple(pair) if np.ndim(pair) else (pair, pair) for pair in value]
    host = np.asarray(value.copy_to_host() if isinstance(value, DeviceNDArray) else value)
    try:
        whole = np.broadcast_to(host, (ndim, 2))
    except ValueError as error:
        raise ShapeError(f"{what} of shape {host.shape} is not that of an array of {ndim} axes") from error
    return [(first, last) for first, last in whole.tolist()]


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> DeviceNDArray:
    x = array_of(array)
    widths = _pairs(pad_width, x.ndim, "pad_width")
    if not all(hasattr(n, "__index__") for pair in widths for n in pair):
        raise ArgumentTypeError(f"pad_width has whole numbers, not {pad_width!r}")
    if any(n < 0 for pair in widths for n in pair):
        raise ArgumentValueError(f"pad_width has numbers that are not negative, not {pad_width!r}")
    if callable(mode):
        return _by_function(x, widths, mode, options)
    if mode not in (*_REPEATING, *_STATISTICS, "constant", "linear_ramp", "empty"):
        raise ArgumentTypeError(f"mode={mode!r} is none of numpy.pad's")
    unknown = set(options) - _OPTIONS.get(mode, set())
    if unknown:
        raise ArgumentTypeError(f"numpy.pad with mode={mode!r} takes no {', '.join(sorted(unknown))}=")
    if mode in _REPEATING:
        return _in_order_of(x, _repeating(x, widths, mode, **options))
    if mode in ("constant", "empty"):
        values = _pairs(options.get("constant_values", 0), x.ndim, "constant_values")
        return _surrounded(x, widths, values if mode == "constant" else None)
    given = options.get("end_values", 0) if mode == "linear_ramp" else options.get("stat_length")
    about = [(None, None)] * x.ndim if given is None else _pairs(given, x.ndim, "what is given for the ends")
    found = x
    for at, ((before, after), (first, last)) in enumerate(zip(widths, about, strict=True)):
        if before or after:
            make = _ramp if mode == "linear_ramp" else _statistic(mode)
            found = _joined(found, at, make(found, at, before, first, True), make(found, at, after, last, False))
    return _in_order_of(x, found)


def _in_order_of(x: DeviceNDArray, found: DeviceNDArray) -> DeviceNDArray:
    """New memory in the order of `_order`."""
    order = _order(x)
    is_right = found is not x and (found.is_f_contiguous() if order == "F" else found.is_c_contiguous())
    return found if is_right else found.copy(order)


def _order(x: DeviceNDArray) -> str:
    """The order of NumPy's results: Fortran's of arrays in that order alone."""
    return "F" if x.layout == "F" else "C"


def _joined(x: DeviceNDArray, at: int, *ends: DeviceNDArray) -> DeviceNDArray:
    return manipulation.concat([ends[0], x, ends[1]], axis=at)


def _surrounded(x: DeviceNDArray, widths: list[Any], values: list[tuple[Any, Any]] | None) -> DeviceNDArray:
    shape = tuple(n + sum(pair) for n, pair in zip(x.shape, widths, strict=True))
    one = values is not None and len({constant_key(v) for pair in values for v in pair}) == 1
    out = device_array(shape, x.dtype, order=_order(x), context=x.context)
    if one and values is not None:
        out[...] = _element(values[0][0], x.dtype)
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True))
    if x.size:
        place(out._view((*inner, Ellipsis)), x)
    if values is not None and not one:
        for at in range(x.ndim):  # those of later axes are written over the corners, as by NumPy
            (before, after), (first, last) = widths[at], values[at]
            around = (*inner[:0], *(slice(None),) * at)
            for key, value in ((slice(None, before), first), (slice(shape[at] - after, None), last)):
                part = out._view((*around, key, *inner[at + 1 :], Ellipsis))
                if part.size:
                    part[...] = _element(value, x.dtype)
    return out


def _element(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as `numpy.pad` assigns it. Raises as `element_of`."""
    host = np.asarray(value)
    is_cast = dtype.kind not in NUMBERS or not dtype.isnative or host.dtype.kind == "c"
    return host.astype(dtype)[()] if is_cast else element_of(host[()], dtype)


def _repeating(x: DeviceNDArray, widths: list[Any], mode: str, reflect_type: str = "even") -> DeviceNDArray:
    if reflect_type not in ("even", "odd"):
        raise ArgumentTypeError(f"reflect_type is 'even' or 'odd', not {reflect_type!r}")
    for at, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        extent = x.shape[at]
        if not extent:
            raise ShapeError(f"an axis without elements cannot be extended with mode={mode!r}")
        if reflect_type == "odd":
            x = _odd(x, at, before, after, mode)
            continue
        places = np.pad(np.arange(extent), (before, after), mode=mode)  # type: ignore[call-overload]
        x = gather(x, at, 1, Subscripts.of(places, extent, x.context))
    return x


def _odd(x: DeviceNDArray, at: int, before: int, after: int, mode: str) -> DeviceNDArray:
    """Twice the element at an end, less what is mirrored there: as often as needed, from what is there by then."""
    with_edge = mode == "symmetric"
    while before or after:
        extent = x.shape[at]
        step = extent if with_edge else extent - 1
        if not step:  # of one element there is nothing else
            return gather(x, at, 1, Subscripts.of(np.zeros(before + 1 + after, np.int64), 1, x.context))
        counts = min(before, step), min(after, step)
        shift = 0 if with_edge else 1
        edges = x._view(along(at, slice(None, 1))), x._view(along(at, slice(-1, None)))
        parts = (
            x._view(along(at, slice(shift, shift + counts[0]))),
            x._view(along(at, slice(extent - shift - counts[1], extent - shift))),
        )
        ends = [
            apply(np.subtract, apply(np.multiply, x.dtype.type(2), edge), manipulation.flip(part, axis=at))
            for edge, part in zip(edges, parts, strict=True)
        ]
        before, after = before - counts[0], after - counts[1]
        x = _joined(x, at, *ends)
    return x


def _ramp(x: DeviceNDArray, at: int, count: int, value: Any, first: bool) -> DeviceNDArray:
    """Equal steps from a value at the outer end to the array's edge, which is not a part of them."""
    edge = x._view(along(at, slice(None, 1) if first else slice(-1, None)))
    shape = tuple(count if n == at else 1 for n in range(x.ndim))
    steps = whole_steps(count, 0, 1, _INDEX, x.context).reshape(shape)
    real = x.dtype if x.dtype.kind in "fc" else creation.default_float(x.context)
    start = real.type(value)
    step = apply(np.divide, apply(np.subtract, edge.astype(real, copy=False), start), max(count, 1))
    found = apply(np.add, apply(np.multiply, steps.astype(real), step), start)
    if x.dtype.kind in "iu":
        found = apply(np.floor, found)
    found = found.astype(x.dtype, copy=False)
    return found if first else manipulation.flip(found, axis=at)


def _statistic(mode: str) -> Callable[..., DeviceNDArray]:
    def function(x: DeviceNDArray, at: int, count: int, length: Any, first: bool) -> DeviceNDArray:
        extent = x.shape[at]
        taken = extent if length is None else min(int(length), extent)
        if length is not None and length < 1 and mode in ("maximum", "minimum"):
            raise ShapeError(f"stat_length={length} takes no elements, which have no {mode}")
        part = x._view(along(at, slice(None, taken) if first else slice(extent - taken, None)))
        found = call(_STATISTICS[mode], part, axis=at, keepdims=True)
        if x.dtype.kind in "iu" and found.dtype.kind == "f":
            found = apply(np.rint, found)
        found = found.astype(x.dtype, copy=False)
        return found.broadcast_to(tuple(count if n == at else e for n, e in enumerate(x.shape)))  # type: ignore[no-any-return]

    return function


def _by_function(x: DeviceNDArray, widths: list[Any], function: Any, options: dict[str, Any]) -> DeviceNDArray:
    """A program's function writes the ends of each row, ``f(row, (before, after), axis, options)``, axis by axis."""
    out = _surrounded(x, widths, [(0, 0)] * x.ndim)
    for at, pair in enumerate(widths):
        for row in np.ndindex(*(n for axis, n in enumerate(out.shape) if axis != at)):
            function(out._view((*row[:at], slice(None), *row[at:])), pair, at, options)
    return out


register("pad", _pad, ANY_KEYWORDS)
