"""Triangular systems with one right-hand side in one launch, on GPUs whose blocks can wait for each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.gemm.core.operands import real_dtype
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level1.vectors import vector_of
from portagpu.blas.level2.solve_grid_diagonal import LANES, TRIANGLE, WIDTH, GridSolve
from portagpu.blas.level2.solve_grid_kernels import CONTROL, solve_together
from portagpu.blas.level2.solve_kernels import Triangle
from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

_WORD = 4  # bytes
_WARPS = 8
_WARPS_OF_COMPLEX = 16  # of whose tiles, two at a time, half the threads would have too many registers
_PASSES = 2
_BESIDE = 1024  # bytes of shared memory for votes, and gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSolving:
    """How blocks of a grid solve together: ``warps`` of a block; ``warp``: these have warp instructions; ``passes``:
    see `solve_together`."""

    warps: int
    warp: bool
    passes: int = _PASSES

    @classmethod
    def predict(cls, caps: Capabilities, n: int, dtype: np.dtype[Any]) -> GridSolving | None:
        """What suits a device, for n unknowns; None where blocks cannot wait for each other, or need not."""
        if not (caps.local_memory_dedicated and caps.cooperative_launch and caps.device_fences) or n <= WIDTH:
            return None
        warps = _WARPS_OF_COMPLEX if dtype.kind == "c" else _WARPS
        how = cls(warps=warps, warp=caps.warp_instructions)
        is_small = max(how.shared_bytes(dtype, rows=rows) for rows in (False, True)) <= caps.local_memory_static
        return how if is_small and how.warps * LANES <= caps.max_work_group_size else None

    def slices(self, *, rows: bool) -> int:
        """Sums of a row that shared memory has."""
        return self.warps if not rows else 1 if self.warp else LANES

    def shared_bytes(self, dtype: np.dtype[Any], *, rows: bool) -> int:
        """Shared memory of a block."""
        return (TRIANGLE + LANES * self.warps + (6 + self.slices(rows=rows)) * WIDTH) * dtype.itemsize + _BESIDE


def solve_in_grid(
    triangle: Triangle, x: DeviceNDArray, kind: Any, stream: Stream, how: GridSolving, *, rows: bool
) -> None:
    """Solve ``T x = b``, where x is b before and the solution after; enqueued. kind: the unsigned type of indices."""
    n, is_complex = x.size, x.dtype.kind == "c"
    real = real_dtype(x.dtype) if is_complex else x.dtype
    tiny = float(np.finfo(real).tiny)
    plan = GridSolve(
        warps=how.warps,
        rows=rows,
        number=x.dtype.type,
        real=real.type,
        words=x.itemsize // _WORD,
        is_complex=is_complex,
        warp=how.warp,
        slices=how.slices(rows=rows),
        least=tiny**0.5 if is_complex else 4 * tiny,  # squares of parts are among what complex ones come from
    )
    blocks = -(-n // WIDTH)
    size = CONTROL + 2 * blocks * WIDTH * plan.words
    memory = workspaces.of(stream, "level2 told", (size,), np.dtype(np.uint64), first=clear)
    control, words = memory[:CONTROL].view(np.uint32), memory[CONTROL:]
    solve_together[blocks, how.warps * LANES, stream](
        triangle, vector_of(x), kind(n), words, control, np.int32(how.passes), plan
    )
