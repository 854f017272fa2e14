"""Kernels whose generated text is golden, and which need most of what back ends write beside statements."""

from __future__ import annotations

import math

import numpy as np

from portagpu import cuda

POWERS = np.array([1 + 2j, -1, 0.5j], np.complex64)


@cuda.jit(device=True, forceinline=True)
def halved(n):
    return n // 2


@cuda.jit
def numbers(z, h, b, v, out):
    """Complex numbers, halves, bfloat16, vectors, constant arrays, integers that wrap around, and functions."""
    table = cuda.const.array_like(POWERS)
    i = cuda.grid(1)
    if i < z.size:
        z[i] = z[i] * z[z.size - 1 - i] / (1 + 2j) + table[i % 3] ** 2
        h[i] = h[i] * h[0] - np.float16(math.exp(h[i]))
        b[i] = b[i] + 1
        pair = cuda.vload(v, 2 * i, 2) * 2
        cuda.vstore(pair + cuda.float32x2(1, math.erf(pair.x)), v, 2 * i)
        out[i] = halved(-out[i]) // 3 + halved(out[i]) + (out[i] << 5) % 7 + cuda.popc(out[i]) + abs(np.int8(out[i]))


@cuda.jit
def effects(counts, sums, x):
    """Votes and exchanges of warps, atomic operations, fences, text and an exception."""
    i = cuda.grid(1)
    mine = x[i]
    if mine < 0:
        raise ValueError("negative", mine)
    for step in (16, 8, 4, 2, 1):
        mine += cuda.shfl_down_sync(0xFFFFFFFF, mine, step)
    found = cuda.syncthreads_count(mine > 1)
    ballot = cuda.ballot_sync(0xFFFFFFFF, mine > 2)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(sums, 0, mine)
        cuda.atomic.max(sums, 1, mine)
        cuda.atomic.cas(counts, 2, 0, found)
        cuda.atomic.inc(counts, 3, 7)
        cuda.threadfence()
        counts[0] = ballot
        print("block", cuda.blockIdx.x, mine)


@cuda.jit(subgroup_size=16)
def subgroup_products(a, b, c):
    """Blocks of subgroups, and products of their matrix units."""
    place = cuda.subgroup_id()
    rows = cuda.subgroup_block_read(a, place * 128, width=8)
    total = cuda.float32x8(0)
    total = cuda.subgroup_matrix_mad("float16", rows, cuda.int32x8(0x3C003C00), total)
    total = cuda.subgroup_matrix_mad("bfloat16", rows, cuda.int32x8(0x3F803F80), total)
    total = cuda.subgroup_matrix_mad("tfloat32", cuda.float32x4(1), cuda.float32x8(2), total)
    sums = cuda.subgroup_matrix_mad("int8", rows, cuda.uint32x8(1), cuda.int32x8(place))
    cuda.subgroup_block_write(total + cuda.float32x8(sums[0]), b, place * 128)
    one = cuda.subgroup_matrix_mad("float16", rows[0], cuda.int32x8(0), np.float32(1))
    cuda.subgroup_block_write(one, c, place * 16)
