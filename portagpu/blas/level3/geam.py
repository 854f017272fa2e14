"""geam, omatcopy and dgmm: `sgeam`, `domatcopy`, `zdgmm` ...: sums, copies and scaled rows; extensions of BLAS."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level3.combine import Term, combine
from portagpu.blas.scipy_arguments import SIDE, Routine, in_dtype, option
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any
OPS = ("leaves the matrix as it is", "transposes", "transposes and conjugates", "conjugates")


def _op(matrix: Array, name: str, trans: Any) -> tuple[Array, bool]:
    """A view of a matrix, and whether its conjugate is meant."""
    number = option(trans, name, OPS)
    return (matrix.T if number in (1, 2) else matrix), number >= 2


def _omatcopy(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    trans: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    view, conjugate = _op(routine.matrix(a, "a"), "trans", trans)
    factor = routine.scalar(alpha, "alpha")
    result = routine.new(view, view.shape)
    on_device(partial(_copy, factor, conjugate), stream, reads={"a": view}, results={"result": result})
    return result


def _copy(alpha: complex, conjugate: bool, a: DeviceNDArray, made: DeviceNDArray, stream: Stream) -> None:
    combine(made, stream, Term(a, alpha, conjugate))


def _geam(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    beta: Any,
    b: Array,
    trans_a: int = 0,
    trans_b: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    first, conjugate_a = _op(routine.matrix(a, "a"), "trans_a", trans_a)
    second, conjugate_b = _op(routine.matrix(b, "b"), "trans_b", trans_b)
    if first.shape != second.shape:
        raise ShapeError(
            f"op(a) has shape {first.shape}, op(b) {second.shape}", hint="sums are of matrices of one shape"
        )
    alpha, beta = routine.scalar(alpha, "alpha"), routine.scalar(beta, "beta")
    result = routine.new(first, first.shape)

    def enqueue(a: DeviceNDArray, b: DeviceNDArray, made: DeviceNDArray, stream: Stream) -> None:
        combine(made, stream, Term(a, alpha, conjugate_a), Term(b, beta, conjugate_b))

    on_device(enqueue, stream, reads={"a": first, "b": second}, results={"result": result})
    return result


def _dgmm(
    routine: Routine,
    /,
    a: Array,
    x: Array,
    side: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    matrix, diagonal = routine.matrix(a, "a"), routine.vector(x, "x", stream)
    right = option(side, "side", SIDE)
    if diagonal.shape[0] != matrix.shape[right]:
        counted = "columns" if right else "rows"
        raise ShapeError(
            f"x has {diagonal.shape[0]} elements, a {matrix.shape[right]} {counted}",
            hint="side=0 scales the rows of a, side=1 its columns",
        )
    result = routine.new(matrix, matrix.shape)

    def enqueue(a: DeviceNDArray, x: DeviceNDArray, made: DeviceNDArray, stream: Stream) -> None:
        combine(made, stream, Term(a), diagonal=x, left=not right)

    on_device(enqueue, stream, reads={"a": matrix, "x": diagonal}, results={"result": result})
    return result


somatcopy = in_dtype(
    _omatcopy,
    "somatcopy",
    "float32",
    """A new matrix ``alpha * op(a)`` in float32, in Fortran order.

    ``op`` leaves a as it is where ``trans`` is 0; 1 transposes, 2 transposes and conjugates, 3 conjugates. With alpha 0
    a is not read. Arrays are taken as `sgemm` takes them; for device arrays the copy is enqueued on ``stream``. Not in
    SciPy; as ``mkl_somatcopy`` and OpenBLAS's ``cblas_somatcopy``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
domatcopy = in_dtype(_omatcopy, "domatcopy", "float64", "As `somatcopy`, in float64.")
comatcopy = in_dtype(_omatcopy, "comatcopy", "complex64", "As `somatcopy`, in complex64.")
zomatcopy = in_dtype(_omatcopy, "zomatcopy", "complex128", "As `somatcopy`, in complex128.")
sgeam = in_dtype(
    _geam,
    "sgeam",
    "float32",
    """A new matrix ``alpha * op(a) + beta * op(b)`` in float32, in Fortran order.

    ``trans_a`` and ``trans_b`` are as ``trans`` of `somatcopy`. A matrix with a factor of 0 is not read. Not in SciPy;
    as ``cublasSgeam``, ``mkl_somatadd``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dgeam = in_dtype(_geam, "dgeam", "float64", "As `sgeam`, in float64.")
cgeam = in_dtype(_geam, "cgeam", "complex64", "As `sgeam`, in complex64.")
zgeam = in_dtype(_geam, "zgeam", "complex128", "As `sgeam`, in complex128.")
sdgmm = in_dtype(
    _dgmm,
    "sdgmm",
    "float32",
    """A new matrix ``diag(x) @ a``, or with ``side=1`` ``a @ diag(x)``, in float32, in Fortran order.

    a: (m, n), x: (m), or (n) with ``side=1``. Not in SciPy; as ``cublasSdgmm``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
ddgmm = in_dtype(_dgmm, "ddgmm", "float64", "As `sdgmm`, in float64.")
cdgmm = in_dtype(_dgmm, "cdgmm", "complex64", "As `sdgmm`, in complex64.")
zdgmm = in_dtype(_dgmm, "zdgmm", "complex128", "As `sdgmm`, in complex128.")
