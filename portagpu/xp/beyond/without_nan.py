"""NumPy's functions that leave NaN out: places of extremes, cumulative sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import accumulations, functions
from portagpu.expressions.writing import chosen
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp.conversion import array_of


def _place(name: str, beyond: float) -> Any:
    def function(a: Any, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """The place of an extreme. The host waits for whether there is a row of NaN only, which is an error."""
        x = array_of(a)
        if x.dtype.kind in "fc":
            nan = apply(np.isnan, x)
            rows = functions.reduce(np.logical_and, nan, axis)
            if rows.size and bool(functions.reduce(np.logical_or, rows, None)):
                raise ShapeError("a row has no element but NaN")
            x = chosen(nan, x.dtype.type(beyond), x)
        return functions.place(name, x, axis, out, keepdims=keepdims)

    return function


def _cumulative(ufunc: np.ufunc) -> Any:
    def function(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        x = array_of(a)
        if x.dtype.kind in "fc":
            x = chosen(apply(np.isnan, x), x.dtype.type(ufunc.identity), x)
        return accumulations.accumulate(ufunc, x, axis, dtype, out)

    return function


register("nanargmax", _place("argmax", -np.inf), frozenset({"axis", "out", "keepdims"}))
register("nanargmin", _place("argmin", np.inf), frozenset({"axis", "out", "keepdims"}))
register("nancumsum", _cumulative(np.add), frozenset({"axis", "dtype", "out"}))
register("nancumprod", _cumulative(np.multiply), frozenset({"axis", "dtype", "out"}))
