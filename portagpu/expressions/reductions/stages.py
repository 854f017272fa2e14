"""The kernels of a reduction: how each is planned, and launched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from portagpu.dispatch.ready import ReadyLaunch
from portagpu.expressions.reductions.axes import Axes
from portagpu.expressions.reductions.elements import Element, stored
from portagpu.expressions.reductions.plans import arguments, as_any, is_small, planned, planned_for_any
from portagpu.expressions.reductions.reducers import Reducer
from portagpu.expressions.reductions.text import kernel_for
from portagpu.expressions.rows import flat_memory
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.factory import new_array
from portagpu.runtime.arrays.facts import Facts, facts_of
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream

_LONG = 16  # elements of rows that are reduced before what they belong to
_Shape = tuple[tuple[int, ...], Any]


class Again(NamedTuple):
    """A reduction that is one launch.

    ``facts``: of its result, ``view``: of what stands for the array, None for the array itself; ``numbers``: that the
    kernel takes behind these.
    """

    ready: ReadyLaunch
    facts: Facts
    view: Facts | None
    numbers: tuple[Any, ...]


class Stage:
    """A kernel of a reduction: of elements, or of parts of results."""

    __slots__ = ("_element", "_into", "_numbers", "_plan", "_ready", "_reducer", "_shape", "_spans", "_states")

    def __init__(
        self,
        element: Element,
        reducer: Reducer,
        axes: Axes,
        operands: Sequence[DeviceNDArray],
        context: Context,
        most: int,
        into: _Shape | None = None,
    ) -> None:
        """``most``: elements for which the kernel for any array does; ``into``: shape and dtype of results that others
        are made of."""
        self._into = into
        is_any = is_small(axes, most, context.capabilities)
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

    def again(self, source: DeviceNDArray, target: DeviceNDArray) -> Again | None:
        """What the launch of `run` is, where it writes results of one array's elements; else None."""
        if self._states or self._into is not None or self._element.numbers or self._ready is None:
            return None
        if target.layout != "C":
            return None
        (span,) = self._spans
        view = None if span is None else facts_of(flat_memory(source, *span, bools_as_bytes=True))
        return Again(self._ready, facts_of(target), view, tuple(self._numbers))

    @property
    def is_few(self) -> bool:
        """Whether it is the kernel for any array."""
        return self._plan.plan.few

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
            array if span is None else flat_memory(array, *span, bools_as_bytes=True)
            for array, span in zip(operands, self._spans, strict=True)
        ]
        own = numbers if self._element.numbers else ()
        written = [array if array.layout == "C" else flat_memory(array, array.size, 0) for array in made]
        args = (*written, *memories, *own, *self._numbers)
        if self._ready is None or not self._ready.again(stream, args):
            plan = self._plan
            places = len(operands) > len(self._element.arrays)
            kernel = kernel_for(self._element, self._reducer, plan.plan, has_places=places)
            grid, block = (plan.blocks, plan.parts, 1), (plan.plan.block, 1, 1)
            self._ready = ReadyLaunch(kernel, grid, block, args, context)
            self._ready.again(stream, args)
        return made


def stages_of(
    element: Element, reducer: Reducer, axes: Axes, operands: Sequence[DeviceNDArray], context: Context, most: int
) -> list[Stage]:
    """The kernels of a reduction.

    On CPUs what several axes are reduced along is reduced along the last of them first, whose elements are neighbours.
    """
    several = len(axes.reduced) > 1 and axes.reduced[-1] >= _LONG and not context.capabilities.shares_on_chip
    several = several and not is_small(axes, most, context.capabilities)
    if not several or reducer.has_places or reducer.identity is None:
        return _parts(element, reducer, axes, operands, context, most)
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
        element, reducer._replace(output=held, mean=False, root=False), first, operands, context, most, (extents, held)
    )
    found = [new_array(context, extents, held)]
    return [*lines, *_parts(stored(held), reducer.again, second, found, context, most)]


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
    most: int,
    into: _Shape | None = None,
) -> list[Stage]:
    """The kernels of a reduction whose results may have several parts."""
    stages = [Stage(element, reducer, axes, operands, context, most, into)]
    while stages[-1].parts[1]:
        shape, dtypes = stages[-1].parts
        parts = [new_array(context, shape, dtype) for dtype in dtypes]
        kept, step = _steps_of(axes.kept), axes.lines
        axes = Axes(axes.kept, shape[:1], (kept,) * len(parts), ((step,),) * len(parts), axes.target_steps)
        reducer = reducer.again
        stages.append(Stage(stored(reducer.held), reducer, axes, parts, context, most, into))
    return stages


def _has_no_gaps(array: DeviceNDArray) -> bool:
    """Whether kernels take the array itself."""
    return array.layout == "C" and array.dtype.kind != "b"


def _span(axes: Axes, n: int, first: int) -> tuple[int, int]:
    """Elements from the first to the last in memory, and the place of element 0."""
    steps = zip((*axes.kept, *axes.reduced), (*axes.kept_steps[n], *axes.reduced_steps[n]), strict=True)
    return 1 + sum((extent - 1) * abs(step) for extent, step in steps), first
