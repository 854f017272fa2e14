"""Radix sorts of rows on a device: which kernels run, with which memory between passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.primitives import radix_chunks, radix_onesweep, radix_serial
from portagpu.primitives.ordering import Order
from portagpu.primitives.radix_plan import DIGITS, WIDTH, Payload, Plan, tile_items
from portagpu.primitives.radix_small import sort_small_rows, sort_tiny_rows
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream

_THREADS = 256  # of blocks that share tiles: one for each digit at least
_SWEEPING = 384  # of blocks that wait for each other
_TINY = 32  # keys of a row for which others are counted
_SMALL_ITEMS = 16  # of a thread, where a row is one tile
_SHORT = 2**16  # keys of a row that one block had better sort alone, if there are some
_SERIAL_ROW = 4096  # the same for one thread
_WIDE = 2**15  # keys from which serial threads' digits are wider
_ROUNDS = 8  # blocks for each compute unit
_CHUNK = 2048  # keys of a serial thread at least


class Method(Enum):
    """Kernels that sort."""

    TINY = "a thread for each key counts"
    SMALL = "a block for each row, in shared memory"
    ROWS = "a block for each row"
    SWEEP = "all blocks for a row, which wait for each other"
    CHUNKS = "all blocks for a row"
    SERIAL_ROWS = "a thread for each row"
    SERIAL_CHUNKS = "a thread for each chunk of a row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Rows of ``length`` keys that lie one behind the other, as unsigned integers, and what goes with them.

    ``values``: unsigned integers, too, or None; ``indexed``: whether the keys' places in their rows are wanted;
    ``keeps_keys``: whether the sorted keys are.
    """

    keys: DeviceNDArray
    length: int
    order: Order
    values: DeviceNDArray | None = None
    indexed: bool = False
    keeps_keys: bool = True
    stream: Stream | int = 0

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.keys.size // self.length

    @property
    def payload(self) -> Payload:
        """What moves with the keys."""
        if self.indexed:
            return Payload.INDEX
        return Payload.NONE if self.values is None else Payload.ARRAY

    @property
    def context(self) -> Context:
        """Where the keys are."""
        return self.keys.context


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """What a sort gives: keys, and values or int64 places, as far as they were asked for."""

    keys: DeviceNDArray | None
    moved: DeviceNDArray | None


def has_tiles(caps: Capabilities) -> bool:
    """Whether blocks of many threads share tiles: not on devices whose threads run one after another."""
    threads = min(caps.max_work_group_size, caps.max_work_item_sizes[0])
    return caps.device_type is not DeviceType.CPU and threads >= _THREADS and caps.local_memory_static >= 2**15


def method_of(caps: Capabilities, rows: int, length: int) -> Method:
    """The kernels for so many rows of so many keys."""
    if length <= _TINY:
        return Method.TINY
    if not has_tiles(caps):
        many = rows >= caps.compute_units or length <= _SERIAL_ROW
        return Method.SERIAL_ROWS if many else Method.SERIAL_CHUNKS
    if length <= _THREADS * _SMALL_ITEMS // 2:
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


def _number(size: int) -> Any:
    return np.int32 if size < 2**30 else np.int64


def _plan(request: Request, threads: int = 0, value: Any = None, **others: Any) -> Plan:
    caps, threads = request.context.capabilities, threads or _THREADS
    value = (None if request.payload is Payload.NONE else np.dtype(np.int32)) if value is None else value
    items = tile_items(request.order, value, threads, caps.local_memory_static) if threads > 1 else 0
    settings = {
        "order": request.order,
        "payload": request.payload,
        "writes_keys": request.keeps_keys,
        "width": WIDTH,
        "threads": threads,
        "items": items,
        "value": np.int32 if value is None else np.dtype(value).type,
        "number": _number(request.keys.size),
        "word": np.uint32 if request.length < 2**30 else np.uint64,
        "votes": caps.warp_instructions,
    }
    return Plan(**{**settings, **others})


def _operands(request: Request, found: Sorted) -> tuple[DeviceNDArray, ...]:
    """Source, sorted keys, values and moved values; the keys stand for what is not there, which kernels do not use."""
    keys = request.keys
    values = keys if request.values is None else request.values
    kept = keys if found.keys is None else found.keys
    return keys, kept, values, kept if found.moved is None else found.moved


def _sort_tiny(request: Request, found: Sorted) -> None:
    plan = _plan(request, 1)
    caps = request.context.capabilities
    threads = min(_THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])
    blocks = -(-request.keys.size // threads)
    sort_tiny_rows[blocks, threads, request.stream](*_operands(request, found), request.length, plan)


def _sort_small(request: Request, found: Sorted) -> None:
    items = max(1, 1 << (-(-request.length // _THREADS) - 1).bit_length())
    plan = _plan(request, items=items)
    blocks = min(request.rows, request.context.capabilities.max_blocks_of_axis)
    sort_small_rows[blocks, _THREADS, request.stream](*_operands(request, found), request.length, plan)


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
    plan = _plan(request, value=kind, writes_keys=True)
    blocks = min(request.rows, request.context.capabilities.max_blocks_of_axis)
    radix_chunks.sort_rows[blocks, _THREADS, request.stream](
        request.keys, keys, other_keys, values, moved, other_values, request.length, plan
    )


def _sort_serial_rows(request: Request, found: Sorted) -> None:
    keys, other_keys, moved, other_values = _between(request, found)
    values = request.keys if request.values is None else request.values
    plan = _plan(request, 1, number=np.int64, writes_keys=True, width=_serial_width(request))
    radix_serial.sort_rows[request.rows, 1, request.stream](
        request.keys, keys, other_keys, values, moved, other_values, request.length, plan
    )


def _serial_width(request: Request) -> int:
    """Bits of a digit for threads alone: wider ones are fewer passes, but more counters, and lines of the cache."""
    return WIDTH if request.length < _WIDE or request.order.bits <= 16 else 11


def _each_row(request: Request, found: Sorted, plan: Plan, run: Callable[..., Any]) -> None:
    """Sort one row after another by ``run``, which gets a row's source, result, values and moved values of a pass."""
    context, length = request.context, request.length
    last = plan.passes - 1
    spares: dict[tuple[str, int], DeviceNDArray] = {}

    def spare(what: str, which: int, kind: Any) -> DeviceNDArray:
        if (what, which) not in spares:
            spares[what, which] = device_array(length, kind, context=context)
        return spares[what, which]

    for row in range(request.rows):
        own = slice(row * length, (row + 1) * length)
        keys = request.keys[own]
        values = None if request.values is None else request.values[own]
        kept = None if found.keys is None else found.keys[own]
        moved = None if found.moved is None else found.moved[own]
        step = _Step(plan, request, run)
        for place in range(plan.passes):
            turn = (last - place) % 2
            if kept is not None and turn == 0:
                result = kept
            else:
                result = keys if place == last else spare("keys", turn, keys.dtype)
            target = None
            if moved is not None:
                usable = place == last or (turn == 0 and moved.dtype == plan.value)
                target = moved if usable else spare("values", turn, plan.value)
            step.make(place, place == last, keys, result, values, target)
            keys, values = result, target


class _Step:
    """The passes of one row: the first makes places, the last may do without keys."""

    def __init__(self, plan: Plan, request: Request, run: Callable[..., Any]) -> None:
        self._plan, self._request = plan, request
        self._pass = run(plan, request)

    def make(
        self,
        place: int,
        is_last: bool,
        keys: DeviceNDArray,
        result: DeviceNDArray,
        values: DeviceNDArray | None,
        target: DeviceNDArray | None,
    ) -> None:
        plan = self._plan
        payload = plan.payload
        if payload is Payload.INDEX and place:
            payload = Payload.ARRAY
        plan = plan._replace(payload=payload, writes_keys=plan.writes_keys or not is_last)
        self._pass(keys, result, keys if values is None else values, result if target is None else target, place, plan)


def _value_of(request: Request) -> Any:
    """The type of values between passes: places are of 32 bits where they fit."""
    if request.indexed:
        return np.dtype(np.int32) if request.length < 2**31 else np.dtype(np.int64)
    return None if request.values is None else request.values.dtype


def _sweeping(plan: Plan, request: Request) -> Callable[..., Any]:
    context, stream, length = request.context, request.stream, request.length
    tiles = -(-length // plan.tile)
    counts = device_array((plan.passes, DIGITS), plan.word, context=context)
    tickets = device_array(plan.passes, np.int32, context=context)
    told = device_array((plan.passes, tiles, DIGITS), plan.word, context=context)
    limit = context.capabilities.compute_units * _ROUNDS
    blocks = min(-(-length // (plan.threads * radix_onesweep.KEYS_AT_ONCE)), limit)
    counting = plan._replace(payload=Payload.NONE, writes_keys=True, items=0, value=None)

    def make(
        keys: DeviceNDArray,
        result: DeviceNDArray,
        values: DeviceNDArray,
        moved: DeviceNDArray,
        place: int,
        plan: Plan,
    ) -> None:
        if place == 0:
            radix_onesweep.clear[min(-(-told.size // _THREADS), limit), _THREADS, stream](counts, tickets, told)
            radix_onesweep.count_all_digits[blocks, plan.threads, stream](keys, counts, counting)
            radix_onesweep.begin_digits[plan.passes, DIGITS, stream](counts)
        operands = keys, result, values, moved, counts, tickets, told, place
        radix_onesweep.sweep[tiles, plan.threads, stream](*operands, plan)

    return make


def _sort_by_sweeps(request: Request, found: Sorted) -> None:
    caps = request.context.capabilities
    most = min(caps.max_work_group_size, caps.max_work_item_sizes[0])
    threads = _SWEEPING if most >= _SWEEPING else _THREADS
    _each_row(request, found, _plan(request, threads, _value_of(request)), _sweeping)


def _chunked(plan: Plan, request: Request) -> Callable[..., Any]:
    context, stream, length = request.context, request.stream, request.length
    units = context.capabilities.compute_units
    serial = plan.threads == 1
    if serial:
        chunks = min(2 * units, -(-length // _CHUNK))
        size = -(-length // chunks)
    else:
        tiles = -(-length // plan.tile)
        size = plan.tile * -(-tiles // min(tiles, units * _ROUNDS))
    chunks = -(-length // size)
    kernels: Any = radix_serial if serial else radix_chunks
    counts = device_array((plan.digits, chunks), plan.number, context=context)
    counting = plan._replace(payload=Payload.NONE, writes_keys=True, items=0, value=None)

    def make(
        keys: DeviceNDArray,
        result: DeviceNDArray,
        values: DeviceNDArray,
        moved: DeviceNDArray,
        place: int,
        plan: Plan,
    ) -> None:
        kernels.count_digits[chunks, plan.threads, stream](keys, counts, size, place, counting)
        kernels.begin_chunks[1, plan.threads, stream](counts, counting)
        kernels.move_digits[chunks, plan.threads, stream](keys, result, values, moved, counts, size, place, plan)

    return make


def _sort_by_chunks(request: Request, found: Sorted) -> None:
    _each_row(request, found, _plan(request, value=_value_of(request)), _chunked)


def _sort_serial_chunks(request: Request, found: Sorted) -> None:
    plan = _plan(request, 1, value=_value_of(request), number=np.int64, width=_serial_width(request))
    _each_row(request, found, plan, _chunked)


_METHODS: dict[Method, Callable[[Request, Sorted], None]] = {
    Method.TINY: _sort_tiny,
    Method.SMALL: _sort_small,
    Method.ROWS: _sort_by_rows,
    Method.SWEEP: _sort_by_sweeps,
    Method.CHUNKS: _sort_by_chunks,
    Method.SERIAL_ROWS: _sort_serial_rows,
    Method.SERIAL_CHUNKS: _sort_serial_chunks,
}
