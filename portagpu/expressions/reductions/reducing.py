"""Reductions of arrays that are there, or put off: kernels are launched, and results are there."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.expressions.evaluation import evaluate, smaller_node
from portagpu.expressions.node import Node
from portagpu.expressions.program import Flattened, Program
from portagpu.expressions.reductions.axes import Axes, axes_of
from portagpu.expressions.reductions.plans import Plan, arguments, planned
from portagpu.expressions.reductions.reducers import Reducer
from portagpu.expressions.reductions.text import kernel_for
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream

_MOST = 4096  # kernels that are kept
_kernels: dict[Any, Dispatcher] = {}
_lock = threading.Lock()


def reduced(
    source: DeviceNDArray, reducer: Reducer, axes: frozenset[int], *, stream: Stream | int = 0
) -> DeviceNDArray:
    """What an array's elements along some axes become; those axes are gone.

    An array that is put off is computed by the same kernel, without being stored; where it is reduced a second time,
    it is stored first. The array has elements along these axes. The order of sums depends on shape, strides and device
    alone. Raises what kernels raise.
    """
    context = source.context
    with context.unsettled:
        shape = source.shape
        target = device_array(tuple(n for a, n in enumerate(shape) if a not in axes), reducer.output, context=context)
        if target.size == 0:
            return target
        root = _root(source)
        flattened = Flattened(root)
        while (node := smaller_node(flattened)) is not None:
            evaluate(node, stream=stream)
            flattened = Flattened(root)
        program = flattened.of_root(reducer.kind)
        operands = [_whole(array) for array in flattened.arrays]
        found = axes_of(shape, axes, operands, in_order=reducer.has_places or reducer.identity is None)
        _run(program, reducer, found, operands, flattened.numbers, target, stream)
        return target


def _root(source: DeviceNDArray) -> Any:
    deferred: Any = source.deferred
    if deferred is None:
        return source
    node: Node = deferred.node
    if node.result is None and node.was_reduced:
        deferred.evaluate()
        return source
    node.was_reduced = True
    return node if node.result is None else node.result


def _whole(array: DeviceNDArray) -> DeviceNDArray:
    """The array, or a copy where its elements lie between the places of their size."""
    size = array.itemsize
    if array.offset % size or any(step % size for n, step in zip(array.shape, array.strides, strict=True) if n > 1):
        return array.copy()
    return array


def _run(
    program: Program,
    reducer: Reducer,
    axes: Axes,
    operands: Sequence[DeviceNDArray],
    numbers: Sequence[Any],
    target: DeviceNDArray,
    stream: Stream | int,
    *,
    has_places: bool = False,
) -> None:
    """Launch a reduction's kernels: more than one where results have several parts."""
    context = target.context
    launch = planned(axes, reducer, operands, context.capabilities)
    plan = launch.plan
    extra, firsts = arguments(launch, axes)
    index = np.uint64 if plan.wide else np.uint32
    shown = [index(n & (2 ** (64 if plan.wide else 32) - 1)) for n in extra]
    counts = [reducer.held.type(reducer.divisor)] if reducer.mean and not plan.parts else []
    memories = [_memory(array, axes, n, firsts[n]) for n, array in enumerate(operands)]
    key = program, reducer._replace(divisor=0), plan, has_places
    kernel = _kernels.get(key) or _make(key, program, reducer, plan, has_places=has_places)
    if plan.parts:
        shape = (launch.parts, *axes.kept)
        made = [device_array(shape, reducer.held, context=context)]
        if reducer.has_places:
            made.append(device_array(shape, index, context=context))
        kernel[(launch.blocks, launch.parts), plan.block, stream](
            *(array.ravel() for array in made), *memories, *numbers, *counts, *shown
        )
        whole = Program((reducer.held,), (), (), ((0, reducer.held),))
        _again(whole, reducer.again, axes, made, target, stream)
        return
    kernel[launch.blocks, plan.block, stream](_flat(target), *memories, *numbers, *counts, *shown)


def _again(
    program: Program,
    reducer: Reducer,
    axes: Axes,
    parts: Sequence[DeviceNDArray],
    target: DeviceNDArray,
    stream: Stream | int,
) -> None:
    """Reduce parts of results: (parts, ...)."""
    steps, step = [], 1
    for extent in reversed(axes.kept):
        steps.append(step)
        step *= extent
    kept = tuple(reversed(steps))
    found = Axes(axes.kept, (parts[0].shape[0],), (kept,) * len(parts), ((step,),) * len(parts), axes.target_steps)
    _run(program, reducer, found, parts, (), target, stream, has_places=len(parts) > 1)


def _make(key: Any, program: Program, reducer: Reducer, plan: Plan, *, has_places: bool) -> Dispatcher:
    with _lock:
        if len(_kernels) >= _MOST:
            _kernels.clear()
        found = _kernels.get(key)
        if found is None:
            found = _kernels[key] = kernel_for(program, reducer, plan, has_places=has_places)
        return found


def _memory(array: DeviceNDArray, axes: Axes, n: int, first: int) -> DeviceNDArray:
    """The memory that an operand's elements lie in, without gaps; of bools as bytes."""
    steps = zip((*axes.kept, *axes.reduced), (*axes.kept_steps[n], *axes.reduced_steps[n]), strict=True)
    span = 1 + sum((extent - 1) * abs(step) for extent, step in steps)
    if array.dtype.kind != "b" and first == 0 and array.layout == "C" and array.ndim == 1 and array.size == span:
        return array
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
    )


def _flat(array: DeviceNDArray) -> DeviceNDArray:
    return array if array.ndim == 1 else array.ravel()
