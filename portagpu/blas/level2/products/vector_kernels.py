"""Before and after a product: x as kernels read it, and y from the sums of a sheet's parts; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.level2.products.form import LOWER, UPPER


@cuda.jit
def pack(x, packed, n, along, across, turned, sign, parts: cuda.constexpr):
    """Real numbers of n elements, as `portagpu.blas.level2.products.form.Given` has them: a thread for each.

    x: a `Vector` of real numbers, ``parts`` of each element; ``turned``: 1 for use along, too, else 0. ``sign``: 1 if
    elements of lines are conjugated where they are used along, else -1.
    """
    kind = type(n)
    i = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    if i >= n:
        return
    place = (x.first + type(x.first)(i) * x.step) * parts
    if parts == 1:
        packed[i] = x.memory[place]
    else:
        re, im = x.memory[place], x.memory[place + 1]
        packed[across + i] = re
        packed[across + n + i] = im
        if turned != 0:
            packed[along + 2 * i] = re
            packed[along + 2 * i + 1] = sign * im
            packed[along + 2 * n + 2 * i] = im
            packed[along + 2 * n + 2 * i + 1] = -sign * re


@cuda.jit(device=True)
def _chunks_of(i, sums, extents, tiling, parts):
    """The chunks, from the first to the one after the last, of which there are sums for line i."""
    strip = i // tiling.strip
    first, last = type(i)(0), (extents.columns + (tiling.chunk - 1)) // tiling.chunk
    if sums.shape == LOWER:
        end = min((strip + 1) * tiling.strip, extents.lines) * parts
        last = (end + (tiling.chunk - 1)) // tiling.chunk
    if sums.shape == UPPER:
        first = strip * tiling.strip * parts // tiling.chunk
    return first, last


@cuda.jit(device=True)
def _strips_of(c, sums, extents, tiling, parts):
    """The strips, from the first to the one after the last, of which there are sums for number c of the lines."""
    chunk = c // tiling.chunk
    first, last = type(c)(0), (extents.lines + (tiling.strip - 1)) // tiling.strip
    if sums.shape == LOWER:
        first = chunk * tiling.chunk // (parts * tiling.strip)
    if sums.shape == UPPER:
        end = min((chunk + 1) * tiling.chunk, extents.columns)
        last = (end + (parts * tiling.strip - 1)) // (parts * tiling.strip)
    return first, last


@cuda.jit(device=True)
def _add_along(total, sums, i, way, extents, tiling, form, ways: cuda.constexpr):
    first, last = _chunks_of(i, sums, extents, tiling, form.parts)
    for chunk in range(first + way, last, type(i)(ways)):
        for v in cuda.unroll(range(form.parts)):
            total[v] += sums.memory[(chunk * extents.lines + i) * form.parts + v]


@cuda.jit(device=True)
def _add_across(total, sums, j, way, extents, tiling, sign, form, ways: cuda.constexpr):
    first, last = _strips_of(j * form.parts, sums, extents, tiling, form.parts)
    for strip in range(first + way, last, type(j)(ways)):
        place = sums.across + strip * form.parts * extents.columns + j * form.parts
        if form.parts == 1:
            total[0] += sums.memory[place]
        else:
            other = place + extents.columns
            total[0] += sums.memory[place] + sign * sums.memory[other + 1]
            total[1] += sums.memory[other] - sign * sums.memory[place + 1]


@cuda.jit(device=True)
def store(y, i, total, alpha, beta, parts: cuda.constexpr):
    """``y[i] = alpha * total + beta * y[i]``, in real numbers; what is multiplied by zero is left out."""
    place = (y.first + type(y.first)(i) * y.step) * parts
    if parts == 1:
        value = alpha.re * total[0]
        if beta.re != 0:
            value += beta.re * y.memory[place]
        y.memory[place] = value
    else:
        re, im = alpha.re * total[0], alpha.re * total[1]
        if alpha.im != 0:
            re -= alpha.im * total[1]
            im += alpha.im * total[0]
        if beta.re != 0 or beta.im != 0:
            old_re, old_im = y.memory[place], y.memory[place + 1]
            re += beta.re * old_re
            im += beta.re * old_im
            if beta.im != 0:
                re -= beta.im * old_im
                im += beta.im * old_re
        y.memory[place] = re
        y.memory[place + 1] = im


@cuda.jit
def finish(y, sums, n, extents, tiling, alpha, beta, sign, form: cuda.constexpr, ways: cuda.constexpr):
    """``y = alpha * sums + beta * y`` for n elements, sums of a sheet's parts in a fixed order.

    y: a `Vector` of real numbers, ``form.parts`` of each element; alpha, beta: `Complex`. A block has ``ways`` threads
    along its second axis, which share the parts. ``sign``: 1 if elements that were used across are conjugated, else -1.
    """
    kind = type(n)
    number = type(alpha.re)
    width, thread, way = cuda.blockDim.x, cuda.threadIdx.x, cuda.threadIdx.y
    i = kind(cuda.blockIdx.x) * kind(width) + kind(thread)
    total = cuda.local.array(form.parts, number)
    for v in cuda.unroll(range(form.parts)):
        total[v] = number(0)
    if i < n:
        if form.along:
            _add_along(total, sums, i, kind(way), extents, tiling, form, ways)
        if form.across:
            _add_across(total, sums, i, kind(way), extents, tiling, sign, form, ways)
    if ways > 1:
        shared = cuda.shared.array((ways, form.parts, 32), number)
        for v in cuda.unroll(range(form.parts)):
            shared[way, v, thread] = total[v]
        cuda.syncthreads()
        if way == 0:
            for other in range(1, ways):
                for v in cuda.unroll(range(form.parts)):
                    total[v] += shared[other, v, thread]
    if i < n and way == 0:
        store(y, i, total, alpha, beta, form.parts)
