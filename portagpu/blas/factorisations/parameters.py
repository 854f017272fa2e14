"""Sizes of the blocks in which matrices are factored, from a device's capabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.device.capabilities import Capabilities

SHARED_BYTES = 48 * 1024
"""Of a block, at most: what every GPU's block can have, so that several fit into a unit."""
_ALONE_BYTES = 96 * 1024  # of a block that is alone on the device, at most
_WIDE = 512, 1024  # columns whose products with the rest of a matrix are fast, and with that of a large one
_LARGE = 4096  # rows
_THREADS = 256  # of a block that is alone
_ROWS_OF_THREAD = 4
_TALL_THREADS = 512  # of a block, at most, with 128 registers each
_TALL_BYTES = 256  # of these, for columns
_FEW_ROWS = 16  # of which a CPU's kernel is compiled in a fifth of the time, and runs no longer, with half the panel
_FEW_COLUMNS = 64  # that one block factors
_GRID_DOUBLINGS = 2
_GRID_BLOCKS = 64  # that meet for each column
_LEAST_WIDTH = 8
_GRID_BYTES = 512  # of a thread's registers, for its rows
_ROW_BYTES = 32  # of a row of these; with more, a compiler was seen to keep hardly anything in registers


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """How a matrix is cut.

    ``rows``: of the blocks that one kernel factors, a multiple of ``panel``; ``pitch``: elements from column to column
    of its copy; ``panel``: columns that it finishes at once; ``threads``: of a matrix, in ``groups`` that share the
    panel's columns; ``lanes``: rows of a thread, side by side in a vector; ``matrices``: of a block of threads;
    ``update``: rows of the triangles on the diagonal that are updated by a whole product; ``wide``: columns that are
    finished before the rest of a large matrix is updated, or 0 where it is halved.
    """

    rows: int
    pitch: int
    panel: int
    threads: int
    lanes: int
    matrices: int
    update: int
    groups: int = 1
    wide: int = 0

    @classmethod
    def predict(cls, caps: Capabilities, n: int, batch: int, dtype: np.dtype[Any]) -> Blocks:
        """What suits a device, for matrices of n rows."""
        is_shared = caps.local_memory_dedicated
        lanes = 1 if is_shared or dtype.kind == "c" else native_lanes(caps, dtype.itemsize)
        pad = max(4, lanes)
        most = min(SHARED_BYTES if is_shared else caps.local_memory_static, caps.local_memory_static) // dtype.itemsize
        if is_shared and batch == 1 and n > 64:
            return cls._of_large(caps, n, dtype)
        rows = 64 if n > 32 or not is_shared else 32 if n > 16 else 16
        while rows * (rows + pad) > most:
            rows //= 2
        if not is_shared:
            panel = 4 if n <= _FEW_ROWS else 8  # most of a kernel's text is its panel's triangle
            return cls(rows=rows, pitch=rows + pad, panel=panel, threads=1, lanes=lanes, matrices=1, update=256)
        fits = most // (rows * (rows + pad))
        matrices = _power_of_two(min(fits, min(128, caps.max_work_group_size) // rows)) if batch > 1 else 1
        return cls(rows=rows, pitch=rows + pad, panel=8, threads=rows, lanes=1, matrices=matrices, update=256)

    @classmethod
    def _of_large(cls, caps: Capabilities, n: int, dtype: np.dtype[Any]) -> Blocks:
        """Of a matrix that is alone on a GPU: its blocks are factored one after the other, with their inverses."""
        most = min(_ALONE_BYTES, caps.local_memory_static) // dtype.itemsize
        rows = 64
        while rows * (2 * rows + 4) > most:
            rows //= 2
        groups = min(4, _power_of_two(min(_THREADS, caps.max_work_group_size) // (2 * rows)))
        return cls(
            rows=rows,
            pitch=2 * rows + 4,
            panel=8,
            threads=min(2 * rows * groups, caps.max_work_group_size),
            groups=groups,
            lanes=1,
            matrices=1,
            update=256,
            wide=_WIDE[n >= _LARGE],
        )


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
            swaps = {"chunk": 32, "strip": 32, "strip_threads": 1}
            return cls(width=64, panel=8, threads=1, lanes=lanes, matrices=1, elements=0, **swaps)
        most = min(1024, caps.max_work_group_size)
        swaps = {"chunk": 32, "strip": 32 if dtype.itemsize <= 8 else 16, "strip_threads": min(128, most)}
        shared = min(SHARED_BYTES, caps.local_memory_static) - 4096  # less what finds pivots
        rows = 16 if max(m, n) <= 16 else 32 if max(m, n) <= 32 else 64
        elements = (rows + 1) * rows
        if max(m, n) <= rows and elements * dtype.itemsize <= shared:  # whole matrices, many to a block
            fits = shared // (elements * dtype.itemsize)
            matrices = _power_of_two(min(fits, max(1, 128 // rows))) if batch > 1 else 1
            return cls(width=rows, panel=8, threads=rows, lanes=1, matrices=matrices, elements=elements, **swaps)
        threads = 64
        while threads * 4 <= m and threads * 2 <= most:
            threads *= 2
        return cls(width=32, panel=8, threads=threads, lanes=1, matrices=1, elements=0, **swaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class TallColumns:
    """How few columns of many rows are factored by a block of a GPU, in registers.

    ``panel``: columns at a time; ``threads``, each with ``rows`` rows.
    """

    panel: int
    threads: int
    rows: int

    @classmethod
    def predict(cls, caps: Capabilities, m: int, n: int, dtype: np.dtype[Any]) -> TallColumns | None:
        """What suits a device, for m x n matrices; None where they are too tall, or hardly taller than wide."""
        most = _power_of_two(min(_TALL_THREADS, caps.max_work_group_size))
        threads = 64
        while threads * _ROWS_OF_THREAD < m and threads * 2 <= most:
            threads *= 2
        rows = _ROWS_OF_THREAD  # also of fewer rows: kernels are compiled for few shapes
        while threads * rows < m:
            rows *= 2
        row = min(_TALL_BYTES // rows, _ROW_BYTES * (1 if threads == _TALL_THREADS else 2))
        panel = _power_of_two(min(8, row // dtype.itemsize))
        if not caps.local_memory_dedicated or panel == 1 or m < -(-n // panel) * panel:
            return None
        return cls(panel=panel, threads=threads, rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallMatrices:
    """How whole matrices are factored with pivots in registers of a GPU: by 1 << ``doublings`` threads of a warp each.

    ``matrices``: of a block; ``chunk``: columns that are in shared memory at a time.
    """

    doublings: int
    matrices: int
    chunk: int

    @classmethod
    def predict(cls, caps: Capabilities, m: int, n: int, dtype: np.dtype[Any]) -> SmallMatrices | None:
        """What suits a device, for m x n matrices; None where a warp's registers do not hold one."""
        doublings = 4 if max(m, n) <= 16 else 5
        if not caps.warp_instructions or max(m, n) > 32 or dtype.itemsize << doublings > _GRID_BYTES:
            return None
        chunk = 16 if dtype.itemsize <= 8 else 8
        return cls(doublings=doublings, matrices=128 >> doublings, chunk=chunk)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridColumns:
    """How columns of one large matrix are factored with pivots by all blocks of a GPU's grid, in registers.

    ``width``: columns at a time; ``blocks``: at most, a multiple of 32; ``threads``: of a block, 32 << ``doublings``,
    each with ``rows`` rows; ``strip``: columns of a block that moves rows.
    """

    width: int
    blocks: int
    threads: int
    doublings: int
    rows: int
    strip: int

    @classmethod
    def predict(cls, caps: Capabilities, m: int, n: int, batch: int, dtype: np.dtype[Any]) -> GridColumns | None:
        """What suits a device, for m x n matrices; None where blocks cannot wait for each other, or need not."""
        if not caps.cooperative_launch or batch > 1 or min(m, n) <= _FEW_COLUMNS:
            return None
        width = 64 if dtype.itemsize <= 8 else 32
        threads = 32 << _GRID_DOUBLINGS
        rows = 1
        while rows * threads * min(_GRID_BLOCKS, caps.compute_units) < m:
            rows *= 2
        while rows * width * dtype.itemsize > _GRID_BYTES:
            width //= 2
        if width < _LEAST_WIDTH:
            return None
        return cls(width=width, blocks=_GRID_BLOCKS, threads=threads, doublings=_GRID_DOUBLINGS, rows=rows, strip=32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflections:
    """How columns are reflected.

    ``width``: columns that one kernel factors; ``along``: threads of a column's rows, ``groups`` of them; ``lanes``:
    rows of a thread, side by side in a vector; ``threads``: that bring reflections together.
    """

    width: int
    along: int
    groups: int
    lanes: int
    threads: int

    @classmethod
    def predict(cls, caps: Capabilities, dtype: np.dtype[Any]) -> Reflections:
        """What suits a device."""
        if not caps.local_memory_dedicated:
            lanes = 1 if dtype.kind == "c" else native_lanes(caps, dtype.itemsize)
            return cls(width=32, along=1, groups=1, lanes=lanes, threads=1)
        groups = _power_of_two(min(512, caps.max_work_group_size) // 32)
        return cls(width=32, along=32, groups=groups, lanes=1, threads=32)


def _power_of_two(n: int) -> int:
    """The largest that is at most n."""
    return 1 << max(1, n).bit_length() - 1
