"""The axes of a reduction: those that are kept and those that go, with the steps of everything that lies along them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from portagpu.expressions.axes import broadcast_strides, joined
from portagpu.runtime.arrays.array import DeviceNDArray

Extents = tuple[int, ...]


class Axes(NamedTuple):
    """Extents of the axes that are kept and of those that go, as few as there are.

    ``kept_steps``, ``reduced_steps``: of each operand along these, in elements, 0 where it is broadcast;
    ``target_steps``: of the target along the kept ones.
    """

    kept: Extents
    reduced: Extents
    kept_steps: tuple[Extents, ...]
    reduced_steps: tuple[Extents, ...]
    target_steps: Extents

    @property
    def lines(self) -> int:
        """Number of results."""
        return math.prod(self.kept)

    @property
    def length(self) -> int:
        """Elements of each."""
        return math.prod(self.reduced)


def axes_of(
    shape: Extents,
    reduced: frozenset[int],
    operands: Sequence[DeviceNDArray],
    target_order: Extents | None = None,
    *,
    in_order: bool = False,
) -> Axes:
    """The axes of a reduction of operands that broadcast to a shape; the target has no gaps.

    ``target_order``: steps of the target in elements, None for those of C order.

    With ``in_order``, reduced elements are walked in C order, else in that of the largest operand's memory.
    """
    steps = [
        tuple(step // array.itemsize for step in broadcast_strides(array.shape, array.strides, shape))
        for array in operands
    ]
    first = max(range(len(steps)), key=lambda n: operands[n].size)
    steps.insert(0, steps.pop(first))  # whose order counts
    keeping = [n for n in range(len(shape)) if n not in reduced]
    going = sorted(reduced)
    target, step = [], 1
    for n in reversed(keeping):
        target.append(step)
        step *= shape[n]
    written = tuple(reversed(target)) if target_order is None else target_order
    kept_shape = tuple(shape[n] for n in keeping)
    kept_steps = [tuple(s[n] for n in keeping) for s in steps]
    kept, found = joined(kept_shape, [*kept_steps, written])
    *kept_found, target_steps = found
    reduced_shape = tuple(shape[n] for n in going)
    reduced_steps = [tuple(s[n] for n in going) for s in steps]
    if in_order:
        order, step = [], 1
        for extent in reversed(reduced_shape):
            order.append(step)
            step *= extent
        gone, (_, *reduced_found) = joined(reduced_shape, [tuple(reversed(order)), *reduced_steps])
    else:
        gone, reduced_found = joined(reduced_shape, reduced_steps)
    for walked in (kept_found, reduced_found):
        walked.insert(first, walked.pop(0))
    return Axes(kept, gone, tuple(kept_found), tuple(reduced_found), target_steps)
