"""NumPy's functions that choose between arrays, and those that apply a program's function to parts of one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError, OutOfBoundsError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import assign, broadcast, chosen, filled
from portagpu.primitives.gathers.gathering import normal_axis
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.layout import strides_as
from portagpu.runtime.arrays.numpy_dispatch import ANY_KEYWORDS, register
from portagpu.xp import manipulation
from portagpu.xp.conversion import array_of, arrays_of, context_of_any, into


def _kept(value: Any) -> Any:
    """A number as it is, whose dtype follows the arrays' (NEP 50); else an array."""
    return value if type(value) in (bool, int, float, complex) or isinstance(value, np.generic) else array_of(value)


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> DeviceNDArray:
    """The choice of the first condition that is true, else the default; one kernel where all fits into one."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ShapeError(f"{len(condlist)} conditions and {len(choicelist)} choices: as many of both, at least one")
    context = context_of_any(*condlist, *choicelist, default)
    conditions = [array_of(x, context) for x in condlist]
    if any(x.dtype != np.bool_ for x in conditions):
        raise DTypeError("the conditions of select are bools", hint="compare: x != 0")
    values = [_kept(x) for x in (*choicelist, default)]
    kind = np.result_type(*(x.dtype if isinstance(x, DeviceNDArray) else x for x in values))
    found: Any = values[-1]
    for condition, value in zip(reversed(conditions), reversed(values[:-1]), strict=True):
        found = chosen(condition, _as(value, kind), _as(found, kind))
    return _in_c_order(found, found.shape)


def _in_c_order(x: DeviceNDArray, shape: tuple[int, ...]) -> DeviceNDArray:
    """An array that broadcasts to a shape, as one that does not repeat elements, deferred as it is."""
    return x if x.shape == shape and x.layout == "C" else broadcast(x, shape, x.dtype, x.context)


def _as(value: Any, kind: np.dtype[Any]) -> Any:
    if isinstance(value, DeviceNDArray):
        return value.astype(kind, copy=False)
    return kind.type(value)


def _choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each number n the element of the n-th array. The host waits for numbers that may be none (mode="raise")."""
    given = list(choices) if not isinstance(choices, DeviceNDArray) else list(manipulation.unstack(choices))
    which, *arrays = arrays_of((a, *given))
    numbers = (bool, int, float, complex)  # whose dtypes follow the arrays'
    kinds = [x if type(x) in numbers else array.dtype for x, array in zip(given, arrays, strict=True)]
    if which.dtype.kind not in "iub":
        raise ArgumentTypeError(f"the numbers of choices are integers, not {which.dtype}")
    count = len(arrays)
    if not count:
        raise ShapeError("choose needs one array at least")
    if mode == "wrap":
        which = apply(np.remainder, which.astype(np.int64), count)
    elif mode == "raise":
        outside = apply(np.logical_or, apply(np.less, which, 0), apply(np.greater_equal, which, count))
        if which.size and bool(functions.reduce(np.logical_or, outside, None)):
            raise OutOfBoundsError(f"a number of a choice is not among {count}", hint="mode='wrap' or mode='clip'")
    elif mode != "clip":
        raise ArgumentTypeError(f"mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    kind = np.result_type(*kinds)
    arrays = [x.astype(kind, copy=False) for x in arrays]
    found = arrays[-1]
    for n in range(count - 2, -1, -1):
        found = chosen(apply(np.less_equal, which, n), arrays[n], found)
    shape = np.broadcast_shapes(which.shape, *(x.shape for x in arrays))
    return into(_in_c_order(found, shape), out, "unsafe")


def _piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> DeviceNDArray:
    """Functions and numbers, each where its condition is true: functions get the elements there, as NumPy's do.

    The host waits for the number of elements of each function.
    """
    array = array_of(x)
    several = isinstance(condlist, list | tuple) and isinstance(condlist[0], list | np.ndarray | DeviceNDArray)
    if not several and not (isinstance(condlist, DeviceNDArray) and condlist.ndim > array.ndim):
        condlist = [condlist]
    conditions = [array_of(c, array.context).astype(bool, copy=False) for c in condlist]
    if len(funclist) == len(conditions) + 1:
        reached = conditions[0]
        for c in conditions[1:]:
            reached = apply(np.logical_or, reached, c)
        conditions.append(apply(np.logical_not, reached))
    elif len(funclist) != len(conditions):
        raise ShapeError(f"{len(conditions)} conditions take as many functions, or one more, not {len(funclist)}")
    out = filled(array.shape, 0, array.dtype, array.context, strides_as(array, array.dtype, "K"))
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            assign(out, function, where=condition)
            continue
        there = array[condition]
        if there.size:
            out[condition] = function(there, *args, **kw)
    return out


def _apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> DeviceNDArray:
    """A function of arrays of one axis, called for each of them: as often as there are, as NumPy does."""
    x = array_of(arr)
    at = normal_axis(axis, x.ndim)
    outer = [range(n) for n in (*x.shape[:at], *x.shape[at + 1 :])]
    found = []
    for place in itertools.product(*outer):
        row = func1d(x._view((*place[:at], slice(None), *place[at:])), *args, **kwargs)
        found.append(array_of(row, x.context))
    if not found:
        raise ShapeError(f"an array of shape {x.shape} has no rows along axis {at}")
    own = found[0].shape
    whole = manipulation.stack(found).reshape(*(len(n) for n in outer), *own)
    order = [*range(at), *range(len(outer), len(outer) + len(own)), *range(at, len(outer))]
    result: DeviceNDArray = whole.transpose(order) if whole.ndim else whole
    return result


def _apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> DeviceNDArray:
    """A function of an array and an axis, applied along axes one after the other."""
    x = array_of(a)
    for axis in np.atleast_1d(axes).tolist():
        at = normal_axis(axis, x.ndim)
        found = array_of(func(x, at))
        if found.ndim == x.ndim - 1:
            found = found.reshape((*found.shape[:at], 1, *found.shape[at:]))
        if found.ndim != x.ndim:
            raise ShapeError("the function of apply_over_axes gives an array of as many axes, or one fewer")
        x = found
    return x


register("select", _select, frozenset({"default"}))
register("choose", _choose, frozenset({"out", "mode"}))
register("piecewise", _piecewise, ANY_KEYWORDS)
register("apply_along_axis", _apply_along_axis, ANY_KEYWORDS)
register("apply_over_axes", _apply_over_axes, frozenset())
