"""Radix sort: histogram of a digit, scan, stable scatter; ranks inside of a warp come from its match instruction.

N. Satish, M. Harris, M. Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs", IPDPS 2009;
S. Ashkiani et al., "GPU Multisplit", PPoPP 2016 (ranks by warps).
"""

import sys

import numpy as np

from portagpu import cuda

BITS = 4
DIGITS = 1 << BITS
NO_DIGIT = DIGITS  # where a thread has no key
BINS = DIGITS + 1
WARPS = 4
THREADS = 32 * WARPS
ITEMS = 8  # keys of a thread
TILE = THREADS * ITEMS
ALL = 0xFFFFFFFF


@cuda.jit
def count_digits(keys, shift, counts):
    """counts[digit * blocks + block] = how often the digit is in the block's tile."""
    block_counts = cuda.shared.array(DIGITS, np.int32)
    t = cuda.threadIdx.x
    if t < DIGITS:
        block_counts[t] = 0
    cuda.syncthreads()
    start = cuda.blockIdx.x * TILE
    for i in range(start + t, min(start + TILE, keys.size), THREADS):
        cuda.atomic.add(block_counts, (keys[i] >> shift) & (DIGITS - 1), 1)
    cuda.syncthreads()
    if t < DIGITS:
        counts[t * cuda.gridDim.x + cuda.blockIdx.x] = block_counts[t]


@cuda.jit
def scan_counts(counts):
    """Exclusive prefix sum in place, by one block that goes over the vector."""
    warp_sums = cuda.shared.array(WARPS, np.int32)
    lane, warp = cuda.laneid, cuda.threadIdx.x // 32
    carry = np.int32(0)
    for start in range(0, counts.size, THREADS):
        i = start + cuda.threadIdx.x
        count = counts[i] if i < counts.size else np.int32(0)
        total = count
        distance = 1
        while distance < 32:
            before = cuda.shfl_up_sync(ALL, total, distance)
            if lane >= distance:
                total += before
            distance *= 2
        if lane == 31:
            warp_sums[warp] = total
        cuda.syncthreads()
        for w in range(WARPS):
            if w < warp:
                total += warp_sums[w]
        if i < counts.size:
            counts[i] = carry + total - count
        for w in range(WARPS):
            carry += warp_sums[w]
        cuda.syncthreads()


@cuda.jit
def scatter(keys, values, shift, offsets, sorted_keys, sorted_values):
    """Move each key and value to its place: behind smaller digits, and behind equal digits that came before."""
    seen = cuda.shared.array((WARPS, BINS), np.int32)  # by this warp so far; then where its first goes
    ranks = cuda.local.array(ITEMS, np.int32)
    t = cuda.threadIdx.x
    lane, warp = cuda.laneid, t // 32
    for i in range(t, WARPS * BINS, THREADS):
        seen[i // BINS, i % BINS] = 0
    cuda.syncthreads()

    first = cuda.blockIdx.x * TILE + warp * 32 * ITEMS + lane  # a warp's keys lie side by side, so that order is kept
    for item in range(ITEMS):
        i = first + item * 32
        digit = np.int32((keys[i] >> shift) & (DIGITS - 1)) if i < keys.size else np.int32(NO_DIGIT)
        peers = cuda.match_any_sync(ALL, digit)
        rank = cuda.popc(peers & cuda.lanemask_lt())
        ranks[item] = seen[warp, digit] + rank
        cuda.syncwarp()
        if rank == 0:
            seen[warp, digit] += cuda.popc(peers)
        cuda.syncwarp()
    cuda.syncthreads()

    if t < DIGITS:
        place = offsets[t * cuda.gridDim.x + cuda.blockIdx.x]
        for w in range(WARPS):
            seen[w, t], place = place, place + seen[w, t]
    cuda.syncthreads()

    for item in range(ITEMS):
        i = first + item * 32
        if i < keys.size:
            place = seen[warp, (keys[i] >> shift) & (DIGITS - 1)] + ranks[item]
            sorted_keys[place] = keys[i]
            sorted_values[place] = values[i]


def sort(keys, values):
    """Two new device vectors: uint32 keys in ascending order and their values."""
    blocks = (keys.size + TILE - 1) // TILE
    counts = cuda.device_array(DIGITS * blocks, np.int32)
    other_keys, other_values = cuda.device_array_like(keys), cuda.device_array_like(values)
    for shift in range(0, 32, BITS):
        count_digits[blocks, THREADS](keys, shift, counts)
        scan_counts[1, THREADS](counts)
        scatter[blocks, THREADS](keys, values, shift, counts, other_keys, other_values)
        keys, values, other_keys, other_values = other_keys, other_values, keys, values
    return keys, values


def main(n=20_000):
    """Sort random numbers, some of them equal; returns (order, expected order)."""
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**32, n, dtype=np.uint32) & rng.choice(np.array([0xFFFFFFFF, 0xF00000F0], np.uint32), n)
    sorted_keys, order = sort(cuda.to_device(keys), cuda.to_device(np.arange(n, dtype=np.int32)))
    result = order.copy_to_host()
    expected = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(result, expected)  # exact, and equal keys keep their order
    np.testing.assert_array_equal(sorted_keys.copy_to_host(), keys[expected])
    print(f"{cuda.get_current_device().name}: {n} keys of 32 bits with values")
    print(f"sorted, stable, exactly as NumPy: smallest {keys[result[0]]}, largest {keys[result[-1]]}")
    return result, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
