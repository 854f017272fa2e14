"""Kernels for tests of order: one writes a number, the other carries it on."""

from __future__ import annotations

from portagpu import cuda


@cuda.jit
def put(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = value


@cuda.jit
def copy(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]
