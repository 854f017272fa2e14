"""Reductions of arrays that are there, or put off: kernels are launched, and results are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portagpu.dispatch.ready import remember
from portagpu.expressions.reductions.axes import axes_of
from portagpu.expressions.reductions.elements import Source, parts_to_reduce
from portagpu.expressions.reductions.reducers import Reducer
from portagpu.expressions.reductions.stages import Again, Stage, stages_of
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import streams_beside
from portagpu.runtime.arrays.factory import made_of, view_with
from portagpu.runtime.arrays.facts import facts_for
from portagpu.runtime.arrays.layout import without_axes
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream

_ALIGNED = 256  # bytes: what is known of where an array begins
# Elements up to which a CPU takes longer to compile a kernel than to reduce them one by one, thousands of times, by the
# kernel for any array; and up to which it does so before it has a kernel of their own, where results are the same.
_FEW, _FEW_AT_FIRST = 256, 2**15
_TRIALS = 64  # reductions alike, until they have a kernel of their own


def key_of(source: Any, *what: Any) -> tuple[Any, ...] | None:
    """What tells a reduction of an array that is there from those of arrays that lie otherwise; None for others.

    ``what`` tells it from other reductions.
    """
    if type(source) is not DeviceNDArray or source.deferred is not None or source.stream or source.facts_token is None:
        return None
    return key_of, source.facts_token, *what


def reduced_again(source: DeviceNDArray, key: tuple[Any, ...]) -> DeviceNDArray | None:
    """What an array becomes by the one launch that was kept under a key; None where there is none."""
    context = source.context
    again: Again | None = context.expression_launches.get(key)
    if again is None:
        return None
    target = made_of(again.facts)
    with context.unsettled.lock:
        taken = source if again.view is None else view_with(source, again.view)
        is_done = again.ready.again(current_stream(context), (target, taken, *again.numbers), False)
    return target if is_done else None


def reduced(
    source: DeviceNDArray,
    reducer: Reducer,
    axes: frozenset[int],
    *,
    stream: Stream | None = None,
    key: tuple[Any, ...] | None = None,
) -> DeviceNDArray:
    """What an array's elements along some axes become; those axes are gone.

    An array that is put off is computed by the same kernel, without being stored; where it is reduced a second time,
    it is stored first. The array has elements along these axes. The order of sums depends on shape, strides and device
    alone. ``key``: under which it was looked for by `reduced_again`, which finds it from now on if it is one launch.
    Raises what kernels raise.
    """
    if key is None and stream is None:
        key = key_of(source, reducer, axes)
        if key is not None and (again := reduced_again(source, key)) is not None:
            return again
    context, shape = source.context, source.shape
    target = _target(source, reducer, axes)
    if target.size == 0:
        return target
    with context.unsettled:  # until then another thread may compute what is put off
        parts = parts_to_reduce(source) if stream is None else None
        whole = None if parts is None else (reduced, reducer, axes, *parts.key)
        if parts is not None and (found := context.expression_launches.get(whole)) is not None:
            deferred: Any = source.deferred
            deferred.node.was_reduced = True
            _run(found, parts.arrays, parts.numbers, target, current_stream(context))
            return target
        given = Source(source, stream)
        kept, arrays, is_kept = _stages_for(given, reducer, axes, shape, target)
        kept.trials -= 1
        is_kept = is_kept and kept.trials < 0
        if parts is not None and whole is not None and is_kept and given.is_of(parts):
            remember(context, whole, kept.stages)
        where = current_stream(context) if stream is None else stream
        others = streams_beside(where, arrays)
        for other in others:
            where.wait_stream(other)
        _run(kept.stages, arrays, given.numbers, target, where)
        for other in others:
            other.wait_stream(where)
    is_alone = kept.trials < 0 and len(kept.stages) == 1 and len(arrays) == 1 and arrays[0] is source
    if key is not None and is_alone and (last := kept.stages[0].again(source, target)) is not None:
        remember(context, key, last)
    return target


def _target(source: DeviceNDArray, reducer: Reducer, axes: frozenset[int]) -> DeviceNDArray:
    """New memory for results, in order K; of places in C order, as NumPy's."""
    shape, strides = source._shape, None
    if source.layout != "C" and not reducer.has_places:
        strides = without_axes(shape, source._strides, axes, (source.itemsize, reducer.output.itemsize))
    kept = tuple(n for a, n in enumerate(shape) if a not in axes)
    return made_of(facts_for(DeviceNDArray, source.context, kept, reducer.output, strides))


def _run(
    stages: Sequence[Stage],
    arrays: Sequence[DeviceNDArray],
    numbers: Sequence[Any],
    target: DeviceNDArray,
    stream: Stream,
) -> None:
    """Launch the kernels, each on what the one before has made."""
    for stage in stages:
        arrays = stage.run(arrays, numbers, target, target.context, stream)


def _stages_for(
    given: Source, reducer: Reducer, axes: frozenset[int], shape: tuple[int, ...], target: DeviceNDArray
) -> tuple[_Kept, list[DeviceNDArray], bool]:
    """The kernels of a reduction, the arrays that the first reads, and whether others that lie alike have the same."""
    arrays, context = given.arrays, target.context
    key: list[Any] = [reducer, axes, shape, target._strides, *given.key]
    known = True
    for array in arrays:
        key += array.layout_token, array._shape, array._strides, array.offset % _ALIGNED
        known = known and array.layout_token is not None
    kept: _Kept | None = context.expression_launches.get(tuple(key)) if known else None
    if kept is not None and kept.trials != 0:
        return kept, arrays, True
    operands = [_whole(array) for array in arrays]
    order = None if target.layout == "C" else tuple(step // target.itemsize for step in target.strides)
    first = axes_of(shape, axes, operands, order, in_order=reducer.has_places or reducer.identity is None)
    known = known and all(one is two for one, two in zip(arrays, operands, strict=True))
    count = first.lines * first.length
    is_trial = known and kept is None and count > _FEW and reducer.is_exact and not given.is_costly
    stages = stages_of(given.element(), reducer, first, operands, context, _FEW_AT_FIRST if is_trial else _FEW)
    kept = _Kept(stages, _TRIALS if is_trial and stages[0].is_few else -1)
    if known:
        remember(context, tuple(key), kept)
    return kept, operands, known


class _Kept:
    """The kernels of reductions alike, and how many trials they are still good for: negative where for any number."""

    __slots__ = ("stages", "trials")

    def __init__(self, stages: list[Stage], trials: int) -> None:
        self.stages, self.trials = stages, trials


def _whole(array: DeviceNDArray) -> DeviceNDArray:
    """The array, or a copy where its elements lie between the places of their size."""
    size = array.itemsize
    if array.offset % size or any(step % size for n, step in zip(array.shape, array.strides, strict=True) if n > 1):
        return array.copy("K")
    return array
