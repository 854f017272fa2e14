"""Powers of two that bring numbers to where their squares and products neither overflow nor vanish; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda


class Range(NamedTuple):
    """Numbers from the inverse of ``usual`` to ``usual`` are left as they are; others, from the smallest to the largest
    one, are among them once they are multiplied by ``factor``, or by its inverse."""

    usual: float
    factor: float


_RANGES = {"float32": Range(2.0**50, 2.0**100), "float64": Range(2.0**400, 2.0**800)}


def range_of(real: Any) -> Range:
    """The range of a type of real numbers, with room for squares, and for sums and products of two."""
    return _RANGES[np.dtype(real).name]


@cuda.jit(device=True)
def scale_of(largest, usual: cuda.constexpr, real: cuda.constexpr):
    """What numbers of at most this magnitude are to be multiplied by, and its inverse. usual: a `Range`."""
    scale = real(1)
    back = real(1)
    if largest < real(1 / usual.usual):
        scale = real(usual.factor)
        back = real(1 / usual.factor)
    elif largest > real(usual.usual) and largest < real(np.inf):  # finite numbers beside infinity keep their squares
        scale = real(1 / usual.factor)
        back = real(usual.factor)
    return scale, back
