"""What a device reaches: arithmetic, memory, cache, launches. For models of running time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Measured rates: operations and bytes a second, seconds; 0.0 where something could not be measured."""

    float32: float
    float64: float
    dram: float  # bytes read and written
    cache: float
    launch: float  # seconds of an empty launch with waiting for it
