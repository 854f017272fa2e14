"""Reductions of arrays that are there, or put off: kernels are launched, and results are there."""

from __future__ import annotations

from typing import Any

from portagpu.dispatch.ready import remember
from portagpu.expressions.reductions.axes import axes_of
from portagpu.expressions.reductions.elements import Source
from portagpu.expressions.reductions.reducers import Reducer
from portagpu.expressions.reductions.stages import Again, Stage, stages_of
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import streams_beside
from portagpu.runtime.arrays.factory import made_of, new_array, view_with
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream

_ALIGNED = 256  # bytes: what is known of where an array begins
# Elements up to which a CPU takes longer to compile a kernel than to reduce them one by one, thousands of times, by the
# kernel for any array; and up to which it does so before it has a kernel of their own, where results are the same.
_FEW, _FEW_AT_FIRST = 256, 2**15
_TRIALS = 64  # reductions alike, until they have a kernel of their own


def reduced(
    source: DeviceNDArray, reducer: Reducer, axes: frozenset[int], *, stream: Stream | None = None
) -> DeviceNDArray:
    """What an array's elements along some axes become; those axes are gone.

    An array that is put off is computed by the same kernel, without being stored; where it is reduced a second time,
    it is stored first. The array has elements along these axes. The order of sums depends on shape, strides and device
    alone. Raises what kernels raise.
    """
    context = source.context
    alone = _key_of(source, reducer, axes) if stream is None else None
    again: Again | None = None if alone is None else context.expression_launches.get(alone)
    if again is not None:
        target = made_of(again.facts)
        with context.unsettled.lock:
            taken = source if again.view is None else view_with(source, again.view)
            if again.ready.again(current_stream(context), (target, taken, *again.numbers), False):
                return target
    shape = source.shape
    target = new_array(context, tuple(n for a, n in enumerate(shape) if a not in axes), reducer.output)
    if target.size == 0:
        return target
    with context.unsettled:
        given = Source(source, stream)
        arrays = given.arrays
        key: list[Any] = [reducer, axes, shape, *given.key]
        known = True
        for array in arrays:
            key += array.layout_token, array._shape, array._strides, array.offset % _ALIGNED
            known = known and array.layout_token is not None
        kept: _Kept | None = context.expression_launches.get(tuple(key)) if known else None
        if kept is None or kept.trials == 0:
            operands = [_whole(array) for array in arrays]
            order = reducer.has_places or reducer.identity is None
            first = axes_of(shape, axes, operands, in_order=order)
            known = known and all(one is two for one, two in zip(arrays, operands, strict=True))
            is_trial = known and kept is None and source.size > _FEW and reducer.is_exact and not given.is_costly
            most = _FEW_AT_FIRST if is_trial else _FEW
            stages = stages_of(given.element(), reducer, first, operands, context, most)
            kept = _Kept(stages, _TRIALS if stages[0].is_few and source.size > _FEW else -1)
            if known:
                remember(context, tuple(key), kept)
            arrays = operands
        kept.trials -= 1
        is_alone = alone is not None and kept.is_one and len(arrays) == 1 and arrays[0] is source
        where = current_stream(context) if stream is None else stream
        others = streams_beside(where, arrays)
        for other in others:
            where.wait_stream(other)
        for stage in kept.stages:
            arrays = stage.run(arrays, given.numbers, target, context, where)
        for other in others:
            other.wait_stream(where)
    if alone is not None and is_alone and (found := kept.stages[0].again(source, target)) is not None:
        remember(context, alone, found)
    return target


class _Kept:
    """The kernels of reductions alike, and how many trials they are still good for: negative where for any number."""

    __slots__ = ("stages", "trials")

    def __init__(self, stages: list[Stage], trials: int) -> None:
        self.stages, self.trials = stages, trials

    @property
    def is_one(self) -> bool:
        """Whether one kernel does it, from now on."""
        return self.trials < 0 and len(self.stages) == 1


def _key_of(source: DeviceNDArray, reducer: Reducer, axes: frozenset[int]) -> tuple[Any, ...] | None:
    """What tells the launch that reduces an array; None for one that is put off, or another library's."""
    token = source.layout_token
    if token is None or source.stream or source.deferred is not None:
        return None
    return reduced, reducer, axes, token, source._shape, source._strides, source.offset


def _whole(array: DeviceNDArray) -> DeviceNDArray:
    """The array, or a copy where its elements lie between the places of their size."""
    size = array.itemsize
    if array.offset % size or any(step % size for n, step in zip(array.shape, array.strides, strict=True) if n > 1):
        return array.copy()
    return array
