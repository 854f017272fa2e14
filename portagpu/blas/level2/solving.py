"""`solve_lines`: triangular systems with one right-hand side, of full and packed triangles, on device arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.gemm.core.operands import placed
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.level1.vectors import vector_of
from portagpu.blas.level2.products.call import sheet_of
from portagpu.blas.level2.products.form import LOWER, READ, UNIT, UPPER
from portagpu.blas.level2.products.product import Lines
from portagpu.blas.level2.solve_grid import GridSolving, solve_in_grid
from portagpu.blas.level2.solve_kernels import Solve, Step, Triangle, solve_step
from portagpu.device.capabilities import Capabilities
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream

_WIDTH = 64  # unknowns of a step
_WIDTH_OF_WALK = 128  # of one where a block is a thread
_STAGED_BYTES = 36864  # of shared memory, for a step's part of the triangle
_THREADS = 128
_LEAST = 32  # rows of a CPU's block
_BLOCKS = 2  # of a compute unit of a CPU: each solves a step's unknowns again


def solve_lines(
    found: Lines,
    x: DeviceNDArray,
    stream: Stream,
    *,
    rows: bool,
    lower: bool,
    unit: bool,
    conjugate: bool,
) -> None:
    """Solve ``T x = b``, where x is b before and the solution after; enqueued.

    found: the rows of T, or its columns where they are not ``rows``; lower: T is a lower triangle. The rest is as of
    `trsv`. Raises `MissingCapabilityError`.
    """
    memory, n, caps = found.memory, x.size, x.context.capabilities
    if x.dtype.name in ("float64", "complex128") and not caps.fp64:
        raise MissingCapabilityError(
            f"{x.context.device.name} cannot solve systems of {x.dtype}", hint="use float32 or complex64"
        )
    kind = np.uint64 if memory.is_large or x.is_large else np.uint32
    steps = found.pitch, found.growth
    sheet = sheet_of(placed(memory), kind, steps, LOWER if lower else UPPER, UNIT if unit else READ)
    triangle = Triangle(sheet, np.int32(conjugate))
    together = GridSolving.predict(caps, n, x.dtype)
    if together is not None:
        solve_in_grid(triangle, x, kind, stream, together, rows=rows)
    else:
        _solve_in_steps(triangle, x, kind, stream, rows=rows, lower=lower)


def _solve_in_steps(
    triangle: Triangle, x: DeviceNDArray, kind: Any, stream: Stream, *, rows: bool, lower: bool
) -> None:
    """As `solve_lines`, by a launch for each few unknowns; kind: the unsigned type of indices."""
    n, caps = x.size, x.context.capabilities
    left = placed(workspaces.of(stream, "level2 left", (n,), x.dtype))
    copy_strided(x, left, stream)
    solve, target = _solve_of(x.dtype, caps)._replace(rows=rows), vector_of(x)
    for number in range(-(-n // solve.width)):
        if lower:
            begin = number * solve.width
            end = min(begin + solve.width, n)
            first, last = end, n
        else:
            end = n - number * solve.width
            begin = max(end - solve.width, 0)
            first, last = 0, begin
        strip = _strip(last - first, solve, caps)
        blocks = max(1, -(-(last - first) // strip))
        step = Step(kind(begin), kind(end), kind(first), kind(last))
        solve_step[blocks, solve.threads, stream](triangle, left, target, step, kind(strip), solve)


def _solve_of(dtype: np.dtype[Any], caps: Capabilities) -> Solve:
    """Threads, vectors and unknowns of a step: a thread that walks, or many side by side."""
    width = _WIDTH
    is_complex = dtype.kind == "c"
    known: dict[str, Any] = {"rows": True, "number": dtype.type, "is_complex": is_complex}
    if not caps.local_memory_dedicated:
        lanes = 1 if is_complex else native_lanes(caps, dtype.itemsize)
        vector = None if is_complex else vector_type(dtype.name, lanes)
        return Solve(width=_WIDTH_OF_WALK, threads=1, lanes=lanes, vector=vector, staged=False, warp=False, **known)
    while width > 8 and width * (width + 1) * dtype.itemsize > min(_STAGED_BYTES, caps.local_memory_static // 2):
        width //= 2
    threads = min(_THREADS, caps.max_work_group_size)
    warp = caps.warp_instructions and threads > 32
    return Solve(width=width, threads=threads, lanes=1, vector=None, staged=True, warp=warp, **known)


def _strip(rows: int, solve: Solve, caps: Capabilities) -> int:
    """Rows of a block."""
    if solve.threads > 1:
        return solve.threads
    wanted = -(-rows // (_BLOCKS * max(1, caps.compute_units)))
    return max(_LEAST, -(-wanted // solve.lanes) * solve.lanes)
