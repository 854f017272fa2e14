"""Determinants from LU factors: products whose parts neither overflow nor vanish on the way; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.scaling import Range, scale_of

_MOST = 3  # powers of the factor that are put back: with more, whatever is multiplied overflows, or vanishes


class PivotPlan(NamedTuple):
    """What is known when the kernel is compiled: ``threads`` of a block; ``number``: an element, ``real``: a real
    number; ``usual``: the range of parts of a product."""

    threads: int
    number: Any
    real: Any
    is_complex: bool
    usual: Range


class _Part(NamedTuple):
    """A product: ``value`` times the factor of the usual range to the power ``power``."""

    value: Any
    power: Any


@cuda.jit(device=True)
def _usual(value, power, plan: cuda.constexpr):
    """A product whose value is in the usual range, unless it is zero, infinite or NaN."""
    size = max(abs(value.real), abs(value.imag)) if plan.is_complex else abs(value)
    scale, _ = scale_of(size, plan.usual, plan.real)
    if scale > plan.real(1):
        power -= np.int32(1)
    elif scale < plan.real(1):
        power += np.int32(1)
    return _Part(value * plan.number(scale), power)


@cuda.jit(device=True)
def _times(left, right, plan: cuda.constexpr):
    return _usual(left.value * right.value, left.power + right.power, plan)


@cuda.jit
def multiply_pivots(a, n, pivots, result, plan: cuda.constexpr):
    """Of each matrix the product of the diagonal, times -1 for each exchange of two rows.

    a: a `Strided`; pivots: (count, n); plan: a `PivotPlan`. A block for each matrix.
    """
    kind = type(n)
    values = cuda.shared.array(plan.threads, plan.number)
    powers = cuda.shared.array(plan.threads, np.int32)
    thread = kind(cuda.threadIdx.x)
    matrix = kind(cuda.blockIdx.x)
    part = _Part(plan.number(1), np.int32(0))
    for row in range(thread, n, kind(plan.threads)):
        value = a.memory[a.first + matrix * a.batch + row * (a.down + a.right)]
        value = value if pivots[matrix, row] == np.int32(row) else -value
        part = _times(part, _usual(value, np.int32(0), plan), plan)
    values[thread] = part.value
    powers[thread] = part.power
    cuda.syncthreads()
    if thread == 0:
        for t in range(kind(1), kind(plan.threads)):
            part = _times(part, _Part(values[t], powers[t]), plan)
        found = part.value
        for _ in range(min(abs(part.power), np.int32(_MOST))):
            found *= plan.number(plan.usual.factor if part.power > 0 else 1 / plan.usual.factor)
        result[matrix] = found
