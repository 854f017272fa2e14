"""What a run of the textbook kernels found: rows, the file, the table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from portagpu.files import write_atomically

SCHEMA = 1
_KIND = "textbook kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One kernel on one device; times are medians of turns, in seconds."""

    device: str
    driver: str
    kernel: str
    size: str
    peer: str  # what it is compared with, or why with nothing
    error: float | None = None  # relative to the tolerance; at most 1 for a right result
    peer_error: float | None = None
    seconds: float | None = None
    peer_seconds: float | None = None
    samples: tuple[float, ...] = ()  # of each turn, in seconds for a launch
    peer_samples: tuple[float, ...] = ()
    problem: str = ""  # why there is no time

    @property
    def ratio(self) -> float | None:
        """PortaGPU's time over the peer's: at most 1 where it is not slower."""
        return None if self.seconds is None or self.peer_seconds is None else self.seconds / self.peer_seconds


def save(path: Path, machine: dict[str, str], rows: Iterable[Row]) -> None:
    """Write a result file atomically."""
    data = {"schema": SCHEMA, "kind": _KIND, "machine": machine, "rows": [asdict(row) for row in rows]}
    write_atomically(path, (json.dumps(data, indent=1) + "\n").encode())


def figures(row: Row) -> tuple[str, str, str, str]:
    """Both times in microseconds, their ratio, and the error, as texts."""
    own, peer = ("-" if s is None else f"{s * 1e6:.1f}" for s in (row.seconds, row.peer_seconds))
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    return own, peer, ratio, "-" if row.error is None else f"{row.error:.2g}"


def summary(rows: Iterable[Row]) -> str | None:
    """The row with the largest ratio, in words; None if no row has one."""
    compared = [row for row in rows if row.ratio is not None]
    if not compared:
        return None
    slowest = max(compared, key=lambda row: row.ratio or 0.0)
    within = sum((row.ratio or 0.0) <= 1.0 for row in compared)
    return (
        f"{within} of {len(compared)} take no longer than the peer; the longest: {slowest.kernel},"
        f" {slowest.ratio:.2f} of {slowest.peer}"
    )


__all__ = ["Row", "figures", "save", "summary"]
