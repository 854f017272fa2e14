"""Constants of kernels: which are the same, also where Python takes others for equal."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

_PLAIN = (int, str, bytes, type, np.generic, np.dtype)


def constant_key(value: Any) -> Any:
    """A hashable key that tells constants apart which compare equal: 1 and 1.0, 0.0 and -0.0, in tuples, too.

    A nan is itself. What has no hash, such as an array, is the same as itself only. Of other objects ``==`` decides,
    unless it fails or gives no truth value.
    """
    if isinstance(value, tuple):
        return (type(value), tuple(constant_key(item) for item in value))
    if isinstance(value, slice):
        return (slice, constant_key((value.start, value.stop, value.step)))
    if is_dataclass(value) and not isinstance(value, type):
        return (type(value), tuple(constant_key(getattr(value, field.name)) for field in fields(value)))
    if isinstance(value, float | complex | np.inexact):
        return (type(value), repr(value))
    try:
        hash(value)
    except Exception:  # of any kind: the class is the user's
        return (type(value), id(value))
    compares: Any = type(value).__eq__
    return (type(value), value if isinstance(value, _PLAIN) or compares is object.__eq__ else _Equal(value))


class _Equal:
    """An object whose class defines ``==``, which may raise or return an array: then it equals itself only."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Equal):
            return False
        try:
            return self.value is other.value or bool(self.value == other.value)
        except Exception:  # of any kind: the class is the user's
            return False


def same_constant(one: Any, other: Any) -> bool:
    """Whether two constants are the same for kernels: equal, and of equal types throughout."""
    return type(one) is type(other) and bool(constant_key(one) == constant_key(other))
