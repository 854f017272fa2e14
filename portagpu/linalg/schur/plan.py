"""What is known when kernels of Schur forms are compiled, and sums over the threads of a matrix; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.factorisations.scaling import Range


class SchurPlan(NamedTuple):
    """What is known when a kernel is compiled.

    ``threads`` of a matrix, of which ``along`` share a row; ``matrices`` of a block, 1 unless each has one thread;
    ``lanes``: elements of a thread side by side in a vector ``cell``. ``number``, ``real``: types of elements and
    magnitudes, ``result``: of eigenvalues, complex. ``vectors``: whether eigenvectors are wanted. ``eps``: the distance
    from 1 to the next number, ``tiny``: the smallest normal number; ``usual``: where the largest part of a column is
    brought to while its reflection is found; ``reach``: exponents of largest elements of matrices that are not scaled;
    ``most``: of eigenvectors' parts while they are found, so that sums of products with elements are finite; ``least``:
    of differences of eigenvalues, so that its quotient with a norm is no zero; ``sweeps``: for each row, at most.
    """

    threads: int
    along: int
    matrices: int
    lanes: int
    cell: Any
    number: Any
    real: Any
    result: Any
    is_complex: bool
    vectors: bool
    eps: float
    tiny: float
    usual: Range
    reach: int
    most: float
    least: float
    sweeps: int


@cuda.jit(device=True)
def meet(plan: cuda.constexpr):
    """Wait for the other threads of a matrix."""
    if plan.threads > 1:
        cuda.syncthreads()


@cuda.jit(device=True)
def sum_of_threads(value, held, thread, plan: cuda.constexpr):
    """The sum of the threads' values, in a fixed order. held: shared memory for a number of each thread."""
    if plan.threads == 1:
        return value
    cuda.syncthreads()  # all have read what was there
    held[thread] = value
    cuda.syncthreads()
    total = plan.real(0)
    for t in range(plan.threads):
        total += held[t]
    return total


@cuda.jit(device=True)
def largest_of_threads(value, held, thread, plan: cuda.constexpr):
    """The largest of the threads' values."""
    if plan.threads == 1:
        return value
    cuda.syncthreads()
    held[thread] = value
    cuda.syncthreads()
    largest = plan.real(0)
    for t in range(plan.threads):
        largest = max(largest, held[t])
    return largest


@cuda.jit(device=True)
def size_of(value, is_complex: cuda.constexpr):
    """A magnitude that costs no root: the sum of those of a number's parts."""
    return abs(value.real) + abs(value.imag) if is_complex else abs(value)
