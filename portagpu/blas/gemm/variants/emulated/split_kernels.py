"""Splits float32 matrices into pieces of 16 bits, whose sum is the matrix; in the dialect.

The operand counts as rows by depth: A as it is, B transposed. Its pieces lie one after the other along the depth, each
padded with zeros. Where float16 is the type of the pieces, each row is first scaled by a power of two, so that its
largest element is just below 2**15: two pieces then hold 22 bits of every element that is not smaller than 2**-17 of
the row's largest, and of smaller ones all bits down to 2**-39 of it.

H. Ootomo, R. Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak
performance", IJHPCA 36(4), 2022. G. Henry, P. Tang, A. Heinecke, "Leveraging the bfloat16 artificial intelligence
datatype for higher-precision computations", ARITH 2019.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda

_FINITE = 0x7F800000  # bits of infinity: those of smaller numbers are finite
_MOST = 120  # exponent of a scale: two of them, halved, stay within float32's


@cuda.jit
def largest(x, bits, rows, depth, chunk, along: cuda.constexpr):
    """``bits[row] = max(bits[row], bits of the largest finite |x[row, :]|)``, atomically.

    A block takes ``chunk`` steps of the depth (blockIdx.y). ``along``: one row a block, its threads side by side along
    the depth; otherwise side by side in rows.
    """
    thread = np.int32(cuda.threadIdx.x)
    width = np.int32(cuda.blockDim.x)
    begin = np.int32(cuda.blockIdx.y) * chunk
    end = min(begin + chunk, depth)
    found = np.int32(0)
    if along:
        row = np.int32(cuda.blockIdx.x)
        for k in range(begin + thread, end, width):
            value = x[row, k].view(np.int32) & 0x7FFFFFFF
            if value < _FINITE:
                found = max(found, value)
        shared = cuda.shared.array(1, np.int32)
        if thread == 0:
            shared[0] = 0
        cuda.syncthreads()
        cuda.atomic.max(shared, 0, found)
        cuda.syncthreads()
        if thread == 0:
            cuda.atomic.max(bits, row, shared[0])
    else:
        row = np.int32(cuda.blockIdx.x) * width + thread
        if row < rows:
            for k in range(begin, end):
                value = x[row, k].view(np.int32) & 0x7FFFFFFF
                if value < _FINITE:
                    found = max(found, value)
            cuda.atomic.max(bits, row, found)


@cuda.jit(device=True)
def scale_of(bits):
    """The exponent of the power of two that brings a row's largest element to just below 2**15."""
    exponent = (bits >> 23) - 127
    return min(np.int32(14) - exponent, np.int32(_MOST)) if bits > 0 else np.int32(0)


@cuda.jit(device=True)
def times_power(value, exponent):
    """``value * 2**exponent`` in two steps, each with a factor that float32 holds."""
    half = exponent >> 1
    first = ((np.int32(127) + half) << 23).view(np.float32)
    second = ((np.int32(127) + (exponent - half)) << 23).view(np.float32)
    return value * first * second


@cuda.jit(device=True)
def _rest(value, rounded):
    """What a piece leaves for the next one: nothing where it is not finite."""
    return value - rounded if (rounded.view(np.int32) & 0x7FFFFFFF) < _FINITE else np.float32(0)


@cuda.jit(device=True)
def _within_bfloat16(value):
    """The value, or, of finite ones that would be rounded to infinity, bfloat16's largest."""
    bits = value.view(np.int32)
    size = bits & 0x7FFFFFFF
    return (bits & np.int32(-65536)).view(np.float32) if size > 0x7F7F0000 and size < _FINITE else value


@cuda.jit
def split_terms(
    x,
    pieces,
    bits,
    exponents,
    rows,
    depth,
    padded,
    across,
    count: cuda.constexpr,
    is_bfloat16: cuda.constexpr,
    along: cuda.constexpr,
):
    """Write pieces of x (rows, depth), two neighbours a word.

    Blocks lie ``across`` side by side along neighbours, in one row of blocks: grids have few in other directions.
    pieces: (rows, count * padded / 2) if ``along``, else (count * padded, rows / 2), rounded up. ``exponents[row]``
    becomes the exponent by which the row was scaled; pieces of bfloat16 (``is_bfloat16``) are not scaled.
    """
    block = np.int32(cuda.blockIdx.x)
    fast = block % across * np.int32(cuda.blockDim.x) + np.int32(cuda.threadIdx.x)
    slow = block // across * np.int32(cuda.blockDim.y) + np.int32(cuda.threadIdx.y)
    low, high = np.float32(0), np.float32(0)
    if along:
        inside = slow < rows and fast * 2 < padded
        row, k = slow, fast * 2
        row_next, k_next = row, k + 1
    else:
        inside = slow < padded and fast * 2 < rows
        row, k = fast * 2, slow
        row_next, k_next = row + 1, k
    if inside:
        if k < depth:
            low = x[row, k]
        if k_next < depth and row_next < rows:
            high = x[row_next, k_next]
        if not is_bfloat16:
            scale = scale_of(bits[row])
            scale_next = scale
            if not along and row_next < rows:
                scale_next = scale_of(bits[row_next])
            low = times_power(low, scale)
            high = times_power(high, scale_next)
            if k == 0:
                exponents[row] = scale
                if row_next < rows:
                    exponents[row_next] = scale_next
        for piece in cuda.unroll(range(count)):
            if is_bfloat16:
                word = cuda.pack_bfloat162(_within_bfloat16(low), _within_bfloat16(high))
                low = _rest(low, (word << np.uint32(16)).view(np.float32))
                high = _rest(high, (word & np.uint32(0xFFFF0000)).view(np.float32))
            else:
                word = cuda.pack_half2(low, high)
                low = _rest(low, np.float32(np.uint16(word & np.uint32(0xFFFF)).view(np.float16)))
                high = _rest(high, np.float32(np.uint16(word >> np.uint32(16)).view(np.float16)))
            if along:
                pieces[row, (piece * padded + k) // 2] = word
            else:
                pieces[piece * padded + k, fast] = word
