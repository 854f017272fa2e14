"""Kernels that do next to nothing, so that what they cost is what a launch costs."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda


@cuda.jit
def scale(x):
    """Double a vector: one array argument, as little work as possible."""
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@cuda.jit
def gather(a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q):
    """Sum vectors: sixteen array arguments."""
    t = cuda.grid(1)
    if t < a.size:
        a[t] = b[t] + c[t] + d[t] + e[t] + f[t] + g[t] + h[t] + i[t] + j[t] + k[t] + m[t] + n[t] + o[t] + p[t] + q[t]


__all__ = ["gather", "scale"]
