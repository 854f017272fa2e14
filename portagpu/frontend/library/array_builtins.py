"""Python's `min`, `max`, `sum`, `any` and `all` of an array, written in the dialect."""

from __future__ import annotations

from typing import Any

from portagpu.frontend.core.convert import describe
from portagpu.frontend.core.registry import Call, call_library
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Value
from portagpu.frontend.source.callables import LibraryFunction


@LibraryFunction
def least(a: Any) -> Any:
    """`min`: a nan is kept only where it comes first, as in Python."""
    best = a[0]
    for item in a:
        if item < best:
            best = item
    return best


@LibraryFunction
def greatest(a: Any) -> Any:
    """`max`: a nan is kept only where it comes first, as in Python."""
    best = a[0]
    for item in a:
        if item > best:
            best = item
    return best


@LibraryFunction
def total(a: Any, start: Any) -> Any:
    """`sum`."""
    result = start
    for item in a:
        result += item
    return result


@LibraryFunction
def some(a: Any) -> Any:
    """`any`."""
    for item in a:  # noqa: SIM110 - kernels have no generators
        if item:
            return True
    return False


@LibraryFunction
def every(a: Any) -> Any:
    """`all`."""
    for item in a:  # noqa: SIM110 - kernels have no generators
        if not item:
            return False
    return True


_BUILTINS = {"min": least, "max": greatest, "sum": total, "any": some, "all": every}


def of_array(ctx: FunctionState, name: str, site: Call, array: ArrayValue, *more: Value) -> Value:
    """One of these builtins for an array of one axis."""
    if array.ndim != 1:
        ctx.fail(
            f"{name} of {describe(ctx, array)}: its items are no numbers",
            hint=f"use np.{name}(a) for all elements",
        )
    return call_library(ctx, _BUILTINS[name], site, array, *more)
