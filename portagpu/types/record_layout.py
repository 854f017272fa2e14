"""Memory layout of structured dtypes: fields, offsets, nested records and arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd
from typing import Any

import numpy as np

_WIDEST = 16  # bytes: no access needs a larger alignment


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field. ``dtype`` is that of its elements; ``shape`` is () unless the field is an array."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int  # bytes from the start of the record
    overlaps: bool  # another field has some of its bytes


@dataclass(frozen=True)
class Record:
    """A record type; equal for dtypes with the same fields at the same places."""

    dtype: np.dtype[Any]

    @property
    def itemsize(self) -> int:
        """Bytes from one record to the next."""
        return self.dtype.itemsize

    @property
    def is_text(self) -> bool:
        """Whether it is a text of a fixed length, not fields."""
        return self.dtype.kind in "SU"

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Fields by name, in order."""
        rows = {name: (self.dtype[name], int(self.dtype.fields[name][1])) for name in self.dtype.names or ()}  # type: ignore[index]
        spans = {name: (offset, offset + kind.itemsize) for name, (kind, offset) in rows.items()}
        found = {}
        for name, (kind, offset) in rows.items():
            low, high = spans[name]
            found[name] = Field(
                name=name,
                dtype=kind.base,
                shape=kind.shape,
                offset=offset,
                overlaps=any(n != name and low < h and b < high for n, (b, h) in spans.items()),
            )
        return found

    def __str__(self) -> str:
        if self.is_text:
            return str(self.dtype)
        shown, end = [], 0
        for field in self.fields.values():
            kind: Any = Record(field.dtype) if field.dtype.names else field.dtype
            place = "" if field.offset == end else f" at {field.offset}"
            shown.append(f"{field.name}: {kind}{list(field.shape) if field.shape else ''}{place}")
            end = field.offset + self.dtype[field.name].itemsize
        size = "" if end == self.itemsize else f"; {self.itemsize} bytes"
        return f"record({', '.join(shown)}{size})"

    def __repr__(self) -> str:
        return str(self)


class NamedRecord:
    """Base of objects of higher layers that stand for a record type."""

    __slots__ = ()
    layout: Record


def record_of(dtype: np.dtype[Any]) -> Record | None:
    """The record type of a structured dtype, or of a text, which is one without fields; None for any other dtype."""
    return _record_of(dtype, dtype.isalignedstruct)  # NumPy's dtypes are equal whether or not they are aligned


@lru_cache(maxsize=512)
def _record_of(dtype: np.dtype[Any], aligned: bool) -> Record | None:
    return Record(dtype) if dtype.names or (dtype.kind in "SU" and dtype.itemsize) else None


def parse_record(value: object) -> Record | None:
    """The record type that ``value`` names (structured dtype, type object, a type of numba), or None."""
    if isinstance(value, Record):
        return value
    if isinstance(value, NamedRecord):
        return value.layout
    if type(value).__module__.startswith(("numba.core.types", "numba.np.types")):
        value = getattr(value, "dtype", None)
    return record_of(value) if isinstance(value, np.dtype) else None


def alignment_of(*steps: int) -> int:
    """The power of two, 16 bytes at most, that divides an offset and all strides."""
    return gcd(_WIDEST, *steps)
