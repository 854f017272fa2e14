"""Texts of cells for the terminal."""

from __future__ import annotations

from portagpu.bench.cells import Cell, worst


def speed(gflops: float | None) -> str:
    """GFLOP/s for people; "-" where there is none."""
    if gflops is None:
        return "-"
    return f"{gflops:.0f}" if gflops >= 100 else f"{gflops:.3g}"


UNSTEADY = "~: the times' quartiles lie more than 10% of their median apart"


def marked_speed(gflops: float | None, unsteady: bool) -> str:
    """As `speed`, with a mark where the times behind it varied."""
    return f"{speed(gflops)}~" if unsteady and gflops is not None else speed(gflops)


def worst_text(cells: tuple[Cell, ...]) -> str | None:
    """The cell with the smallest ratio, in words; None if no cell has one."""
    cell = worst(cells)
    if cell is None:
        return None
    return f"worst of {len(cells)}: {cell.arithmetic} {cell.shape} on {cell.device}: {cell.ratio:.2f} of {cell.rival}"
