"""Products of bands with vectors, some threads a row; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.level2.bands.elements import element, subscript, vector_element
from portagpu.blas.level2.bands.storage import ACROSS, ALONG, REAL_DIAGONAL, UNIT_DIAGONAL

SUBTOTAL = 256
"""Terms of a subtotal: sums are added in two steps, so that long ones lose no digits."""

LEFT_OUT, ADDED, SCALED = range(3)
"""Of `RowPlan.present`: what becomes of what is in y."""


class RowPlan(NamedTuple):
    """What is known when a kernel is compiled.

    ``rows``: of a block; ``lanes``: threads of a row; ``parts``: a tuple of `Part`; ``diagonal``: see `storage`;
    ``common``: whether the threads of neighbouring rows read the same column at a time, where those elements lie side
    by side; ``brief``: sums have few terms; ``scaled``: by alpha; ``present``: see above.
    """

    dtype: Any
    rows: int
    lanes: int
    parts: tuple[Any, ...]
    diagonal: int
    common: bool
    brief: bool
    scaled: bool
    present: int


class Range(NamedTuple):
    """Rows and columns of a product: from ``first`` and ``left`` on, up to ``last`` and ``right``."""

    first: Any
    last: Any
    left: Any
    right: Any


@cuda.jit(device=True)
def _sum_of_part(a, x, i, lane, top, within, window, plan, part):
    """The terms of row i that are a lane's; top: the first row of the block."""
    begin = max(within.left, i + window.low)
    end = min(within.right, i + window.high)
    common = plan.common and part.order == ACROSS
    start = max(within.left, top + window.low) if common else begin
    stride = type(i)(plan.lanes)
    total = plan.dtype(0)
    if plan.brief:
        for j in range(start + lane, end, stride):
            if not common or j >= begin:
                total += element(a, i, j, part) * vector_element(x, j)
        return total
    for chunk in range(start, end, type(i)(plan.lanes * SUBTOTAL)):
        subtotal = plan.dtype(0)
        for j in range(chunk + lane, min(end, chunk + plan.lanes * SUBTOTAL), stride):
            if not common or j >= begin:
                subtotal += element(a, i, j, part) * vector_element(x, j)
        total += subtotal
    return total


@cuda.jit(device=True)
def _finish(total, a, x, y, i, within, factors, plan):
    """Make the sum of a row's parts the element of y."""
    if plan.diagonal == UNIT_DIAGONAL and i < within.right:
        total += vector_element(x, i)
    if plan.diagonal == REAL_DIAGONAL and i < within.right:
        total += vector_element(x, i) * element(a, i, i, plan.parts[0]).real
    if plan.scaled:
        total = factors.alpha * total
    place = subscript(y.first + i * y.step)
    if plan.present == ADDED:
        total += y.memory[place]
    if plan.present == SCALED:
        total += factors.beta * y.memory[place]
    y.memory[place] = total


@cuda.jit
def multiply_rows(a, x, y, within, strip, windows, factors, plan: cuda.constexpr):
    """``y = alpha * op(A) @ x + beta * y`` for the rows and columns of a `Range`.

    a: a `Band`; x, y: each a `Vector`; windows: a `Window` for each of ``plan.parts``. Blocks have ``strip`` rows
    each, and take ``plan.rows`` at a time. Neighbouring threads have neighbouring rows, or share a row, as the part
    lies in memory. Sums are added in a fixed order.
    """
    rows, lanes = plan.rows, plan.lanes
    thread = type(within.first)(cuda.threadIdx.x)
    begin = within.first + strip * type(strip)(cuda.blockIdx.x)
    bottom = min(within.last, begin + strip)
    if lanes > 1:
        sums = cuda.shared.array((lanes, rows + 1), plan.dtype)
    for top in range(begin, bottom, type(strip)(rows)):
        total = plan.dtype(0)
        for number in cuda.unroll(range(len(plan.parts))):
            part = plan.parts[number]
            row, lane = (thread // lanes, thread % lanes) if part.order == ALONG else (thread % rows, thread // rows)
            found = plan.dtype(0)
            if top + row < bottom:
                found = _sum_of_part(a, x, top + row, lane, top, within, windows[number], plan, part)
            if lanes == 1:
                total += found
            else:
                if number > 0:
                    cuda.syncthreads()
                    found += sums[lane, row]
                sums[lane, row] = found
        if lanes > 1:
            cuda.syncthreads()
            if thread < rows:
                for other in cuda.unroll(range(lanes)):
                    total += sums[other, thread]
        if thread < rows and top + thread < bottom:
            _finish(total, a, x, y, top + thread, within, factors, plan)
        if lanes > 1:
            cuda.syncthreads()
