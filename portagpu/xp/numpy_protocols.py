"""NumPy's functions and Python's operators on device arrays: what `portagpu.runtime.arrays.numpy_dispatch` calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import DTypeError
from portagpu.expressions.apply import apply, apply_into
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp import numpy_sorting  # noqa: F401 - registers its functions


def _ufunc(ufunc: np.ufunc, *inputs: Any, out: Any = None, where: Any = True) -> Any:
    if ufunc.nout != 1:
        raise DTypeError(f"numpy.{ufunc.__name__} of device arrays gives several results, which is missing")
    if out is None and where is not True:
        raise DTypeError("where= of device arrays needs out=", hint="use numpy.where(condition, result, x)")
    if out is None:
        return apply(ufunc, *inputs)
    return apply_into(out, ufunc, *inputs, where=None if where is True else where)


register("ufunc", _ufunc, frozenset({"out", "where"}))


def _named(ufunc: np.ufunc) -> Any:
    def function(*inputs: Any, out: Any = None, where: Any = True) -> Any:
        if out is None and where is True:
            return apply(ufunc, *inputs)
        return _ufunc(ufunc, *inputs, out=out, where=where)

    return function


for _name in dir(np):
    _found = getattr(np, _name)
    if isinstance(_found, np.ufunc) and _found.nout == 1 and _found.signature is None:
        register(_found.__name__, _named(_found), frozenset({"out", "where"}))
