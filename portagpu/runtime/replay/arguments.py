"""Arguments of recorded launches: what must be equal for two recordings to be of the same launches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from portagpu.runtime.execution.recorder import Copy, Launch


class Number(NamedTuple):
    """A floating-point argument: of which launch, counted from 0 on, and which of its arguments."""

    launch: int
    argument: int
    value: Any


@dataclass(frozen=True, slots=True)
class Arguments:
    """Of all launches: their floating-point ``numbers``, and ``others``: kernels, shapes, whole numbers, copies."""

    numbers: tuple[Number, ...] = ()
    others: tuple[Any, ...] = ()

    @classmethod
    def of(cls, steps: Iterable[Launch | Copy]) -> Arguments:
        """Those of what was recorded. Memory does not count: calls may use other memory in the same way."""
        numbers: list[Number] = []
        others: list[Any] = []
        launch = 0
        for step in steps:
            if isinstance(step, Copy):
                others.append(step.facts)
                continue
            others += (step.compiled.key, step.shape.grid, step.shape.block, step.shape.shared)
            for argument, value in enumerate(step.values):
                if isinstance(value, np.floating):
                    numbers.append(Number(launch, argument, value))
                elif isinstance(value, np.generic | int | float | complex | bytes):
                    others.append(value)
            launch += 1
        return cls(tuple(numbers), tuple(others))
