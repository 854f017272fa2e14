"""Radix sorts of rows on a device: which kernels run, with which memory."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np

from portagpu.device.capabilities import Capabilities
from portagpu.dispatch import ready
from portagpu.primitives.sorts import radix_chunks, radix_serial
from portagpu.primitives.sorts.radix_passes import serial_width, sort_by_chunks, sort_by_sweeps, sort_serial_chunks
from portagpu.primitives.sorts.radix_plan import WIDTH, Payload
from portagpu.primitives.sorts.radix_request import THREADS, Request, Sorted, has_tiles, plan_of
from portagpu.primitives.sorts.radix_small import sort_small_rows, sort_tiny_rows
from portagpu.runtime.arrays.array import DeviceNDArray, device_array

_TINY = 32  # keys of a row for which others are counted
_SMALL_ITEMS = 16  # of a thread, where a row is one tile
_SOME_ROWS = 64  # tiny rows of a serial thread at least
_TURNS = 8  # serial threads with tiny rows for each compute unit
_SHORT = 2**16  # keys of a row that one block had better sort alone, if there are some
_SERIAL_ROW = 2**15  # the same for one thread


class Method(Enum):
    """Kernels that sort."""

    TINY = "a thread for each key counts"
    SMALL = "a block for each row, in shared memory"
    ROWS = "a block for each row"
    SWEEP = "all blocks for a row, which wait for each other"
    CHUNKS = "all blocks for a row"
    SERIAL_ROWS = "a thread for each row"
    SERIAL_CHUNKS = "a thread for each chunk of a row"


def method_of(caps: Capabilities, rows: int, length: int) -> Method:
    """The kernels for so many rows of so many keys."""
    if length <= _TINY:
        return Method.TINY
    if not has_tiles(caps):
        many = rows >= caps.compute_units or length <= _SERIAL_ROW
        return Method.SERIAL_ROWS if many else Method.SERIAL_CHUNKS
    if length <= THREADS * _SMALL_ITEMS // 2:
        return Method.SMALL
    if rows >= caps.compute_units or (rows > 1 and length <= _SHORT):
        return Method.ROWS
    return Method.SWEEP if caps.cooperative_launch else Method.CHUNKS


def sort_rows(request: Request, method: Method | None = None) -> Sorted:
    """Sort each row; equal keys keep their order."""
    context, keys = request.context, request.keys
    kept = device_array(keys.shape, keys.dtype, context=context) if request.keeps_keys else None
    moved = None
    if request.payload is not Payload.NONE:
        kind = np.dtype(np.int64) if request.values is None else request.values.dtype
        moved = device_array(keys.shape, kind, context=context)
    found = Sorted(keys=kept, moved=moved)
    if keys.size:
        method = method or method_of(context.capabilities, request.rows, request.length)
        _METHODS[method](request, found)
    return found


def _operands(request: Request, found: Sorted) -> tuple[DeviceNDArray, ...]:
    """Source, sorted keys, values and moved values; the keys stand for what is not there, which kernels do not use."""
    keys = request.keys
    values = keys if request.values is None else request.values
    kept = keys if found.keys is None else found.keys
    return keys, kept, values, kept if found.moved is None else found.moved


def _sort_tiny(request: Request, found: Sorted) -> None:
    plan = plan_of(request, 1, items=_TINY)
    caps = request.context.capabilities
    threads = min(THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])
    operands = _operands(request, found)
    if has_tiles(caps):
        blocks = -(-request.keys.size // threads)
        ready.launch(sort_tiny_rows, blocks, threads, (*operands, request.length, plan), request.stream)
    else:
        share = max(_SOME_ROWS, -(-request.rows // (caps.compute_units * _TURNS)))
        args = (*operands, request.length, share, plan)
        ready.launch(radix_serial.sort_tiny_rows, -(-request.rows // share), 1, args, request.stream)


def _sort_small(request: Request, found: Sorted) -> None:
    items = max(1, 1 << (-(-request.length // THREADS) - 1).bit_length())
    plan = plan_of(request, items=items)
    blocks = min(request.rows, request.context.capabilities.max_blocks_of_axis)
    args = (*_operands(request, found), request.length, plan)
    ready.launch(sort_small_rows, blocks, THREADS, args, request.stream)


def _between(request: Request, found: Sorted) -> tuple[DeviceNDArray, ...]:
    """Keys and values between the passes of kernels that make all of them: two of each, with what is wanted first."""
    context, size = request.context, request.keys.size
    keys, other_keys = found.keys, request.keys
    if keys is None:
        keys = device_array(size, request.keys.dtype, context=context)
    moved, other_values = found.moved, keys
    if request.order.bits > WIDTH:
        other_keys = device_array(size, request.keys.dtype, context=context)
        if moved is not None:
            other_values = device_array(size, moved.dtype, context=context)
    return keys, other_keys, keys if moved is None else moved, other_values


def _sort_by_rows(request: Request, found: Sorted) -> None:
    keys, other_keys, moved, other_values = _between(request, found)
    values = request.keys if request.values is None else request.values
    kind = None if found.moved is None else found.moved.dtype
    plan = plan_of(request, value=kind, writes_keys=True)
    blocks = min(request.rows, request.context.capabilities.max_blocks_of_axis)
    ready.launch(
        radix_chunks.sort_rows,
        blocks,
        THREADS,
        (request.keys, keys, other_keys, values, moved, other_values, request.length, plan),
        request.stream,
    )


def _sort_serial_rows(request: Request, found: Sorted) -> None:
    keys, other_keys, moved, other_values = _between(request, found)
    values = request.keys if request.values is None else request.values
    plan = plan_of(request, 1, number=np.int64, writes_keys=True, width=serial_width(request))
    ready.launch(
        radix_serial.sort_rows,
        request.rows,
        1,
        (request.keys, keys, other_keys, values, moved, other_values, request.length, plan),
        request.stream,
    )


_METHODS: dict[Method, Callable[[Request, Sorted], None]] = {
    Method.TINY: _sort_tiny,
    Method.SMALL: _sort_small,
    Method.ROWS: _sort_by_rows,
    Method.SWEEP: sort_by_sweeps,
    Method.CHUNKS: sort_by_chunks,
    Method.SERIAL_ROWS: _sort_serial_rows,
    Method.SERIAL_CHUNKS: sort_serial_chunks,
}
