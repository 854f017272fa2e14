"""Variances of the elements where a mask is true."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import chosen
from portagpu.ufuncs.operands import array_of, mask_of


def masked_variance(
    a: Any,
    where: Any,
    axis: Any = None,
    dtype: Any = None,
    *,
    correction: float = 0,
    keepdims: Any = False,
    mean: Any = None,
    without_freedom: float = 0,
) -> Any:
    """The variance of the elements where a mask is true; ``mean``: one that is known, with the axes that are gone as 1.

    Where there are no more elements than ``correction``, squares are divided by ``without_freedom``: 0 as by NumPy's
    variances, or NaN as by those without NaN.
    """
    x = array_of(a)
    wanted = np.dtype(dtype) if dtype is not None else x.dtype if x.dtype.kind not in "biu" else np.dtype(np.float64)
    x = x.astype(wanted, copy=False)
    there = array_of(mask_of(where, x.shape, x.context), x.context)
    there = there if there.shape == x.shape else there.broadcast_to(x.shape)
    zero = x.dtype.type(0)
    count = functions.count_nonzero(there, axis, keepdims=True)
    if mean is None:
        total = functions.reduce(np.add, chosen(there, x, zero), axis, keepdims=True)
        mean = apply(np.divide, total, functions.converted(count, total.dtype))
    away = apply(np.absolute, chosen(there, apply(np.subtract, x, mean), zero))
    squares = functions.reduce(np.add, apply(np.square, away), axis, keepdims=keepdims)
    number = functions.converted(functions.count_nonzero(there, axis, keepdims=keepdims), squares.dtype)
    freedom = apply(np.subtract, number, squares.dtype.type(correction))
    freedom = chosen(apply(np.greater, freedom, 0), freedom, squares.dtype.type(without_freedom))
    found = apply(np.divide, squares, freedom)
    return found if dtype is None else found.astype(dtype, copy=False)
