"""K-means clustering in the style of the array API: Lloyd's algorithm, from centres chosen by k-means++.

S. Lloyd, "Least Squares Quantization in PCM", IEEE Trans. Information Theory 28(2), 1982.
D. Arthur, S. Vassilvitskii, "k-means++: The Advantages of Careful Seeding", SODA 2007.
"""

import numpy as np


def first_centres(xp, points, chances):
    """Centres as k-means++ chooses them: the next with a probability proportional to the squared distance to those.

    ``chances``: for each centre a random number of the host's in [0, 1).
    """
    index = int(chances[0] * points.shape[0])
    centres = [points[index, :]]
    distances = xp.sum((points - centres[0]) ** 2, axis=1)
    for chance in chances[1:]:
        total = xp.cumulative_sum(xp.astype(distances, xp.float64))  # or what rounds otherwise would choose others
        index = int(xp.searchsorted(total, chance * total[-1:])[0])
        centres.append(points[index, :])
        distances = xp.minimum(distances, xp.sum((points - centres[-1]) ** 2, axis=1))
    return xp.stack(centres)


def cluster(xp, points, centres, most):
    """(labels, centres, rounds) after so many rounds at most, or where no point changes its cluster any more."""
    numbers = xp.arange(centres.shape[0], device=points.device)
    squares = xp.sum(points * points, axis=1)[:, None]
    labels, rounds, changed = None, 0, True
    while rounds < most and changed:
        distances = squares - 2 * (points @ centres.T) + xp.sum(centres * centres, axis=1)
        before, labels = labels, xp.argmin(distances, axis=1)
        changed = before is None or not bool(xp.all(labels == before))
        members = xp.astype(labels[:, None] == numbers, points.dtype)
        counts = xp.sum(members, axis=0)
        means = (members.T @ points) / xp.maximum(counts, xp.ones_like(counts))[:, None]
        centres = xp.where(counts[:, None] > 0, means, centres)
        rounds += 1
    return labels, centres, rounds


def mixture(n, dtype, clusters=16, axes=8):
    """(points, chances): points around some middles, and random numbers for the start."""
    rng = np.random.default_rng(0)
    middles = rng.uniform(-10, 10, (clusters, axes))
    points = middles[rng.integers(0, clusters, n)] + 2 * rng.normal(size=(n, axes))
    return points.astype(dtype), rng.random(clusters)


def run(xp, points, chances, steps):
    """(centres, mean squared distance of points to theirs, rounds)."""
    centres = first_centres(xp, points, [float(x) for x in chances])
    labels, centres, rounds = cluster(xp, points, centres, steps)
    spread = xp.mean(xp.sum((points - xp.take(centres, labels, axis=0)) ** 2, axis=1))
    return centres, spread, rounds
