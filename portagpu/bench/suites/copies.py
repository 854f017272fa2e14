"""Copies between host and device and within a device, and how well streams hide them behind kernels.

A copy is waited for before the next one begins, so small ones tell what a copy costs and large ones how fast the bus
is; bytes are counted once between host and device, and twice within a device, where they are read and written. Host
memory is pageable (as NumPy makes it) or page-locked (`cuda.pinned_array`); its pages exist before the clock starts.
"overlap" is the time of all tasks of `portagpu.bench.copying.overlap`, on one stream and on several.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from portagpu.bench.copying import moves, overlap
from portagpu.bench.copying.moves import PAGEABLE, PINNED, TO_DEVICE, TO_HOST, WITHIN, Move
from portagpu.bench.records.cell import Caches, Memory
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.roofs.memory import size_text
from portagpu.bench.running.case import Case, Entry, Options
from portagpu.device import DeviceRecord
from portagpu.runtime.execution.context import Context

name = "copies"
summary = "copies between host and device, and streams that hide them"

_KIB, _MIB = 1 << 10, 1 << 20
_STREAMS = (1, 2, 4)


def sizes(device: DeviceRecord, options: Options) -> tuple[int, ...]:
    """Bytes of copies."""
    if options.small:
        return (4 * _KIB,)
    if not options.are_large(device):
        return (4 * _KIB, 16 * _MIB) if options.quick else (4 * _KIB, 64 * _KIB, _MIB, 16 * _MIB, 64 * _MIB)
    if options.quick:
        return (4 * _KIB, 64 * _MIB)
    return (4 * _KIB, 64 * _KIB, _MIB, 16 * _MIB, 64 * _MIB, 256 * _MIB)


def entries(device: DeviceRecord, options: Options) -> Iterator[Entry]:
    """The copies of a device, then the tasks on streams."""
    kinds = [(TO_DEVICE, PAGEABLE), (TO_DEVICE, PINNED), (TO_HOST, PAGEABLE), (TO_HOST, PINNED), (WITHIN, "")]
    for way, memory in kinds:
        for nbytes in sizes(device, options):
            move = Move(way=way, memory=memory, nbytes=nbytes)
            yield Entry(path=workload(move).path, make=partial(_copy, move, options))
    for streams in (_STREAMS[0], _STREAMS[-1]) if options.quick else _STREAMS:
        yield Entry(path=overlapping(streams).path, make=partial(_overlap, streams, options), caches=(Caches.HOT,))


def workload(move: Move) -> Workload:
    """A copy."""
    counted = 2 * move.nbytes if move.way == WITHIN else move.nbytes
    return Workload(
        suite=name,
        name=move.way,
        arithmetic=move.memory,
        size=size_text(move.nbytes),
        unit=Unit.GBYTES,
        nbytes=float(counted),
    )


def overlapping(streams: int) -> Workload:
    """The tasks on so many streams."""
    text = f"{streams} streams" if streams > 1 else "1 stream"
    return Workload(suite=name, name="overlap", arithmetic="", size=text, unit=Unit.MICROSECONDS)


def _copy(move: Move, options: Options, context: Context) -> Iterator[Case]:
    given = moves.source(move, options.seed)
    made = Case(
        workload=workload(move),
        memory=Memory.DEVICE if move.way == WITHIN else Memory.HOST,
        contenders=tuple(moves.contenders(move, given, context)),
        check=partial(moves.error, given),
    )
    yield made.beside(options.peers)


def _overlap(streams: int, options: Options, context: Context) -> Iterator[Case]:
    caps = context.device.capabilities
    assert caps is not None
    given = overlap.source(overlap.elements(caps, small=options.small), options.seed)
    count = overlap.steps(caps, small=options.small)
    wanted = overlap.expected(given, count)
    made = Case(
        workload=overlapping(streams),
        memory=Memory.HOST,
        contenders=tuple(overlap.contenders(given, count, streams, context)),
        check=lambda found: 0.0 if np.array_equal(found, wanted) else np.inf,
    )
    yield made.beside(options.peers)


__all__ = ["entries", "name", "overlapping", "sizes", "summary", "workload"]
