"""Numbers and cells as people read them."""

from __future__ import annotations

from portagpu.bench.method.statistics import varies
from portagpu.bench.records.cell import Cell, Status
from portagpu.report.views import Figure, View

UNSTEADY = "~: the times' quartiles lie more than 10% of their median apart"


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:.0f}" if 100 <= value < 1e7 else f"{value:.3g}"


def letter(index: int) -> str:
    """The letter of a device: A, B, ..., Z, AA, AB, ..."""
    first, last = divmod(index, 26)
    return f"{letter(first - 1) if first else ''}{chr(65 + last)}"


def peak_text(rate: float) -> str:
    """FLOP/s, in the unit that needs few digits."""
    return f"{number(rate / 1e12)} TFLOP/s" if rate >= 1e13 else f"{number(rate / 1e9)} GFLOP/s"


def figure_text(figure: Figure, view: View) -> str:
    """A figure with its interval; what is in its place where there is none."""
    if figure.value is None:
        return figure.why or "-"
    shown = f"{figure.value:.2f}" if view.share and figure.value < 100 else number(figure.value)
    return f"{shown}{spread(figure)}"


def spread(figure: Figure) -> str:
    """ "±0.4%": how far the interval's further end is from the value; "" without an interval."""
    if not figure.value or figure.low is None or figure.high is None:  # of nothing there is no percentage
        return ""
    width = max(figure.high - figure.value, figure.value - figure.low) / figure.value
    return f" ±{100 * width:.2g}%" if width < 10 else " ±large"


def mark(cell: Cell | None) -> str:
    """ "~" for a cell whose times vary so much that the median says little."""
    return "~" if cell is not None and cell.status is Status.MEASURED and varies(cell.samples) else ""


def absent(cell: Cell | None) -> str:
    """What stands in place of a number: the status and its reason."""
    if cell is None:
        return ""
    return f"{cell.status.value}: {cell.reason}" if cell.reason else cell.status.value


__all__ = ["UNSTEADY", "absent", "figure_text", "letter", "mark", "number", "peak_text", "spread"]
