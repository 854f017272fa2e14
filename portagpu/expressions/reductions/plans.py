"""How a reduction is divided among threads: along lines of neighbours, or across them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from portagpu.device.capabilities import Capabilities
from portagpu.expressions.reductions.axes import Axes, Extents
from portagpu.expressions.reductions.reducers import Reducer
from portagpu.runtime.arrays.array import DeviceNDArray

_BLOCK = 256  # threads on GPUs
_WIDE = 32  # of them side by side, across lines
_BYTES = 16  # of a thread's load on GPUs
_VECTORS = 4  # that a thread has under way
_BLOCKS = 8  # for each compute unit
_SHARES = 8  # work-items for each core
_MOST_TERMS = 2**15  # that one work-item adds up, so that errors stay small
_ROUNDS, _CPU_ROUNDS = 8, 64  # steps of a thread in a part at least
STRIP = 1024  # results that a work-item has at once, in a CPU's cache
_SUMMED_ROWS = 256  # that it adds up, so that errors stay small
_LARGE = 2**30  # elements, from which on subscripts have 64 bits
_MOST_PARTS = 2**15


class Steps(NamedTuple):
    """What a kernel knows of an operand's steps: 0, 1, or None for one that it is told; ``shifted``: also the first."""

    kept: tuple[int | None, ...]
    reduced: tuple[int | None, ...]
    shifted: bool


class Plan(NamedTuple):
    """What is known when a kernel is compiled.

    ``across``: neighbouring threads have neighbouring results, else elements of one result. ``group``: threads that
    have a result together; ``block``: all threads of a block. ``lanes``: elements of a vector, ``vectors`` that a
    thread has under way. ``aside``: a work-item has a strip of neighbouring results. ``wide``: 64-bit subscripts.
    ``parts``: whether results are parts of others. ``turns``: whether a thread takes several lines. ``warps``: lanes of
    warps exchange numbers by instructions. ``few``: there are so few elements that compilers need not optimise.
    """

    across: bool
    kept: int
    reduced: int
    steps: tuple[Steps, ...]
    target: tuple[int | None, ...]
    group: int
    block: int
    lanes: int
    vectors: int
    aside: bool
    aligned: bool
    wide: bool
    parts: bool
    turns: bool
    warps: bool
    few: bool = False


class Launch(NamedTuple):
    """A plan with what is known when it is launched.

    ``items``: results, or vectors of them; ``parts`` of each, of ``chunk`` elements; ``turns``: items of a thread;
    ``width``: results of a strip.
    """

    plan: Plan
    items: int
    blocks: int
    parts: int
    chunk: int
    turns: int
    width: int


def is_small(axes: Axes, most: int, caps: Capabilities) -> bool:
    """Whether one kernel of a CPU reduces all arrays like these, whatever their shape and steps."""
    if caps.shares_on_chip or axes.lines * axes.length > most:
        return False
    return max(_span(axes, n) for n in range(len(axes.kept_steps))) < _LARGE


def as_any(axes: Axes) -> Axes:
    """The same axes, as many as most arrays have at most: two that are kept, and one that goes."""
    kept, gone = max(0, 2 - len(axes.kept)), max(0, 1 - len(axes.reduced))
    return Axes(
        (1,) * kept + axes.kept,
        (1,) * gone + axes.reduced,
        tuple((0,) * kept + steps for steps in axes.kept_steps),
        tuple((0,) * gone + steps for steps in axes.reduced_steps),
        (0,) * kept + axes.target_steps,
    )


def planned_for_any(axes: Axes) -> Launch:
    """The plan for few elements, one after the other: the kernel is told all that it can be told."""
    told = Steps((None,) * len(axes.kept), (None,) * len(axes.reduced), shifted=True)
    plan = Plan(
        across=False,
        kept=len(axes.kept),
        reduced=len(axes.reduced),
        steps=(told,) * len(axes.kept_steps),
        target=(None,) * len(axes.kept),
        group=1,
        block=1,
        lanes=1,
        vectors=1,
        aside=False,
        aligned=False,
        wide=False,
        parts=False,
        turns=True,
        warps=False,
        few=True,
    )
    return Launch(plan, axes.lines, 1, 1, axes.length, axes.lines, 1)


def planned(axes: Axes, reducer: Reducer, operands: Sequence[DeviceNDArray], caps: Capabilities) -> Launch:
    """The plan for a reduction on a device."""
    threaded = caps.shares_on_chip
    lines, length = axes.lines, axes.length
    in_order = reducer.identity is None
    across = _is_across(axes, operands) or (in_order and bool(axes.kept))
    inner = (axes.kept if across else axes.reduced) or (1,)
    # a driver with float16 in memory only ends the process where vectors of these meet wider ones in arrays of a thread
    # (docs/driver-quirks.md)
    alone = in_order or (not caps.fp16 and any(array.dtype == np.float16 for array in operands))
    lanes = 1 if alone else _lanes(axes, reducer, operands, inner[-1], across=across, threaded=threaded)
    vectors = 1 if in_order else _VECTORS
    aside = across and not threaded and not in_order
    if aside:
        vectors = 1
    while vectors > 1 and vectors * lanes > length:
        vectors //= 2
    block = min(_BLOCK, caps.max_work_group_size, caps.max_work_item_sizes[0]) if threaded else 1
    width = columns = lanes
    if aside:
        strips = -(-inner[-1] // STRIP)
        width = columns = -(-inner[-1] // (strips * lanes)) * lanes
    items = lines // inner[-1] * -(-inner[-1] // columns) if across and axes.kept else lines
    if in_order:
        group = 1
    elif across:
        many = items >= block * caps.compute_units * _BLOCKS
        group = block // (block if many else min(_WIDE, _power(items), block))
        while group > 1 and group > length:
            group //= 2
    else:
        group = 1
        while group < block and group * lanes * vectors < length:
            group *= 2
    places = max(1, block // group)  # of results in a block
    blocks, parts = -(-items // places), 1
    if not in_order:
        step = group * vectors * (1 if across else lanes)
        parts = _parts(caps, reducer, blocks, length, step, across=across)
    step = group * vectors * (1 if across else lanes)
    chunk = -(-length // parts)
    if parts > 1:
        chunk = -(-chunk // step) * step
        parts = -(-length // chunk)
    turns = 1
    if block == 1:
        turns = max(1, blocks // max(1, caps.compute_units * _SHARES))
        blocks = -(-blocks // turns)
    steps = tuple(
        Steps(_known(kept), _known(reduced), any(s < 0 for s in (*kept, *reduced)))
        for kept, reduced in zip(axes.kept_steps, axes.reduced_steps, strict=True)
    )
    plan = Plan(
        across=across,
        kept=len(axes.kept),
        reduced=len(axes.reduced),
        steps=steps,
        target=_known(axes.target_steps),
        group=group,
        block=block,
        lanes=lanes,
        vectors=vectors,
        aside=aside,
        aligned=threaded,
        wide=max(lines * parts, *(_span(axes, n) for n in range(len(operands))), lines * length) >= _LARGE,
        parts=parts > 1,
        turns=turns > 1,
        warps=threaded and caps.warp_instructions,
    )
    return Launch(plan, items, blocks, parts, chunk, turns, width)


def _power(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << (max(1, count) - 1).bit_length()


def _known(steps: Extents) -> tuple[int | None, ...]:
    return tuple(step if step in (0, 1) else None for step in steps)


def _span(axes: Axes, n: int) -> int:
    extents = (*axes.kept, *axes.reduced)
    steps = (*axes.kept_steps[n], *axes.reduced_steps[n])
    return 1 + sum((extent - 1) * abs(step) for extent, step in zip(extents, steps, strict=True))


def _is_across(axes: Axes, operands: Sequence[DeviceNDArray]) -> bool:
    """Whether the results' neighbours are closer in the largest operand's memory than those that are reduced."""
    if not axes.kept:
        return False
    if not axes.reduced:
        return True
    n = max(range(len(operands)), key=lambda n: operands[n].size)
    kept, reduced = abs(axes.kept_steps[n][-1]), abs(axes.reduced_steps[n][-1])
    return kept < reduced and not (kept == 0 or axes.kept[-1] == 1)


def _lanes(
    axes: Axes,
    reducer: Reducer,
    operands: Sequence[DeviceNDArray],
    inner: int,
    *,
    across: bool,
    threaded: bool,
) -> int:
    """Elements that a thread loads at once: 1 where they lie apart, or are no numbers of vectors."""
    if reducer.held.kind == "c" or any(array.dtype.kind == "c" for array in operands):
        return 1
    steps = axes.kept_steps if across else axes.reduced_steps
    if any(not own or own[-1] not in (0, 1) for own in steps):
        return 1
    walkers = [n for n, own in enumerate(steps) if own[-1] == 1]
    size = max((operands[n].itemsize for n in walkers), default=1)
    lanes = _BYTES // size if threaded else 16 if reducer.held.itemsize <= 4 and size <= 4 else 8
    lanes = max(1, min(lanes, 16))
    while lanes > inner:
        lanes //= 2
    if lanes == 1 or not threaded:
        # vectors of a row must not cross into the next
        several = len(axes.reduced) > 1 and not across and inner % lanes
        return 1 if several else lanes
    for n in walkers:
        array, width = operands[n], lanes * operands[n].itemsize
        own = (*axes.kept_steps[n], *axes.reduced_steps[n])
        if array.offset % width or any(step * array.itemsize % width for step in own if step != 1):
            return 1
    if (across or len(axes.reduced) > 1) and inner % lanes:
        return 1
    return lanes


def _parts(caps: Capabilities, reducer: Reducer, blocks: int, length: int, step: int, *, across: bool) -> int:
    """In how many parts each result is computed: enough to keep the device busy, and errors small."""
    threaded = caps.shares_on_chip
    wanted = max(1, caps.compute_units) * (_BLOCKS if threaded else _SHARES)
    least = step * (_ROUNDS if threaded or across else _CPU_ROUNDS)  # elements of a part
    parts = min(-(-wanted // max(1, blocks)), length // max(1, least))
    if reducer.adds_floats and not threaded:
        parts = max(parts, length // (_SUMMED_ROWS if across else _MOST_TERMS))
    return max(1, min(parts, _MOST_PARTS))


def arguments(launch: Launch, axes: Axes) -> tuple[list[Any], list[int]]:
    """Numbers that the kernel takes beside arrays: extents and steps that it does not know, and first elements."""
    numbers: list[int] = [launch.items, axes.lines, axes.length, launch.chunk, launch.turns, launch.width]
    numbers += axes.kept[1:] if len(axes.kept) > 1 else []
    numbers += axes.reduced[1:] if len(axes.reduced) > 1 else []
    firsts = []
    for kept, reduced, known in zip(axes.kept_steps, axes.reduced_steps, launch.plan.steps, strict=True):
        steps, extents = (*kept, *reduced), (*axes.kept, *axes.reduced)
        first = -sum((extent - 1) * step for extent, step in zip(extents, steps, strict=True) if step < 0)
        firsts.append(first)
        if known.shifted:
            numbers.append(first)
        known_steps = (*known.kept, *known.reduced)
        numbers += [step for step, static in zip(steps, known_steps, strict=True) if static is None]
    if not launch.plan.parts:
        target = zip(axes.target_steps, launch.plan.target, strict=True)
        numbers += [step for step, static in target if static is None]
    return numbers, firsts
