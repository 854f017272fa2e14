"""A device's roofs, by probes of our own: arithmetic, matrix units, memory and its levels, latency.

Each probe is tried in a few forms (independent chains, widths of vectors, shapes of blocks), and the fastest is the
roof; its form stands where cells tell of tuning. Results are verified as everywhere: a probe that a compiler shortened,
or that skipped a part of its work, is a wrong result without a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from portagpu.bench.roofs import arithmetic, chase, levels, memory, streams
from portagpu.bench.running.case import Case, Entry, Options
from portagpu.device import DeviceRecord
from portagpu.runtime.execution.context import Context

name = "roofs"
summary = "what a device can do: arithmetic, memory by levels, latency"


def entries(device: DeviceRecord, options: Options) -> Iterator[Entry]:
    """The probes of a device."""
    caps = device.capabilities
    assert caps is not None
    for dtype in arithmetic.DTYPES:
        workload = arithmetic.workload(dtype)
        yield Entry(
            path=workload.path,
            workload=workload,
            obstacle=arithmetic.obstacle(dtype, caps),
            make=partial(_one, partial(arithmetic.case, dtype, options)),
        )
    nbytes = memory.array_bytes(device, small=options.small)
    for stream in streams.KERNELS:
        yield Entry(
            path=memory.workload(stream, nbytes).path,
            make=partial(_one, partial(memory.case, stream, options)),
        )
    for level in levels.levels(device, options):
        workload = levels.workload(level, device, small=options.small)
        yield Entry(
            path=workload.path,
            workload=workload,
            obstacle=levels.obstacle(level, caps),
            make=partial(_one, partial(levels.case, level, options)),
        )
    for size in chase.sizes(device, options):
        yield Entry(path=chase.workload(size).path, make=partial(_one, partial(chase.case, size, options)))


def _one(make: partial[Case], context: Context) -> Iterator[Case]:
    yield make(context)


__all__ = ["entries", "name", "summary"]
