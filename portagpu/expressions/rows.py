"""Expressions of operands that do not lie alike: which elements a thread has, and where operands have them.

Threads of a block are side by side along the last axis, so that neighbours there are neighbours in memory, and divide
nothing for it; all other axes are rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from portagpu.device.capabilities import Capabilities
from portagpu.expressions.axes import broadcast_strides, joined_but
from portagpu.runtime.arrays.array import DeviceNDArray

_LARGE = 2**30  # elements, from which on subscripts have 64 bits
_WORK_ITEMS = 8  # for each core
_LEAST_PART = 4096  # elements of a work-item of a CPU
_LEAST = 64  # threads side by side in rows that are longer than a block

Shifts = tuple[int, ...]


class Walk(NamedTuple):
    """What a kernel knows of where operands' elements are.

    ``outer``: whether they step along each axis but the last; ``inner``: their step along the last axis, 0, 1, or None
    for one that the kernel is told; ``begins``: whether the first element is not the first in memory; ``rolled``:
    whether each axis begins somewhere in its middle, and goes on at its front.
    """

    outer: tuple[bool, ...]
    inner: int | None
    begins: bool
    rolled: tuple[bool, ...]


class RowPlan(NamedTuple):
    """What is known when a kernel is compiled: ``of`` has for each operand its walk, None for a single element.

    ``side`` and ``down``: threads of a block along and across rows; ``wide``: 64-bit subscripts; ``loops``: a
    thread has parts of several rows.
    """

    ndim: int
    walks: tuple[Walk, ...]
    of: tuple[int | None, ...]
    side: int
    down: int
    wide: bool
    loops: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A plan with what is known when it is launched.

    ``numbers`` go to the kernel; ``spans`` are for each operand the elements from the first to the last in memory, and
    how many of them are before element 0.
    """

    plan: RowPlan
    blocks: int
    numbers: tuple[Any, ...]
    spans: tuple[tuple[int, int], ...]

    @property
    def is_flat(self) -> bool:
        """Whether the elements of all operands lie side by side."""
        return self.plan.ndim == 1 and self.plan.walks == (Walk((), 1, False, (False,)),)


def rows_of(
    targets: Sequence[DeviceNDArray],
    arrays: Sequence[DeviceNDArray],
    shifts: Sequence[Shifts | None],
    caps: Capabilities,
) -> Rows:
    """How arrays are written from others that broadcast to them.

    ``shifts``: for each axis of those that are rolled where the element is that comes first.
    """
    extents, steps = _steps(targets, arrays, shifts)
    sets = {own: n for n, own in enumerate(dict.fromkeys(own for own in steps if own is not None))}
    spans = [(1, 0) if own is None else _span(extents, own[0]) for own in steps]
    loops = caps.is_serial
    wide = loops or max(targets[0].size, *(span for span, _ in spans)) >= _LARGE
    width, rows = extents[-1], math.prod(extents[:-1])
    side, down = (1, 1) if loops else _block(width, threads_on(caps))
    chunk, turns = _parts(width, rows, caps.compute_units) if loops else (side, down)
    across = -(-width // chunk)
    numbers = [chunk, turns] if loops else []
    numbers += [across, rows, width, *(extents[:-1] if len(extents) > 2 else ())]
    walks = []
    for own, moved in sets:
        _, begin = _span(extents, own)
        inner = own[-1] if own[-1] in (0, 1) else None
        walks.append(Walk(tuple(s != 0 for s in own[:-1]), inner, begin != 0, tuple(s != 0 for s in moved)))
        numbers += [begin] * (begin != 0) + [step for step in own[:-1] if step]
        numbers += [own[-1]] * (inner is None) + [by for by in moved if by]
    index, mask = (np.uint64, 2**64 - 1) if wide else (np.uint32, 2**32 - 1)
    of = tuple(None if own is None else sets[own] for own in steps)
    return Rows(
        plan=RowPlan(len(extents), tuple(walks), of, side, down, wide, loops),
        blocks=across * -(-rows // turns),
        numbers=tuple(index(n & mask) for n in numbers),
        spans=tuple(spans),
    )


def _steps(
    targets: Sequence[DeviceNDArray], arrays: Sequence[DeviceNDArray], shifts: Sequence[Shifts | None]
) -> tuple[tuple[int, ...], list[tuple[tuple[int, ...], Shifts] | None]]:
    """Extents of as few axes as possible, and steps and shifts along these of all operands but single elements."""
    shape, size = targets[0].shape, targets[0].size
    operands = [*targets, *arrays]
    moved = [None] * len(targets) + [own and (0,) * (len(shape) - len(own)) + own for own in shifts]
    walking = [n for n, array in enumerate(operands) if n < len(targets) or array.size != 1 or size == 1]
    steps = []
    for n in walking:
        array = operands[n]
        own = broadcast_strides(array.shape, array.strides, shape)
        steps.append(tuple(step // array.itemsize for step in own))
    apart = frozenset(axis for own in moved if own for axis, by in enumerate(own) if by)
    extents, strides, kept = joined_but(apart, shape, steps)
    found: list[tuple[tuple[int, ...], Shifts] | None] = [None] * len(operands)
    for n, own in zip(walking, strides, strict=True):
        whole = moved[n]
        found[n] = own or (0,), tuple(whole[axis] for axis in kept) if whole and kept else (0,) * max(1, len(kept))
    return extents or (1,), found


def _span(extents: tuple[int, ...], steps: tuple[int, ...]) -> tuple[int, int]:
    """Elements from the first to the last in memory, and how many of them are before element 0."""
    reach = [(extent - 1) * step for extent, step in zip(extents, steps, strict=True)]
    return 1 + sum(map(abs, reach)), -sum(step for step in reach if step < 0)


def _parts(width: int, rows: int, cores: int) -> tuple[int, int]:
    """Elements of a row, and rows, of a work-item: long enough for vectors, and enough items for all cores."""
    items = _WORK_ITEMS * cores
    parts = max(1, min(width // _LEAST_PART, -(-items // rows)))
    chunk = -(-width // parts)
    return chunk, max(1, min(_LEAST_PART // chunk, rows // items))


def _block(width: int, threads: int) -> tuple[int, int]:
    """Threads of a block along rows and across them: as few as possible without an element."""
    if width <= threads:
        side = 1 << (width - 1).bit_length()
    else:
        sides, side = [], threads
        while side >= min(_LEAST, threads):
            sides.append(side)
            side //= 2
        side = min(sides, key=lambda n: -(-width // n) * n)
    side = min(side, threads)
    return side, max(1, threads // side)


_THREADS = 256


def threads_on(caps: Capabilities) -> int:
    """Threads of a block."""
    return min(_THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])


def flat_memory(array: DeviceNDArray, span: int, before: int, *, bools_as_bytes: bool = False) -> DeviceNDArray:
    """The memory that an array's elements lie in, with one axis and without gaps; that it is read-only is left out."""
    size = array.itemsize
    return DeviceNDArray(
        (span,),
        np.dtype(np.uint8) if bools_as_bytes and array.dtype.kind == "b" else array.dtype,
        (size,),
        array.buffer,
        array.context,
        offset=array.offset - before * size,
        base=array if array.base is None else array.base,
        stream=array.stream,
        allocation_key=array.allocation_key,
        shifted=True,  # one kernel for all places in memory
    )
