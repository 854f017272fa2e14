"""Where the lines of a sheet begin in memory, in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.level2.products.form import GROWING, SHRINKING


@cuda.jit(device=True)
def start_of(m, line, layout, parts):
    """Where number 0 of a line of a `Sheet` is, or would be; ``parts``: numbers of an element."""
    if layout == GROWING:
        return line * (line + 1) // 2 * parts
    if layout == SHRINKING:
        return line * (2 * m.pitch - line - 1) // 2 * parts
    return line * m.pitch
