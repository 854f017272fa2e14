"""Copies of a launch's arguments: what shares memory among the arguments shares it among the copies."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import UncountedWorkError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.arrays.creation import as_device_array, is_device_like
from portagpu.runtime.arrays.layout import address_of, extent_of
from portagpu.runtime.arrays.overlap import host_range, may_overlap
from portagpu.runtime.arrays.regions import bounds_of
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.host_arguments import ArgumentWrapper, like_tuple

_ALIGNMENT = 128  # bytes: copies of host arrays are aligned as the arrays are, up to this
_BYTE = np.dtype(np.uint8)


def copied(args: tuple[Any, ...], stream: Stream) -> tuple[Any, ...]:
    """Arguments with memory of their own, which a launch on the stream may change in place of these.

    Raises `UncountedWorkError` where memory is shared in a way that copies would not share it.
    """
    args = _mapped(args, lambda value: as_device_array(value) if is_device_like(value) else value)
    hosts: dict[int, np.ndarray[Any, Any]] = {}
    devices: dict[int, DeviceNDArray] = {}

    def note(value: Any) -> Any:
        if isinstance(value, DeviceNDArray):
            if value.context is stream.context:  # else the launch says what is wrong
                devices[id(value)] = value
        elif _is_copied(value):
            hosts[id(value)] = value
        return value

    _mapped(args, note)
    _check_apart(list(hosts.values()), list(devices.values()))
    made: dict[int, Any] = {**_host_copies(list(hosts.values())), **_device_copies(list(devices.values()), stream)}

    def replaced(value: Any) -> Any:
        return value.copy() if isinstance(value, np.void) else made.get(id(value), value)

    return _mapped(args, replaced)


def _mapped(args: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Arguments with each leaf changed: of tuples their items, of wrappers what they wrap."""
    known: dict[int, Any] = {}

    def changed(value: Any) -> Any:
        if isinstance(value, tuple):
            return like_tuple(value, map(changed, value))
        if not isinstance(value, ArgumentWrapper):
            return change(value)
        if id(value) not in known:
            inner = change(value.value)
            known[id(value)] = value if inner is value.value else type(value)(inner)
        return known[id(value)]

    return tuple(map(changed, args))


def _is_copied(value: Any) -> bool:
    """Whether a value is a plain host array; a launch refuses others."""
    return isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) and not value.dtype.hasobject


def _check_apart(hosts: list[np.ndarray[Any, Any]], devices: list[DeviceNDArray]) -> None:
    shared = any(x.buffer is not y.buffer and may_overlap((x, y)) for x, y in itertools.combinations(devices, 2))
    ranges = [found for array in devices if (found := host_range(array)) is not None]
    for low, high in map(bounds_of, hosts):
        shared = shared or any(low < end and begin < high for begin, end in ranges)
    if shared:
        raise UncountedWorkError(
            "two arguments share memory that came from different places: the launch is counted on copies, which would"
            " not share it",
            hint="pass views of one array",
        )


# host arrays --------------------------------------------------------------------------------------------------------


def _host_copies(arrays: list[np.ndarray[Any, Any]]) -> dict[int, np.ndarray[Any, Any]]:
    """Copies by the arrays' ids: memory whose ranges overlap is copied as one piece."""
    pieces: list[list[int]] = []
    for low, high in sorted(map(bounds_of, arrays)):
        if pieces and low < pieces[-1][1]:
            pieces[-1][1] = max(pieces[-1][1], high)
        else:
            pieces.append([low, high])
    starts: dict[int, np.ndarray[Any, Any]] = {}
    for low, high in pieces:
        memory = np.empty(high - low + 2 * _ALIGNMENT, _BYTE)
        skipped = (low - memory.ctypes.data) % _ALIGNMENT
        starts[low] = memory[skipped : skipped + high - low]
    made = {}
    for array in arrays:
        low, high = bounds_of(array)
        begin = next(b for b, e in pieces if b <= low and high <= e)
        offset = address_of(array) - begin
        copy: np.ndarray[Any, Any] = np.ndarray(array.shape, array.dtype, starts[begin], offset, array.strides)
        np.copyto(copy, array)
        if not array.flags.writeable:
            copy.flags.writeable = False
        made[id(array)] = copy
    return made


# device arrays ------------------------------------------------------------------------------------------------------


def _device_copies(arrays: list[DeviceNDArray], stream: Stream) -> dict[int, DeviceNDArray]:
    """Copies by the arrays' ids: each piece of memory is copied once, as far as the arguments reach into it."""
    ends: dict[int, int] = {}
    for array in arrays:
        key = id(array.buffer)
        ends[key] = max(ends.get(key, 0), end_of(array))
    memory: dict[int, DeviceNDArray] = {}
    made = {}
    for array in arrays:
        key = id(array.buffer)
        if key not in memory:
            memory[key] = _bytes_copied(array, ends[key], stream)
        target = memory[key]
        made[id(array)] = type(array)(
            array.shape,
            array.dtype,
            array.strides,
            target.buffer,
            target.context,
            offset=array.offset,
            base=target,
            readonly=array.readonly,
            allocation_key=target.allocation_key,
            shifted=array.shifted,
        )
    return made


def end_of(array: DeviceNDArray) -> int:
    """The byte of an array's memory behind its last element."""
    nbytes, before = extent_of(array.shape, array.strides, array.itemsize)
    return array.offset - before + nbytes


def _bytes_copied(array: DeviceNDArray, nbytes: int, stream: Stream) -> DeviceNDArray:
    source = DeviceNDArray(
        (nbytes,), _BYTE, (1,), array.buffer, array.context, base=array, allocation_key=array.allocation_key
    )
    target = device_array((nbytes,), _BYTE, context=array.context)
    if nbytes:
        copy_strided(source, target, stream)
    return target
