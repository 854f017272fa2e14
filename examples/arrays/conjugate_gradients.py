"""Conjugate gradients in the style of the array API: Poisson's equation without a matrix, and a dense system.

M. Hestenes, E. Stiefel, "Methods of Conjugate Gradients for Solving Linear Systems", J. Res. NBS 49, 1952.
"""

import numpy as np


def solve(xp, product, b, relative, most):
    """(solution, iterations) of A x = b, where ``product`` is the function that multiplies by A."""
    x = xp.zeros_like(b)
    r = b
    p = b
    rr = xp.sum(r * r)
    target = relative**2 * float(rr)
    iterations = 0
    while iterations < most and float(rr) > target:
        q = product(p)
        alpha = rr / xp.sum(p * q)
        x = x + alpha * p
        r = r - alpha * q
        before, rr = rr, xp.sum(r * r)
        p = r + (rr / before) * p
        iterations += 1
    return x, iterations


def laplacian(p):
    """The five-point Laplacian, negative, of a plate whose border is zero."""
    q = 4 * p
    q[1:, :] -= p[:-1, :]
    q[:-1, :] -= p[1:, :]
    q[:, 1:] -= p[:, :-1]
    q[:, :-1] -= p[:, 1:]
    return q


def plate(n, dtype):
    """The right-hand side for n x n points: two charges and a weak noise."""
    b = 0.01 * np.random.default_rng(0).normal(size=(n, n))
    b[n // 4, n // 3] += 1
    b[2 * n // 3, 3 * n // 4] -= 1
    return (b.astype(dtype),)


def solve_plate(xp, b, steps):
    """(solution, iterations) of Poisson's equation on a plate, in so many iterations at most."""
    return solve(xp, laplacian, b, 1e-5, steps)


def left_over(product, b, x):
    """|b - A x| / |b|, in float64: how much of the right-hand side a solution leaves."""
    b, x = b.astype(np.float64), x.astype(np.float64)
    return float(np.linalg.norm(b - product(x)) / np.linalg.norm(b))


def plate_left_over(inputs, results):
    """How much of its right-hand side a solution on a plate leaves."""
    return left_over(laplacian, *inputs, *results)


def dense(n, dtype):
    """(matrix, right-hand side) of a symmetric system of n unknowns, whose eigenvalues are spread over two decades."""
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(n, n)) / np.sqrt(n)
    matrix = factor @ factor.T + 0.04 * np.eye(n)
    return matrix.astype(dtype), rng.normal(size=n).astype(dtype)


def solve_dense(xp, matrix, b, steps):
    """(solution, iterations) of a dense symmetric positive definite system."""
    return solve(xp, lambda p: matrix @ p, b, 1e-5, steps)


def dense_left_over(inputs, results):
    """How much of its right-hand side a solution of a dense system leaves."""
    matrix, b = inputs
    return left_over(lambda p: matrix.astype(np.float64) @ p, b, *results)
