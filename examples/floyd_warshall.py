"""All shortest paths (Floyd-Warshall) in tiles of shared memory: pivot tile, its row and column, the rest.

G. Katz, J. Kider, "All-Pairs Shortest-Paths for Large Graphs on the GPU", Graphics Hardware 2008.
"""

import sys

import numpy as np

from portagpu import cuda

TILE = 16
FAR = 1 << 29  # no path; twice that is still an int32


@cuda.jit(device=True)
def load(distances, tile, row, column):
    """A thread's element of a tile that starts at (row, column); there are no paths outside of the matrix."""
    y, x = row + cuda.threadIdx.y, column + cuda.threadIdx.x
    inside = y < distances.shape[0] and x < distances.shape[1]
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = distances[y, x] if inside else FAR


@cuda.jit(device=True)
def store(distances, value, row, column):
    y, x = row + cuda.threadIdx.y, column + cuda.threadIdx.x
    if y < distances.shape[0] and x < distances.shape[1]:
        distances[y, x] = value


@cuda.jit
def pivot_tile(distances, pivot):
    """Paths inside of the tile on the diagonal."""
    tile = cuda.shared.array((TILE, TILE), np.int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    load(distances, tile, pivot, pivot)
    for k in range(TILE):
        cuda.syncthreads()
        through = tile[ty, k] + tile[k, tx]
        cuda.syncthreads()
        tile[ty, tx] = min(tile[ty, tx], through)
    store(distances, tile[ty, tx], pivot, pivot)


@cuda.jit
def pivot_row_and_column(distances, pivot):
    """Tiles beside the pivot tile (blockIdx.y = 0) and below or above it (1); the pivot tile is done."""
    done = cuda.shared.array((TILE, TILE), np.int32)
    tile = cuda.shared.array((TILE, TILE), np.int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    place = cuda.blockIdx.x * TILE
    if place == pivot:  # the whole block
        return
    in_row = cuda.blockIdx.y == 0
    row, column = (pivot, place) if in_row else (place, pivot)
    load(distances, done, pivot, pivot)
    load(distances, tile, row, column)
    for k in range(TILE):
        cuda.syncthreads()
        through = done[ty, k] + tile[k, tx] if in_row else tile[ty, k] + done[k, tx]
        cuda.syncthreads()
        tile[ty, tx] = min(tile[ty, tx], through)
    store(distances, tile[ty, tx], row, column)


@cuda.jit
def other_tiles(distances, pivot):
    """Every other tile gets the paths through the pivot's rows: like a product of matrices."""
    left = cuda.shared.array((TILE, TILE), np.int32)
    above = cuda.shared.array((TILE, TILE), np.int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE
    if row == pivot or column == pivot:
        return
    load(distances, left, row, pivot)
    load(distances, above, pivot, column)
    cuda.syncthreads()
    y, x = row + ty, column + tx
    if y < distances.shape[0] and x < distances.shape[1]:
        best = distances[y, x]
        for k in range(TILE):
            best = min(best, left[ty, k] + above[k, tx])
        distances[y, x] = best


def shortest_paths(lengths):
    """Lengths of all shortest paths; lengths[i, j] is that of the edge from i to j, or FAR."""
    distances = cuda.to_device(lengths)
    tiles = (lengths.shape[0] + TILE - 1) // TILE
    block = (TILE, TILE)
    for pivot in range(0, tiles * TILE, TILE):
        pivot_tile[1, block](distances, pivot)
        pivot_row_and_column[(tiles, 2), block](distances, pivot)
        other_tiles[(tiles, tiles), block](distances, pivot)
    return distances.copy_to_host()


def main(n=150):
    """Find the paths of a random graph, some of its nodes out of reach; returns (result, expected)."""
    rng = np.random.default_rng(0)
    lengths = np.where(rng.random((n, n)) < 3 / n, rng.integers(1, 1000, (n, n)), FAR).astype(np.int32)
    np.fill_diagonal(lengths, 0)
    result = shortest_paths(lengths)
    expected = lengths.copy()
    for k in range(n):
        np.minimum(expected, expected[:, k, None] + expected[k], out=expected)
    np.testing.assert_array_equal(result, expected)  # integers: exact
    reached = expected < FAR
    print(f"{cuda.get_current_device().name}: {n} nodes, {np.count_nonzero(lengths < FAR) - n} edges")
    longest = result[reached].max()
    print(f"exactly as NumPy: {reached.sum() - n} pairs are connected, the longest path has length {longest}")
    return result, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
