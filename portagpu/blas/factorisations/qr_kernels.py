"""Householder reflections of a matrix's columns, and what brings several together; in the dialect.

A block factors the columns in a column-major copy. Threads are in groups, each along the rows of a column of its own;
sums of a column's threads are brought together in a fixed order.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.cells import conjugate, put, scaled, sum_of_lanes, take
from portagpu.blas.factorisations.scaling import Range, scale_of
from portagpu.blas.gemm.kernels.epilogue import multiply_add


class QrPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``width``: the most columns; ``along``: threads of a column's rows, ``groups`` of them in a block; ``lanes``: rows
    of a thread, side by side in a vector; ``cell``: what a thread has of a column, ``number``: an element, ``real``: a
    real number. ``usual``: where the largest part of a column is brought to while its reflection is found.
    """

    width: int
    along: int
    groups: int
    lanes: int
    cell: Any
    number: Any
    real: Any
    is_complex: bool
    usual: Range


@cuda.jit(device=True)
def _largest_part(s, at, begin, m, line, plan: cuda.constexpr):
    """The largest magnitude of a part among a thread's rows of a column."""
    kind = type(m)
    largest = plan.real(0)
    for row in range(begin + line, m, kind(plan.along)):
        value = s[at + row]
        if plan.is_complex:
            largest = max(largest, abs(value.real), abs(value.imag))
        else:
            largest = max(largest, abs(value))
    return largest


@cuda.jit(device=True)
def _squares(s, at, begin, m, line, scale, plan: cuda.constexpr):
    """The sum of a thread's rows' squared magnitudes, times scale squared."""
    kind = type(m)
    total = plan.real(0)
    for row in range(begin + line, m, kind(plan.along)):
        value = s[at + row]
        if plan.is_complex:
            re, im = value.real * scale, value.imag * scale
            total += re * re + im * im
        else:
            total += (value * scale) * (value * scale)
    return total


@cuda.jit(device=True)
def _products(s, at, other, begin, m, line, plan: cuda.constexpr):
    """The sum of a thread's rows' products of two columns, the first one's conjugate."""
    kind = type(m)
    total = plan.cell(0)
    step = kind(plan.along * plan.lanes)
    whole = begin + (m - begin) // kind(plan.lanes) * kind(plan.lanes)
    for row in range(begin + line * kind(plan.lanes), whole, step):
        left = plan.cell(conjugate(take(s, at + row, plan.lanes), plan.is_complex))
        total = multiply_add(left, plan.cell(take(s, other + row, plan.lanes)), total, plan.is_complex)
    found = plan.number(sum_of_lanes(total, plan.lanes))
    for row in range(whole, m):
        found += conjugate(s[at + row], plan.is_complex) * s[other + row]
    return found


@cuda.jit
def reflect_columns(a, s, pitch, m, n, count, taus, before, plan: cuda.constexpr):
    """``a = Q R`` for m x n matrices, in place: R on and above the diagonal, below it reflections.

    a: a `Strided`; s: memory for a copy of the columns, ``pitch`` elements each; taus: (count, all): factors of the
    reflections, from number ``before`` on. Reflection i is 1 - tau v v^H, with v[i] = 1 and zeros before, as LAPACK has
    it. A block for each matrix; plan: a `QrPlan`.
    """
    kind = type(m)
    along, groups = plan.along, plan.groups
    magnitudes = cuda.shared.array(along, plan.real)
    squares = cuda.shared.array(along, plan.real)
    sums = cuda.shared.array(along * plan.width, plan.number)
    thread = kind(cuda.threadIdx.x)
    line, group = thread % kind(along), thread // kind(along)
    matrix = kind(cuda.blockIdx.x)
    start = a.first + matrix * a.batch
    base = matrix * n * pitch
    for column in range(group, n, kind(groups)):
        for row in range(line, m, kind(along)):
            s[base + column * pitch + row] = a.memory[start + row * a.down + column * a.right]
    cuda.syncthreads()
    for j in range(min(m, n)):
        at = base + j * pitch
        if group == 0:
            magnitudes[line] = _largest_part(s, at, j, m, line, plan)
        cuda.syncthreads()
        largest = plan.real(0)
        for t in range(kind(along)):
            largest = max(largest, magnitudes[t])
        scale, back = scale_of(largest, plan.usual, plan.real)
        if group == 0:
            squares[line] = _squares(s, at, j + kind(1), m, line, scale, plan)
        cuda.syncthreads()
        total = plan.real(0)
        for t in range(kind(along)):
            total += squares[t]
        alpha = scaled(s[at + j], scale, plan.is_complex)
        tau = plan.number(0)
        if plan.is_complex:
            acts = total != 0 or alpha.imag != 0
        else:
            acts = total != 0  # so has NaN
        if acts:
            if plan.is_complex:
                size = math.sqrt(alpha.real * alpha.real + alpha.imag * alpha.imag + total)
                beta = -size if alpha.real >= 0 else size
                tau = plan.number(complex((beta - alpha.real) / beta, -alpha.imag / beta))
            else:
                size = math.sqrt(alpha * alpha + total)
                beta = -size if alpha >= 0 else size
                tau = (beta - alpha) / beta
            divisor = alpha - plan.number(beta)
            cuda.syncthreads()  # all have read alpha
            for row in range(j + kind(1) + thread, m, kind(along * groups)):
                s[at + row] = s[at + row] * plan.number(scale) / divisor
            if thread == 0:
                s[at + j] = plan.number(1)
            cuda.syncthreads()
            for column in range(j + kind(1) + group, n, kind(groups)):
                sums[column * kind(along) + line] = _products(s, at, base + column * pitch, j, m, line, plan)
            cuda.syncthreads()
            for column in range(j + kind(1) + group, n, kind(groups)):
                factor = plan.number(0)
                for t in range(kind(along)):
                    factor += sums[column * kind(along) + t]
                factor = -conjugate(tau, plan.is_complex) * factor
                other = base + column * pitch
                whole = j + (m - j) // kind(plan.lanes) * kind(plan.lanes)
                for row in range(j + line * kind(plan.lanes), whole, kind(along * plan.lanes)):
                    value = plan.cell(take(s, other + row, plan.lanes))
                    left = plan.cell(take(s, at + row, plan.lanes))
                    put(multiply_add(plan.cell(factor), left, value, plan.is_complex), s, other + row, plan.lanes)
                if line == 0:
                    for row in range(whole, m):
                        s[other + row] += factor * s[at + row]
            cuda.syncthreads()
            if thread == 0:
                s[at + j] = plan.number(beta * back)
        if thread == 0:
            taus[matrix, before + np.int32(j)] = tau
        cuda.syncthreads()
    for column in range(group, n, kind(groups)):
        for row in range(line, m, kind(along)):
            a.memory[start + row * a.down + column * a.right] = s[base + column * pitch + row]


@cuda.jit
def join_reflections(gram, t, n, count, taus, before, width: cuda.constexpr, plan: cuda.constexpr):
    """The triangles T of products of reflections 1 - V T V^H, from the products of their vectors.

    gram: (count, n, n), V^H V; t: (count, n, n); taus: (count, all), from number ``before`` on. LAPACK's larft. A block
    of threads for each matrix.
    """
    kind = type(n)
    held = cuda.shared.array(width * width, plan.number)
    thread = kind(cuda.threadIdx.x)
    threads = kind(cuda.blockDim.x)
    matrix = kind(cuda.blockIdx.x)
    for j in range(n):
        tau = taus[matrix, before + np.int32(j)]
        for i in range(thread, n, threads):
            total = plan.number(0)
            if i < j:
                for q in range(i, j):
                    total += held[i * kind(width) + q] * gram[matrix, q, j]
                total = -tau * total
            if i == j:
                total = tau
            held[i * kind(width) + j] = total
        cuda.syncthreads()
    for i in range(thread, n, threads):
        for j in range(n):
            t[matrix, i, j] = held[i * kind(width) + j]
