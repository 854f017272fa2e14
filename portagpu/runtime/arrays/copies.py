"""Copies between strided views on the device, and between host and device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl
import pyopencl.array

from portagpu.backends.opencl.codegen.rendering import render
from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.execution.stream import Stream, enqueuing
from portagpu.runtime.programs.build import build
from portagpu.runtime.programs.enqueue import LaunchSizes, enqueue_on

if TYPE_CHECKING:
    from portagpu.runtime.arrays.array import DeviceNDArray

_GROUP = 256  # items of a work-group
_MOST_GROUPS = 2**15  # along the second dimension; CUDA's devices have 65535
_UNITS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyView:
    """What the copy template needs: the unit's C type, how many units an element has, and the axes."""

    type: str
    units: int
    axes: tuple[int, ...]


def copy_elements(source: DeviceNDArray, target: DeviceNDArray, stream: Stream) -> None:
    """As `copy_strided`; from another device through the host, and complete on return."""
    if source.context is target.context:
        copy_strided(source, target, stream)
    else:
        target.copy_to_device(source.copy_to_host(), stream)
        stream.synchronize()


def copy_strided(source: DeviceNDArray, target: DeviceNDArray, stream: Stream) -> None:
    """Copy elements between two views of one shape and dtype; enqueued, unless the context `only_builds`.

    It waits for the queues of PyOpenCL arrays, and they wait for it, as with kernels.
    """
    if source.shape != target.shape:
        raise ShapeError(f"cannot copy shape {source.shape} to shape {target.shape}")
    if target.size == 0:
        return
    context = target.context
    if source.context is not context or stream.context is not context:  # drivers crash on another context's buffers
        raise ArgumentTypeError("cannot copy between contexts", hint="go through the host: x.copy_to_host()")
    same_order = source.layout == target.layout and source.layout != "A"
    if same_order:
        if context.only_builds:
            return
        with _in_order(stream, source, target), enqueuing(stream) as queue:
            cl.enqueue_copy(
                queue,
                target.buffer,
                source.buffer,
                src_offset=source.offset,
                dst_offset=target.offset,
                byte_count=target.nbytes,
            )
        return
    unit = next(u for u in (8, 4, 2, 1) if all(_divides(u, a) for a in (source, target)))
    view = CopyView(type=_UNITS[unit], units=target.itemsize // unit, axes=tuple(range(max(1, target.ndim))))
    program = build(context, render("runtime/copy.mako", view), ())
    if context.only_builds:
        return
    columns = target.shape[-1] if target.ndim else 1
    lines = target.size // columns
    numbers: list[Any] = [np.int64(lines), np.int64(source.offset // unit), np.int64(target.offset // unit)]
    for extent, step, to_step in zip(target.shape or (1,), source.strides or (0,), target.strides or (0,), strict=True):
        numbers += [np.int64(extent), np.int64(step // unit), np.int64(to_step // unit)]
    with _in_order(stream, source, target), enqueuing(stream) as queue:
        kernel = cl.Kernel(program, "copy_strided")
        kernel.set_args(source.buffer, target.buffer, *numbers)
        sizes = LaunchSizes(*_spread(columns, lines, context.capabilities))
        enqueue_on(context.capabilities)(queue, kernel, sizes)


def users_of(arrays: Iterable[DeviceNDArray]) -> tuple[Stream, ...]:
    """The streams of the queues that PyOpenCL arrays among these have, in their order."""
    found = (a.stream for a in arrays if isinstance(a.base, pyopencl.array.Array))
    return tuple(dict.fromkeys(stream for stream in found if stream))


@contextmanager
def _in_order(stream: Stream, *arrays: DeviceNDArray) -> Iterator[None]:
    others = [user for user in users_of(arrays) if user is not stream and user.context is stream.context]
    for user in others:
        stream.wait_stream(user)
    yield
    for user in others:
        user.wait_stream(stream)


def _spread(columns: int, lines: int, caps: Capabilities) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Items of a copy, and of a work-group: left to themselves, drivers make groups of one item of what is prime."""
    if caps.device_type is DeviceType.CPU or caps.max_work_group_size < _GROUP:
        return (columns, lines), None
    across = min(64, 1 << (columns - 1).bit_length())
    down = _GROUP // across
    return (-(-columns // across) * across, min(-(-lines // down), _MOST_GROUPS) * down), (across, down)


def is_pinned(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array lies in page-locked memory of a driver (`cuda.pinned_array`).

    Copies of any other memory are complete when they return, whatever their stream, as CUDA's are: programs rely on it.
    """
    base: Any = array
    while base is not None:
        if isinstance(base, cl.MemoryMap):
            return True
        base = getattr(base, "base", None)
    return False


def download(source: DeviceNDArray, flat: np.ndarray[Any, Any], stream: Stream, *, blocking: bool) -> None:
    """Copy a contiguous device array to flat host memory, which the stream keeps until the copy is done."""
    blocking = blocking or not is_pinned(flat)
    with enqueuing(stream) as queue:
        done = cl.enqueue_copy(queue, as_bytes(flat), source.buffer, src_offset=source.offset, is_blocking=blocking)
        _hand_over(done, flat, stream, blocking)


def upload(target: DeviceNDArray, flat: np.ndarray[Any, Any], stream: Stream, *, blocking: bool) -> None:
    """Copy flat host memory, which the stream keeps until the copy is done, to a contiguous device array."""
    blocking = blocking or not is_pinned(flat)
    with enqueuing(stream) as queue:
        done = cl.enqueue_copy(queue, target.buffer, as_bytes(flat), dst_offset=target.offset, is_blocking=blocking)
        _hand_over(done, flat, stream, blocking)


def as_bytes(flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A contiguous array as PyOpenCL takes it: Python's buffers cannot describe every record, nor bfloat16."""
    return flat.view(np.uint8) if flat.dtype.kind == "V" else flat


def _hand_over(done: cl.Event, flat: np.ndarray[Any, Any], stream: Stream, blocking: bool) -> None:
    if blocking:
        done.wait()  # drivers return from a blocking write early, and the event's destructor waits with Python's lock
    else:
        stream.keep(done, flat)


def _divides(unit: int, array: DeviceNDArray) -> bool:
    return array.itemsize % unit == 0 and array.offset % unit == 0 and all(s % unit == 0 for s in array.strides)
