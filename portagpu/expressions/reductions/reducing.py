"""Reductions of arrays that are there, or put off: kernels are launched, and results are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from portagpu.dispatch.ready import ReadyLaunch, remember
from portagpu.expressions.reductions.axes import Axes, axes_of
from portagpu.expressions.reductions.elements import Element, Source, stored
from portagpu.expressions.reductions.plans import arguments, as_any, is_small, planned, planned_for_any
from portagpu.expressions.reductions.reducers import Reducer
from portagpu.expressions.reductions.text import kernel_for
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import streams_beside
from portagpu.runtime.arrays.factory import made_of, new_array, view_with
from portagpu.runtime.arrays.facts import Facts, facts_of
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream

_LONG = 16  # elements of rows that are reduced before what they belong to
_Shape = tuple[tuple[int, ...], Any]
_ALIGNED = 256  # bytes: what is known of where an array begins


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
    again: _Again | None = None if alone is None else context.expression_launches.get(alone)
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
        stages: list[_Stage] | None = context.expression_launches.get(tuple(key)) if known else None
        if stages is None:
            operands = [_whole(array) for array in arrays]
            order = reducer.has_places or reducer.identity is None
            first = axes_of(shape, axes, operands, in_order=order)
            stages = _stages(given.element(), reducer, first, operands, context)
            if known and all(one is two for one, two in zip(arrays, operands, strict=True)):
                remember(context, tuple(key), stages)
            arrays = operands
        is_alone = alone is not None and len(stages) == 1 and len(arrays) == 1 and arrays[0] is source
        where = current_stream(context) if stream is None else stream
        others = streams_beside(where, arrays)
        for other in others:
            where.wait_stream(other)
        for stage in stages:
            arrays = stage.run(arrays, given.numbers, target, context, where)
        for other in others:
            other.wait_stream(where)
    if alone is not None and is_alone and (found := stages[0].again(source, target)) is not None:
        remember(context, alone, found)
    return target


class _Again(NamedTuple):
    """A reduction that is one launch.

    ``facts``: of its result, ``view``: of what stands for the array, None for the array itself; ``numbers``: that the
    kernel takes behind these.
    """

    ready: ReadyLaunch
    facts: Facts
    view: Facts | None
    numbers: tuple[Any, ...]


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


class _Stage:
    """A kernel of a reduction: of elements, or of parts of results."""

    __slots__ = ("_element", "_into", "_numbers", "_plan", "_ready", "_reducer", "_shape", "_spans", "_states")

    def __init__(
        self,
        element: Element,
        reducer: Reducer,
        axes: Axes,
        operands: Sequence[DeviceNDArray],
        context: Context,
        into: _Shape | None = None,
    ) -> None:
        """``into``: shape and dtype of results that others are made of."""
        self._into = into
        is_any = is_small(axes, context.capabilities)
        axes = as_any(axes) if is_any else axes
        plan = planned_for_any(axes) if is_any else planned(axes, reducer, operands, context.capabilities)
        self._element, self._reducer, self._plan = element, reducer, plan
        self._ready: ReadyLaunch | None = None
        numbers, firsts = arguments(plan, axes)
        wide = plan.plan.wide
        index = np.uint64 if wide else np.uint32
        self._numbers = [index(n & (2 ** (64 if wide else 32) - 1)) for n in numbers]
        if reducer.mean and not plan.plan.parts:
            self._numbers.insert(0, reducer.held.type(reducer.divisor))
        self._spans: list[tuple[int, int] | None] = [
            None if not is_any and _has_no_gaps(array) else _span(axes, n, first)
            for n, (array, first) in enumerate(zip(operands, firsts, strict=True))
        ]
        self._shape = (plan.parts, *axes.kept)
        self._states: tuple[Any, ...] = ()
        if plan.plan.parts:
            self._states = (reducer.held, np.dtype(index)) if reducer.has_places else (reducer.held,)

    def again(self, source: DeviceNDArray, target: DeviceNDArray) -> _Again | None:
        """What the launch of `run` is, where it writes results of one array's elements; else None."""
        if self._states or self._into is not None or self._element.numbers or self._ready is None:
            return None
        (span,) = self._spans
        view = None if span is None else facts_of(_memory(source, *span))
        return _Again(self._ready, facts_of(target), view, tuple(self._numbers))

    @property
    def parts(self) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        """Shape and dtypes of the parts of results that it writes; no dtypes where it writes results."""
        return self._shape, self._states

    def run(
        self,
        operands: Sequence[DeviceNDArray],
        numbers: Sequence[Any],
        target: DeviceNDArray,
        context: Context,
        stream: Stream,
    ) -> list[DeviceNDArray]:
        """Launch the kernel, and return what it writes."""
        made = [new_array(context, self._shape, dtype) for dtype in self._states]
        if not made:
            made = [target if self._into is None else new_array(context, *self._into)]
        memories = [
            array if span is None else _memory(array, *span) for array, span in zip(operands, self._spans, strict=True)
        ]
        own = numbers if self._element.numbers else ()
        args = (*made, *memories, *own, *self._numbers)
        if self._ready is None or not self._ready.again(stream, args):
            plan = self._plan
            places = len(operands) > len(self._element.arrays)
            kernel = kernel_for(self._element, self._reducer, plan.plan, has_places=places)
            grid, block = (plan.blocks, plan.parts, 1), (plan.plan.block, 1, 1)
            self._ready = ReadyLaunch(kernel, grid, block, args, context)
            self._ready.again(stream, args)
        return made


def _stages(
    element: Element, reducer: Reducer, axes: Axes, operands: Sequence[DeviceNDArray], context: Context
) -> list[_Stage]:
    """The kernels of a reduction.

    On CPUs what several axes are reduced along is reduced along the last of them first, whose elements are neighbours.
    """
    several = len(axes.reduced) > 1 and axes.reduced[-1] >= _LONG and not context.capabilities.local_memory_dedicated
    several = several and not is_small(axes, context.capabilities)
    if not several or reducer.has_places or reducer.identity is None:
        return _parts(element, reducer, axes, operands, context)
    kept, rest = len(axes.kept), len(axes.reduced) - 1
    extents = (*axes.kept, *axes.reduced[:-1])
    steps = _steps_of(extents)
    first = Axes(
        extents,
        axes.reduced[-1:],
        tuple((*own, *gone[:-1]) for own, gone in zip(axes.kept_steps, axes.reduced_steps, strict=True)),
        tuple(gone[-1:] for gone in axes.reduced_steps),
        steps,
    )
    second = Axes(axes.kept, axes.reduced[:rest], (steps[:kept],), (steps[kept:],), axes.target_steps)
    held = reducer.held
    lines = _parts(
        element, reducer._replace(output=held, mean=False, root=False), first, operands, context, (extents, held)
    )
    return [*lines, *_parts(stored(held), reducer.again, second, [new_array(context, extents, held)], context)]


def _steps_of(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Steps of an array without gaps, in elements."""
    steps, step = [], 1
    for extent in reversed(extents):
        steps.append(step)
        step *= extent
    return tuple(reversed(steps))


def _parts(
    element: Element,
    reducer: Reducer,
    axes: Axes,
    operands: Sequence[DeviceNDArray],
    context: Context,
    into: _Shape | None = None,
) -> list[_Stage]:
    """The kernels of a reduction whose results may have several parts."""
    stages = [_Stage(element, reducer, axes, operands, context, into)]
    while stages[-1].parts[1]:
        shape, dtypes = stages[-1].parts
        parts = [new_array(context, shape, dtype) for dtype in dtypes]
        kept, step = _steps_of(axes.kept), axes.lines
        axes = Axes(axes.kept, shape[:1], (kept,) * len(parts), ((step,),) * len(parts), axes.target_steps)
        reducer = reducer.again
        stages.append(_Stage(stored(reducer.held), reducer, axes, parts, context, into))
    return stages


def _has_no_gaps(array: DeviceNDArray) -> bool:
    """Whether kernels take the array itself."""
    return array.layout == "C" and array.dtype.kind != "b"


def _span(axes: Axes, n: int, first: int) -> tuple[int, int]:
    """Elements from the first to the last in memory, and the place of element 0."""
    steps = zip((*axes.kept, *axes.reduced), (*axes.kept_steps[n], *axes.reduced_steps[n]), strict=True)
    return 1 + sum((extent - 1) * abs(step) for extent, step in steps), first


def _memory(array: DeviceNDArray, span: int, first: int) -> DeviceNDArray:
    """The memory that an array's elements lie in, without gaps; of bools as bytes."""
    size = array.itemsize
    return DeviceNDArray(
        (span,),
        np.dtype(np.uint8) if array.dtype.kind == "b" else array.dtype,
        (size,),
        array.buffer,
        array.context,
        offset=array.offset - first * size,
        base=array if array.base is None else array.base,
        stream=array.stream,
        allocation_key=array.allocation_key,
        shifted=True,  # one kernel for all places in memory
    )
