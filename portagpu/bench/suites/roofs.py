"""A device's roofs, by probes of our own: arithmetic, matrix units, memory and its levels, latency.

Each probe is tried in a few forms (independent chains, widths of vectors, shapes of blocks), and the fastest is the
roof; its form stands where cells tell of tuning. Results are verified as everywhere: a probe that a compiler shortened,
or that skipped a part of its work, is a wrong result without a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from portagpu.bench.problems import missing
from portagpu.bench.records.cell import Caches
from portagpu.bench.roofs import arithmetic, chase, levels, matrix_units, memory, streams
from portagpu.bench.roofs.bare import KINDS
from portagpu.bench.running.case import Case, Entry, Options
from portagpu.device import DeviceRecord
from portagpu.runtime.execution.context import Context

name = "roofs"
summary = "what a device can do: arithmetic, memory by levels, latency"


def entries(device: DeviceRecord, options: Options) -> Iterator[Entry]:
    """The probes of a device; of the caches they tell by themselves, or need none."""
    for entry in _entries(device, options):
        yield replace(entry, caches=(Caches.HOT,))


def _entries(device: DeviceRecord, options: Options) -> Iterator[Entry]:
    caps = device.capabilities
    assert caps is not None
    for dtype in arithmetic.DTYPES:
        workload = arithmetic.workload(dtype)
        yield Entry(
            path=workload.path,
            workload=workload,
            obstacle=arithmetic.obstacle(dtype, caps),
            make=partial(_one, options, partial(arithmetic.case, dtype, options)),
        )
    yield from _matrix_units(device, options)
    nbytes = memory.array_bytes(device, small=options.small)
    for stream in streams.KERNELS:
        yield Entry(
            path=memory.workload(stream, nbytes).path,
            make=partial(_one, options, partial(memory.case, stream, options)),
        )
    for level in levels.levels(device, options):
        workload = levels.workload(level, device, small=options.small)
        yield Entry(
            path=workload.path,
            workload=workload,
            obstacle=levels.obstacle(level, caps),
            make=partial(_one, options, partial(levels.case, level, options)),
        )
    for size in chase.sizes(device, options):
        yield Entry(path=chase.workload(size).path, make=partial(_one, options, partial(chase.case, size, options)))


def _matrix_units(device: DeviceRecord, options: Options) -> Iterator[Entry]:
    """Bare instructions where they are probed, and the shipped product where there are matrix units."""
    caps = device.capabilities
    assert caps is not None
    for kind in KINDS:
        for instruction in matrix_units.instructions(kind, caps):
            yield Entry(
                path=matrix_units.workload(kind, instruction).path,
                make=partial(_one, options, partial(matrix_units.case, kind, instruction, options)),
            )
        problem = matrix_units.problem_of(kind, small=options.small)
        # exact float32 is not multiplied by units in the shipped product
        if kind != "float32" and matrix_units.has_units(caps) and not missing(problem, caps):
            workload = matrix_units.product_workload(kind, small=options.small)
            yield Entry(
                path=workload.path,
                workload=workload,
                make=partial(matrix_units.product_case, kind, options),
            )


def _one(options: Options, make: partial[Case], context: Context) -> Iterator[Case]:
    yield make(context).beside(options.peers)


__all__ = ["entries", "name", "summary"]
