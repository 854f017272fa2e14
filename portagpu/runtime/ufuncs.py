"""NumPy functions on device arrays; higher layers register what they implement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import DTypeError

_functions: dict[str, Callable[..., Any]] = {}


def register(name: str, function: Callable[..., Any]) -> None:
    """Let ``numpy.<name>`` on device arrays call ``function``."""
    _functions[name] = function


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a registered function. Raises `DTypeError` where there is none."""
    function = _functions.get(name)
    if function is None:
        raise DTypeError(
            f"numpy.{name} is not available for device arrays",
            hint="write a kernel, or copy to the host with copy_to_host()",
        )
    return function(*args, **kwargs)


def dispatch(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`__array_ufunc__` of device arrays."""
    if method != "__call__":
        return NotImplemented
    out = kwargs.pop("out", None)
    if out is not None:
        kwargs["out"] = out[0]
    return call(ufunc.__name__, *inputs, **kwargs)


def dispatch_function(function: Any, args: Any, kwargs: Any) -> Any:
    """`__array_function__` of device arrays."""
    name = function.__name__
    if name in ("shape", "ndim", "size"):
        return (
            getattr(np, name).__wrapped__(*args, **kwargs)
            if hasattr(getattr(np, name), "__wrapped__")
            else getattr(args[0], name)
        )
    return call(name, *args, **kwargs)
