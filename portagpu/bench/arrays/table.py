"""Rows of what was measured: times, the peer's time over ours, and whether that reaches its target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from portagpu.bench.arrays.cases import Problem, target
from portagpu.bench.method.statistics import all_of
from portagpu.bench.records.cell import Cell, Role
from portagpu.device import DeviceType

HEAD = ("operation", "dtype", "elements", "PortaGPU, us", "peer, us", "ratio", "of the least", "target")
_WORDS = 2  # columns of words


def rows(problems: Iterable[Problem], cells: Iterable[Cell], device_type: DeviceType) -> Iterator[tuple[str, ...]]:
    """A row for each problem: medians, their ratio, that of the least samples, which other programs disturb less."""
    found = {(cell.workload.path, cell.role): cell for cell in cells}
    for problem in problems:
        own, peer = (found.get((problem.workload.path, role)) for role in (Role.OURS, Role.VENDOR))
        named = (problem.operation.name, problem.dtype, str(problem.n))
        yield (*named, _time(own), _time(peer), *_ratios(problem, own, peer, device_type))


def _time(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    return f"{cell.status.value}: {cell.reason}" if cell.seconds is None else f"{cell.seconds * 1e6:.4g}"


def _ratios(problem: Problem, own: Cell | None, peer: Cell | None, device_type: DeviceType) -> tuple[str, str, str]:
    if own is None or peer is None or own.seconds is None or peer.seconds is None:
        return "-", "-", "-"
    ratio = peer.seconds / own.seconds
    of_least = min(all_of(peer.samples)) / min(all_of(own.samples))
    wanted = target(problem.operation, device_type, peer.implementation)
    verdict = "-" if wanted is None else f"{wanted:g}" if ratio >= wanted else f"{wanted:g}, missed"
    return f"{ratio:.3g}", f"{of_least:.3g}", verdict


def text(table: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = [HEAD, *table]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]

    def line(cells: tuple[str, ...]) -> str:
        padded = (c.ljust(w) if k < _WORDS else c.rjust(w) for k, (c, w) in enumerate(zip(cells, widths, strict=True)))
        return f"| {' | '.join(padded)} |"

    under = " | ".join("-" * w if k < _WORDS else "-" * (w - 1) + ":" for k, w in enumerate(widths))
    return "\n".join((line(lines[0]), f"| {under} |", *map(line, lines[1:])))


__all__ = ["HEAD", "rows", "text"]
