"""What functions of arrays are given, as device arrays."""

from __future__ import annotations

from typing import Any

from portagpu.expressions.apply import check_fits
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context
from portagpu.ufuncs.operands import array_of, arrays_of


def context_of_any(*values: Any) -> Context | None:
    """The context of the first device array among values; None where there is none."""
    return next((x.context for x in values if isinstance(x, DeviceNDArray)), None)


def into(result: DeviceNDArray, out: Any, casting: str = "same_kind") -> Any:
    """NumPy's ``out=`` of functions that make a new array. Raises `DTypeError` for a dtype that ``casting`` refuses."""
    if out is None:
        return result
    if casting != "unsafe":
        check_fits(result.dtype, out.dtype, casting)
    out[...] = result
    return out


def along(axis: int, key: Any) -> tuple[Any, ...]:
    """The subscripts that are ``key`` on one axis and take all of those before and behind."""
    return (*(slice(None),) * axis, key, Ellipsis)


__all__ = ["along", "array_of", "arrays_of", "context_of_any", "into"]
