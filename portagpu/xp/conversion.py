"""What functions of arrays are given, as device arrays."""

from __future__ import annotations

from typing import Any

from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.expressions.apply import check_fits, check_out
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context
from portagpu.ufuncs.operands import array_of, arrays_of


def context_of_any(*values: Any) -> Context | None:
    """The context of the first device array among values; None where there is none."""
    return next((x.context for x in values if isinstance(x, DeviceNDArray)), None)


def into(result: DeviceNDArray, out: Any, casting: str = "same_kind", *, broadcast: bool = False) -> Any:
    """NumPy's ``out=`` of functions that make a new array; ``broadcast``: it may have more elements than the result.

    Raises `ArgumentTypeError`, `ShapeError`, and `DTypeError` for a dtype that ``casting`` refuses.
    """
    if out is None:
        return result
    check_out(out)
    if result.shape != out.shape and not broadcast:
        raise ShapeError(f"the result has shape {result.shape}, out= has {out.shape}")
    if casting != "unsafe":
        check_fits(result.dtype, out.dtype, casting)
    out[...] = result
    return out


def check_target(x: Any) -> None:
    """Raise `ArgumentTypeError` for a target that is no device array: functions of these do not write host memory."""
    if not isinstance(x, DeviceNDArray):
        raise ArgumentTypeError(
            f"a {type(x).__name__} is not written from device arrays", hint="copy them first: y.copy_to_host()"
        )


def along(axis: int, key: Any) -> tuple[Any, ...]:
    """The subscripts that are ``key`` on one axis and take all of those before and behind."""
    return (*(slice(None),) * axis, key, Ellipsis)


__all__ = ["along", "array_of", "arrays_of", "check_target", "context_of_any", "into"]
