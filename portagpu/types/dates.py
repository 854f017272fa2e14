"""Types of dates and spans of time, which kernels see as 64-bit counts of their unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.types import Number, Type, is_type, text


@dataclass(frozen=True, slots=True, repr=False, init=False)
class NPDatetime(Number):
    """A date with a unit such as ``"D"`` or ``"10ms"``; kernels see its 64-bit count."""

    unit: str

    def __init__(self, unit: str) -> None:
        object.__setattr__(self, "row", dtypes.INT64)
        object.__setattr__(self, "unit", unit)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(f"M8[{self.unit}]")

    def __call__(self, *args: Any) -> Any:
        """NumPy's scalar of a date, or a signature of types."""
        if len(args) == 1 and not is_type(args[0]):
            return np.asarray(args[0]).astype(self.dtype)[()]
        return Type.__call__(self, *args)

    def __str__(self) -> str:
        return str(self.dtype)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class NPTimedelta(NPDatetime):
    """A span of time with a unit such as ``"D"`` or ``"10ms"``; kernels see its 64-bit count."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(f"m8[{self.unit}]")


def as_time(value: Any) -> Type | None:
    """The type of a date or span that a dtype, its text or a type of numba names."""
    if not hasattr(value, "ndim") and text.is_foreign(value) and type(value).__name__ in ("NPDatetime", "NPTimedelta"):
        return (NPDatetime if type(value).__name__ == "NPDatetime" else NPTimedelta)(value.unit)
    if isinstance(value, str) and value.startswith(("datetime64[", "timedelta64[")) and value.count("[") == 1:
        value = np.dtype(value)
    return time_type(value) if isinstance(value, np.dtype) and value.kind in "mM" else None


def time_type(dtype: np.dtype[Any]) -> Number:
    """The type of a dtype of dates or spans."""
    unit, count = np.datetime_data(dtype)
    made = NPDatetime if dtype.kind == "M" else NPTimedelta
    return made(unit if count == 1 else f"{count}{unit}")
