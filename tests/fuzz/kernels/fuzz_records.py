"""Records in random kernels: packed, aligned, with fields at any offset, array fields and inner records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from fuzz_choices import Chooser
from fuzz_typed import STRONG, Typed, variable

_NAMES = "abcdeg"


@dataclass(frozen=True)
class Field:
    """A field that holds numbers: the text behind the record, its type, and its shape if it is an array."""

    path: tuple[str, ...]
    kind: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class RecordArray:
    """An array of records that a program can read; of length 0, a record."""

    text: str
    fields: tuple[Field, ...]
    length: int


def record_type(choose: Chooser, depth: int = 1) -> np.dtype[Any]:
    """A random structured dtype."""
    fields: list[tuple[str, Any]] = []
    for name in _NAMES[: 2 + choose.below(3)]:
        kind: Any = choose.pick(*STRONG)
        if choose.chance(3):
            kind = (kind, choose.pick((2,), (3,), (2, 2)))
        elif depth and choose.chance(6):
            kind = record_type(choose, depth - 1)
        fields.append((name, kind))
    layout = choose.below(3)
    if layout < 2:
        return np.dtype(
            [(name, *(kind if isinstance(kind, tuple) else (kind,))) for name, kind in fields], align=layout == 1
        )
    offsets, end = [], choose.below(4)
    for _, kind in fields:
        offsets.append(end)
        end += np.dtype(kind).itemsize + choose.below(3)
    return np.dtype(
        {
            "names": [n for n, _ in fields],
            "formats": [k for _, k in fields],
            "offsets": offsets,
            "itemsize": end + choose.below(3),
        }
    )


def fields_of(dtype: np.dtype[Any], path: tuple[str, ...] = ()) -> tuple[Field, ...]:
    """The fields of a record that hold numbers, those of inner records too."""
    fields: list[Field] = []
    for name in dtype.names or ():
        kind = dtype.fields[name][0]  # type: ignore[index]
        if kind.names:
            fields += fields_of(kind, (*path, name))
        else:
            fields.append(Field((*path, name), kind.base.str[1:], kind.shape))
    return tuple(fields)


def filled(random: np.random.Generator, array: Any, numbers: Callable[..., Any]) -> None:
    """Random numbers in all fields of an array of records."""
    for field in fields_of(array.dtype):
        part = array
        for name in field.path:
            part = part[name]
        part[...] = numbers(random, field.kind, part.size).reshape(part.shape)


class Records:
    """Reads and writes of records, for the statements of a kernel."""

    choose: Chooser

    records: list[RecordArray]  # read anywhere
    own_records: list[RecordArray]  # read and written at [i]

    def access(self, array: RecordArray, place: str, field: Field) -> str:
        """A field's text in one of its spellings."""
        inner = self.choose.below(3 if place else 2)
        if inner == 2:
            text = "".join(f"[{name!r}]" for name in field.path)
            text = f"{array.text}{text}[{place}]"
            return text
        spelled = [f".{name}" if inner == 0 else f"[{name!r}]" for name in field.path]
        return f"{array.text}{f'[{place}]' if place else ''}{''.join(spelled)}"

    def record_element(self, depth: int) -> Typed:
        """The value of a field."""
        own = not self.records or (self.own_records and self.choose.chance(2))
        array = self.choose.pick(*(self.own_records if own else self.records))
        field = self.choose.pick(*array.fields)
        place = ("i" if array.length else "") if own else self.index(array.length, depth - 1)  # type: ignore[attr-defined]
        return variable(self.access(array, place, field) + self.inside(field), field.kind)

    def inside(self, field: Field) -> str:
        """The subscript of an array field."""
        if not field.shape:
            return ""
        places = [self.choose.pick(f"i % {n}", "0", "-1", self.index(n, -1)) for n in field.shape]  # type: ignore[attr-defined]
        return f"[{', '.join(places)}]"

    def record_target(self) -> tuple[str, str]:
        """The text and the type of a field that the thread may write."""
        array = self.choose.pick(*self.own_records)
        field = self.choose.pick(*array.fields)
        return self.access(array, "i" if array.length else "", field) + self.inside(field), field.kind
