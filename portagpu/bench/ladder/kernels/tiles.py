"""Steps 3 to 5: tiles of A and B in shared memory, then more and more elements of C in a thread's registers.

Counts are `numpy.int32`, since Python's integers have 64 bits, which GPUs compute in two halves.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda


@cuda.jit(device=True)
def element(source, row, column):
    """``source[row, column]``, or zero outside: tiles that stick out of a matrix are filled up with zeros."""
    return source[row, column] if row < source.shape[0] and column < source.shape[1] else 0


@cuda.jit(device=True)
def copy_tile(source, row0, column0, tile, height: cuda.constexpr, width: cuda.constexpr, threads: cuda.constexpr):
    """``tile = source[row0 : row0 + height, column0 : column0 + width]`` by all threads of a one-dimensional block."""
    for place in range(np.int32(cuda.threadIdx.x), np.int32(height * width), np.int32(threads)):
        y, x = place // width, place % width
        tile[y, x] = element(source, row0 + y, column0 + x)


@cuda.jit
def shared_tile(a, b, c, tile: cuda.constexpr):
    """A block of ``tile`` x ``tile`` threads reads each element of its rows and columns once for all its threads."""
    tile_a = cuda.shared.array((tile, tile), c.dtype)
    tile_b = cuda.shared.array((tile, tile), c.dtype)
    x, y = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    column = np.int32(cuda.blockIdx.x) * tile + x
    row = np.int32(cuda.blockIdx.y) * tile + y
    total = c.dtype.type(0)
    for k0 in range(np.int32(0), np.int32(a.shape[1]), np.int32(tile)):
        tile_a[y, x] = element(a, row, k0 + x)
        tile_b[y, x] = element(b, k0 + y, column)
        cuda.syncthreads()
        for depth in range(np.int32(tile)):
            total = cuda.fma(tile_a[y, depth], tile_b[depth, x], total)
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def register_column(
    a, b, c, tile_m: cuda.constexpr, tile_n: cuda.constexpr, tile_k: cuda.constexpr, thread_m: cuda.constexpr
):
    """A thread keeps ``thread_m`` elements of a column of C: one element of B serves them all."""
    threads = tile_m // thread_m * tile_n
    tile_a = cuda.shared.array((tile_m, tile_k), c.dtype)
    tile_b = cuda.shared.array((tile_k, tile_n), c.dtype)
    acc = cuda.local.array(thread_m, c.dtype)
    thread = np.int32(cuda.threadIdx.x)
    thread_row, thread_column = thread // tile_n * thread_m, thread % tile_n
    row0, column0 = np.int32(cuda.blockIdx.y) * tile_m, np.int32(cuda.blockIdx.x) * tile_n
    for i in cuda.unroll(range(thread_m)):
        acc[i] = 0
    for k0 in range(np.int32(0), np.int32(a.shape[1]), np.int32(tile_k)):
        copy_tile(a, row0, k0, tile_a, tile_m, tile_k, threads)
        copy_tile(b, k0, column0, tile_b, tile_k, tile_n, threads)
        cuda.syncthreads()
        for depth in cuda.unroll(range(tile_k)):
            value = tile_b[depth, thread_column]
            for i in cuda.unroll(range(thread_m)):
                acc[i] = cuda.fma(tile_a[thread_row + i, depth], value, acc[i])
        cuda.syncthreads()
    column = column0 + thread_column
    for i in cuda.unroll(range(thread_m)):
        row = row0 + thread_row + i
        if row < c.shape[0] and column < c.shape[1]:
            c[row, column] = acc[i]


@cuda.jit(block_dim=(256, 1, 1))
def register_tile(
    a,
    b,
    c,
    tile_m: cuda.constexpr,
    tile_n: cuda.constexpr,
    tile_k: cuda.constexpr,
    thread_m: cuda.constexpr,
    thread_n: cuda.constexpr,
):
    """A thread keeps ``thread_m`` x ``thread_n`` elements of C; rows and columns of a thread are spread over the tile.

    Neighbouring threads so read neighbouring columns of B's tile, without bank conflicts, and store neighbours of C.
    """
    threads_m, threads_n = tile_m // thread_m, tile_n // thread_n
    tile_a = cuda.shared.array((tile_m, tile_k), c.dtype)
    tile_b = cuda.shared.array((tile_k, tile_n), c.dtype)
    rows = cuda.local.array(thread_m, c.dtype)
    columns = cuda.local.array(thread_n, c.dtype)
    acc = cuda.local.array((thread_m, thread_n), c.dtype)
    thread = np.int32(cuda.threadIdx.x)
    thread_row, thread_column = thread // threads_n, thread % threads_n
    row0, column0 = np.int32(cuda.blockIdx.y) * tile_m, np.int32(cuda.blockIdx.x) * tile_n
    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            acc[i, j] = 0
    for k0 in range(np.int32(0), np.int32(a.shape[1]), np.int32(tile_k)):
        copy_tile(a, row0, k0, tile_a, tile_m, tile_k, threads_m * threads_n)
        copy_tile(b, k0, column0, tile_b, tile_k, tile_n, threads_m * threads_n)
        cuda.syncthreads()
        for depth in cuda.unroll(range(tile_k)):
            for i in cuda.unroll(range(thread_m)):
                rows[i] = tile_a[thread_row + i * threads_m, depth]
            for j in cuda.unroll(range(thread_n)):
                columns[j] = tile_b[depth, thread_column + j * threads_n]
            for i in cuda.unroll(range(thread_m)):
                for j in cuda.unroll(range(thread_n)):
                    acc[i, j] = cuda.fma(rows[i], columns[j], acc[i, j])
        cuda.syncthreads()
    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            row, column = row0 + thread_row + i * threads_m, column0 + thread_column + j * threads_n
            if row < c.shape[0] and column < c.shape[1]:
                c[row, column] = acc[i, j]
