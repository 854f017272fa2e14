"""NumPy's variances and standard deviations of device arrays, with and without elements that are NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.expressions.reductions.masked import masked_variance
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.ufuncs.operands import mask_of
from portagpu.xp.conversion import array_of, into


def _variance(name: str) -> Any:
    """A function with the parameters of `numpy.var`: names of "nan" leave NaN out, those of "std" take the root."""
    skips_nan, is_root = name.startswith("nan"), name.endswith("std")

    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: float | None = None,
    ) -> Any:
        count = ddof if correction is None else correction
        x = array_of(a)
        if dtype is not None:
            functions.check_inexact(name, dtype, of_complex=x.dtype.kind == "c")
        if not skips_nan and where is True and mean is None:
            return functions.variance(x, axis, dtype, out, correction=count, keepdims=keepdims, root=is_root)
        there = _present(x, where) if skips_nan else where
        lost = np.nan if skips_nan and x.dtype.kind in "fc" else 0
        found = masked_variance(
            x, there, axis, dtype, correction=count, keepdims=keepdims, mean=mean, without_freedom=lost
        )
        if is_root:
            found = apply(np.sqrt, found)
        return into(found, out, "same_kind" if skips_nan or is_root else "unsafe")

    return function


def _present(x: DeviceNDArray, where: Any) -> Any:
    """Where elements are asked for and not NaN."""
    if x.dtype.kind not in "fc":
        return where
    present = apply(np.logical_not, apply(np.isnan, x))
    return present if where is True else apply(np.logical_and, present, mask_of(where, x.shape, x.context))


_TAKEN = frozenset({"axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction"})
for _name in ("var", "std", "nanvar", "nanstd"):
    register(_name, _variance(_name), _TAKEN)
