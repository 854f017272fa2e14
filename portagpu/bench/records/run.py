"""`Run`: the machines, devices and cells of one run of a benchmark, or of several that were merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from portagpu.bench.records.cell import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What one must know of a machine to judge its numbers; nothing that tells whose it is.

    ``label``: what its owner wants it to be called, "" without. ``software``: versions by name.
    """

    label: str = ""
    system: str = ""
    processor: str = ""
    cores: int | None = None
    memory_bytes: int | None = None
    software: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of a machine, which is an index into the run's. ``kind``: "gpu", "cpu" or "accelerator".

    ``compiler``: what compiles for it, with its version; ``version``: of the interface, as "OpenCL 3.0";
    ``capabilities``: some that numbers depend on, by name.
    """

    machine: int
    name: str
    platform: str
    driver: str
    kind: str = ""
    vendor: str = ""
    version: str = ""
    compiler: str = ""
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Name, platform and driver."""
        return f"{self.name} ({self.platform} {self.driver})".replace(" )", ")")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: ``started`` and ``finished`` are UTC (ISO 8601), ``finished`` "" while cells are open.

    ``command``: what was typed, files by their names only. ``seed``: of the random operands. ``method``: the
    parameters of the measurement, by name. ``peers``: beside whom PortaGPU was measured, "" where files do not tell.
    """

    identity: str
    started: str
    finished: str = ""
    command: str = ""
    seed: int = 0
    method: Mapping[str, float | str] = field(default_factory=dict)
    peers: str = ""
    machines: tuple[Machine, ...] = ()
    devices: tuple[Device, ...] = ()
    cells: tuple[Cell, ...] = ()


__all__ = ["Device", "Machine", "Run"]
