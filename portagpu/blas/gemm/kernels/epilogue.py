"""How sums become elements of the result, and kernels that work on results alone; in the dialect.

Sums are formed in one type (``vector`` of kernels), scaled in another (``scaled``, that of alpha and beta: float32
where integers become floats) and stored in a third (``stored``). ``scaling`` is 0 for ``c = sum``, 1 for
``c = alpha * sum`` and 2 for ``c = alpha * sum + beta * c``: c is read in the last case only.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda


@cuda.jit(device=True)
def multiply_add(x, y, z, whole: cuda.constexpr):
    """``x * y + z``; rounded once, unless the numbers are ``whole``."""
    if whole:
        return x * y + z
    return cuda.fma(x, y, z)


@cuda.jit(device=True)
def store_element(total, c, place, alpha, beta, scaling: cuda.constexpr):
    """Make a sum the element ``c[place]``."""
    value = type(alpha)(total)
    if scaling > 0:
        value = value * alpha
    if scaling > 1:
        value = multiply_add(beta, type(alpha)(c[place]), value, isinstance(alpha, np.integer))
    c[place] = value


@cuda.jit(device=True)
def store_vector(
    total,
    c,
    place,
    alpha,
    beta,
    scaled: cuda.constexpr,
    stored: cuda.constexpr,
    scaling: cuda.constexpr,
    aligned: cuda.constexpr,
):
    """Make a vector of sums the elements from ``c[place]`` on."""
    value = scaled(total)
    if scaling > 0:
        value = value * alpha
    if scaling > 1:
        old = scaled(cuda.vload(c, place, scaled.lanes, aligned=aligned))
        value = multiply_add(beta, old, value, isinstance(alpha, np.integer))
    cuda.vstore(stored(value), c, place, aligned=aligned)


@cuda.jit
def sum_parts(
    parts,
    c,
    m,
    n,
    c_pitch,
    c_batch,
    split,
    alpha,
    beta,
    scaling: cuda.constexpr,
):
    """``c = alpha * (parts[0] + parts[1] + ...) + beta * c`` in this order, for a batch.

    parts: (batch, split, m, n), C order; a thread for each element of c in a one-dimensional grid.
    """
    target = c.ravel()
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
        place = matrix * c_batch + within // n * c_pitch + within % n
        store_element(total, target, place, alpha, beta, scaling)


@cuda.jit
def scale_elements(c, m, n, c_pitch, c_batch, batch, beta_re, beta_im, mode: cuda.constexpr):
    """``c = beta * c``: ``mode`` 0 writes zeros without reading c, 1 scales numbers, 2 complex ones.

    Pairs of real and imaginary part side by side in mode 2, where n counts pairs; a thread for each.
    """
    target = c.ravel()
    size = m * n
    position = type(size)(cuda.grid(1))
    if position < size * batch:
        within = position % size
        if mode == 2:
            place = position // size * c_batch + within // n * c_pitch + within % n * 2
            re, im = target[place], target[place + 1]
            target[place] = beta_re * re - beta_im * im
            target[place + 1] = beta_re * im + beta_im * re
        else:
            place = position // size * c_batch + within // n * c_pitch + within % n
            if mode == 1:
                target[place] = beta_re * target[place]
            else:
                target[place] = 0


@cuda.jit
def expand_complex(b, real, k, n, b_down, b_right, b_batch, batch):
    """Complex matrices as real ones: rows ``[re, im, re, im, ...]`` times them are such rows.

    b: pairs of numbers with steps (in pairs) between rows, columns and matrices; real: (batch, 2 * k, 2 * n), C order;
    element ``x + iy`` of b becomes ``[[x, y], [-y, x]]``. A thread for each element of b.
    """
    source = b.ravel()
    target = real.ravel()
    size = k * n
    position = type(size)(cuda.grid(1))
    if position < size * batch:
        within = position % size
        row, column = within // n, within % n
        place = 2 * (position // size * b_batch + row * b_down + column * b_right)
        re, im = source[place], source[place + 1]
        first = position // size * (4 * size) + row * (4 * n) + column * 2
        target[first] = re
        target[first + 1] = im
        target[first + 2 * n] = -im
        target[first + 2 * n + 1] = re


@cuda.jit
def separate_complex(a, real, m, k, a_down, a_right, a_batch, batch):
    """Complex matrices as real ones with twice the rows: first those of the real parts, then of the imaginary ones.

    a: as b of `expand_complex`; real: (batch, 2 * m, k), C order. A thread for each element of a.
    """
    source = a.ravel()
    target = real.ravel()
    size = m * k
    position = type(size)(cuda.grid(1))
    if position < size * batch:
        within = position % size
        place = 2 * (position // size * a_batch + within // k * a_down + within % k * a_right)
        first = position // size * (2 * size) + within
        target[first] = source[place]
        target[first + size] = source[place + 1]


@cuda.jit
def join_complex(
    sums,
    c,
    m,
    n,
    c_down,
    c_right,
    c_batch,
    batch,
    alpha_re,
    alpha_im,
    beta_re,
    beta_im,
    separated: cuda.constexpr,
    alpha_parts: cuda.constexpr,
    beta_parts: cuda.constexpr,
):
    """``c = alpha * sums + beta * c`` of complex numbers whose sums are real matrices.

    sums: (batch, m, 2 * n), C order, with real and imaginary parts side by side; if ``separated``, (batch, 2 * m, 2 *
    n): rows of the real parts of a factor times the other, then rows of its imaginary parts times the other. c: as b of
    `expand_complex`. ``alpha_parts``, ``beta_parts``: 1 for a real factor, 2 for a complex one, 0 if c is not read. A
    thread for each element of c.
    """
    source = sums.ravel()
    target = c.ravel()
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
            re, im = alpha_re * re - alpha_im * im, alpha_re * im + alpha_im * re
        else:
            re, im = alpha_re * re, alpha_re * im
        place = 2 * (position // size * c_batch + row * c_down + column * c_right)
        if beta_parts > 0:
            old_re, old_im = target[place], target[place + 1]
            if beta_parts == 2:
                old_re, old_im = beta_re * old_re - beta_im * old_im, beta_re * old_im + beta_im * old_re
            else:
                old_re, old_im = beta_re * old_re, beta_re * old_im
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
