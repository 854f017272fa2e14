"""What a block took over: calls, shapes, reasons, time, and the gain that the measured rates let expect."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

_MOST_ROWS = 1000  # of a block; calls of further shapes are counted together
_SHOWN = 12  # rows of each table
_OTHERS = "other shapes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """Calls of one function with operands of one kind. ``why``: the reason where they were left to NumPy, else "".

    ``seconds``: what they took; ``numpy_seconds``: what NumPy would have taken, by its measured rates, for those that
    were taken over; None where nothing was measured.
    """

    function: str
    operands: str
    dtype: str
    why: str
    calls: int
    seconds: float
    numpy_seconds: float | None

    @property
    def taken(self) -> bool:
        """Whether the device did them."""
        return not self.why


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a block has done so far: `Calls`, the costliest first, and remarks about it as a whole. ``str`` shows it."""

    device: str
    rows: tuple[Calls, ...]
    remarks: tuple[str, ...]

    @property
    def taken(self) -> tuple[Calls, ...]:
        """Calls that the device did."""
        return tuple(row for row in self.rows if row.taken)

    @property
    def left(self) -> tuple[Calls, ...]:
        """Calls that NumPy did, each with its reason."""
        return tuple(row for row in self.rows if not row.taken)

    @property
    def gain(self) -> float:
        """Estimated seconds that were saved by what was taken over, where rates were measured."""
        return sum(row.numpy_seconds - row.seconds for row in self.taken if row.numpy_seconds is not None)

    def __str__(self) -> str:
        lines = [f"accelerate: {self.device}"]
        lines.append(f"taken over: {_total(self.taken)}" + self._estimate())
        lines += _table(self.taken)
        lines.append(f"left to NumPy: {_total(self.left)}")
        lines += _table(self.left)
        return "\n".join([*lines, *self.remarks])

    def _estimate(self) -> str:
        known = [row for row in self.taken if row.numpy_seconds is not None]
        if not known:
            return ""
        spent = sum(row.numpy_seconds or 0.0 for row in known)
        return f"; NumPy would take {_seconds(spent)} for them (estimated): gain {_seconds(self.gain)}"


class Record:
    """The calls of a block, which several threads add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str, str, str], list[float]] = {}

    def add(
        self, function: str, operands: str, dtype: str, why: str, seconds: float, numpy_seconds: float | None
    ) -> None:
        """Count a call. ``why``: the reason why it was left to NumPy, "" where the device did it."""
        key = function, operands, dtype, why
        with self._lock:
            row = self._rows.get(key)
            if row is None:
                if len(self._rows) >= _MOST_ROWS:
                    key = function, _OTHERS, dtype, why
                row = self._rows.setdefault(key, [0, 0.0, 0.0, 0])
            row[0] += 1
            row[1] += seconds
            if numpy_seconds is not None:
                row[2] += numpy_seconds
                row[3] += 1

    def rows(self) -> tuple[Calls, ...]:
        """What was counted, the costliest first."""
        with self._lock:
            found = [(key, tuple(row)) for key, row in self._rows.items()]
        rows = [
            Calls(
                function=function,
                operands=operands,
                dtype=dtype,
                why=why,
                calls=int(calls),
                seconds=seconds,
                numpy_seconds=estimate if known else None,
            )
            for (function, operands, dtype, why), (calls, seconds, estimate, known) in found
        ]
        return tuple(sorted(rows, key=lambda row: (-row.seconds, row.function, row.operands)))


def _total(rows: Iterable[Calls]) -> str:
    found = tuple(rows)
    calls = sum(row.calls for row in found)
    return f"{calls} calls, {_seconds(sum(row.seconds for row in found))}" if calls else "nothing"


def _table(rows: tuple[Calls, ...]) -> list[str]:
    """Lines of a table, indented, with the rows that took longest."""
    if not rows:
        return []
    shown = rows[:_SHOWN]
    cells = [("function", "operands", "dtype", "calls", "time", "NumPy's" if rows[0].taken else "why")]
    for row in shown:
        if row.taken:
            last = "" if row.numpy_seconds is None else _seconds(row.numpy_seconds)
        else:
            last = row.why
        cells.append((row.function, row.operands, row.dtype, str(row.calls), _seconds(row.seconds), last))
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = ["  " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells]
    if len(rows) > len(shown):
        rest = rows[len(shown) :]
        lines.append(f"  and {_total(rest)} in {len(rest)} more rows")
    return [line.rstrip() for line in lines]


def _seconds(value: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if abs(value) * factor >= 1 or (unit == "s" and value == 0):
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} us"
