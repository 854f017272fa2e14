"""`strsv`, `dtrsv`, `ctrsv` and `ztrsv`: triangular systems with one right-hand side."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.alignment import new_aligned_rows
from portagpu.blas.gemm.core.interface import order_of
from portagpu.blas.gemm.core.operands import flat, span_of
from portagpu.blas.gemm.core.vector_registers import native_lanes
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level1.vectors import vector_of
from portagpu.blas.level2.products.form import Sheet
from portagpu.blas.level2.solve_kernels import Solve, Step, solve_step
from portagpu.blas.scipy_arguments import DIAG, LOWER, TRANS, Routine, in_dtype, may_overwrite, option
from portagpu.blas.scipy_vectors import section
from portagpu.device.capabilities import Capabilities
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream

Array = Any

_WIDTH = 64  # unknowns of a step
_STAGED_BYTES = 36864  # of shared memory, for a step's part of the triangle
_THREADS = 128
_LEAST = 32  # rows of a CPU's block
_BLOCKS = 2  # of a compute unit of a CPU: each solves a step's unknowns again


def trsv(
    a: DeviceNDArray,
    x: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool = False,
    unit: bool = False,
    conjugate: bool = False,
) -> None:
    """Solve ``a @ x = b`` for a triangle of a, where x is b before and the solution after; enqueued.

    a (n, n), x (n): device arrays of any strides and of one dtype, which do not overlap. With ``conjugate``, a's
    conjugate is solved with. The other triangle is not read, nor the diagonal where it is ``unit``; zeros on it make
    the solution infinite or NaN, as in BLAS. A transposed system is one of ``a.T``, whose triangle is the other one. By
    blocks along the diagonal (Golub, Van Loan: Matrix Computations, section 3.1). Raises `MissingCapabilityError`.
    """
    n, caps = x.size, a.context.capabilities
    if n == 0:
        return
    if a.dtype.name in ("float64", "complex128") and not caps.fp64:
        raise MissingCapabilityError(
            f"{a.context.device.name} cannot compute trsv of {a.dtype}", hint="use float32 or complex64"
        )
    order = order_of(a)
    if not order:
        a, order = new_aligned_rows(a, stream), "C"
    memory, rows = flat(a, span_of(a)), order == "C"
    stride = a.strides[0 if rows else 1]
    pitch = stride // a.itemsize if n > 1 else 1
    left = workspaces.of(stream, "level2 left", (n,), a.dtype)
    copy_strided(x, left, stream)
    kind = np.uint64 if memory.is_large or x.is_large else np.uint32
    solve = _solve_of(a.dtype, caps)._replace(
        lower=lower, unit=unit, conjugate=conjugate and a.dtype.kind == "c", rows=rows
    )
    sheet, target = Sheet(memory, kind(pitch)), vector_of(x)
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
        solve_step[blocks, solve.threads, stream](sheet, left, target, step, kind(strip), solve)


def _solve_of(dtype: np.dtype[Any], caps: Capabilities) -> Solve:
    """Threads, vectors and unknowns of a step: a thread that walks, or many side by side."""
    width = _WIDTH
    is_complex = dtype.kind == "c"
    nothing: dict[str, Any] = {"lower": True, "unit": False, "conjugate": False, "rows": True, "number": dtype.type}
    if not caps.local_memory_dedicated:
        lanes = 1 if is_complex else native_lanes(caps, dtype.itemsize)
        vector = None if is_complex else vector_type(dtype.name, lanes)
        return Solve(width=width, threads=1, lanes=lanes, vector=vector, staged=False, **nothing)
    while width > 8 and width * (width + 1) * dtype.itemsize > min(_STAGED_BYTES, caps.local_memory_static // 2):
        width //= 2
    threads = min(_THREADS, caps.max_work_group_size)
    return Solve(width=width, threads=threads, lanes=1, vector=None, staged=True, **nothing)


def _strip(rows: int, solve: Solve, caps: Capabilities) -> int:
    """Rows of a block."""
    if solve.threads > 1:
        return solve.threads
    wanted = -(-rows // (_BLOCKS * max(1, caps.compute_units)))
    return max(_LEAST, -(-wanted // solve.lanes) * solve.lanes)


def _trsv(
    routine: Routine,
    /,
    a: Array,
    x: Array,
    incx: int = 1,
    offx: int = 0,
    lower: int = 0,
    trans: int = 0,
    diag: int = 0,
    overwrite_x: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    matrix = routine.square(a, "a")
    how = option(trans, "trans", TRANS)
    is_lower, unit = bool(option(lower, "lower", LOWER)), bool(option(diag, "diag", DIAG))
    overwrite = may_overwrite(overwrite_x, "x")
    result = routine.target(routine.vector(x, "x"), x, overwrite=overwrite, stream=stream)
    target = section(result, "x", offx, incx).view(matrix.shape[0])
    if how:
        matrix, is_lower = matrix.T, not is_lower
    call = partial(_enqueue, is_lower, unit, how == 2)
    on_device(call, stream, reads={"a": matrix}, updates={"x": target})
    return result


def _enqueue(lower: bool, unit: bool, conjugate: bool, a: DeviceNDArray, x: DeviceNDArray, stream: Stream) -> None:
    trsv(a, x, stream, lower=lower, unit=unit, conjugate=conjugate)


strsv = in_dtype(
    _trsv,
    "strsv",
    "float32",
    """Solve ``op(a) @ x = b`` in float32, as `scipy.linalg.blas.strsv`: the solution in the place of b.

    b: the argument x. All arguments are as those of `strmv`, ``incx`` and ``offx`` the other way round. Whether a is
    singular is not looked at: the solution then has infinities or NaN.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dtrsv = in_dtype(_trsv, "dtrsv", "float64", "As `strsv`, in float64.")
ctrsv = in_dtype(_trsv, "ctrsv", "complex64", "As `strsv`, in complex64.")
ztrsv = in_dtype(_trsv, "ztrsv", "complex128", "As `strsv`, in complex128.")
