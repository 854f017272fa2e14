"""Latency by a chase: every load tells where the next one is, so that none begins before the one before has ended.

One thread walks a random cycle through all lines of a set; where it stands after so many loads is known.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.records.cell import Memory
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.roofs.memory import size_text
from portagpu.bench.roofs.probe import Candidate, contender
from portagpu.bench.running.case import Case, Options
from portagpu.device import DeviceRecord, DeviceType
from portagpu.runtime.execution.context import Context

Array = np.ndarray[Any, Any]
LINE = 128
"""Bytes between places of a chase: at least a line of a cache."""
_ITEM = 4
UNROLLED = 16
"""Loads that a turn of the loop has."""
_LOADS = 1 << 14
_SMALL_LOADS = 1 << 8
_KIB, _MIB = 1 << 10, 1 << 20


@cuda.jit
def chase(links, last, turns):
    """Follow the links from element 0; where that ends."""
    place = np.uint32(0)
    for _turn in range(turns):
        for _load in cuda.unroll(range(UNROLLED)):
            place = links[place]
    last[0] = place


def cycle(nbytes: int, seed: int = 0) -> tuple[Array, Array]:
    """Links through all lines of a set, and the elements in the order in which they are met."""
    lines = nbytes // LINE
    order = np.concatenate([[0], 1 + np.random.default_rng([seed, 17]).permutation(lines - 1)])
    places = (order * (LINE // _ITEM)).astype(np.uint32)
    links = np.zeros(nbytes // _ITEM, np.uint32)
    links[places] = np.roll(places, -1)
    return links, places


def sizes(device: DeviceRecord, options: Options) -> list[int]:
    """Bytes of the sets."""
    if options.small:
        return [16 * _KIB, 64 * _KIB]
    caps = device.capabilities
    assert caps is not None
    beyond = 256 * _MIB
    while beyond < 4 * caps.global_cache:
        beyond *= 2
    while beyond > min(caps.max_allocation, caps.global_memory // 4):
        beyond //= 2
    if device.device_type is DeviceType.CPU:
        found = [16 * _KIB, 256 * _KIB, 8 * _MIB]
    else:
        found = [16 * _KIB, 4 * _MIB]
    if not options.quick:
        found = [(16 * _KIB) << n for n in range(0, 14, 1 if device.device_type is DeviceType.CPU else 2)]
    return [*(size for size in found if size < beyond), beyond]


def workload(nbytes: int) -> Workload:
    """Microseconds of a load."""
    return Workload(suite="roofs", name="latency", arithmetic="", size=size_text(nbytes), unit=Unit.MICROSECONDS)


def case(nbytes: int, options: Options, context: Context) -> Case:
    """Dependent loads in a set; times are those of one load."""
    links, places = cycle(nbytes, options.seed)
    loads = _SMALL_LOADS if options.small else _LOADS
    wanted = int(places[loads % places.size])
    return Case(
        workload=workload(nbytes),
        memory=Memory.DEVICE,
        contenders=(contender(context, partial(_candidates, links, loads), parts=loads),),
        check=lambda found: 0.0 if int(found[0]) == wanted else np.inf,
    )


def _candidates(links: Array, loads: int) -> Iterator[Candidate]:
    array, last = cuda.to_device(links), cuda.device_array(1, np.uint32)
    run = partial(chase[1, 1], array, last, np.int32(loads // UNROLLED))
    yield Candidate(text=f"{loads} loads of one thread", run=run, fetch=last.copy_to_host)


__all__ = ["LINE", "UNROLLED", "case", "chase", "cycle", "sizes", "workload"]
