"""Step 9: tiles travel to shared memory by themselves, several steps ahead of the arithmetic.

Counts are unsigned here, so that subscripts need no check for negative ones where a function gets them as arguments.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.bench.ladder.kernels.vectors import store_vector


@cuda.jit(device=True)
def fetch_tile(
    source,
    row0,
    column0,
    tile,
    stage,
    height: cuda.constexpr,
    width: cuda.constexpr,
    threads: cuda.constexpr,
    count: cuda.constexpr,
    exact: cuda.constexpr,
):
    """Begin to copy ``source[row0 : row0 + height, column0 : column0 + width]`` to ``tile[stage]``, zeros from outside.

    A copy moves ``count`` elements: a vector if ``exact``, which says that all is inside and aligned, else one.
    """
    for copy in cuda.unroll(range(height * width // (count * threads))):
        place = np.uint32(cuda.threadIdx.x) + copy * threads
        y, x = place // (width // count), place % (width // count) * count
        row, column = row0 + y, column0 + x
        if exact:
            cuda.pipeline_memcpy_async(tile, (stage, y, x), source, (row, column), count)
        else:
            inside = row < source.shape[0] and column < source.shape[1]
            cuda.pipeline_memcpy_async(tile, (stage, y, x), source, (row, column), count, valid=inside)


@cuda.jit(block_dim=(256, 1, 1))
def pipelined(
    a,
    b,
    c,
    tile_m: cuda.constexpr,
    tile_n: cuda.constexpr,
    tile_k: cuda.constexpr,
    thread_m: cuda.constexpr,
    thread_n: cuda.constexpr,
    stages: cuda.constexpr,
    vector: cuda.constexpr,
    exact: cuda.constexpr,
):
    """``stages`` tiles of A and B in shared memory: one is used, the others are on their way.

    Each step commits one group of copies, also an empty one at the end, so that waiting until ``stages - 2`` groups are
    left means that the tiles of this step are there. The barrier says so to the other threads, and that all of them
    are done with the step before, whose place the next copies take. A is not transposed, as copies go straight:
    a thread reads a row of A as vectors along k.
    """
    lanes = vector.lanes
    threads_m, threads_n = tile_m // thread_m, tile_n // thread_n
    threads = threads_m * threads_n
    groups_n = thread_n // lanes
    count = lanes if exact else 1
    tile_a = cuda.shared.array((stages, tile_m, tile_k), c.dtype)
    tile_b = cuda.shared.array((stages, tile_k, tile_n), c.dtype)
    rows = cuda.local.array(thread_m, vector)
    columns = cuda.local.array(groups_n, vector)
    acc = cuda.local.array((thread_m, thread_n), c.dtype)
    thread = np.uint32(cuda.threadIdx.x)
    thread_row, thread_column = thread // threads_n, thread % threads_n * lanes
    row0, column0 = np.uint32(cuda.blockIdx.y) * tile_m, np.uint32(cuda.blockIdx.x) * tile_n
    steps = (np.uint32(a.shape[1]) + (tile_k - 1)) // tile_k
    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            acc[i, j] = 0
    for early in cuda.unroll(range(stages - 1)):
        if early < steps:
            at, k0 = np.uint32(early), np.uint32(early * tile_k)
            fetch_tile(a, row0, k0, tile_a, at, tile_m, tile_k, threads, count, exact)
            fetch_tile(b, k0, column0, tile_b, at, tile_k, tile_n, threads, count, exact)
        cuda.pipeline_commit()
    stage, free = np.uint32(0), np.uint32(stages - 1)
    for step in range(np.uint32(0), steps):
        cuda.pipeline_wait_prior(stages - 2)
        cuda.syncthreads()
        if step + (stages - 1) < steps:
            k0 = (step + (stages - 1)) * tile_k
            fetch_tile(a, row0, k0, tile_a, free, tile_m, tile_k, threads, count, exact)
            fetch_tile(b, k0, column0, tile_b, free, tile_k, tile_n, threads, count, exact)
        cuda.pipeline_commit()
        for depth in cuda.unroll(range(0, tile_k, lanes)):
            for i in cuda.unroll(range(thread_m)):
                rows[i] = cuda.vload(tile_a, (stage, thread_row + i * threads_m, depth), lanes, aligned=True)
            for lane in cuda.unroll(range(lanes)):
                for j in cuda.unroll(range(groups_n)):
                    place = thread_column + j * threads_n * lanes
                    columns[j] = cuda.vload(tile_b, (stage, depth + lane, place), lanes, aligned=True)
                for i in cuda.unroll(range(thread_m)):
                    for j in cuda.unroll(range(thread_n)):
                        acc[i, j] = cuda.fma(rows[i][lane], columns[j // lanes][j % lanes], acc[i, j])
        free = stage
        stage = stage + 1 if stage + 1 < stages else np.uint32(0)
    for i in cuda.unroll(range(thread_m)):
        row = row0 + thread_row + i * threads_m
        for j in cuda.unroll(range(groups_n)):
            first = j * lanes
            if lanes == 2:
                line = vector(acc[i, first], acc[i, first + 1])
            else:
                line = vector(acc[i, first], acc[i, first + 1], acc[i, first + 2], acc[i, first + 3])
            store_vector(line, c, row, column0 + thread_column + first * threads_n, vector, exact)
