"""Constants of kernels: which are the same, also where Python takes others for equal."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def constant_key(value: Any) -> Any:
    """A hashable key that tells constants apart which compare equal: 1 and 1.0, 0.0 and -0.0, in tuples, too.

    A nan is itself. What has no hash, such as an array, is the same as itself only.
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
    except TypeError:
        return (type(value), id(value))
    return (type(value), value)


def same_constant(one: Any, other: Any) -> bool:
    """Whether two constants are the same for kernels: equal, and of equal types throughout."""
    return type(one) is type(other) and bool(constant_key(one) == constant_key(other))
