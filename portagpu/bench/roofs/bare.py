"""What probes of bare instructions have in common: random elements, and how far their sums may be off."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.bench.roofs.probe import Candidate

Array = np.ndarray[Any, Any]

KINDS = {
    "float16": "float16",
    "bfloat16": "bfloat16",
    "tf32": "tfloat32",
    "int8": "int8",
    "float64": "float64",
    "float32": "float32",
}
"""Arithmetics of matrix units, by the names that instructions have for their elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """A probe: multiply-adds of a launch in any of its forms, and these, made when they are wanted.

    What a form finds is all sums, one team's after a turn, and the turns: the arguments of `error`.
    """

    multiplied: int
    candidates: Callable[[], Iterable[Candidate]]


def random_elements(arithmetic: str, shape: tuple[int, ...], generator: np.random.Generator) -> tuple[Array, Array]:
    """Random elements: their values, and their bits as whole numbers (float64 ones as they are)."""
    if arithmetic == "int8":
        whole = generator.integers(-128, 128, shape).astype(np.int8)
        return whole.astype(np.int64), whole.view(np.uint8)
    numbers = generator.uniform(-1, 1, shape)
    if arithmetic == "float64":
        return numbers, numbers
    if arithmetic == "float16":
        half = numbers.astype(np.float16)
        return half.astype(np.float64), half.view(np.uint16)
    kept = {"float32": 0xFFFFFFFF, "bfloat16": 0xFFFF0000, "tf32": 0xFFFFE000}[arithmetic]
    bits = numbers.astype(np.float32).view(np.uint32) & np.uint32(kept)
    values = bits.view(np.float32).astype(np.float64)
    return values, (bits >> 16).astype(np.uint16) if arithmetic == "bfloat16" else bits


def error(found: Array, once: Array, turns: int) -> float:
    """How far sums are off the product that every turn adds; relative to half of what one turn adds.

    Matrix units cut off what a sum cannot hold, always towards zero: after all turns that was 0.3 of a turn at most (an
    H100, float16). A turn that is missing is a whole one.
    """
    table = found.reshape(-1, once.size)
    wanted = once.ravel() * turns
    if found.dtype.kind == "i":
        return 0.0 if np.array_equal(table, np.broadcast_to(wanted, table.shape)) else np.inf
    return float(np.max(np.abs(table - wanted))) / (0.5 * float(np.max(np.abs(once))))


__all__ = ["KINDS", "Bare", "error", "random_elements"]
