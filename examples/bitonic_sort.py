"""Bitonic sort of pairs: short distances in shared memory, long ones in global memory.

K. Batcher, "Sorting Networks and Their Applications", AFIPS Spring Joint Computer Conference, 1968.
"""

import sys

import numpy as np

from portagpu import cuda

THREADS = 256
CHUNK = 2 * THREADS  # a block sorts or merges so many elements in shared memory


@cuda.jit(device=True)
def exchange(keys, values, low, distance, upwards):
    """Bring the elements at low and low + distance into order."""
    high = low + distance
    if (keys[low] > keys[high]) == upwards:
        keys[low], keys[high] = keys[high], keys[low]
        values[low], values[high] = values[high], values[low]


@cuda.jit(device=True)
def lower(pair, distance):
    """The lower element of the pair-th pair with this distance, a power of two."""
    return 2 * pair - (pair & (distance - 1))


@cuda.jit
def sort_in_shared(keys, values, first, last):
    """All steps of the merges to runs of first, 2 * first, ..., last that stay inside of a chunk."""
    some_keys = cuda.shared.array(CHUNK, np.float32)
    some_values = cuda.shared.array(CHUNK, np.int32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * CHUNK
    for i in range(t, CHUNK, THREADS):
        some_keys[i] = keys[start + i]
        some_values[i] = values[start + i]
    run = first
    while run <= last:
        distance = min(run, CHUNK) // 2
        while distance > 0:
            cuda.syncthreads()
            i = lower(t, distance)
            exchange(some_keys, some_values, i, distance, (start + i) & run == 0)
            distance //= 2
        run *= 2
    cuda.syncthreads()
    for i in range(t, CHUNK, THREADS):
        keys[start + i] = some_keys[i]
        values[start + i] = some_values[i]


@cuda.jit
def merge_step(keys, values, run, distance):
    """One step of the merge to runs of this length, between elements of different chunks."""
    i = lower(cuda.grid(1), distance)
    exchange(keys, values, i, distance, i & run == 0)


def sort(keys, values):
    """Sort two device vectors by the first; their size is a power of two, at least CHUNK."""
    size = keys.size
    chunks = size // CHUNK
    sort_in_shared[chunks, THREADS](keys, values, 2, CHUNK)
    run = 2 * CHUNK
    while run <= size:
        distance = run // 2
        while distance >= CHUNK:
            merge_step[chunks, THREADS](keys, values, run, distance)
            distance //= 2
        sort_in_shared[chunks, THREADS](keys, values, run, run)
        run *= 2


def main(n=20_000):
    """Sort random numbers; returns (result, expected)."""
    keys = np.random.default_rng(0).normal(size=n).astype(np.float32)
    size = max(CHUNK, 1 << (n - 1).bit_length())
    padded = np.full(size, np.inf, np.float32)  # goes to the end
    padded[:n] = keys
    device_keys, device_values = cuda.to_device(padded), cuda.to_device(np.arange(size, dtype=np.int32))
    sort(device_keys, device_values)
    result, order = device_keys.copy_to_host()[:n], device_values.copy_to_host()[:n]
    expected = np.sort(keys)
    np.testing.assert_array_equal(result, expected)  # sorting rounds nothing
    np.testing.assert_array_equal(keys[order], expected)
    print(f"{cuda.get_current_device().name}: {n} keys with values")
    print(f"sorted from {result[0]:.4f} to {result[-1]:.4f}, exactly as NumPy")
    return result, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
