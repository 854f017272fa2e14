"""Elements at subscripts that lie in memory: gathered, and scattered.

Subscripts on the host are checked there. Those on the device are checked by the kernels, for which the host waits, so
that an error is raised where the mistake is; by then a scatter has written the elements whose subscripts were right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from portagpu.dispatch.repeated import repeated
from portagpu.errors import ArgumentTypeError, OutOfBoundsError, ShapeTypeError, SubscriptTypeError
from portagpu.primitives.flat import flat, new, uploaded
from portagpu.primitives.gathers import gather_kernels as kernels
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import check_writable
from portagpu.runtime.arrays.copies import copied_if_shared
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream
from portagpu.ufuncs.kernel_source import launch

_MANY = 2**16  # elements for which threads are enough if each gathers several


class Subscripts:
    """Subscripts of one axis on the device, of any shape, and whether it is known that the axis has them all."""

    __slots__ = ("array", "known")

    def __init__(self, array: DeviceNDArray, *, known: bool = False) -> None:
        self.array, self.known = array, known

    @classmethod
    def of(cls, values: Any, extent: int, context: Context) -> Subscripts:
        """Of a device array or host array of integers, for an axis. Raises `OutOfBoundsError`, `ArgumentTypeError`."""
        if isinstance(values, Subscripts):
            return values
        if values.dtype.kind not in "iu":
            raise SubscriptTypeError(
                f"subscripts are integers or bools, not {values.dtype}", hint="convert them: i.astype(np.int64)"
            )
        if isinstance(values, DeviceNDArray):
            if values.context is not context:
                raise ArgumentTypeError("subscripts and array are on different devices", hint="copy the subscripts")
            return cls(values)
        if values.size:
            low, high = int(values.min()), int(values.max())
            if low < -extent or high >= extent:
                wrong = low if low < -extent else high
                raise OutOfBoundsError(f"index {wrong} is out of bounds for an axis of {extent} elements")
        return cls(uploaded(values.astype(values.dtype.newbyteorder("="), copy=False), context), known=True)


def joined(parts: Sequence[Subscripts], extents: Sequence[int], shape: tuple[int, ...]) -> Subscripts:
    """Subscripts of several axes, which broadcast to a shape, as subscripts of these axes as one."""
    if len(parts) == 1 and parts[0].array.shape == shape:
        return parts[0]
    return Subscripts(counted(parts, extents, shape), known=True)


def counted(parts: Sequence[Subscripts], extents: Sequence[int], shape: tuple[int, ...]) -> DeviceNDArray:
    """The same as int64, counted from the first element. Raises `OutOfBoundsError`."""
    context = parts[0].array.context
    known = all(part.known for part in parts)
    with context.unsettled:
        out = new(shape, np.dtype(np.int64), context)
        if out.size:
            if 0 in extents:
                raise OutOfBoundsError(f"an axis without elements has none at any index (extents {tuple(extents)})")
            arrays = [part.array._broadcast(shape) for part in parts]
            if not shape:
                arrays = [array.reshape(1) for array in arrays]
            kernel = kernels.joining_kernel(len(parts), max(len(shape), 1))
            fault = _fault(context)
            launch(kernel, out.size, None, 0, (*arrays, *extents, out.ravel(), fault), context)
            if not known:
                _check(fault)
    return out


def _as_three(x: DeviceNDArray, first: int, count: int) -> tuple[DeviceNDArray, DeviceNDArray]:
    """The axes before ``first``, ``count`` from there, and those behind, each as one; and the array that this views.

    That is ``x``, or a copy where its elements lie so that there is no such view.
    """
    shape = tuple(math.prod(x.shape[a:b]) for a, b in ((0, first), (first, first + count), (first + count, x.ndim)))
    try:
        return x._derive(np.reshape(x._shadow(), shape, copy=False)), x
    except ValueError:
        whole = x.copy()
        return whole.reshape(shape), whole


def gather(x: DeviceNDArray, first: int, count: int, at: Subscripts) -> DeviceNDArray:
    """The parts of an array at subscripts of ``count`` axes from ``first`` on, joined as one, in place of these axes.

    Raises `OutOfBoundsError`.
    """
    fault = _fault(x.context)
    out = repeated((gather, first, count), (x, at.array, fault), lambda: _gathered(x, first, count, at.array, fault))
    if out.size and not at.known:
        _check(fault)
    return out


def _gathered(x: DeviceNDArray, first: int, count: int, at: DeviceNDArray, fault: DeviceNDArray) -> DeviceNDArray:
    context = x.context
    with context.unsettled:
        out = new((*x.shape[:first], *at.shape, *x.shape[first + count :]), x.dtype, context)
        if not out.size:
            return out
        if first or x.layout != "C":
            source, _ = _as_three(x, first, count)
            index = flat(at)
            whole = out.reshape(source.shape[0], index.size, source.shape[2])
            _launch_move(source, index, whole, kernels.Move(each=False))
            return out
        extent = math.prod(x.shape[:count])
        _check_extent(extent)
        source, index, target = flat(x), flat(at), flat(out)
        if out.size != index.size:
            launch(kernels.gather_rows, out.size, None, 0, (source, index, target, extent, fault), context)
        elif context.capabilities.is_serial or out.size < _MANY:
            launch(kernels.gather_elements, out.size, None, 0, (source, index, target, fault), context)
        else:
            threads = -(-out.size // kernels.SEVERAL)
            launch(kernels.gather_several, threads, None, 0, (source, index, target, fault), context)
    return out


def scatter(x: DeviceNDArray, first: int, count: int, at: Subscripts, values: DeviceNDArray) -> None:
    """Write ``values``, which broadcast to what `gather` would give, to the parts of an array at subscripts.

    Values and subscripts may be parts of the array: they are read before it is written. Of several values for one
    element one stays, it is not said which. Raises `OutOfBoundsError`, `ShapeError`, `ArgumentTypeError`.
    """
    check_writable(x)
    given = values._broadcast((*x.shape[:first], *at.array.shape, *x.shape[first + count :]))
    if not given.size:
        return
    parts = _as_three(x, first, count)
    before, _, behind = parts[0].shape
    index = flat(at.array)
    _scatter(x, parts, at, index, _reshaped(given, (before, index.size, behind)), each=False)


def gather_along(x: DeviceNDArray, axis: int, at: Subscripts) -> DeviceNDArray:
    """``out[..., i, ...] = x[..., at[..., i, ...], ...]``: each element has a subscript of its own.

    Raises `OutOfBoundsError`.
    """
    context = x.context
    source, _ = _as_three(x, axis, 1)
    with context.unsettled:
        out = new(at.array.shape, x.dtype, context)
        if out.size:
            three = (source.shape[0], at.array.shape[axis], source.shape[2])
            index, whole = _reshaped(at.array, three), out.reshape(three)
            fault = _launch_move(source, index, whole, kernels.Move(each=True))
            if not at.known:
                _check(fault)
    return out


def scatter_along(x: DeviceNDArray, axis: int, at: Subscripts, values: DeviceNDArray) -> None:
    """``x[..., at[..., i, ...], ...] = values[..., i, ...]``, values that broadcast to the subscripts.

    Raises as `scatter`.
    """
    check_writable(x)
    if not at.array.size:
        return
    parts = _as_three(x, axis, 1)
    before, _, behind = parts[0].shape
    three = (before, at.array.shape[axis], behind)
    source = _reshaped(values._broadcast(at.array.shape), three)
    _scatter(x, parts, at, _reshaped(at.array, three), source, each=True)


def _scatter(
    x: DeviceNDArray,
    parts: tuple[DeviceNDArray, DeviceNDArray],
    at: Subscripts,
    index: DeviceNDArray,
    source: DeviceNDArray,
    *,
    each: bool,
) -> None:
    """Write to ``parts``, what `_as_three` gives of ``x``."""
    target, whole = parts
    stream = current_stream(x.context)
    source, index = (copied_if_shared(values, target, stream) for values in (source, index))
    fault = _launch_move(target, index, source, kernels.Move(each=each, scatters=True))
    if whole is not x:
        x.copy_to_device(whole)
    if not at.known:
        _check(fault)


def _launch_move(
    array: DeviceNDArray, index: DeviceNDArray, others: DeviceNDArray, plan: kernels.Move
) -> DeviceNDArray:
    """Move elements of arrays of three axes; the element that is set for a subscript out of bounds."""
    _check_extent(array.shape[1])
    fault = _fault(array.context)
    launch(kernels.move_elements, others.size, None, 0, (array, index, others, fault, plan), array.context)
    return fault


def _reshaped(x: DeviceNDArray, shape: tuple[int, ...]) -> DeviceNDArray:
    try:
        return x._derive(np.reshape(x._shadow(), shape, copy=False))
    except ValueError:
        return x.copy().reshape(shape)


def _check_extent(extent: int) -> None:
    if not extent:
        raise OutOfBoundsError("an axis without elements has none at any index")


def _fault(context: Context) -> DeviceNDArray:
    """The element that kernels set for a subscript out of bounds; it is 0 otherwise."""
    if context.index_faults is None:
        context.index_faults = to_device(np.zeros(1, np.int32), context=context)
    found: DeviceNDArray = context.index_faults
    return found


def _check(fault: DeviceNDArray) -> None:
    """Wait, and raise where a kernel found a subscript out of bounds."""
    if fault.copy_to_host()[0]:
        fault.copy_to_device(np.zeros(1, np.int32))
        raise OutOfBoundsError(
            "a subscript in the device's memory is out of bounds", hint="look for it with i.min() and i.max()"
        )


def along_axis(x: DeviceNDArray, axis: Any) -> tuple[DeviceNDArray, int]:
    """An array with axes, and the axis; None: the flat array. A 0-d array is one element, as in NumPy."""
    if axis is None:
        return x.ravel(), 0
    if x.ndim == 0:
        x = x.reshape(1)
    return x, normal_axis(axis, x.ndim)


def normal_axis(axis: Any, ndim: int) -> int:
    """An axis counted from the first. Raises `OutOfBoundsError`, `ShapeTypeError` for what is no integer."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise ShapeTypeError(f"an axis is an integer, not {axis!r}")
    at = axis.__index__()
    if not -ndim <= at < ndim:
        raise OutOfBoundsError(f"axis {at} is out of bounds for an array of {ndim} axes")
    return int(at % ndim)
