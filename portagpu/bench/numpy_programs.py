"""Plain NumPy programs to be accelerated: principal components, k-means, a small network's training.

Nothing here knows of PortaGPU. Each returns what two runs may be compared by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def points(rows: int, axes: int, clusters: int = 16, seed: int = 0) -> Array:
    """Rows around some centres, float32; the axes have different variances."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(scale=4.0, size=(clusters, axes))
    scale = np.linspace(2.0, 0.5, axes)
    made = centres[generator.integers(0, clusters, rows)] + scale * generator.normal(size=(rows, axes))
    return made.astype(np.float32)


def principal_components(x: Array, components: int = 16) -> Array:
    """Variances along the first principal components, and those of the rows' projections on them."""
    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred / (len(x) - 1)
    values, vectors = np.linalg.eigh(covariance)
    order = np.argsort(values)[::-1][:components]
    projected = np.dot(centred, vectors[:, order])
    return np.concatenate([values[order], projected.var(axis=0, ddof=1)])


def k_means(x: Array, clusters: int = 64, rounds: int = 10) -> Array:
    """Each round's mean squared distance to the nearest centre (Lloyd's algorithm)."""
    centres = x[:: len(x) // clusters][:clusters].copy()
    squares = np.einsum("ij,ij->i", x, x)
    found = []
    for _ in range(rounds):
        distances = squares[:, None] - 2 * (x @ centres.T) + np.einsum("ij,ij->i", centres, centres)
        labels = distances.argmin(axis=1)
        found.append(distances[np.arange(len(x)), labels].mean())
        members = np.zeros((clusters, len(x)), x.dtype)
        members[labels, np.arange(len(x))] = 1
        centres = members @ x / np.maximum(members.sum(axis=1), 1)[:, None]
    return np.array(found)


def train(x: Array, hidden: int = 512, batch: int = 2000, epochs: int = 2, rate: float = 0.05) -> Array:
    """Losses of a network with one hidden layer that learns whether rows are above the median of a projection."""
    generator = np.random.default_rng(1)
    axes = x.shape[1]
    direction = generator.normal(size=axes).astype(x.dtype)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    wanted = np.tanh(x @ direction / 8)[:, None]
    first = (generator.normal(size=(axes, hidden)) / np.sqrt(axes)).astype(x.dtype)
    second = (generator.normal(size=(hidden, 1)) / np.sqrt(hidden)).astype(x.dtype)
    losses = []
    for _ in range(epochs):
        for start in range(0, len(x), batch):
            rows, target = x[start : start + batch], wanted[start : start + batch]
            inner = np.tanh(rows @ first)
            error = inner @ second - target
            losses.append(float((error**2).mean()))
            slope = 2 * error / len(rows)
            change = rows.T @ (slope @ second.T * (1 - inner**2))
            second -= rate * (inner.T @ slope)
            first -= rate * change
    return np.array(losses)


PROGRAMS: dict[str, Callable[..., Array]] = {
    "principal components": principal_components,
    "k-means": k_means,
    "training": train,
}
