"""The suites by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from portagpu.bench.running.case import Entry, Options, Suite
from portagpu.bench.suites import blas, copies, gemm, launch, roofs, textbook
from portagpu.device import DeviceRecord

SUITES: dict[str, Suite] = {suite.name: suite for suite in (gemm, blas, textbook, roofs, launch, copies)}
"""In the order of tables."""


def entries_of(names: Iterable[str], device: DeviceRecord, options: Options) -> Iterator[Entry]:
    """What is measured of some suites on a device."""
    for name in names:
        yield from SUITES[name].entries(device, options)


__all__ = ["SUITES", "entries_of"]
