"""Kernels of eigenvalues and eigenvectors of general matrices, in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.linalg.schur.balancing import balance, copy_scaled
from portagpu.linalg.schur.hessenberg import reduce_to_hessenberg
from portagpu.linalg.schur.substitution import finish_vector, substitute
from portagpu.linalg.schur.sweeps import find_schur_form


class Memory(NamedTuple):
    """Memory of a batch: ``h`` and ``zt`` (count, n, pitch), rows of Schur forms and of the transposed vectors they are
    in terms of, zt of one element without vectors; ``d``: (count, n) real, balancing factors; ``v``: (count, n), a
    reflection's vector; ``part``: (count, n, along), parts of products; flat."""

    h: Any
    zt: Any
    d: Any
    v: Any
    part: Any


class Found(NamedTuple):
    """Results of a batch: ``values`` (count, n), complex; ``info`` (count): 0, or how many eigenvalues were not found,
    or -1 where elements are not finite; ``paired`` (count): 1 where a real matrix has others than real eigenvalues;
    flat."""

    values: Any
    info: Any
    paired: Any


@cuda.jit(device=True)
def _not_a_number(plan: cuda.constexpr):
    return plan.result(complex(plan.real(math.nan), plan.real(math.nan)))


@cuda.jit(device=True)
def _find_values(a, matrix, memory, found, n, pitch, thread, held, plan: cuda.constexpr):
    """The Schur form of one matrix, and its eigenvalues."""
    kind = type(n)
    base, own = matrix * n * pitch, matrix * n
    scale = copy_scaled(a, matrix, memory.h, base, n, pitch, thread, held, plan)
    is_finite = scale != plan.real(0)
    size = n if is_finite else kind(0)  # nothing is done, but barriers are reached
    balance(memory.h, base, memory.d, own, size, pitch, thread, held, plan)
    reduce_to_hessenberg(memory.h, base, memory.zt, memory.v, memory.part, own, size, pitch, thread, plan)
    info, paired = find_schur_form(memory.h, memory.zt, base, found.values, own, size, pitch, scale, thread, plan)
    if not is_finite:
        info = np.int32(-1)
    if info != np.int32(0):
        paired = np.int32(0)
        for i in range(thread, n, kind(plan.threads)):
            found.values[own + i] = _not_a_number(plan)
    if thread == kind(0):
        found.info[matrix] = info
        found.paired[matrix] = paired
    return info


@cuda.jit
def find_schur_forms(a, memory, found, n, pitch, plan: cuda.constexpr):
    """Schur forms and eigenvalues of n x n matrices. a: a `Strided`; memory: a `Memory`, found: a `Found`; plan: a
    `SchurPlan`. A block for each matrix."""
    kind = type(n)
    held = cuda.shared.array(plan.threads, plan.real)
    _find_values(a, kind(cuda.blockIdx.x), memory, found, n, pitch, kind(cuda.threadIdx.x), held, plan)


@cuda.jit
def substitute_vectors(memory, found, scratch, x, n, pitch, count, down, right, plan: cuda.constexpr):
    """The eigenvectors of Schur forms, as columns of x (count, n, n), flat. A thread for each of them.

    scratch: as large as x, where element i of vector k is at ``i * down + k * right``.
    """
    kind = type(n)
    column = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    if column < count * n:
        matrix, k = column // n, column % n
        base, start = matrix * n * pitch, matrix * n * n
        own = base + k * pitch + k
        is_second = False
        if not plan.is_complex and k > kind(0):
            is_second = memory.h[own - kind(1)] != plan.number(0)
        if found.info[matrix] == np.int32(0) and not is_second:
            at = start + k * right
            end = substitute(memory.h, base, scratch, at, down, k, n, pitch, plan)
            is_pair = False
            if not plan.is_complex and k + kind(1) < n:
                is_pair = memory.h[own + pitch] != plan.number(0)
            for i in range(n):
                value = plan.result(0)
                if i < end:
                    value = scratch[at + i * down]
                x[start + i * n + k] = value
                if is_pair:
                    x[start + i * n + k + kind(1)] = value.conjugate()


@cuda.jit
def finish_vectors(memory, found, v, n, pitch, count, plan: cuda.constexpr):
    """Eigenvectors of matrices from those of balanced ones, columns of v (count, n, n), flat; in place. A thread for
    each of them, or for a pair."""
    kind = type(n)
    column = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    if column < count * n:
        matrix, k = column // n, column % n
        _finish(memory, found, v, matrix, k, n, pitch, plan)


@cuda.jit(device=True)
def _finish(memory, found, v, matrix, k, n, pitch, plan: cuda.constexpr):
    """Finish one eigenvector, or a pair."""
    kind = type(n)
    at = matrix * n * n + k
    own = matrix * n * pitch + k * pitch + k
    if found.info[matrix] != np.int32(0):
        for i in range(n):
            v[at + i * n] = _not_a_number(plan)
    elif plan.is_complex:
        finish_vector(v, at, n, memory.d, matrix * n, n, False, plan)
    else:
        is_second, is_pair = False, False
        if k > kind(0):
            is_second = memory.h[own - kind(1)] != plan.number(0)
        if k + kind(1) < n:
            is_pair = memory.h[own + pitch] != plan.number(0)
        if not is_second:
            finish_vector(v, at, n, memory.d, matrix * n, n, not is_pair, plan)
            if is_pair:
                for i in range(n):
                    v[at + i * n + kind(1)] = v[at + i * n].conjugate()


@cuda.jit
def find_few(a, memory, found, scratch, v, n, count, plan: cuda.constexpr):
    """Eigenvalues, and with ``plan.vectors`` eigenvectors v (count, n, n), flat, of small matrices, a thread each.

    a, memory and found are as of `find_schur_forms`, with pitch n; scratch: (count, n), complex.
    """
    kind = type(n)
    held = cuda.shared.array(1, plan.real)
    matrix = kind(cuda.blockIdx.x) * kind(plan.matrices) + kind(cuda.threadIdx.x)
    if matrix < count:
        info = _find_values(a, matrix, memory, found, n, n, kind(0), held, plan)
        if plan.vectors:
            own, base = matrix * n, matrix * n * n
            for k in range(n):
                is_second = False
                if not plan.is_complex and k > kind(0):
                    is_second = memory.h[base + k * n + k - kind(1)] != plan.number(0)
                if info == np.int32(0) and not is_second:
                    end = substitute(memory.h, base, scratch, own, kind(1), k, n, n, plan)
                    for i in range(n):
                        total = plan.result(0)
                        for j in range(end):
                            total += plan.result(memory.zt[base + j * n + i]) * scratch[own + j]
                        v[base + i * n + k] = total
                _finish(memory, found, v, matrix, k, n, n, plan)
