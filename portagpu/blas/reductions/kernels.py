"""Kernels that reduce lines of matrices, in the dialect: along the axis whose elements are neighbours, or across it.

Both add in an order that depends on the shape and the plan alone. Largest elements of vectors of floats are found as
integers, of which NaN is made the largest: magnitudes by their bits, signed numbers by bits of which those below the
sign are turned over where it is set.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.reductions.operations import Operation

RUN = 64  # vectors that are added one after another; the sums of such runs are added then


class Plan(NamedTuple):
    """What is known when a kernel is compiled.

    ``number``: the type that elements are reduced in, and ``lowest`` its number that changes no other; ``vector``:
    that of several lanes, and None where elements are read one by one. ``ordering``: None where numbers are compared as
    they are. ``threads``: of a line, or of a block; ``strips``: vectors of a thread across lines.
    """

    operation: Operation
    number: Any
    lowest: Any
    vector: Any
    ordering: Any
    threads: int
    strips: int


class Ordering(NamedTuple):
    """How vectors of floats are compared as integers: the type of these, bits above the lowest of the sign, the bits
    below it, and those of infinity."""

    vector: Any
    sign: int
    below: int
    infinity: int


@cuda.jit(device=True)
def joined(x, y, operation: cuda.constexpr):
    """Two reduced numbers as one."""
    if operation is Operation.SUM:
        return x + y
    return np.maximum(x, y)


@cuda.jit(device=True)
def element(value, plan: cuda.constexpr):
    """An element as it is reduced."""
    if plan.operation is Operation.AMAX:
        return plan.number(abs(value))
    return plan.number(value)


@cuda.jit(device=True)
def as_float(top, size, plan: cuda.constexpr):
    """The largest number of those whose largest integers in order are these, of the numbers and their magnitudes."""
    ordering = plan.ordering
    if plan.operation is Operation.AMAX or size > ordering.infinity:  # which a NaN's is
        return size.view(plan.number)
    return (top ^ ((top >> ordering.sign) & ordering.below)).view(plan.number)


@cuda.jit(device=True)
def row_of_vectors(source, matrix, row, whole, plan: cuda.constexpr):
    """The first ``whole`` elements of a row, reduced, as far as they are this thread's."""
    vector, ordering, operation = plan.vector, plan.ordering, plan.operation
    lanes = vector.lanes
    first, step = cuda.threadIdx.x * lanes, plan.threads * lanes
    value = plan.number(plan.lowest)
    if operation is Operation.SUM:
        total = vector(0)
        for begin in range(first, whole, step * RUN):
            part = vector(0)
            for k in range(begin, min(begin + step * RUN, whole), step):
                part = part + vector(cuda.vload(source, (matrix, row, k), lanes))
            total = total + part
        for lane in cuda.unroll(range(lanes)):
            value = value + total[lane]
    elif ordering is None:
        top = vector(plan.lowest)
        for k in range(first, whole, step):
            found = vector(cuda.vload(source, (matrix, row, k), lanes))
            top = max(top, abs(found) if operation is Operation.AMAX else found)
        for lane in cuda.unroll(range(lanes)):
            value = max(value, top[lane])
    elif first < whole:
        tops, sizes = ordering.vector(~ordering.below), ordering.vector(0)
        for k in range(first, whole, step):
            bits = vector(cuda.vload(source, (matrix, row, k), lanes)).view(ordering.vector)
            tops = max(tops, bits ^ ((bits >> ordering.sign) & ordering.below))
            sizes = max(sizes, bits & ordering.below)
        top, size = tops[0], sizes[0]
        for lane in cuda.unroll(range(1, lanes)):
            top, size = max(top, tops[lane]), max(size, sizes[lane])
        value = as_float(top, size, plan)
    return value


@cuda.jit
def reduce_along(source, target, plan: cuda.constexpr):
    """``target[i, row]``: what ``source[i, row]`` is reduced to, by a block's threads; blocks take lines in turns."""
    threads, operation = plan.threads, plan.operation
    rows, columns = source.shape[1], source.shape[2]
    thread = cuda.threadIdx.x
    values = cuda.shared.array(threads, plan.number)
    for line in range(cuda.blockIdx.x, source.shape[0] * rows, cuda.gridDim.x):
        matrix, row = line // rows, line % rows
        value = plan.number(plan.lowest)
        whole = 0
        if plan.vector is not None:
            whole = columns // plan.vector.lanes * plan.vector.lanes
            value = row_of_vectors(source, matrix, row, whole, plan)
        for begin in range(whole + thread, columns, threads * RUN):
            part = plan.number(plan.lowest)
            for k in range(begin, min(begin + threads * RUN, columns), threads):
                part = joined(part, element(source[matrix, row, k], plan), operation)
            value = joined(value, part, operation)
        if threads > 1:
            values[thread] = value
            cuda.syncthreads()
            step = threads // 2
            while step > 0:
                if thread < step:
                    values[thread] = joined(values[thread], values[thread + step], operation)
                cuda.syncthreads()
                step //= 2
            value = values[0]
            cuda.syncthreads()
        if thread == 0:
            target[matrix, row] = value


@cuda.jit(device=True)
def columns_of_vectors(source, target, matrix, part, column, begin, end, plan: cuda.constexpr):
    """`reduce_across` of a thread's vectors."""
    vector, ordering, operation, strips = plan.vector, plan.ordering, plan.operation, plan.strips
    lanes = vector.lanes
    if ordering is None or operation is Operation.SUM:
        found = cuda.local.array(strips, vector)
        for strip in cuda.unroll(range(strips)):
            found[strip] = vector(plan.lowest)
        for k in range(begin, end):
            for strip in cuda.unroll(range(strips)):
                value = vector(cuda.vload(source, (matrix, k, column + strip * lanes), lanes))
                if operation is Operation.SUM:
                    found[strip] = found[strip] + value
                else:
                    found[strip] = max(found[strip], abs(value) if operation is Operation.AMAX else value)
        for strip in cuda.unroll(range(strips)):
            for lane in cuda.unroll(range(lanes)):
                target[matrix, part, column + (strip * lanes + lane)] = found[strip][lane]
    else:
        tops = cuda.local.array(strips, ordering.vector)
        sizes = cuda.local.array(strips, ordering.vector)
        for strip in cuda.unroll(range(strips)):
            tops[strip], sizes[strip] = ordering.vector(~ordering.below), ordering.vector(0)
        for k in range(begin, end):
            for strip in cuda.unroll(range(strips)):
                value = vector(cuda.vload(source, (matrix, k, column + strip * lanes), lanes))
                bits = value.view(ordering.vector)
                tops[strip] = max(tops[strip], bits ^ ((bits >> ordering.sign) & ordering.below))
                sizes[strip] = max(sizes[strip], bits & ordering.below)
        for strip in cuda.unroll(range(strips)):
            for lane in cuda.unroll(range(lanes)):
                value = as_float(tops[strip][lane], sizes[strip][lane], plan)
                target[matrix, part, column + (strip * lanes + lane)] = value


@cuda.jit
def reduce_across(source, target, chunk, plan: cuda.constexpr):
    """``target[i, part, column]``: what ``chunk`` rows of a column of ``source[i]`` are reduced to.

    Blocks along x have columns of all matrices, each thread some; blocks along y have parts.
    """
    rows, columns = source.shape[1], source.shape[2]
    width = 1 if plan.vector is None else plan.vector.lanes * plan.strips
    groups = (columns + width - 1) // width
    position, part = cuda.grid(1), cuda.blockIdx.y
    if position < groups * source.shape[0]:
        matrix, column = position // groups, position % groups * width
        begin = part * chunk
        end = min(begin + chunk, rows)
        by_vector = False
        if plan.vector is not None:
            by_vector = column + width <= columns
            if by_vector:
                columns_of_vectors(source, target, matrix, part, column, begin, end, plan)
        if not by_vector:
            for own in range(column, min(column + width, columns)):
                value = plan.number(plan.lowest)
                for k in range(begin, end):
                    value = joined(value, element(source[matrix, k, own], plan), plan.operation)
                target[matrix, part, own] = value
