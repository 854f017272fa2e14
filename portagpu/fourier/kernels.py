"""The kernel of Fourier transforms: some that a block has in shared memory, from and to rows of any strides.

Stockham's order: each step reads one half of the memory and writes the other, and results are in order. The kernel is
the same for all lengths: the steps of a length are numbers in an array.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.fourier.butterflies import Step, radix2, radix3, radix4, radix5, radix7, radix8, radix_any

COMPLEX, REAL, HERMITIAN = range(3)
"""What elements are: all there are, without imaginary parts, or half of them, of which the others are conjugates."""


class Rows(NamedTuple):
    """Transforms in memory, numbered by three numbers: ``outer``, ``middle``, ``inner`` are their steps.

    Element j of one is number ``j * along + middle * across`` of the whole transform that it is a part of, ``step``
    apart in memory; there are ``limit`` of these.
    """

    memory: Any
    outer: Any
    middle: Any
    inner: Any
    step: Any
    along: Any
    across: Any
    limit: Any


class Counts(NamedTuple):
    """How many transforms there are: in all, and of the middle and inner numbers; ``rows``: of a block."""

    count: Any
    middle: Any
    inner: Any
    rows: Any


class Twist(NamedTuple):
    """Factors between the parts of a long transform: roots of unity, in two tables: ``low[k & mask] * high[k >>
    bits]``."""

    low: Any
    high: Any
    bits: Any


class BlockPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``threads``; ``lanes``: transforms side by side in a vector ``cell``; ``capacity``: elements of shared memory;
    ``number``, ``real``: types; ``source``, ``target``: what elements are; ``twisted``: whether there are factors.
    """

    threads: int
    lanes: int
    capacity: int
    cell: Any
    number: Any
    real: Any
    source: int
    target: int
    twisted: bool


@cuda.jit(device=True)
def _element(x, base, index, whole, inverse, plan: cuda.constexpr):
    """Element ``index`` of a whole transform's input; zero beyond those there are."""
    kind = type(whole)
    value = plan.number(0)
    if plan.source == HERMITIAN:
        mirrored = index > whole // kind(2)
        place = whole - index if mirrored else index
        if place < x.limit:
            value = plan.number(x.memory[base + place * x.step])
            if mirrored:
                value = value.conjugate()
    elif index < x.limit:
        value = plan.number(x.memory[base + index * x.step])
    return value


@cuda.jit(device=True)
def _load(re, im, x, base, middle, j, at, whole, inverse, plan: cuda.constexpr):
    value = _element(x, base, j * x.along + middle * x.across, whole, inverse, plan)
    if inverse:  # with parts exchanged it is the forward one
        re[at] = value.imag
        im[at] = value.real
    else:
        re[at] = value.real
        im[at] = value.imag


@cuda.jit(device=True)
def _store(re, im, y, base, middle, k, at, twist, scale, inverse, plan: cuda.constexpr):
    index = k * y.along + middle * y.across
    if index < y.limit:
        a, b = re[at], im[at]
        if plan.twisted:
            kind = type(k)
            turn = k * middle
            low = twist.low[turn & ((kind(1) << twist.bits) - kind(1))]
            high = twist.high[turn >> twist.bits]
            w = low * high
            a, b = a * w.real - b * w.imag, a * w.imag + b * w.real
        a, b = a * scale, b * scale
        if plan.target == REAL:
            y.memory[base + index * y.step] = b if inverse else a
        else:
            y.memory[base + index * y.step] = plan.number(complex(b, a)) if inverse else plan.number(complex(a, b))


@cuda.jit(device=True)
def _steps(re, im, n, stages, steps, table, rows, thread, plan: cuda.constexpr):
    """The transforms of a block, in shared memory: where the results are."""
    kind = type(n)
    units = rows // kind(plan.lanes)
    source, target = kind(0), kind(plan.capacity)
    done = kind(1)
    for s in range(steps):
        radix = kind(stages[s])
        span = n // radix
        turn = span // done
        for w in range(thread, span * units, kind(plan.threads)):
            unit, j = w % units, w // units
            k = j % done
            lane = unit * kind(plan.lanes)
            to = (j - k) * radix + k
            step = Step(source + j * rows + lane, span * rows, target + to * rows + lane, done * rows, k * turn)
            if radix == 8:
                radix8(re, im, table, step, plan)
            elif radix == 4:
                radix4(re, im, table, step, plan)
            elif radix == 2:
                radix2(re, im, table, step, plan)
            elif radix == 3:
                radix3(re, im, table, step, plan)
            elif radix == 5:
                radix5(re, im, table, step, plan)
            elif radix == 7:
                radix7(re, im, table, step, plan)
            else:
                radix_any(re, im, table, step, n, radix, plan)
        cuda.syncthreads()
        source, target = target, source
        done *= radix
    return source


@cuda.jit
def transform_rows(x, y, n, whole, counts, stages, steps, table, twist, scale, inverse, plan: cuda.constexpr):
    """Transforms of ``n`` elements, which are parts of transforms of ``whole`` elements.

    x, y: `Rows`; counts: `Counts`; stages: the radix of each of ``steps`` steps; table: the n-th roots of unity;
    twist: a `Twist`; scale: what results are multiplied by. A block for ``counts.rows`` of them; plan: a `BlockPlan`.
    """
    kind = type(counts.count)
    small = type(n)
    re = cuda.shared.array(2 * plan.capacity, plan.real)
    im = cuda.shared.array(2 * plan.capacity, plan.real)
    thread = small(cuda.threadIdx.x)
    begin = kind(cuda.blockIdx.x) * kind(counts.rows)
    rows = counts.rows
    if plan.threads == 1:
        for row in range(rows):
            number = min(begin + kind(row), counts.count - kind(1))
            inner, rest = number % counts.inner, number // counts.inner
            middle, outer = rest % counts.middle, rest // counts.middle
            base = outer * x.outer + middle * x.middle + inner * x.inner
            for j in range(n):
                _load(re, im, x, base, middle, kind(j), j * rows + row, whole, inverse, plan)
    else:
        for w in range(thread, n * rows, small(plan.threads)):
            # neighbours in memory are read by neighbours
            if x.inner == kind(1):
                row, j = w % rows, w // rows
            else:
                j, row = w % n, w // n
            number = min(begin + kind(row), counts.count - kind(1))
            inner, rest = number % counts.inner, number // counts.inner
            middle, outer = rest % counts.middle, rest // counts.middle
            base = outer * x.outer + middle * x.middle + inner * x.inner
            _load(re, im, x, base, middle, kind(j), j * rows + row, whole, inverse, plan)
    cuda.syncthreads()
    found = _steps(re, im, n, stages, steps, table, rows, thread, plan)
    if plan.threads == 1:
        for row in range(rows):
            number = begin + kind(row)
            if number < counts.count:
                inner, rest = number % counts.inner, number // counts.inner
                middle, outer = rest % counts.middle, rest // counts.middle
                base = outer * y.outer + middle * y.middle + inner * y.inner
                for k in range(n):
                    at = found + k * rows + row
                    _store(re, im, y, base, middle, kind(k), at, twist, scale, inverse, plan)
    else:
        for w in range(thread, n * rows, small(plan.threads)):
            if y.inner == kind(1) or y.middle == kind(1):
                row, k = w % rows, w // rows
            else:
                k, row = w % n, w // n
            number = begin + kind(row)
            if number < counts.count:
                inner, rest = number % counts.inner, number // counts.inner
                middle, outer = rest % counts.middle, rest // counts.middle
                base = outer * y.outer + middle * y.middle + inner * y.inner
                at = found + k * rows + row
                _store(re, im, y, base, middle, kind(k), at, twist, scale, inverse, plan)
