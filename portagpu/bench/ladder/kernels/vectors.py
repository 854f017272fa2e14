"""Steps 6 and 7: everything moves in vectors of 16 bytes; then the next tiles are on their way while these are used.

A's tile is stored transposed, so that the rows which a thread needs at one depth are neighbours, too. Its rows are one
vector longer than they need to be: the threads that store a column of A then meet different banks.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.bench.ladder.kernels.tiles import element


@cuda.jit(device=True)
def load_vector(source, row, column, vector: cuda.constexpr, exact: cuda.constexpr):
    """The vector at ``source[row, column]``, zeros outside. ``exact`` says that it is inside and aligned."""
    if exact:
        return cuda.vload(source, (row, column), vector.lanes, aligned=True)
    if vector.lanes == 2:
        return vector(element(source, row, column), element(source, row, column + 1))
    return vector(
        element(source, row, column),
        element(source, row, column + 1),
        element(source, row, column + 2),
        element(source, row, column + 3),
    )


@cuda.jit(device=True)
def store_vector(value, target, row, column, vector: cuda.constexpr, exact: cuda.constexpr):
    """Store a vector at ``target[row, column]``; what lies outside is dropped."""
    if exact:
        cuda.vstore(value, target, (row, column), aligned=True)
    else:
        for lane in cuda.unroll(range(vector.lanes)):
            if row < target.shape[0] and column + lane < target.shape[1]:
                target[row, column + lane] = value[lane]


@cuda.jit(block_dim=(256, 1, 1))
def vectorised(
    a,
    b,
    c,
    tile_m: cuda.constexpr,
    tile_n: cuda.constexpr,
    tile_k: cuda.constexpr,
    thread_m: cuda.constexpr,
    thread_n: cuda.constexpr,
    vector: cuda.constexpr,
    exact: cuda.constexpr,
):
    """A thread's rows and columns come in groups of one vector, which are spread over the tile."""
    lanes = vector.lanes
    threads_m, threads_n = tile_m // thread_m, tile_n // thread_n
    threads = threads_m * threads_n
    groups_m, groups_n = thread_m // lanes, thread_n // lanes
    tile_a = cuda.shared.array((tile_k, tile_m + lanes), c.dtype)
    tile_b = cuda.shared.array((tile_k, tile_n), c.dtype)
    rows = cuda.local.array(groups_m, vector)
    columns = cuda.local.array(groups_n, vector)
    acc = cuda.local.array((thread_m, thread_n), c.dtype)
    thread = np.int32(cuda.threadIdx.x)
    thread_row, thread_column = thread // threads_n * lanes, thread % threads_n * lanes
    row0, column0 = np.int32(cuda.blockIdx.y) * tile_m, np.int32(cuda.blockIdx.x) * tile_n
    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            acc[i, j] = 0
    for k0 in range(np.int32(0), np.int32(a.shape[1]), np.int32(tile_k)):
        for load in cuda.unroll(range(tile_m * tile_k // (lanes * threads))):
            place = thread + load * threads
            y, x = place // (tile_k // lanes), place % (tile_k // lanes) * lanes
            part = load_vector(a, row0 + y, k0 + x, vector, exact)
            for lane in cuda.unroll(range(lanes)):
                tile_a[x + lane, y] = part[lane]
        for load in cuda.unroll(range(tile_k * tile_n // (lanes * threads))):
            place = thread + load * threads
            y, x = place // (tile_n // lanes), place % (tile_n // lanes) * lanes
            cuda.vstore(load_vector(b, k0 + y, column0 + x, vector, exact), tile_b, (y, x), aligned=True)
        cuda.syncthreads()
        for depth in cuda.unroll(range(tile_k)):
            for i in cuda.unroll(range(groups_m)):
                rows[i] = cuda.vload(tile_a, (depth, thread_row + i * threads_m * lanes), lanes, aligned=True)
            for j in cuda.unroll(range(groups_n)):
                columns[j] = cuda.vload(tile_b, (depth, thread_column + j * threads_n * lanes), lanes, aligned=True)
            for i in cuda.unroll(range(thread_m)):
                for j in cuda.unroll(range(thread_n)):
                    acc[i, j] = cuda.fma(rows[i // lanes][i % lanes], columns[j // lanes][j % lanes], acc[i, j])
        cuda.syncthreads()
    for i in cuda.unroll(range(thread_m)):
        row = row0 + thread_row + (i // lanes * threads_m * lanes + i % lanes)
        for j in cuda.unroll(range(groups_n)):
            first = j * lanes
            if lanes == 2:
                line = vector(acc[i, first], acc[i, first + 1])
            else:
                line = vector(acc[i, first], acc[i, first + 1], acc[i, first + 2], acc[i, first + 3])
            store_vector(line, c, row, column0 + thread_column + first * threads_n, vector, exact)


@cuda.jit(block_dim=(256, 1, 1))
def double_buffered(
    a,
    b,
    c,
    tile_m: cuda.constexpr,
    tile_n: cuda.constexpr,
    tile_k: cuda.constexpr,
    thread_m: cuda.constexpr,
    thread_n: cuda.constexpr,
    vector: cuda.constexpr,
    exact: cuda.constexpr,
):
    """In step s the tiles of step s are loaded into registers and those of step s - 1, in shared memory, are used.

    Two buffers in shared memory take turns, so that one barrier a step is enough: what is stored after the arithmetic
    goes into the buffer that nobody reads any more.
    """
    lanes = vector.lanes
    threads_m, threads_n = tile_m // thread_m, tile_n // thread_n
    threads = threads_m * threads_n
    groups_m, groups_n = thread_m // lanes, thread_n // lanes
    loads_a, loads_b = tile_m * tile_k // (lanes * threads), tile_k * tile_n // (lanes * threads)
    tile_a = cuda.shared.array((2, tile_k, tile_m + lanes), c.dtype)
    tile_b = cuda.shared.array((2, tile_k, tile_n), c.dtype)
    next_a = cuda.local.array(loads_a, vector)
    next_b = cuda.local.array(loads_b, vector)
    rows = cuda.local.array(groups_m, vector)
    columns = cuda.local.array(groups_n, vector)
    acc = cuda.local.array((thread_m, thread_n), c.dtype)
    thread = np.int32(cuda.threadIdx.x)
    thread_row, thread_column = thread // threads_n * lanes, thread % threads_n * lanes
    row0, column0 = np.int32(cuda.blockIdx.y) * tile_m, np.int32(cuda.blockIdx.x) * tile_n
    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            acc[i, j] = 0
    steps = (np.int32(a.shape[1]) + (tile_k - 1)) // tile_k
    buffer = np.int32(0)
    for step in range(np.int32(0), steps + 1):
        if step < steps:
            for load in cuda.unroll(range(loads_a)):
                y, x = (thread + load * threads) // (tile_k // lanes), (thread + load * threads) % (tile_k // lanes)
                next_a[load] = load_vector(a, row0 + y, step * tile_k + x * lanes, vector, exact)
            for load in cuda.unroll(range(loads_b)):
                y, x = (thread + load * threads) // (tile_n // lanes), (thread + load * threads) % (tile_n // lanes)
                next_b[load] = load_vector(b, step * tile_k + y, column0 + x * lanes, vector, exact)
        if step > 0:
            for depth in cuda.unroll(range(tile_k)):
                for i in cuda.unroll(range(groups_m)):
                    place = thread_row + i * threads_m * lanes
                    rows[i] = cuda.vload(tile_a, (buffer, depth, place), lanes, aligned=True)
                for j in cuda.unroll(range(groups_n)):
                    place = thread_column + j * threads_n * lanes
                    columns[j] = cuda.vload(tile_b, (buffer, depth, place), lanes, aligned=True)
                for i in cuda.unroll(range(thread_m)):
                    for j in cuda.unroll(range(thread_n)):
                        acc[i, j] = cuda.fma(rows[i // lanes][i % lanes], columns[j // lanes][j % lanes], acc[i, j])
            buffer ^= 1
        if step < steps:
            for load in cuda.unroll(range(loads_a)):
                y, x = (thread + load * threads) // (tile_k // lanes), (thread + load * threads) % (tile_k // lanes)
                for lane in cuda.unroll(range(lanes)):
                    tile_a[buffer, x * lanes + lane, y] = next_a[load][lane]
            for load in cuda.unroll(range(loads_b)):
                y, x = (thread + load * threads) // (tile_n // lanes), (thread + load * threads) % (tile_n // lanes)
                cuda.vstore(next_b[load], tile_b, (buffer, y, x * lanes), aligned=True)
        cuda.syncthreads()
    for i in cuda.unroll(range(thread_m)):
        row = row0 + thread_row + (i // lanes * threads_m * lanes + i % lanes)
        for j in cuda.unroll(range(groups_n)):
            first = j * lanes
            if lanes == 2:
                line = vector(acc[i, first], acc[i, first + 1])
            else:
                line = vector(acc[i, first], acc[i, first + 1], acc[i, first + 2], acc[i, first + 3])
            store_vector(line, c, row, column0 + thread_column + first * threads_n, vector, exact)
