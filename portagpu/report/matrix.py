"""`Matrix`: what several runs found, problems by devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from portagpu.bench.records.cell import Caches, Cell, Memory, Role, Status
from portagpu.bench.records.run import Device, Machine
from portagpu.bench.records.workload import Workload
from portagpu.report.roofs import SUITE, Roofs


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A device. ``short`` names it among the report's devices; ``files`` are those that its cells are from."""

    short: str
    device: Device
    machine: Machine
    files: tuple[str, ...]
    roofs: Roofs

    @property
    def title(self) -> str:
        """The short name, and the driver."""
        driver = f"{self.device.platform} {self.device.driver}".strip()
        return f"{self.short} ({driver})" if driver and driver not in self.short else self.short


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A problem, with where its operands are and what the caches hold."""

    workload: Workload
    memory: Memory
    caches: Caches

    @property
    def is_roof(self) -> bool:
        """Whether it is a probe of the device, which is compared with nobody's."""
        return self.workload.suite == SUITE

    @property
    def remark(self) -> str:
        """What is not as for most rows: "" for device arrays and caches as calls leave them."""
        cold = ["cold caches"] if self.caches is Caches.COLD else []
        return ", ".join([*([self.memory.value] if self.memory is Memory.HOST else []), *cold])

    @property
    def label(self) -> str:
        """The problem's path, and the remark."""
        return f"{self.workload.path} ({self.remark})" if self.remark else self.workload.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a device has of a problem: cells of one run, which may be compared with each other.

    ``ours``: our cell, the fastest where there are several, without a time where none was measured; None in problems
    that only others solved. ``vendor``: the fastest of the vendor's libraries, likewise. ``rival``: the fastest of all
    others, vendors and peers.
    """

    row: Row
    column: Column
    cells: tuple[Cell, ...]
    ours: Cell | None
    vendor: Cell | None
    rival: Cell | None

    @property
    def best_seconds(self) -> float | None:
        """The shortest time that anybody needs."""
        return min((cell.seconds for cell in self.cells if cell.seconds is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Rows, columns, and the places that have cells, by their numbers. ``notes``: what merging had to decide."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    places: Mapping[tuple[int, int], Place]
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = field(default=())

    def row_places(self, row: int) -> tuple[Place | None, ...]:
        """What each device has of a problem."""
        return tuple(self.places.get((row, column)) for column in range(len(self.columns)))

    def column_places(self, column: int) -> tuple[Place | None, ...]:
        """What a device has of each problem."""
        return tuple(self.places.get((row, column)) for row in range(len(self.rows)))


def place(row: Row, column: Column, cells: tuple[Cell, ...]) -> Place:
    """The place of cells, all of one run, with those chosen that are shown."""
    by_role = {role: [cell for cell in cells if cell.role is role] for role in Role}
    plain = [cell for cell in by_role[Role.OURS] if not cell.arithmetic]  # what was asked for, not what took its place
    return Place(
        row=row,
        column=column,
        cells=cells,
        ours=_shown(plain) or _shown(by_role[Role.OURS]) or _shown(by_role[Role.ROOF]),
        vendor=_shown(by_role[Role.VENDOR]),
        rival=_shown([*by_role[Role.VENDOR], *by_role[Role.PEER]]),
    )


def _shown(cells: list[Cell]) -> Cell | None:
    """The fastest cell; the first where none has a time."""
    measured = [cell for cell in cells if cell.status is Status.MEASURED]
    return min(measured, key=lambda cell: cell.seconds or 0.0) if measured else next(iter(cells), None)


__all__ = ["Column", "Matrix", "Place", "Row", "place"]
