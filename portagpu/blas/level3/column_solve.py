"""Triangular systems on CPUs whose right sides have their columns in memory: blocks of rows, then products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.vector_registers import native_lanes, register_count
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level3.column_kernels import ColumnPlan, pack_triangles, solve_columns
from portagpu.blas.level3.strided_memory import index_kind, strided
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_TRIANGLE_BYTES = 2**17  # of a packed triangle, about: half of the second-level caches of today's processors
_VECTORS = 4
_TILES = 16  # of a work-group, at most
_SHARES = 4  # of a compute unit, if there are so many tiles


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBlocks:
    """How rows are cut: triangles of ``blocks`` blocks are solved by one launch, of ``rows`` rows each.

    A register tile has ``vectors`` vectors of ``lanes`` rows, and ``columns`` columns.
    """

    rows: int
    blocks: int
    vectors: int
    lanes: int
    columns: int

    @classmethod
    def predict(cls, caps: Capabilities, b: DeviceNDArray) -> ColumnBlocks | None:
        """What suits a device and these right sides, or None where other kernels do."""
        n, m = b.shape[-2:]
        if caps.local_memory_dedicated or b.ndim != 2 or b.dtype.kind != "f" or order_of(b) != "F":
            return None
        lanes, registers = native_lanes(caps, b.itemsize), register_count(caps)
        rows = _VECTORS * lanes
        if n < rows:
            return None
        blocks = 1
        while (blocks * rows) ** 2 * b.itemsize < 2 * _TRIANGLE_BYTES:
            blocks += 1
        columns = min(m, 6 if registers >= 32 else 3)
        return cls(rows=rows, blocks=blocks, vectors=_VECTORS, lanes=lanes, columns=columns)

    @property
    def height(self) -> int:
        """Rows of a launch."""
        return self.rows * self.blocks

    @property
    def size(self) -> int:
        """Elements of a packed triangle."""
        return self.rows**2 * self.blocks * (self.blocks + 1) // 2


class PackedTriangles:
    """The triangles on the diagonal of a matrix (n, n), packed in scratch memory for a launch each.

    n is a multiple of ``how.rows``. The same memory serves the next ones on the stream.
    """

    def __init__(self, a: DeviceNDArray, stream: Stream, how: ColumnBlocks, *, lower: bool, unit: bool) -> None:
        self.how, self._stream = how, stream
        count = -(-a.shape[0] // how.height)
        self._memory = workspaces.of(stream, "triangles of columns", (count * how.size,), a.dtype)
        number = a.dtype.type
        self._plan = ColumnPlan(
            vectors=how.vectors,
            lanes=how.lanes,
            columns=how.columns,
            cell=vector_type(a.dtype.name, how.lanes),
            number=number,
            lower=lower,
            unit=unit,
        )
        kind = index_kind(a, self._memory)
        blocks = min(how.blocks, -(-a.shape[0] // how.rows))
        pack_triangles[(blocks, blocks, count), 1, stream](
            strided(a, kind), self._memory, kind(a.shape[0]), kind(how.blocks), self._plan
        )

    def solve(self, triangle: int, b: DeviceNDArray, alpha: float) -> None:
        """``b = inv(triangle) @ (alpha * b)`` for the triangle of this number, counted in the order of solution."""
        how, (n, m) = self.how, b.shape
        kind = np.uint64
        columns = strided(b, kind)
        columns.memory.is_large = True  # subscripts as wide as addresses, which are not converted one by one
        tiles = -(-m // how.columns)
        share = max(1, min(_TILES, tiles // (_SHARES * b.context.capabilities.compute_units)))
        solve_columns[-(-tiles // share), 1, self._stream](
            self._memory,
            kind(triangle * how.size),
            columns,
            kind(m),
            kind(n // how.rows),
            kind(share),
            self._plan.number(alpha),
            self._plan,
        )
