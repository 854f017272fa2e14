"""Radix sorts of a long row: all blocks, or all threads, make one pass after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.dispatch import ready
from portagpu.primitives.sorts import radix_chunks, radix_onesweep, radix_serial
from portagpu.primitives.sorts.radix_plan import DIGITS, WIDTH, Payload, Plan
from portagpu.primitives.sorts.radix_request import THREADS, Request, Sorted, plan_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array

_SWEEPING = 384  # threads of blocks that wait for each other
_WIDE = 2**15  # keys from which serial threads' digits are wider
_ROUNDS = 8  # blocks for each compute unit
_CHUNK = 2048  # keys of a serial thread at least


def serial_width(request: Request) -> int:
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
            ready.launch(
                radix_onesweep.clear, min(-(-told.size // THREADS), limit), THREADS, (counts, tickets, told), stream
            )
            ready.launch(radix_onesweep.count_all_digits, blocks, plan.threads, (keys, counts, counting), stream)
            ready.launch(radix_onesweep.begin_digits, plan.passes, DIGITS, (counts,), stream)
        operands = keys, result, values, moved, counts, tickets, told, place
        ready.launch(radix_onesweep.sweep, tiles, plan.threads, (*operands, plan), stream)

    return make


def sort_by_sweeps(request: Request, found: Sorted) -> None:
    """By blocks that wait for each other."""
    caps = request.context.capabilities
    most = min(caps.max_work_group_size, caps.max_work_item_sizes[0])
    threads = _SWEEPING if most >= _SWEEPING else THREADS
    _each_row(request, found, plan_of(request, threads, _value_of(request)), _sweeping)


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
        ready.launch(kernels.count_digits, chunks, plan.threads, (keys, counts, size, place, counting), stream)
        ready.launch(kernels.begin_chunks, 1, plan.threads, (counts, counting), stream)
        ready.launch(
            kernels.move_digits, chunks, plan.threads, (keys, result, values, moved, counts, size, place, plan), stream
        )

    return make


def sort_by_chunks(request: Request, found: Sorted) -> None:
    """By blocks, with three kernels for each pass."""
    _each_row(request, found, plan_of(request, value=_value_of(request)), _chunked)


def sort_serial_chunks(request: Request, found: Sorted) -> None:
    """By threads that go through their keys alone."""
    plan = plan_of(request, 1, value=_value_of(request), number=np.int64, width=serial_width(request))
    _each_row(request, found, plan, _chunked)
