"""The few rows to shared memory, a panel of k's at a time, as numbers of the type of sums; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda


class Panel(NamedTuple):
    """How x lies in shared memory: k's are ``pitch`` apart, with rows side by side that are stored as ``packed``
    (`stage_across`), or rows are, with k's side by side (`stage_along`)."""

    pitch: int
    packed: Any
    accumulator: Any


@cuda.jit(device=True)
def stage_across(shared, x, strip, first, rest, padded, m, form, plan: cuda.constexpr):
    """A panel of x, ``rest`` k's from ``first`` on: element (row, k) to ``shared[k * pitch + row]``.

    x: a `StridedMatrix`; strip: the block's `Strip`; form: a `Panel`. From ``rest`` up to ``padded`` elements are zero;
    m's last row stands for rows beyond it. The block's threads meet before and after.
    """
    pitch, packed, accumulator = form
    few = plan.few
    thread = strip.thread
    threads = plan.strip.threads
    groups = (plan.strip.rows + few - 1) // few
    at_once = max(1, 16 // (groups * few))  # k's whose loads are under way together
    taken = cuda.local.array((at_once, groups * few), accumulator)
    cuda.syncthreads()
    start = strip.batch * x.batch + first * x.right
    for first_of_turn in range(thread, padded, type(thread)(threads * at_once)):
        for j in cuda.unroll(range(at_once)):
            at = start + min(first_of_turn + j * threads, rest - 1) * x.right
            for i in cuda.unroll(range(groups * few)):
                taken[j, i] = accumulator(x.memory[at + min(strip.row + i, m - 1) * x.down])
        for j in cuda.unroll(range(at_once)):
            p = first_of_turn + j * threads
            if p >= rest:
                for i in cuda.unroll(range(groups * few)):
                    taken[j, i] = 0
            if p < padded:
                for group in cuda.unroll(range(groups)):
                    if few == 1:
                        shared[p * pitch] = taken[j, 0]
                    elif few == 2:
                        values = packed(taken[j, group * 2], taken[j, group * 2 + 1])
                        cuda.vstore(values, shared, p * pitch + group * 2, aligned=True)
                    else:
                        i = group * 4
                        values = packed(taken[j, i], taken[j, i + 1], taken[j, i + 2], taken[j, i + 3])
                        cuda.vstore(values, shared, p * pitch + i, aligned=True)
    cuda.syncthreads()


@cuda.jit(device=True)
def stage_along(shared, x, strip, first, rest, m, form, plan: cuda.constexpr):
    """As `stage_across`, but element (row, k) to ``shared[row * pitch + k]``; zeros from ``rest`` on."""
    threads = plan.strip.threads
    thread = strip.thread
    count = plan.strip.rows * plan.panel
    cuda.syncthreads()
    start = strip.batch * x.batch + first * x.right
    for turn in cuda.unroll(range((count + threads - 1) // threads)):
        number = thread + turn * threads
        if plan.x_lies_along:
            p, row = number % plan.panel, number // plan.panel
        else:
            p, row = number // plan.strip.rows, number % plan.strip.rows
        if count % threads == 0 or number < count:
            at = start + min(p, rest - 1) * x.right + min(strip.row + row, m - 1) * x.down
            value = form.accumulator(x.memory[at])
            shared[row * form.pitch + p] = value if p < rest else form.accumulator(0)
    cuda.syncthreads()
