"""The epilogue of all GEMM kernels: scaling, conversion and storage of sums; in the dialect.

Sums are formed in one type (``vector`` of kernels), scaled in another (that of alpha and beta: float32 where integers
become floats) and stored in a third. There is a function for each way in which kernels hold and store sums (one,
neighbours as a vector or as a pair, or one for a copy that stores it); each does the same to a sum: scaling, and then
the caller's function, if there is one (``factors.fused``). Kernels that work on results alone follow.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import ALPHA_AND_BETA, BETA_UNLESS_ZERO, SUM, Order


@cuda.jit(device=True)
def multiply_add(x, y, z, whole: cuda.constexpr):
    """``x * y + z``; rounded once, unless the numbers are ``whole``."""
    if whole:
        return x * y + z
    return cuda.fma(x, y, z)


@cuda.jit(device=True)
def signed(number):
    """A row or column as callers' functions get it, whatever type the kernel counts in: differences may be negative."""
    if isinstance(number, np.uint32):
        return np.int32(number)
    if isinstance(number, np.uint64):
        return np.int64(number)
    return number


@cuda.jit(device=True)
def fused_value(value, matrix, row, column, fused):
    """What the caller's function makes of a scaled sum; matrix, row, column: its place, as the kernel counts them."""
    down, right = signed(row), signed(column)
    if fused.order is Order.TURNED:
        down, right = signed(column), signed(row)
    number = fused.first + signed(matrix)
    if fused.rows is not None:
        number = down // fused.rows
        down = down % fused.rows
    if fused.batched is not None:
        return fused.function(value, down, right, number, *fused.arguments)
    return fused.function(value, down, right, *fused.arguments)


@cuda.jit(device=True)
def counted(number):
    """A row or column without a sign, which tells the compiler that it is not negative."""
    if isinstance(number, np.int32):
        return np.uint32(number)
    if isinstance(number, np.int64):
        return np.uint64(number)
    return number


@cuda.jit(device=True)
def fused_lanes(value, matrix, row, column, fused, vector: cuda.constexpr):
    """`fused_value` of each lane of a vector; column: that of the first.

    Each lane has a call of its own, which the pass `vector_calls` joins on CPUs.
    """
    first = counted(column)
    kind = type(value[0])
    if vector.lanes == 2:
        return vector(
            kind(fused_value(value[0], matrix, row, first, fused)),
            kind(fused_value(value[1], matrix, row, first + 1, fused)),
        )
    if vector.lanes == 4:
        return vector(
            kind(fused_value(value[0], matrix, row, first, fused)),
            kind(fused_value(value[1], matrix, row, first + 1, fused)),
            kind(fused_value(value[2], matrix, row, first + 2, fused)),
            kind(fused_value(value[3], matrix, row, first + 3, fused)),
        )
    if vector.lanes == 8:
        return vector(
            kind(fused_value(value[0], matrix, row, first, fused)),
            kind(fused_value(value[1], matrix, row, first + 1, fused)),
            kind(fused_value(value[2], matrix, row, first + 2, fused)),
            kind(fused_value(value[3], matrix, row, first + 3, fused)),
            kind(fused_value(value[4], matrix, row, first + 4, fused)),
            kind(fused_value(value[5], matrix, row, first + 5, fused)),
            kind(fused_value(value[6], matrix, row, first + 6, fused)),
            kind(fused_value(value[7], matrix, row, first + 7, fused)),
        )
    return vector(
        kind(fused_value(value[0], matrix, row, first, fused)),
        kind(fused_value(value[1], matrix, row, first + 1, fused)),
        kind(fused_value(value[2], matrix, row, first + 2, fused)),
        kind(fused_value(value[3], matrix, row, first + 3, fused)),
        kind(fused_value(value[4], matrix, row, first + 4, fused)),
        kind(fused_value(value[5], matrix, row, first + 5, fused)),
        kind(fused_value(value[6], matrix, row, first + 6, fused)),
        kind(fused_value(value[7], matrix, row, first + 7, fused)),
        kind(fused_value(value[8], matrix, row, first + 8, fused)),
        kind(fused_value(value[9], matrix, row, first + 9, fused)),
        kind(fused_value(value[10], matrix, row, first + 10, fused)),
        kind(fused_value(value[11], matrix, row, first + 11, fused)),
        kind(fused_value(value[12], matrix, row, first + 12, fused)),
        kind(fused_value(value[13], matrix, row, first + 13, fused)),
        kind(fused_value(value[14], matrix, row, first + 14, fused)),
        kind(fused_value(value[15], matrix, row, first + 15, fused)),
    )


@cuda.jit(device=True)
def finished_element(total, c, place, matrix, row, column, factors, epilogue):
    """What a sum becomes as ``c[place]``; matrix, row, column: the element's, as the kernel counts them."""
    value = type(factors.alpha)(total)
    if epilogue.scaling > SUM:
        value = value * factors.alpha
    if epilogue.scaling == ALPHA_AND_BETA:
        old = type(factors.alpha)(c[place])
        value = multiply_add(factors.beta, old, value, isinstance(factors.alpha, np.integer))
    if epilogue.scaling == BETA_UNLESS_ZERO and factors.beta != 0:
        value += factors.beta * type(factors.alpha)(c[place])
    if factors.fused is not None:
        return fused_value(value, matrix, row, column, factors.fused)
    return value


@cuda.jit(device=True)
def store_element(total, c, place, matrix, row, column, factors, epilogue):
    """Make a sum the element ``c[place]``, see `finished_element`."""
    c[place] = finished_element(total, c, place, matrix, row, column, factors, epilogue)


@cuda.jit(device=True)
def store_vector(total, c, place, matrix, row, column, factors, epilogue, aligned: cuda.constexpr):
    """Make a vector of sums the elements from ``c[place]`` on; matrix, row, column: those of the first."""
    value = epilogue.scaled(total)
    if epilogue.scaling > SUM:
        value = value * factors.alpha
    if epilogue.scaling == ALPHA_AND_BETA:
        old = epilogue.scaled(cuda.vload(c, place, epilogue.scaled.lanes, aligned=aligned))
        value = multiply_add(factors.beta, old, value, isinstance(factors.alpha, np.integer))
    if epilogue.scaling == BETA_UNLESS_ZERO and factors.beta != 0:
        value += factors.beta * epilogue.scaled(cuda.vload(c, place, epilogue.scaled.lanes, aligned=aligned))
    if factors.fused is not None:
        value = fused_lanes(value, matrix, row, column, factors.fused, epilogue.scaled)
    cuda.vstore(epilogue.stored(value), c, place, aligned=aligned)


@cuda.jit(device=True)
def finished(total, c, product, row, column, extents, factors, epilogue):
    """What a sum becomes as element (row, column) of one of c's matrices, for kernels whose copies store it.

    There may be no such element: then nobody sees it. ``epilogue.scaling`` is `SUM`, `ALPHA` or `BETA_UNLESS_ZERO`.
    """
    value = total
    if epilogue.scaling > SUM:
        value = value * factors.alpha
    if epilogue.scaling == BETA_UNLESS_ZERO and factors.beta != 0 and row < extents.m and column < extents.n:
        value += factors.beta * type(factors.alpha)(c[product, row, column] if c.ndim == 3 else c[row, column])
    if factors.fused is not None:  # without a branch, so that calls for several elements overlap
        last_row, last_column = type(row)(extents.m) - 1, type(column)(extents.n) - 1
        value = type(value)(fused_value(value, product, min(row, last_row), min(column, last_column), factors.fused))
    return value


@cuda.jit(device=True)
def packed_pair(low, high, kind: cuda.constexpr):
    """Two float32 as a pair of float16 or of bfloat16 in 32 bits."""
    return cuda.pack_half2(low, high) if kind == "float16" else cuda.pack_bfloat162(low, high)


@cuda.jit(device=True)
def store_pair(low, high, c, pairs, place, matrix, row, column, factors, epilogue):
    """Make two sums the elements ``c[place]`` and ``c[place + 1]``, of 16 bits, in one store; place is even.

    pairs: c's memory as uint32. ``epilogue.stored``: see `packed_pair`; ``epilogue.scaling``: as for `finished`.
    """
    if epilogue.scaling > SUM:
        low *= factors.alpha
        high *= factors.alpha
    if epilogue.scaling == BETA_UNLESS_ZERO and factors.beta != 0:
        low += factors.beta * type(factors.alpha)(c[place])
        high += factors.beta * type(factors.alpha)(c[place + 1])
    if factors.fused is not None:
        low = type(factors.alpha)(fused_value(low, matrix, row, column, factors.fused))
        high = type(factors.alpha)(fused_value(high, matrix, row, column + 1, factors.fused))
    pairs[place // 2] = packed_pair(low, high, epilogue.stored)


@cuda.jit(device=True)
def store_neighbours(sums, c, pairs, line, matrix, at, own, factors, epilogue, together: cuda.constexpr):
    """Make two or four sums neighbours in a line of a tile of c, as far as they are the tile's own.

    line: where the line begins in c; at: the line's number in the matrix of that number, and that of the first of the
    neighbours in it; own: numbers in the line from the first that is the tile's up to the end. ``together``: in one
    store, which is the tile's own or not as a whole. pairs: see `store_pair`, which stores them if ``epilogue.stored``
    is a name.
    """
    x = at[1]
    place = line + np.uint32(x)
    if together:
        if x >= own[0] and x < own[1]:
            if isinstance(epilogue.stored, str):
                store_pair(sums[0], sums[1], c, pairs, place, matrix, at[0], x, factors, epilogue)
            else:
                store_vector(epilogue.scaled(*sums), c, place, matrix, at[0], x, factors, epilogue, True)
    else:
        for lane in cuda.unroll(range(len(sums))):
            if x + lane >= own[0] and x + lane < own[1]:
                store_element(sums[lane], c, place + lane, matrix, at[0], x + lane, factors, epilogue)


@cuda.jit(device=True)
def divided(value, exponent):
    """``value / 2**exponent`` in two exact steps, each with a factor that float32 holds."""
    half = exponent >> 1
    first = ((np.int32(127) - half) << 23).view(np.float32)
    second = ((np.int32(127) - (exponent - half)) << 23).view(np.float32)
    return value * first * second


@cuda.jit
def sum_parts(parts, c, m, n, split, factors, epilogue: cuda.constexpr):
    """``c = alpha * (parts[0] + parts[1] + ...) + beta * c`` in this order, for a batch.

    parts: (batch, split, m, n), C order; c: a `Matrix`. A thread for each element of c in a one-dimensional grid.
    """
    target = c.memory.ravel()
    source = parts.ravel()
    size = m * n
    position = type(size)(cuda.grid(1))
    if position < size * parts.shape[0]:
        matrix = position // size
        within = position % size
        first = matrix * split * size + within
        total = source[first]
        for part in range(type(size)(1), split):
            total += source[first + part * size]
        place = matrix * c.batch + within // n * c.pitch + within % n
        store_element(total, target, place, matrix, within // n, within % n, factors, epilogue)


@cuda.jit
def finish_elements(c, m, n, batch, factors, scaling: cuda.constexpr):
    """Store the caller's function (``factors.fused``) of ``beta * c`` in c, for a matrix or a batch of any strides.

    Of zeros with `SUM`, where c is not read; of c as it is with `ALPHA`. A thread for each element.
    """
    size = m * n
    position = type(size)(cuda.grid(1))
    if position < size * batch:
        matrix, within = position // size, position % size
        row, column = within // n, within % n
        place = (matrix, row, column) if c.ndim == 3 else (row, column)
        value = type(factors.beta)(0)
        if scaling > SUM:
            value = type(factors.beta)(c[place])
        if scaling == ALPHA_AND_BETA:
            value = factors.beta * value
        c[place] = fused_value(value, matrix, row, column, factors.fused)


@cuda.jit
def scale_elements(c, m, n, batch, beta, mode: cuda.constexpr):
    """``c = beta * c``: ``mode`` 0 writes zeros without reading c, 1 scales numbers, 2 complex ones.

    c: a `Matrix`; beta: a `Complex`. Pairs of real and imaginary part side by side in mode 2, where n counts pairs; a
    thread for each.
    """
    target = c.memory.ravel()
    size = m * n
    position = type(size)(cuda.grid(1))
    if position < size * batch:
        within = position % size
        if mode == 2:
            place = position // size * c.batch + within // n * c.pitch + within % n * 2
            re, im = target[place], target[place + 1]
            target[place] = beta.re * re - beta.im * im
            target[place + 1] = beta.re * im + beta.im * re
        else:
            place = position // size * c.batch + within // n * c.pitch + within % n
            if mode == 1:
                target[place] = beta.re * target[place]
            else:
                target[place] = 0


@cuda.jit
def expand_complex(b, real, k, n, batch):
    """Complex matrices as real ones: rows ``[re, im, re, im, ...]`` times them are such rows.

    b: pairs of numbers, a `StridedMatrix` whose steps count pairs; real: (batch, 2 * k, 2 * n), C order;
    element ``x + iy`` of b becomes ``[[x, y], [-y, x]]``. A thread for each element of b.
    """
    source = b.memory.ravel()
    target = real.ravel()
    size = k * n
    position = type(size)(cuda.grid(1))
    if position < size * batch:
        within = position % size
        row, column = within // n, within % n
        place = 2 * (position // size * b.batch + row * b.down + column * b.right)
        re, im = source[place], source[place + 1]
        first = position // size * (4 * size) + row * (4 * n) + column * 2
        target[first] = re
        target[first + 1] = im
        target[first + 2 * n] = -im
        target[first + 2 * n + 1] = re


@cuda.jit
def separate_complex(a, real, m, k, batch):
    """Complex matrices as real ones with twice the rows: first those of the real parts, then of the imaginary ones.

    a: as b of `expand_complex`; real: (batch, 2 * m, k), C order. A thread for each element of a.
    """
    source = a.memory.ravel()
    target = real.ravel()
    size = m * k
    position = type(size)(cuda.grid(1))
    if position < size * batch:
        within = position % size
        place = 2 * (position // size * a.batch + within // k * a.down + within % k * a.right)
        first = position // size * (2 * size) + within
        target[first] = source[place]
        target[first + size] = source[place + 1]


@cuda.jit
def join_complex(
    sums,
    c,
    m,
    n,
    batch,
    alpha,
    beta,
    separated: cuda.constexpr,
    alpha_parts: cuda.constexpr,
    beta_parts: cuda.constexpr,
):
    """``c = alpha * sums + beta * c`` of complex numbers whose sums are real matrices.

    sums: (batch, m, 2 * n), C order, with real and imaginary parts side by side; if ``separated``, (batch, 2 * m, 2 *
    n): rows of the real parts of a factor times the other, then rows of its imaginary parts times the other. c: as b of
    `expand_complex`. alpha, beta: each a `Complex`; ``alpha_parts``, ``beta_parts``: 1 for a real factor, 2 for a
    complex one, 0 if c is not read. A thread for each element of c.
    """
    source = sums.ravel()
    target = c.memory.ravel()
    size = m * n
    position = type(size)(cuda.grid(1))
    if position < size * batch:
        within = position % size
        row, column = within // n, within % n
        first = position // size * ((4 if separated else 2) * size) + row * (2 * n) + column * 2
        re, im = source[first], source[first + 1]
        if separated:
            re, im = re - source[first + 2 * size + 1], im + source[first + 2 * size]
        if alpha_parts == 2:
            re, im = alpha.re * re - alpha.im * im, alpha.re * im + alpha.im * re
        else:
            re, im = alpha.re * re, alpha.re * im
        place = 2 * (position // size * c.batch + row * c.down + column * c.right)
        if beta_parts > 0:
            old_re, old_im = target[place], target[place + 1]
            if beta_parts == 2:
                old_re, old_im = beta.re * old_re - beta.im * old_im, beta.re * old_im + beta.im * old_re
            else:
                old_re, old_im = beta.re * old_re, beta.re * old_im
            re, im = re + old_re, im + old_im
        target[place] = re
        target[place + 1] = im


@cuda.jit
def tell_truth(counts, target, size):
    """``target = counts != 0``, for as many elements in C order."""
    source = counts.ravel()
    told = target.ravel()
    position = type(size)(cuda.grid(1))
    if position < size:
        told[position] = source[position] != 0


@cuda.jit
def convert_elements(source, target, size):
    """Write the elements of an array to one of another dtype, for as many in C order."""
    given = source.ravel()
    made = target.ravel()
    position = type(size)(cuda.grid(1))
    if position < size:
        made[position] = given[position]
