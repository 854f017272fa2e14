"""Scans as library functions: their kernels are launched, and results are there."""

from __future__ import annotations

import math
import operator as python
from typing import Any

import numpy as np

from portagpu.dispatch.ready import ReadyLaunch, remember
from portagpu.errors import ArgumentTypeError, DTypeError, OutOfBoundsError, ShapeError
from portagpu.primitives.scans.operators import Operator, operator_of
from portagpu.primitives.scans.plans import Division, Heads, divided
from portagpu.primitives.scans.text import kernel_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import streams_beside
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream, as_stream
from portagpu.ufuncs.operands import arrays_of

_ALIGNED = 16
_FEW, _LONG = 16, 2048  # neighbouring scans, and elements of each, that are exchanged first


def inclusive_scan(
    x: Any,
    function: Any = np.add,
    identity: Any = None,
    *,
    axis: int = -1,
    dtype: Any = None,
    flags: Any = None,
    keys: Any = None,
    stream: Stream | int = 0,
) -> DeviceNDArray:
    """What all elements of an axis up to each one, and that one, become by an associative function.

    ``function``: a NumPy function of two numbers, or a device function with ``identity``, a number that changes no
    other; it need not commute. ``dtype``: of elements and results, the array's by default; 16-bit floats are joined as
    float32. With ``flags`` or ``keys``, arrays of the same shape, a new scan begins at each true flag, or wherever the
    key is another one than that before it. The order depends on the shape and the device alone.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, and what kernels raise.
    """
    return _scan(x, function, identity, axis, dtype, flags, keys, stream, starts=False)


def exclusive_scan(
    x: Any,
    function: Any = np.add,
    identity: Any = None,
    *,
    axis: int = -1,
    dtype: Any = None,
    flags: Any = None,
    keys: Any = None,
    stream: Stream | int = 0,
) -> DeviceNDArray:
    """The elements before each one of an axis, joined by a function. See `inclusive_scan`.

    The first is the identity; of sums of floats that is -0.0, which leaves the signs of zeros as they are, and of
    complex products 1-0j.
    """
    return _scan(x, function, identity, axis, dtype, flags, keys, stream, starts=True)


def _scan(
    x: Any,
    function: Any,
    identity: Any,
    axis: int,
    dtype: Any,
    flags: Any,
    keys: Any,
    stream: Stream | int,
    *,
    starts: bool,
) -> DeviceNDArray:
    heads = keys if flags is None else flags
    array, *told = arrays_of([x] if heads is None else [x, heads])
    kind = array.dtype if dtype is None else np.dtype(dtype)
    joining = operator_of(function, kind, identity)
    if joining.identity is None:
        raise DTypeError(f"numpy.{function.__name__} has no identity", hint="pass identity=")
    if flags is not None and keys is not None:
        raise ArgumentTypeError("segments are told by flags= or by keys=, not by both")
    if told and told[0].shape != array.shape:
        raise ShapeError(f"the array has shape {array.shape}, its segments' {told[0].shape}")
    return scan(array, joining, axis, kind, *told, flags=flags is not None, starts=starts, stream=stream)


def scan(
    array: DeviceNDArray,
    joining: Operator,
    axis: int,
    dtype: np.dtype[Any],
    heads: DeviceNDArray | None = None,
    *,
    flags: bool = False,
    starts: bool = False,
    initial: bool = False,
    stream: Stream | int = 0,
) -> DeviceNDArray:
    """A scan along one axis; with ``initial``, results begin with the identity, one element more than there are."""
    try:
        number = python.index(axis)
    except TypeError:
        raise ShapeError(f"axis {axis!r} is no integer", hint="a scan goes along one axis") from None
    if not -array.ndim <= number < array.ndim:
        raise OutOfBoundsError(f"there is no axis {number} in an array with {array.ndim} axes")
    number %= array.ndim
    context = array.context
    shape = array.shape
    with context.unsettled:
        outer, length, inner = math.prod(shape[:number]), shape[number], math.prod(shape[number + 1 :])
        if 1 < inner < _FEW and length >= _LONG and not initial:
            last = array.ndim - 1
            swapped = None if heads is None else heads.swapaxes(number, last).copy()
            moved = array.swapaxes(number, last).copy()
            found = scan(moved, joining, last, dtype, swapped, flags=flags, starts=starts, stream=stream)
            turned: DeviceNDArray = found.swapaxes(number, last).copy()
            return turned
        source = array if array.is_c_contiguous() and array.layout == "C" else array.copy()
        told = None if heads is None else heads if heads.layout == "C" else heads.copy()
        result_shape = (*shape[:number], length + initial, *shape[number + 1 :])
        target = device_array(result_shape, dtype, context=context)
        if initial:
            # NumPy's begin with 0.0, and 1+0j
            _fill_first(target, number, dtype.type(joining.identity) + dtype.type(0), dtype)
        if array.size:
            where = as_stream(stream, context)
            others = streams_beside(where, (source, *([] if told is None else [told])))
            for other in others:
                where.wait_stream(other)
            _launch(source, told, target, joining, (outer, length, inner), where, flags=flags, starts=starts)
            for other in others:
                other.wait_stream(where)
    return target


def _fill_first(target: DeviceNDArray, axis: int, value: Any, dtype: np.dtype[Any]) -> None:
    """Store a number before each scan."""
    first = target._view((slice(None),) * axis + (slice(0, 1),))
    if first.size:
        first.copy_to_device(to_device(np.full(first.shape, value, dtype), context=target.context))


def _launch(
    source: DeviceNDArray,
    heads: DeviceNDArray | None,
    target: DeviceNDArray,
    joining: Operator,
    shape: tuple[int, int, int],
    stream: Stream,
    *,
    flags: bool,
    starts: bool,
) -> None:
    context = source.context
    extra = target.size // max(1, shape[0] * shape[2]) - shape[1]
    kinds = None if heads is None else Heads(heads.dtype, flags)
    aligned = source.offset % _ALIGNED == 0 and target.offset % _ALIGNED == 0 and extra == 0
    division = divided(
        shape,
        source.dtype,
        target.dtype,
        joining,
        kinds,
        context.capabilities,
        starts=starts,
        aligned=aligned,
    )
    parts = division.parts
    told = [] if heads is None else [heads]
    before: list[DeviceNDArray] = []
    if parts > 1:
        totals = [device_array((shape[0], parts, shape[2]), joining.held, context=context)]
        if told:
            totals.append(device_array((shape[0], parts, shape[2]), np.int32, context=context))
        _run(division, joining, shape, [*totals, source, *told], stream, context, totals=True)
        before = [device_array(totals[0].shape, joining.held, context=context)]
        _before(totals, before[0], joining, stream)
    _run(division, joining, shape, [target, source, *told, *before], stream, context, extra=extra)


def _before(totals: list[DeviceNDArray], target: DeviceNDArray, joining: Operator, stream: Stream) -> None:
    """What is before each part, from what parts become: an element after a part that begins segments knows only it."""
    outer, parts, inner = totals[0].shape
    shape = (outer, parts, inner)
    context = target.context
    heads = Heads(np.dtype(np.int32), True) if len(totals) > 1 else None
    if heads is None:
        _launch(totals[0], None, target, joining, shape, stream, flags=False, starts=True)
        return
    # an exclusive scan of pairs is an inclusive one of the parts before: shifted by one
    whole = device_array(shape, joining.held, context=context)
    _launch(totals[0], totals[1], whole, joining, shape, stream, flags=True, starts=False)
    shifted = target._view((slice(None), slice(1, None)))
    if shifted.size:
        shifted.copy_to_device(whole._view((slice(None), slice(0, parts - 1))))
    _fill_first(target, 1, joining.identity, joining.held)


def _run(
    division: Division,
    joining: Operator,
    shape: tuple[int, int, int],
    arrays: list[DeviceNDArray],
    stream: Stream,
    context: Context,
    *,
    totals: bool = False,
    extra: int = 0,
) -> None:
    """Launch a kernel; what was launched with arrays alike is launched again."""
    plan, parts, chunk = division
    plan = plan._replace(totals=totals, starts=plan.starts and not totals)
    outer, length, inner = shape
    items = outer * parts * (-(-inner // plan.strip) if plan.across else 1)
    turns = 1
    if plan.block == 1:
        turns = -(-items // (4 * context.capabilities.compute_units))
    blocks = -(-items // (turns * plan.block)) if plan.across else items
    index = np.uint64 if plan.wide else np.uint32
    numbers = [index(n) for n in (items, outer, length, inner, chunk, parts, turns, length + extra, extra)]
    args = (*arrays, *numbers)
    key = ("scan", plan, joining, blocks, *(a.layout_token for a in arrays))
    ready: ReadyLaunch | None = None if None in key[4:] else context.expression_launches.get(key)
    if ready is None or not ready.again(stream, args):
        ready = ReadyLaunch(kernel_of(plan, joining), (blocks, 1, 1), (plan.block, 1, 1), args, context)
        ready.again(stream, args)
        remember(context, key, ready)
