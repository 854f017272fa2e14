"""Where the lines of a sheet begin in memory, in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda


@cuda.jit(device=True)
def start_of(m, line):
    """Where number 0 of a line of a `Sheet` is, or would be."""
    return line * m.pitch + line * (line - 1) // 2 * m.growth
