"""The roofs of a memory's levels as cases: sets from what a first cache holds to what no cache does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.records.cell import Memory
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.roofs import sweep
from portagpu.bench.roofs.probe import Candidate, contender
from portagpu.bench.roofs.sweep import ITEM, TILE, Form
from portagpu.bench.running.case import Case, Options
from portagpu.device import Capabilities, DeviceRecord, DeviceType
from portagpu.runtime.execution.context import Context

_KIB, _MIB = 1 << 10, 1 << 20
_BYTES_OF_UNIT = 1 << 26  # that a compute unit reads in a launch


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A set: ``nbytes`` for each compute unit, or that all units read; or in local memory."""

    nbytes: int
    shared: bool = False
    local: bool = False

    @property
    def name(self) -> str:
        """Of the workload: "cache 32 KiB"."""
        return "local memory" if self.local else f"cache {self.nbytes // _KIB} KiB"

    @property
    def size(self) -> str:
        """Whose the set is."""
        return "in all" if self.shared else "each unit"


def levels(device: DeviceRecord, options: Options) -> list[Level]:
    """The sets of a device; more of them where there is time: a curve that shows where caches end."""
    local = Level(nbytes=TILE * ITEM, local=True)
    if options.small:
        return [local, Level(nbytes=16 * _KIB), Level(nbytes=64 * _KIB, shared=True)]
    few = options.quick
    own: tuple[int, ...]
    shared: tuple[int, ...]
    if device.device_type is DeviceType.CPU:
        own = (16, 256) if few else (8, 16, 32, 64, 128, 256, 512, 1024)
        shared = (4, 16) if few else (2, 4, 8, 16, 32, 64)
    else:
        own = (32, 64) if few else (16, 32, 64, 128, 256)
        shared = (2, 16) if few else (1, 2, 4, 8, 16, 32, 64, 128)
    return [
        local,
        *(Level(nbytes=size * _KIB) for size in own),
        *(Level(nbytes=size * _MIB, shared=True) for size in shared),
    ]


def obstacle(level: Level, caps: Capabilities) -> str:
    """Why a device has no such level; "" if it has."""
    return "local memory is a part of the device's memory" if level.local and not caps.local_memory_dedicated else ""


def passes_of(level: Level, *, small: bool = False) -> int:
    """How often a unit reads its set in a launch, also if several blocks share in that."""
    return 8 if small else max(8, _BYTES_OF_UNIT // level.nbytes)


def workload(level: Level, device: DeviceRecord, *, small: bool = False) -> Workload:
    """Reads of the whole device."""
    assert device.capabilities is not None
    moved = device.capabilities.compute_units * passes_of(level, small=small) * level.nbytes
    return Workload(
        suite="roofs",
        name=level.name,
        arithmetic="float32",
        size=level.size,
        unit=Unit.GBYTES,
        nbytes=float(moved),
    )


def case(level: Level, options: Options, context: Context) -> Case:
    """Reads of a level."""
    caps = context.device.capabilities
    assert caps is not None
    elements = level.nbytes // ITEM
    sets = 1 if level.shared or level.local else caps.compute_units
    a = sweep.operand(elements * sets, options.seed)
    passes = passes_of(level, small=options.small)
    all_sets = float(np.sum(a, dtype=np.float64)) * (caps.compute_units // sets)
    forms = sweep.forms(caps, elements, local=level.local, shared=level.shared)
    return Case(
        workload=workload(level, context.device, small=options.small),
        memory=Memory.DEVICE,
        contenders=(contender(context, partial(_candidates, level, forms, passes, a, caps)),),
        check=lambda found: sweep.error(found, passes * all_sets),
    )


def _candidates(level: Level, forms: list[Form], passes: int, a: Any, caps: Capabilities) -> Iterator[Candidate]:
    array = cuda.to_device(a)
    kernel: Any = sweep.sweep_local if level.local else sweep.sweep
    elements = level.nbytes // ITEM
    for form in forms:
        blocks = caps.compute_units * form.blocks
        sums = cuda.device_array(blocks * form.threads, np.float32)
        vector = getattr(cuda, f"float32x{form.lanes}")
        apart = np.uint32(0 if level.shared or level.local else elements)
        counts = np.uint32(elements // form.chunk), np.uint32(passes // form.blocks)
        run = partial(kernel[blocks, form.threads], array, sums, apart, *counts, vector, form.unrolled)
        yield Candidate(text=form.text, run=run, fetch=sums.copy_to_host)


__all__ = ["Level", "case", "levels", "obstacle", "passes_of", "workload"]
