"""Problems: named sizes as values and text, their classes, and distances between them.

A problem is a mapping of names to numbers and texts, such as ``{"m": 4096, "n": 4096, "k": 128, "dtype": "float32",
"layout": "NN"}``. Its whole numbers are sizes; everything else are traits. What was tuned for one problem serves others
with the same traits and sizes of the same or a near class. A class is half an octave wide: sizes whose binary
logarithms, rounded to halves, are equal.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np

from portagpu.errors import TuningError

Value = int | float | str | bool
Problem = Mapping[str, Value]
HALF_OCTAVES = 2.0  # classes in an octave
_MOST_SIZES = 4  # that `spread` varies


def checked(problem: Problem) -> dict[str, Value]:
    """A problem whose values can be stored. Raises `TuningError`."""
    hint = "a problem maps names to numbers and texts, such as {'n': 1024, 'dtype': 'float32'}"
    given: Any = problem  # whatever a user gave
    if not isinstance(given, Mapping):
        raise TuningError(f"{given!r} is no problem", hint=hint)
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
    for name, value in values.items():
        sound = isinstance(name, str) and name and not any(c.isspace() or c == "=" for c in name)
        if not sound or not isinstance(value, int | float | str) or value != value:
            raise TuningError(f"{name!r}: {value!r} cannot describe a problem", hint=hint)
    return values


def is_size(value: Value) -> TypeGuard[int]:
    """Whether a value of a problem is a size: a positive whole number."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def text_of(problem: Problem) -> str:
    """A problem as text for stores and people, the same for equal problems: ``k=128 layout=NN m=4096``."""
    parts = (f"{name}={value if is_plain(value) else _encoded(value)}" for name, value in sorted(problem.items()))
    return " ".join(parts)


def _encoded(value: Value) -> str:
    """A value as JSON without blanks, which separate values."""
    return json.dumps(value).replace(" ", "\\u0020")


def is_plain(value: Value) -> bool:
    """Whether the value is a text that reads back as the same text."""
    return isinstance(value, str) and value.replace("_", "").replace("-", "").isalnum() and not _is_json(value)


def parse(text: str) -> dict[str, Value]:
    """The inverse of `text_of`. Raises `TuningError`."""
    return parse_words(text.split())


def parse_words(words: Sequence[str]) -> dict[str, Value]:
    """A problem of a command line's words: each is ``name=value``, or several of these. A value may have spaces.

    Raises `TuningError`."""
    parts: list[str] = []
    for word in words:
        split = word.split()
        parts += split if all("=" in part for part in split) else [word.strip()]
    found: dict[str, Value] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or not name or any(c.isspace() for c in name):
            raise TuningError(f"{' '.join(words)!r} is no problem", hint="write n=1024 dtype=float32")
        if name in found:
            raise TuningError(f"{name} is named twice in {' '.join(words)!r}", hint="give it one value")
        try:
            read = json.loads(value)
        except ValueError:
            read = value
        found[name] = read if isinstance(read, int | float | str) else value
    return found


def class_of(problem: Problem) -> dict[str, Value]:
    """The class of a problem: sizes become half octaves."""
    return {
        name: round(math.log2(value) * HALF_OCTAVES) / HALF_OCTAVES if is_size(value) else value
        for name, value in problem.items()
    }


def same_class(one: Problem, other: Problem) -> bool:
    """Whether two problems are of one class."""
    return _class_with_types(one) == _class_with_types(other)


def _class_with_types(problem: Problem) -> dict[str, tuple[type, Value]]:
    """For Python 1, 1.0 and True are equal; traits that are these are not."""
    return {name: (type(problem[name]), value) for name, value in class_of(problem).items()}


def distance(one: Problem, other: Problem, soft: Mapping[str, float] = MappingProxyType({})) -> float:
    """Octaves between the sizes of two problems, the largest over all sizes; infinite where traits differ.

    ``soft``: traits that may differ, and how many octaves that counts as.
    """
    if one.keys() != other.keys():
        return math.inf
    worst, beside = 0.0, 0.0
    for name, value in one.items():
        theirs = other[name]
        if is_size(value) and is_size(theirs):
            worst = max(worst, abs(math.log2(value) - math.log2(theirs)))
        elif type(value) is not type(theirs) or value != theirs:
            beside += soft.get(name, math.inf)
    return worst + beside


def spread(problem: Problem, count: int = 20, octaves: int = 2) -> list[dict[str, Value]]:
    """Problems of up to ``count`` other classes around one, nearest first: sizes grow and shrink by powers of two.

    None has more than twice the elements of the product of all sizes, so that none takes far longer.
    """
    sizes = [name for name, value in problem.items() if is_size(value)]
    steps = itertools.product(range(-octaves, octaves + 1), repeat=min(len(sizes), _MOST_SIZES))
    near = sorted((s for s in steps if any(s) and sum(s) <= 1), key=lambda s: (sum(map(abs, s)), s))
    found: list[dict[str, Value]] = []
    for step in near:
        sized = {name: max(1, round(float(problem[name]) * 2.0**x)) for name, x in zip(sizes, step, strict=False)}
        candidate = {**problem, **sized}
        if not any(same_class(candidate, f) for f in (problem, *found)):
            found.append(candidate)
        if len(found) >= count:
            break
    return found[:count]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
