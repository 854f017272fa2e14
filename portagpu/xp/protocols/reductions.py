"""NumPy's reductions of device arrays: what `portagpu.runtime.arrays.numpy_dispatch` calls for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ShapeError
from portagpu.expressions.apply import apply, as_operands, lazy_array, result_of
from portagpu.expressions.operations import operation
from portagpu.expressions.reductions import accumulations, functions
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.ufuncs.operands import array_of, mask_of

_REDUCING = frozenset({"axis", "dtype", "out", "keepdims", "initial", "where"})
_UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "amax": np.maximum,
    "min": np.minimum,
    "amin": np.minimum,
    "all": np.logical_and,
    "any": np.logical_or,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
}
_WITH_DTYPE = frozenset({"sum", "prod"})


def _reduction(name: str, ufunc: np.ufunc) -> Any:
    if name in _WITH_DTYPE:

        def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = 0, **o: Any) -> Any:
            return functions.reduce(ufunc, a, axis, dtype, out, keepdims=keepdims, **o)

        return function

    def without(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **options: Any) -> Any:
        return functions.reduce(ufunc, a, axis, None, out, keepdims=keepdims, **options)

    return without


for _name, _found in _UFUNCS.items():
    _taken = _REDUCING if _name in _WITH_DTYPE else _REDUCING - {"dtype"}
    register(_name, _reduction(_name, _found), _taken - {"initial"} if _name in ("all", "any") else _taken)


def _reduce(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, **more: Any) -> Any:
    return functions.reduce(ufunc, array, axis, dtype, out, **more)


def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **more: Any) -> Any:
    return functions.mean(a, axis, dtype, out, keepdims=keepdims, **more)


def _place(name: str) -> Any:
    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        return functions.place(name, a, axis, out, keepdims=keepdims)

    return function


def _count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    return functions.count_nonzero(a, axis, keepdims=keepdims)


def _ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    extremes = [functions.reduce(ufunc, a, axis, keepdims=keepdims) for ufunc in (np.maximum, np.minimum)]
    return functions.finished(apply(np.subtract, *extremes), extremes[0], (), keepdims=False, out=out)


def _without_nan(ufunc: np.ufunc) -> Any:
    """A reduction of elements that are not NaN."""

    def function(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **more: Any
    ) -> Any:
        return functions.reduce(ufunc, _replaced(a, ufunc.identity), axis, dtype, out, keepdims=keepdims, **more)

    return function


def _replaced(a: Any, value: Any) -> Any:
    """An array with a number in place of each NaN."""
    x = array_of(a)
    if x.dtype.kind not in "fc":
        return x
    (element,), (kind,), shape, context = as_operands((x,))
    truth = np.dtype(bool)
    nan = result_of(context, operation("isnan", (kind,), truth), (element,), shape)
    chosen = operation("where", (truth, kind, kind), kind)
    return lazy_array(result_of(context, chosen, (nan, kind.type(value), element), shape))


def _nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    x = array_of(a)
    if x.dtype.kind not in "fc":
        return functions.mean(x, axis, dtype, out, keepdims=keepdims, where=where)
    if dtype is not None:
        functions.check_inexact("nanmean", dtype)
    kind = functions.dtype_of_reduction(np.add, x, dtype, out)
    total = functions.reduce(np.add, _replaced(x, 0), axis, kind, keepdims=keepdims, where=where)
    there = apply(np.logical_not, apply(np.isnan, x))
    there = there if where is True else apply(np.logical_and, there, mask_of(where, x.shape, x.context))
    count = functions.count_nonzero(there, axis, keepdims=keepdims)
    found = apply(np.divide, total, functions.converted(count, total.dtype))
    return functions.finished(found, x, (), keepdims=False, out=out)


register("ufunc.reduce", _reduce, _REDUCING)
register("mean", _mean, frozenset({"axis", "dtype", "out", "keepdims", "where"}))
for _name in ("argmax", "argmin"):
    register(_name, _place(_name), frozenset({"axis", "out", "keepdims"}))
register("count_nonzero", _count_nonzero, frozenset({"axis", "keepdims"}))
register("ptp", _ptp, frozenset({"axis", "out", "keepdims"}))
for _name, _found in (("nansum", np.add), ("nanprod", np.multiply)):
    register(_name, _without_nan(_found), _REDUCING)
register("nanmean", _nanmean, frozenset({"axis", "dtype", "out", "keepdims", "where"}))


def _accumulate(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    x = array_of(array)
    return accumulations.accumulate(ufunc, x, functions.only_axis(axis, x.ndim, "accumulate"), dtype, out)


def _cumulative(ufunc: np.ufunc) -> Any:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return accumulations.accumulate(ufunc, a, axis, dtype, out)

    return function


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    return accumulations.differences(a, axis, n, prepend, append)


register("ufunc.accumulate", _accumulate, frozenset({"axis", "dtype", "out"}))
register("ufunc.outer", accumulations.outer, frozenset())
register("cumsum", _cumulative(np.add), frozenset({"axis", "dtype", "out"}))
register("cumprod", _cumulative(np.multiply), frozenset({"axis", "dtype", "out"}))
register("diff", _diff, frozenset({"n", "axis", "prepend", "append"}))


def _cumulative_of_standard(ufunc: np.ufunc) -> Any:
    def function(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Any:
        array = array_of(x)
        if axis is None and array.ndim > 1:
            raise ShapeError(f"an array with {array.ndim} axes is accumulated along one", hint="pass axis=")
        along = 0 if axis is None else axis
        return accumulations.accumulate(ufunc, array, along, dtype, out, initial=include_initial)

    return function


_STANDARDS = frozenset({"axis", "dtype", "out", "include_initial"})
register("cumulative_sum", _cumulative_of_standard(np.add), _STANDARDS)
register("cumulative_prod", _cumulative_of_standard(np.multiply), _STANDARDS)
