"""What is asked of a radix sort, and what its kernels are compiled for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.device.capabilities import Capabilities
from portagpu.primitives.sorts.ordering import Order
from portagpu.primitives.sorts.radix_plan import WIDTH, Payload, Plan, tile_items
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream

THREADS = 256  # of blocks that share tiles: one for each digit at least


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
    return not caps.is_serial and threads >= THREADS and caps.local_memory_static >= 2**15


def number_of(size: int) -> Any:
    """The type of places among so many keys."""
    return np.int32 if size < 2**30 else np.int64


def plan_of(request: Request, threads: int = 0, value: Any = None, **others: Any) -> Plan:
    """What kernels of blocks of ``threads`` are compiled for; ``value``: the type of values, or that of places."""
    caps, threads = request.context.capabilities, threads or THREADS
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
        "number": number_of(request.keys.size),
        "word": np.uint32 if request.length < 2**30 else np.uint64,
    }
    return Plan(**{**settings, **others})
