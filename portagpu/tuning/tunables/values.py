"""Values of parameters: comparable, stored as JSON, and read back as the same value."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from portagpu.errors import TuningError


def whole(name: str, value: object) -> int:
    """A whole number from 0 on, also one of NumPy's. Raises `TuningError`; ``name`` is the option's."""
    given: Any = value  # whatever a user gave
    try:
        number = -1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = -1
    if number < 0:
        raise TuningError(f"{name}={value!r} is no whole number from 0 on", hint=f"write {name}=4")
    return number


def plain(value: object, what: str) -> Any:
    """A parameter's value as it is stored and compared: NumPy's numbers become Python's, lists tuples.

    Raises `TuningError` for a value that a JSON file cannot hold; ``what`` says what it is a value of.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(plain(inner, what) for inner in value)
    if isinstance(value, Enum):
        raise TuningError(
            f"{what} cannot be {value!r}: results are stored as JSON, which knows no such members",
            hint=f"use its value, {value.value!r}, or its name, {value.name!r}",
        )
    if value is None or (isinstance(value, bool | int | float | str) and value == value):  # NaN differs from itself
        return value
    raise TuningError(
        f"{what} cannot be {value!r}: results are stored as JSON",
        hint="use numbers, texts, bools, None or tuples of them; a dtype's name stands for a dtype",
    )


def plain_point(point: Mapping[str, Any], what: str) -> dict[str, Any]:
    """A point whose values are `plain`. Raises `TuningError` where it is none."""
    if not isinstance(point, Mapping):
        raise TuningError(f"{what} is {point!r}, no point", hint="a point maps names of axes to values")
    return {str(name): plain(value, f"{name} in {what}") for name, value in point.items()}


def read_back(value: Any) -> Any:
    """A value from JSON, which knows no tuples."""
    return tuple(map(read_back, value)) if isinstance(value, list) else value


def read_point(values: Any) -> dict[str, Any]:
    """A point from JSON."""
    return {name: read_back(value) for name, value in dict(values).items()}


__all__ = ["plain", "plain_point", "read_back", "read_point", "whole"]
