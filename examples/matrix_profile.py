"""Matrix profile: for every window of a series, the most similar other window; finds motifs and oddities.

Z. Zimmerman et al., "Matrix Profile XIV: Scaling Time Series Motif Discovery with GPUs", ACM SoCC 2019.
"""

import math
import sys

import numpy as np

from portagpu import cuda

DIAGONALS = 128  # of a block, one for each thread
ROWS = 128  # of a block
COLUMNS = ROWS + DIAGONALS  # that a block meets
UNIT = 1 << 30  # correlations are compared as integers, in these steps
NONE = np.iinfo(np.int64).min


@cuda.jit(device=True)
def packed(correlation, index):
    """Correlation and index in one number, so that one atomic maximum keeps both."""
    return (np.int64(correlation * np.float32(UNIT)) << 32) | np.int64(index)


@cuda.jit
def profile(centred, df, dg, inverse_norm, window, first, best):
    """Each thread walks down a diagonal of the matrix of correlations: the covariance changes by two products a step.

    centred: the series less its mean; df, dg, inverse_norm: see `windows`; first: diagonals before it are trivial.
    Blocks start anew from a full scalar product, so that roundings do not add up over more than ROWS steps.
    """
    row_best = cuda.shared.array(ROWS, np.int64)
    column_best = cuda.shared.array(COLUMNS, np.int64)
    t = cuda.threadIdx.x
    windows = inverse_norm.size
    row = cuda.blockIdx.y * ROWS
    column = row + first + cuda.blockIdx.x * DIAGONALS
    for i in range(t, ROWS, DIAGONALS):
        row_best[i] = NONE
    for i in range(t, COLUMNS, DIAGONALS):
        column_best[i] = NONE
    cuda.syncthreads()

    covariance = np.float32(0)
    if column + t < windows:
        mean_row, mean_column = np.float32(0), np.float32(0)
        for k in range(window):
            mean_row += centred[row + k]
            mean_column += centred[column + t + k]
        mean_row /= np.float32(window)
        mean_column /= np.float32(window)
        for k in range(window):
            covariance += (centred[row + k] - mean_row) * (centred[column + t + k] - mean_column)
    for step in range(min(ROWS, windows - column - t)):
        i, j = row + step, column + t + step
        if step > 0:
            covariance += df[i] * dg[j] + df[j] * dg[i]
        correlation = covariance * inverse_norm[i] * inverse_norm[j]
        cuda.atomic.max(row_best, step, packed(correlation, j))
        cuda.atomic.max(column_best, t + step, packed(correlation, i))
    cuda.syncthreads()

    for i in range(t, ROWS, DIAGONALS):
        if row_best[i] != NONE:
            cuda.atomic.max(best, row + i, row_best[i])
    for i in range(t, COLUMNS, DIAGONALS):
        if column_best[i] != NONE:
            cuda.atomic.max(best, column + i, column_best[i])


def windows(series, window):
    """(df, dg, 1 / norm) of all windows, in float64: how the covariance changes from one window to the next."""
    view = np.lib.stride_tricks.sliding_window_view(series, window)
    mean = view.mean(axis=1)
    norm = np.linalg.norm(view - mean[:, None], axis=1)
    df, dg = np.zeros_like(mean), np.zeros_like(mean)
    df[1:] = (series[window:] - series[:-window]) / 2
    dg[1:] = (series[window:] - mean[1:]) + (series[:-window] - mean[:-1])
    return df, dg, 1 / norm


def matrix_profile(series, window):
    """(correlation with the most similar window, its index), for each window."""
    series = series - series.mean()
    parts = (series, *windows(series, window))
    centred, df, dg, inverse_norm = (cuda.to_device(a.astype(np.float32)) for a in parts)
    count = series.size - window + 1
    first = window // 4 + 1  # nearer windows are similar because they overlap
    best = cuda.to_device(np.full(count, NONE, np.int64))
    grid = ((count - first + DIAGONALS - 1) // DIAGONALS, (count - first + ROWS - 1) // ROWS)
    profile[grid, DIAGONALS](centred, df, dg, inverse_norm, window, first, best)
    found = best.copy_to_host()
    return (found >> 32) / UNIT, (found & 0xFFFFFFFF).astype(int)


def reference(series, window):
    """(correlations of all pairs of windows that are not near, the windows' norms), in float64."""
    view = np.lib.stride_tricks.sliding_window_view(series, window)
    unit = view - view.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(unit, axis=1)
    unit /= norm[:, None]
    correlation = unit @ unit.T
    index = np.arange(norm.size)
    correlation[np.abs(index[:, None] - index) <= window // 4] = -np.inf
    return correlation, norm


def main(n=1200, window=32):
    """Profile noise in which one pattern was planted twice; returns (correlations, expected correlations)."""
    rng = np.random.default_rng(0)
    series = rng.normal(size=n)
    planted = n // 5, n // 5 * 3
    for place in planted:
        pattern = 1.5 * np.sin(np.linspace(0, 6 * math.pi, window))
        series[place : place + window] = pattern + rng.normal(scale=0.1, size=window)
    result, index = matrix_profile(series, window)

    correlation, norm = reference(series, window)
    expected = correlation.max(axis=1)
    # The full product: elements are off by eps of the largest one, S, which moves a covariance by S eps sqrt(window) of
    # both norms (what the means are off by cancels), and window sums of it round. A step: 4 roundings in each of two
    # products, relative to df * dg, and one of the sum. All that is divided by both norms, which adds 5 roundings
    eps = np.finfo(np.float32).eps
    df, dg, _ = windows(series, window)
    full = 2 * np.abs(series).max() * math.sqrt(window) * norm.max() + window * norm.max() ** 2
    steps = ROWS * (8 * np.abs(df).max() * np.abs(dg).max() + norm.max() ** 2)
    tolerance = eps * ((full + steps) / norm.min() ** 2 + 5) + 1 / UNIT
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance)
    # the window found may be another one only if it is as similar within the rounding
    assert np.all(correlation[np.arange(norm.size), index] >= expected - 2 * tolerance)
    motif = int(result.argmax())
    assert {motif, int(index[motif])} == set(planted), (motif, index[motif])
    distance = math.sqrt(2 * window * max(0, 1 - result[motif]))
    print(f"{cuda.get_current_device().name}: {n} values, windows of {window}")
    print(f"agrees with NumPy within {np.abs(result - expected).max():.1e} (allowed: {tolerance:.1e})")
    print(f"motif at {motif} and {index[motif]}, distance {distance:.2f}, as planted")
    return result, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
