"""Launches with the very arguments of an earlier launch: these are set in one of the driver's kernels already.

What was set is remembered as tokens that keep no array alive: an object for each device array, and plain values for
numbers. Equal tokens mean equal C arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.runtime.array import DeviceNDArray, DeviceRecord


def tokens_of(args: tuple[Any, ...], shared: int) -> tuple[Any, ...] | None:
    """Tokens of a launch's arguments; None where its context or its arguments must be looked at each time."""
    tokens: list[Any] = [shared]
    has_array = False
    for value in args:
        kind = type(value)
        if kind is DeviceNDArray or kind is DeviceRecord:
            token = value.token
            if token is None:
                return None
            has_array = True
        elif kind is int:
            token = value
        else:
            token = _token(kind, value)
            if token is None:
                return None
        tokens.append(token)
    return tuple(tokens) if has_array else None


def _token(kind: type, value: Any) -> Any:
    """A token of a number; those of different types, and of 0.0 and -0.0, differ."""
    if kind is float:
        return value.hex()
    if kind is bool:
        return (kind, value)
    if issubclass(kind, np.number):
        return (kind, value.tobytes())
    return None
