"""What conversions of arguments to declared types lose, and how signatures rank by that."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from portagpu.dtypes import DType, Kind


class Cost(IntEnum):
    """What the conversion of an argument to a declared type loses; the order is that of preference."""

    EXACT, PROMOTION, SAFE, UNSAFE, IMPOSSIBLE = range(5)


def number_cost(given: DType, declared: DType) -> Cost:
    """What it costs to pass a number of one dtype as another."""
    if given is declared:
        return Cost.EXACT
    if given.is_complex and not declared.is_complex:
        return Cost.IMPOSSIBLE
    if not np.can_cast(given.numpy, declared.numpy, "safe"):
        return Cost.UNSAFE
    same = given.kind is declared.kind and given.kind is not Kind.BOOL
    return Cost.PROMOTION if same else Cost.SAFE


def rank(costs: Sequence[Cost]) -> tuple[int, int, int] | None:
    """What a signature's costs come to, the smaller the better; None for one that cannot be called."""
    if Cost.IMPOSSIBLE in costs:
        return None
    return costs.count(Cost.UNSAFE), costs.count(Cost.SAFE), costs.count(Cost.PROMOTION)
