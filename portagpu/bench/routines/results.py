"""What a run of the routines found: rows, the file, the table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from portagpu.files import write_atomically

SCHEMA = 1
_KIND = "BLAS routines"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One routine on one device beside one peer; times are medians, in seconds."""

    device: str
    driver: str
    routine: str
    dtype: str
    size: str
    memory: str
    peer: str  # what it is compared with, or why with nothing
    work: float  # operations or bytes of a call
    unit: str  # GFLOP/s or GB/s
    error: float | None = None  # relative to the tolerance; at most 1 for a right result
    peer_error: float | None = None
    seconds: float | None = None
    peer_seconds: float | None = None
    samples: tuple[float, ...] = ()
    peer_samples: tuple[float, ...] = ()
    problem: str = ""  # why there is no time

    @property
    def ratio(self) -> float | None:
        """PortaGPU's speed over the peer's."""
        return None if self.seconds is None or self.peer_seconds is None else self.peer_seconds / self.seconds


def save(path: Path, machine: dict[str, str], rows: Iterable[Row]) -> None:
    """Write a result file atomically: a line for each row, whose samples would be very long columns."""
    head = json.dumps({"schema": SCHEMA, "kind": _KIND, "machine": machine}, indent=1).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(asdict(row))}" for row in rows)
    write_atomically(path, f'{head},\n "rows": [\n{lines}\n ]\n}}\n'.encode())


def figures(row: Row) -> tuple[str, str, str, str]:
    """Both rates, their ratio, and the error, as texts."""
    own, peer = (_rate(row.work, seconds) for seconds in (row.seconds, row.peer_seconds))
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    return own, peer, ratio, "-" if row.error is None else f"{row.error:.2g}"


def _rate(work: float, seconds: float | None) -> str:
    if seconds is None:
        return "-"
    rate = work / seconds / 1e9
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"


def summary(rows: Iterable[Row]) -> str | None:
    """The row with the smallest ratio, in words; None if no row has one."""
    compared = [row for row in rows if row.ratio is not None]
    if not compared:
        return None
    slowest = min(compared, key=lambda row: row.ratio or 0.0)
    return (
        f"worst of {len(compared)}: {slowest.routine} {slowest.dtype} {slowest.size}:"
        f" {slowest.ratio:.2f} of {slowest.peer}"
    )


__all__ = ["SCHEMA", "Row", "figures", "save", "summary"]
