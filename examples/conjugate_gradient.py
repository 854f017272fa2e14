"""Conjugate gradients for Poisson's equation, without a matrix; dot products and step lengths stay on the device.

M. Hestenes, E. Stiefel, "Methods of Conjugate Gradients for Solving Linear Systems", J. Res. NBS 49, 1952.
"""

import sys

import numpy as np

from portagpu import cuda

WARPS = 4
THREADS = 32 * WARPS
BLOCKS = 16
BLOCK_2D = (32, 4)


@cuda.jit
def apply_laplacian(p, q):
    """q = A p, the five-point Laplacian of a square plate whose border is zero."""
    x, y = cuda.grid(2)
    n = p.shape[0]
    if x < n and y < n:
        value = 4 * p[y, x]
        if x > 0:
            value -= p[y, x - 1]
        if x < n - 1:
            value -= p[y, x + 1]
        if y > 0:
            value -= p[y - 1, x]
        if y < n - 1:
            value -= p[y + 1, x]
        q[y, x] = value


@cuda.jit(device=True)
def block_sum(value, warp_sums):
    """The sum over the block, in its first thread: shuffles in each warp, then among the warps' sums."""
    lane, warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    for power in range(5):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 16 >> power)
    if lane == 0:
        warp_sums[warp] = value
    cuda.syncthreads()
    total = np.float32(0)
    if cuda.threadIdx.x == 0:
        for w in range(WARPS):
            total += warp_sums[w]
    return total


@cuda.jit
def dot(a, b, result):
    """result[0] += a . b"""
    warp_sums = cuda.shared.array(WARPS, np.float32)
    mine = np.float32(0)
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        mine += a[i] * b[i]
    total = block_sum(mine, warp_sums)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(result, 0, total)


@cuda.jit
def step(x, r, p, q, rr, pq, rr_new):
    """x += alpha p, r -= alpha q with alpha = rr / pq; rr_new[0] += r . r"""
    warp_sums = cuda.shared.array(WARPS, np.float32)
    alpha = rr[0] / pq[0]
    mine = np.float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] += alpha * p[i]
        rest = r[i] - alpha * q[i]
        r[i] = rest
        mine += rest * rest
    total = block_sum(mine, warp_sums)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(rr_new, 0, total)


@cuda.jit
def turn(p, r, rr, rr_new):
    """p = r + beta p with beta = rr_new / rr."""
    beta = rr_new[0] / rr[0]
    for i in range(cuda.grid(1), p.size, cuda.gridsize(1)):
        p[i] = r[i] + beta * p[i]


def solve(b, relative=1e-4, looks=10):
    """(solution, iterations) of A x = b; the host looks at the residual every few iterations only."""
    n = b.shape[0]
    x, r, p = (cuda.to_device(a.ravel()) for a in (np.zeros_like(b), b, b))
    q = cuda.device_array(n * n, np.float32)
    most = 8 * n  # the bound for an exact solver is 2 sqrt(condition) ln(2 / relative) / 4, some 6 n
    zeros = np.zeros((most + 1, 2), np.float32)
    sums = cuda.to_device(zeros)  # of each iteration: r . r, p . q
    grid_2d = ((n + BLOCK_2D[0] - 1) // BLOCK_2D[0], (n + BLOCK_2D[1] - 1) // BLOCK_2D[1])
    dot[BLOCKS, THREADS](r, r, sums[0])
    target = relative**2 * np.dot(b.ravel(), b.ravel())
    for k in range(most):
        rr, pq, rr_new = sums[k, 0:1], sums[k, 1:2], sums[k + 1, 0:1]
        apply_laplacian[grid_2d, BLOCK_2D](p.reshape(n, n), q.reshape(n, n))
        dot[BLOCKS, THREADS](p, q, pq)
        step[BLOCKS, THREADS](x, r, p, q, rr, pq, rr_new)
        turn[BLOCKS, THREADS](p, r, rr, rr_new)
        if k % looks == looks - 1 and rr_new.copy_to_host()[0] <= target:
            break
    return x.reshape(n, n).copy_to_host(), k + 1


def main(n=48):
    """Solve for a random right-hand side; returns (result, residual)."""
    b = np.random.default_rng(0).normal(size=(n, n)).astype(np.float32)
    relative = 1e-4
    x, iterations = solve(b, relative)

    padded = np.pad(x.astype(np.float64), 1)
    product = 4 * padded[1:-1, 1:-1] - padded[:-2, 1:-1] - padded[2:, 1:-1] - padded[1:-1, :-2] - padded[1:-1, 2:]
    residual = np.linalg.norm(b - product)
    # The true residual differs from that of the recurrence by their roundings. In each iteration x rounds by eps |x|,
    # which A, whose norm is 8, carries over; product and update of r round by some 8 |A| eps |x| (A. Greenbaum,
    # "Estimating the Attainable Accuracy of Recursively Computed Residual Methods", SIAM J. Matrix Anal. 18, 1997)
    gap = iterations * np.finfo(np.float32).eps * 8 * 9 * np.linalg.norm(x)
    tolerance = relative * np.linalg.norm(b) * (1 + 1e-3) + gap
    assert residual <= tolerance, (residual, tolerance)
    print(f"{cuda.get_current_device().name}: {n} x {n} unknowns")
    print(f"residual {residual:.1e} after {iterations} iterations (allowed: {tolerance:.1e}), by float64 on the host")
    return x, residual


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
