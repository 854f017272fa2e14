"""Triangular systems of few rows on device arrays: how the kernel of substitution is launched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.level3.few_rows import are_few, substitute_few
from portagpu.blas.level3.quad_kernels import QUAD, QuadPlan, substitute_in_quads
from portagpu.blas.level3.strided_memory import batch_of, index_kind, strided
from portagpu.blas.level3.strip_kernels import substitute_strips
from portagpu.blas.level3.triangular_kernels import SubstitutionPlan, substitute
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_STRIPS = 8  # of a thread on CPUs, at most: it copies a block's triangle once
_SHARES = 4  # of a compute unit, if there are so many strips
_QUAD_COLUMNS = 32  # of a block
_QUAD_BLOCKS = 8  # of a compute unit, at most: with more, what each one waits for does not matter
_SHARED_BYTES = 48 * 1024  # that every GPU's block can have, so that several blocks fit into a unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """How blocks on the diagonal are solved.

    ``rows``: of a block, a multiple of ``together``; ``together``: rows of the solution in registers at once;
    ``columns``: threads, each with a column, or ``vectors`` vectors of ``lanes`` columns where there is one thread;
    ``matrices``: of a block of threads. ``quads``: four threads of a warp share a column, if it has so many rows.
    """

    rows: int
    together: int
    columns: int
    vectors: int
    lanes: int
    matrices: int
    quads: bool = False

    @classmethod
    def predict(cls, caps: Capabilities, n: int, m: int, batch: int, dtype: np.dtype[Any]) -> Substitution:
        """What suits a device, for n rows and m columns."""
        if not caps.local_memory_dedicated:
            lanes = 1 if dtype.kind == "c" else native_lanes(caps, dtype.itemsize)
            return cls(rows=64, together=8, columns=1, vectors=1 if m <= 2 * lanes else 2, lanes=lanes, matrices=1)
        rows = 64 if n > 32 else 32 if n > 16 else 16
        columns = 8 if m <= 8 else 16 if m <= 16 else 32
        together = 8
        limit = min(_SHARED_BYTES, caps.local_memory_static) // dtype.itemsize
        while rows * (columns + 1 + together) > limit:
            rows //= 2
        fits = limit // (rows * (columns + 1 + together))
        most = min(128, caps.max_work_group_size)
        matrices = 1 << min(fits, most // columns).bit_length() - 1 if batch > 1 else 1
        blocks = batch * -(-m // _QUAD_COLUMNS)
        quads = caps.warp_instructions and blocks <= _QUAD_BLOCKS * caps.compute_units
        return cls(rows=rows, together=together, columns=columns, vectors=1, lanes=1, matrices=matrices, quads=quads)


def substitute_blocks(
    a: DeviceNDArray,
    b: DeviceNDArray,
    stream: Stream,
    how: Substitution,
    *,
    lower: bool,
    unit: bool,
    conjugate: bool = False,
    alpha: complex = 1.0,
) -> None:
    """``b = inv(a) @ (alpha * b)`` for triangles of at most ``how.rows`` rows, or a batch of them; enqueued."""
    n, m = b.shape[-2:]
    batch = batch_of(b)
    name = str(b.dtype)
    kind, number = index_kind(a, b), np.dtype(name).type
    left = strided(a, kind, backwards=() if lower else (-2, -1))
    right = strided(b, kind, backwards=() if lower else (-2,))
    scale = number(alpha if number(0).dtype.kind == "c" else np.real(alpha))
    if are_few(b.context.capabilities, n, m, n, batch):
        substitute_few(left, right, b, scale, stream, unit=unit, conjugate=conjugate)
        return
    if how.quads:
        sizes = QuadPlan(
            rows=how.rows,
            columns=_QUAD_COLUMNS,
            number=number,
            is_complex=b.dtype.kind == "c",
            unit=unit,
            conjugate=conjugate,
            a_along=order_of(a) == "C",
        )
        blocks = -(-m // _QUAD_COLUMNS) * batch
        substitute_in_quads[blocks, QUAD * _QUAD_COLUMNS, stream](left, right, kind(n), kind(m), scale, sizes)
        return
    plan = SubstitutionPlan(
        rows=how.rows,
        together=how.together,
        columns=how.columns,
        pitch=how.columns * how.vectors + (1 if how.columns > 1 else 0),  # for the banks of shared memory
        vectors=how.vectors,
        lanes=how.lanes,
        matrices=how.matrices,
        cell=vector_type(name, how.lanes) if how.lanes > 1 else number,
        number=number,
        itemsize=b.itemsize,
        is_complex=b.dtype.kind == "c",
        unit=unit,
        conjugate=conjugate,
        a_along=order_of(a) == "C",
        b_along=order_of(b) == "C",
    )
    strips = -(-m // (how.columns * how.vectors * how.lanes))
    arguments = (left, right, kind(n), kind(m), kind(batch), scale)
    if how.columns > 1:
        substitute[strips * -(-batch // how.matrices), how.columns * how.matrices, stream](*arguments, plan)
        return
    share = max(1, min(_STRIPS, strips // (_SHARES * b.context.capabilities.compute_units)))
    substitute_strips[-(-strips // share) * batch, 1, stream](*arguments, kind(share), plan)
