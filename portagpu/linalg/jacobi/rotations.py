"""Sweeps of rotations, until the columns of all matrices are orthogonal: launched, and asked for once in a sweep."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.blas.factorisations.number_types import cell_type, number_types
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.device.capabilities import Capabilities
from portagpu.linalg.jacobi.edges import EdgePlan
from portagpu.linalg.jacobi.kernels import JacobiPlan, rotate_pairs
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream

SWEEPS = 40
"""At most; a dozen are needed, and more only where elements are not finite."""

_UNASKED = 3  # sweeps, which are always needed
_WHOLE = 64  # columns of a matrix that one block turns alone
_WHOLE_OF_CORE = 128  # where a block is a core, which launches keep waiting
_BLOCKS_OF_CORE = 2  # which have like shares, but a core may be late
_FLOOR = {"float32": 1e-34, "float64": 1e-290}
_LEAST = {"float32": -120, "float64": -1000}
_THREADS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """How pairs are rotated: ``along`` a pair's columns, ``groups`` in a block, ``lanes`` of a vector; ``edge``: the
    threads of blocks of other kernels."""

    along: int
    groups: int
    lanes: int
    edge: int

    @classmethod
    def predict(cls, caps: Capabilities, m: int, dtype: np.dtype[Any]) -> Threads:
        """What suits a device, for columns of m elements."""
        if not caps.shares_on_chip:
            lanes = 1 if dtype.kind == "c" else native_lanes(caps, dtype.itemsize)
            return cls(along=1, groups=1, lanes=lanes if m >= lanes else 1, edge=1)
        most = min(_THREADS, caps.max_work_group_size)
        along = 4
        while along * 8 < m and along < 32:
            along *= 2
        return cls(along=along, groups=max(1, most // along), lanes=1, edge=most)


@lru_cache(64)
def jacobi_plan(dtype: np.dtype[Any], how: Threads, *, vectors: bool) -> JacobiPlan:
    """The plan of a dtype's rotations."""
    types = number_types(dtype)
    return JacobiPlan(
        along=how.along,
        groups=how.groups,
        lanes=how.lanes,
        cell=cell_type(dtype, how.lanes),
        number=types.number,
        real=types.real,
        is_complex=types.is_complex,
        floor=_FLOOR[np.dtype(types.real).name],
        vectors=vectors,
    )


@lru_cache(64)
def edge_plan(dtype: np.dtype[Any], threads: int, *, hermitian: bool) -> EdgePlan:
    """The plan of what is done before and after; eigenvalues ascend, singular values descend."""
    types = number_types(dtype)
    name = np.dtype(types.real).name
    return EdgePlan(
        threads=threads,
        number=types.number,
        real=types.real,
        is_complex=types.is_complex,
        floor=_FLOOR[name],
        least=_LEAST[name],
        hermitian=hermitian,
        descending=not hermitian,
    )


def tolerance_of(dtype: np.dtype[Any], m: int) -> np.floating[Any]:
    """Of products of two columns of m elements, relative to their lengths, up to which they count as orthogonal."""
    found: np.floating[Any] = number_types(dtype).real(np.finfo(dtype).eps * math.sqrt(m))
    return found


def _blocks_of(caps: Capabilities, most: int) -> int:
    """Blocks that share the pairs of a matrix: all there can be, but of cores a few each."""
    return most if caps.shares_on_chip else min(most, _BLOCKS_OF_CORE * caps.compute_units)


def orthogonalise(g: DeviceNDArray, v: DeviceNDArray | None, shape: tuple[int, int, int], stream: Stream) -> None:
    """Rotate the columns of matrices (count, n, m), a column a row of g, until they are orthogonal; v with them,
    unless that is None.

    g, v: flat arrays. Each pair's product is then at most ``sqrt(m) * eps`` of those of their lengths. Waits for the
    device after each sweep but the first ones. With elements that are not finite it ends, too.
    """
    count, n, m = shape
    if n < 2 or count == 0:
        return
    dtype, context = g.dtype, g.context
    how = Threads.predict(context.capabilities, m, dtype)
    plan = jacobi_plan(dtype, how, vectors=v is not None)
    if v is None:
        v = device_array(1, dtype, context=context)
    kind = np.uint64 if g.is_large or v.is_large else np.uint32
    players = n + n % 2
    most = _WHOLE if context.capabilities.shares_on_chip else _WHOLE_OF_CORE
    whole = n <= most or count >= 4 * context.capabilities.compute_units
    blocks = 1 if whole else _blocks_of(context.capabilities, -(-players // 2 // how.groups))
    tolerance = tolerance_of(dtype, m)
    moved = device_array((SWEEPS + 1, count), np.int32, context=context)
    start = np.zeros((SWEEPS + 1, count), np.int32)
    start[0] = 1
    moved.copy_to_device(start, stream)
    launch = rotate_pairs[count * blocks, how.along * how.groups, stream]
    for sweep in range(SWEEPS):
        for first, rounds in [(0, players - 1)] if whole else [(r, 1) for r in range(players - 1)]:
            launch(
                g, v, kind(n), kind(m), kind(first), kind(rounds), kind(blocks), tolerance, moved, np.int32(sweep), plan
            )
        if sweep >= _UNASKED and not moved[sweep + 1].copy_to_host().any():
            return
