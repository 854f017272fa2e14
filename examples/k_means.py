"""K-means clustering (Lloyd's algorithm): centres in shared memory, sums of each block by atomics there.

S. Lloyd, "Least Squares Quantization in PCM", IEEE Trans. Information Theory 28(2), 1982.
"""

import sys

import numpy as np

from portagpu import cuda

CLUSTERS = 8
AXES = 3
THREADS = 128


@cuda.jit(device=True)
def nearest(points, i, centres):
    """(cluster, squared distance) of the centre nearest to point i."""
    best, best_distance = 0, np.float32(np.inf)
    for c in range(CLUSTERS):
        distance = np.float32(0)
        for axis in range(AXES):
            difference = points[axis, i] - centres[c, axis]
            distance += difference * difference
        if distance < best_distance:
            best, best_distance = c, distance
    return best, best_distance


@cuda.jit
def assign(points, centres, labels, sums, counts, changes):
    """Label each point with its nearest centre; add up the points of each label, and the labels that changed."""
    block_centres = cuda.shared.array((CLUSTERS, AXES), np.float32)
    block_sums = cuda.shared.array((CLUSTERS, AXES), np.float32)
    block_counts = cuda.shared.array(CLUSTERS, np.int32)
    t = cuda.threadIdx.x
    if t < CLUSTERS:
        block_counts[t] = 0
        for axis in range(AXES):
            block_centres[t, axis] = centres[t, axis]
            block_sums[t, axis] = 0
    cuda.syncthreads()

    changed = 0
    for i in range(cuda.grid(1), labels.size, cuda.gridsize(1)):
        label, _ = nearest(points, i, block_centres)
        if labels[i] != label:
            labels[i] = label
            changed += 1
        cuda.atomic.add(block_counts, label, 1)
        for axis in range(AXES):
            cuda.atomic.add(block_sums, (label, axis), points[axis, i])
    if changed > 0:
        cuda.atomic.add(changes, 0, changed)
    cuda.syncthreads()

    if t < CLUSTERS:
        cuda.atomic.add(counts, t, block_counts[t])
        for axis in range(AXES):
            cuda.atomic.add(sums, (t, axis), block_sums[t, axis])


@cuda.jit
def move(centres, sums, counts):
    """Each centre goes to the mean of its points, if it has any; the sums start from zero again."""
    c, axis = cuda.threadIdx.x, cuda.threadIdx.y
    count = counts[c]
    if count > 0:
        centres[c, axis] = sums[c, axis] / np.float32(count)
    sums[c, axis] = 0
    cuda.syncthreads()  # everybody has read the count
    if axis == 0:
        counts[c] = 0


def cluster(points, centres, most=100):
    """(labels, centres, rounds) where no point changes its cluster any more."""
    n = points.shape[1]
    device_points, device_centres = cuda.to_device(points), cuda.to_device(centres)
    labels = cuda.to_device(np.full(n, -1, np.int32))
    sums, counts = cuda.to_device(np.zeros_like(centres)), cuda.to_device(np.zeros(CLUSTERS, np.int32))
    blocks = min(64, (n + THREADS - 1) // THREADS)
    rounds = 0
    while rounds < most:
        rounds += 1
        changes = cuda.to_device(np.zeros(1, np.int32))
        assign[blocks, THREADS](device_points, device_centres, labels, sums, counts, changes)
        if changes.copy_to_host()[0] == 0:
            break
        move[1, (CLUSTERS, AXES)](device_centres, sums, counts)
    return labels.copy_to_host(), device_centres.copy_to_host(), rounds


def main(n=20_000):
    """Cluster a random mixture; returns (labels, centres)."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-10, 10, (CLUSTERS, AXES))
    points = (middles[rng.integers(0, CLUSTERS, n)] + rng.normal(size=(n, AXES))).T.astype(np.float32)
    start = np.ascontiguousarray(points[:, :CLUSTERS].T)
    labels, centres, rounds = cluster(points, start)

    exact = points.T.astype(np.float64)
    eps = np.finfo(np.float32).eps
    distances = ((exact[:, None, :] - centres.astype(np.float64)) ** 2).sum(axis=2)
    # nobody has a nearer centre: a squared distance rounds by eps / 2 of each difference, twice that of its square,
    # once for the product, and once for each of the sums, 6 eps / 2 of itself in all; two of them are compared
    chosen, best = distances[np.arange(n), labels], distances.min(axis=1)
    assert np.all(chosen <= best * (1 + 6 * eps)), (chosen - best).max()
    # every centre is the mean of its points: at most one rounding for each addition, relative to the sum of sizes
    for c in range(CLUSTERS):
        own = exact[labels == c]
        tolerance = (len(own) + 2) * eps * np.abs(own).mean(axis=0)
        assert np.all(np.abs(own.mean(axis=0) - centres[c]) <= tolerance), c
    # and Lloyd's way never makes the sum of distances longer
    first = ((exact[:, None, :] - start.astype(np.float64)) ** 2).sum(axis=2).min(axis=1).sum()
    assert chosen.sum() <= first
    print(f"{cuda.get_current_device().name}: {n} points, {CLUSTERS} clusters, {rounds} rounds")
    print(
        f"each point has its nearest centre, each centre is its points' mean; inertia {first:.0f} -> {chosen.sum():.0f}"
    )
    return labels, centres


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
