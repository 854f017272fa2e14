"""How sums become elements of the result, and kernels that work on results alone; in the dialect.

Sums are formed in one type (``vector`` of kernels), scaled in another (``scaled``, that of alpha and beta: float32
where integers become floats) and stored in a third (``stored``). ``scaling`` is 0 for ``c = sum``, 1 for
``c = alpha * sum`` and 2 for ``c = alpha * sum + beta * c``: c is read in the last case only.
"""

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
def expand_complex(b, real, k, n, b_down, b_right, b_batch, batch, alpha_re, alpha_im, scale: cuda.constexpr):
    """Complex matrices as real ones, times alpha if ``scale``: rows ``[re, im, re, im, ...]`` times them are such rows.

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
        if scale:
            re, im = alpha_re * re - alpha_im * im, alpha_re * im + alpha_im * re
        first = position // size * (4 * size) + row * (4 * n) + column * 2
        target[first] = re
        target[first + 1] = im
        target[first + 2 * n] = -im
        target[first + 2 * n + 1] = re
