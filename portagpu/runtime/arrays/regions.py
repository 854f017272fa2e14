"""Host arrays of one launch that overlap: on the device, too, they are views of one memory.

Byte ranges decide, not owners: memory may reach NumPy by many ways. Columns of one matrix, whose ranges cross without a
byte in common, stay apart. `In` is a copy by contract, and no part of any region.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.errors import OutOfMemoryError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.layout import address_of, extent_of
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream

_ALIGNMENT = 128  # bytes: elements are aligned in a region's buffer as they are in the host's memory
_WORK = 1000  # what NumPy may spend on finding out whether two arrays share elements; then they count as sharing
_BYTE = np.dtype(np.uint8)

Array = np.ndarray[Any, Any]
Place = tuple[int, tuple[int, ...], tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class HostOperand:
    """A host array among a launch's arguments, and whether the launch may write it."""

    array: Array
    written: bool


def bounds_of(array: Array) -> tuple[int, int]:
    """The addresses that the elements of a host array span: the first, and the one after the last."""
    if array.flags.forc:
        low = address_of(array)
        return low, low + array.nbytes
    nbytes, before = extent_of(array.shape, array.strides, array.itemsize)
    low = address_of(array) - before
    return low, low + nbytes


def place_of(array: Array) -> Place:
    """Equal for arrays with the same elements in the same order."""
    return address_of(array), array.shape, array.strides, array.itemsize


class Region:
    """Memory of the host that several arguments of a launch share, from ``low`` to before ``high``."""

    def __init__(self, members: Sequence[HostOperand]) -> None:
        self.arrays = [member.array for member in members]
        self._written = [member.array for member in members if member.written]
        bounds = [bounds_of(array) for array in self.arrays]
        self.low, self.high = min(b[0] for b in bounds), max(b[1] for b in bounds)
        self._base = self.low // _ALIGNMENT * _ALIGNMENT
        self._memory: DeviceNDArray | None = None

    @property
    def nbytes(self) -> int:
        """Bytes from the first element of any array to the last."""
        return self.high - self.low

    @property
    def on_device(self) -> bool:
        """Whether `copy_in` was called."""
        return self._memory is not None

    def copy_in(self, context: Context, stream: Stream) -> None:
        """Copy the elements of all arrays to one block of device memory. Raises `OutOfMemoryError`."""
        most = context.capabilities.max_allocation
        if self.high - self._base > most:
            raise OutOfMemoryError(
                f"arguments that share memory span {self.nbytes} bytes; {context.device.name} gives {most} at once",
                hint="pass arrays that do not overlap, or a smaller part of them",
            )
        # gaps between elements may be anybody's, or nobody's: they are not touched
        staging = np.zeros(self.high - self._base, _BYTE)
        for array in self.arrays:
            self._in(staging, array)[...] = array
        memory = device_array(staging.shape, _BYTE, stream=stream, context=context)
        memory.copy_to_device(staging)
        self._memory = memory

    def view(self, array: Array, *, readonly: bool) -> DeviceNDArray:
        """One of the arrays in the device memory that `copy_in` filled."""
        memory = self._memory
        assert memory is not None
        return DeviceNDArray(
            array.shape,
            array.dtype,
            array.strides,
            memory.buffer,
            memory.context,
            offset=address_of(array) - self._base,
            base=memory,
            readonly=readonly,
            allocation_key=memory.allocation_key,
            shifted=True,  # as with memory in place: how arrays lie to each other must not choose the kernel
        )

    def copy_out(self) -> None:
        """Copy the elements of the arrays that the launch may write back; those of others are left alone."""
        assert self._memory is not None
        found = self._memory.copy_to_host()
        for array in self._written:
            array[...] = self._in(found, array)

    def _in(self, staging: Array, array: Array) -> Array:
        offset = address_of(array) - self._base
        result: Array = np.ndarray(array.shape, array.dtype, buffer=staging, offset=offset, strides=array.strides)
        return result


def regions_of(operands: Sequence[HostOperand]) -> dict[Place, Region]:
    """The regions of a launch's host arrays, by their arrays' places.

    An array is in one where it shares elements with another, or its elements with each other, and one is written.
    """
    found: dict[Place, Region] = {}
    for cluster in _crossing(operands):
        for group in _sharing(cluster):
            several = len(group) > 1 or _meets_itself(group[0].array)
            if several and any(member.written for member in group):
                region = Region(group)
                found.update((place_of(member.array), region) for member in group)
    return found


def _crossing(operands: Sequence[HostOperand]) -> list[list[HostOperand]]:
    """The operands in groups whose byte ranges do not cross those of others, without those that surely are alone."""
    ranges = sorted(((*bounds_of(o.array), n) for n, o in enumerate(operands) if o.array.size))
    if all(one[1] <= other[0] for one, other in itertools.pairwise(ranges)):
        return [[operands[n]] for _, _, n in ranges if not operands[n].array.flags.forc]
    clusters: list[list[HostOperand]] = []
    end = 0
    for low, high, n in ranges:
        if not clusters or low >= end:
            clusters.append([])
        clusters[-1].append(operands[n])
        end = max(end, high)
    return clusters


def _sharing(cluster: list[HostOperand]) -> list[list[HostOperand]]:
    """The operands in groups that share elements, directly or by way of others."""
    groups: list[list[HostOperand]] = []
    for operand in cluster:
        near = [group for group in groups if any(_share(operand.array, other.array) for other in group)]
        groups = [group for group in groups if not any(group is n for n in near)]
        groups.append([*itertools.chain.from_iterable(near), operand])
    return groups


def _share(one: Array, other: Array) -> bool:
    try:
        return bool(np.shares_memory(one, other, max_work=_WORK))  # type: ignore[arg-type]  # NumPy's stubs are narrow
    except np.exceptions.TooHardError:
        return True


def _meets_itself(array: Array) -> bool:
    """Whether elements of an array may share bytes with each other, as those of sliding windows do."""
    if array.flags.forc:
        return False
    axes = sorted((abs(step), extent) for extent, step in zip(array.shape, array.strides, strict=True) if extent > 1)
    steps, extents = zip(*axes, strict=True)
    if math.prod(extents) * array.itemsize > extent_of(array.shape, array.strides, array.itemsize)[0]:
        return True
    reach = array.itemsize
    for step, extent in zip(steps, extents, strict=True):
        if step < reach:
            return True
        reach += (extent - 1) * step
    return False
