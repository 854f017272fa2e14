"""Sizes of the blocks in which matrices are factored, from a device's capabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.device.capabilities import Capabilities

SHARED_BYTES = 48 * 1024
"""Of a block, at most: what every GPU's block can have, so that several fit into a unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """How a matrix is cut.

    ``rows``: of the blocks that one kernel factors, a multiple of ``panel``; ``panel``: columns that it finishes at
    once; ``threads``: of a matrix; ``lanes``: rows of a thread, side by side in a vector; ``matrices``: of a block of
    threads; ``update``: the diagonal blocks of triangles that products of matrices update.
    """

    rows: int
    panel: int
    threads: int
    lanes: int
    matrices: int
    update: int

    @classmethod
    def predict(cls, caps: Capabilities, n: int, batch: int, dtype: np.dtype[Any]) -> Blocks:
        """What suits a device, for matrices of n rows."""
        if not caps.local_memory_dedicated:
            lanes = 1 if dtype.kind == "c" else native_lanes(caps, dtype.itemsize)
            return cls(rows=64, panel=8, threads=1, lanes=lanes, matrices=1, update=256)
        largest = 64 if dtype.itemsize <= 8 else 32
        rows = min(largest, 64 if n > 32 else 32 if n > 16 else 16)
        fits = min(SHARED_BYTES, caps.local_memory_static) // (rows * (rows + 4) * dtype.itemsize)
        most = min(128, caps.max_work_group_size)
        matrices = 1
        while matrices * 2 <= min(fits, batch, most // rows):
            matrices *= 2
        return cls(rows=rows, panel=8, threads=rows, lanes=1, matrices=matrices, update=256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """How columns are factored with pivots.

    ``width``: columns that one kernel factors, ``panel`` between products; ``threads``: of a matrix; ``lanes``: rows of
    a thread, side by side in a vector; ``matrices``: of a block of threads; ``elements``: of shared memory for a
    matrix, 0 where columns are copied to global memory; ``chunk``: exchanges of rows at a time, in ``strip`` columns
    and with ``strip_threads``.
    """

    width: int
    panel: int
    threads: int
    lanes: int
    matrices: int
    elements: int
    chunk: int
    strip: int
    strip_threads: int

    @classmethod
    def predict(cls, caps: Capabilities, m: int, n: int, batch: int, dtype: np.dtype[Any]) -> Columns:
        """What suits a device, for m x n matrices."""
        if not caps.local_memory_dedicated:
            lanes = 1 if dtype.kind == "c" else native_lanes(caps, dtype.itemsize)
            swaps = {"chunk": 32, "strip": 64, "strip_threads": 1}
            return cls(width=32, panel=8, threads=1, lanes=lanes, matrices=1, elements=0, **swaps)
        most = min(1024, caps.max_work_group_size)
        swaps = {"chunk": 32, "strip": 32 if dtype.itemsize <= 8 else 16, "strip_threads": min(128, most)}
        shared = min(SHARED_BYTES, caps.local_memory_static) - 4096
        elements = (m + 1) * n
        if n <= 64 and elements * dtype.itemsize <= shared:  # whole matrices, many to a block
            threads = 16
            while threads < m and threads * 2 <= min(most, 256):
                threads *= 2
            matrices = 1
            while matrices * 2 <= min(shared // (elements * dtype.itemsize), batch, max(1, 128 // threads)):
                matrices *= 2
            return cls(width=64, panel=8, threads=threads, lanes=1, matrices=matrices, elements=elements, **swaps)
        threads = 64
        while threads * 4 <= m and threads * 2 <= most:
            threads *= 2
        return cls(width=32, panel=8, threads=threads, lanes=1, matrices=1, elements=0, **swaps)
