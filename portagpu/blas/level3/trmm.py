"""trmm and trsm: `strmm`, `ztrsm` ...: products with triangles, and triangular systems, with matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.scaling import scale
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level3.triangle_kernels import ZEROS
from portagpu.blas.level3.triangles import expanded, scratch, turned
from portagpu.blas.level3.triangular_solve import solve_triangular
from portagpu.blas.scipy_arguments import DIAG, LOWER, SIDE, TRANS, Routine, in_dtype, may_overwrite, option
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.copies import copy_strided
from portagpu.runtime.execution.stream import Stream

Array = Any

_LEAST = 256  # rows of a strip: more operations than needed cost less than small products
_STRIPS = 8  # of a large triangle: a sixteenth more operations than needed


def multiply_triangular(
    a: DeviceNDArray,
    b: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    unit_diagonal: bool = False,
    conjugate: bool = False,
    alpha: complex = 1.0,
) -> None:
    """``b = alpha * a @ b`` for a triangle a, of which nothing else is read; enqueued.

    a: (n, n), b: (n, m), any strides, which must not overlap; ``conjugate``: a's conjugate is multiplied. With
    ``unit_diagonal`` the diagonal counts as ones. With ``alpha`` 0 neither is read. As `solve_triangular`, whose
    inverse it is.
    """
    if b.size == 0:
        return
    if alpha == 0:
        scale(b, 0.0, stream)
        return
    n = b.shape[0]
    full = expanded(a, stream, lower=lower, beyond=ZEROS, unit=unit_diagonal, conjugate=conjugate)
    in_columns = b.strides[0] < b.strides[1]
    product = scratch(stream, "product", b.shape[::-1] if in_columns else b.shape, b.dtype)
    if in_columns:
        product = turned(product)
    rows = max(_LEAST, -(-n // _STRIPS))
    for begin in range(0, n, rows):
        end = min(begin + rows, n)
        used = slice(0, end) if lower else slice(begin, n)
        gemm(full[begin:end, used], b[used], product[begin:end], stream, alpha=alpha)
    copy_strided(product, b, stream)


def _trmm(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    b: Array,
    side: int = 0,
    lower: int = 0,
    trans_a: int = 0,
    diag: int = 0,
    overwrite_b: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    matrix = routine.matrix(a, "a")
    right = routine.matrix(b, "b")
    n = right.shape[option(side, "side", SIDE)]
    if min(matrix.shape) < n:
        raise ShapeError(
            f"a has shape {matrix.shape}; with side={side}, b of shape {right.shape} needs ({n}, {n})",
            hint="side=0 computes op(a) @ b, side=1 b @ op(a)",
        )
    call = multiply_triangular
    return _of_triangle(
        routine, call, alpha, matrix[:n, :n], b, right, (side, lower, trans_a, diag), overwrite_b, stream
    )


def _trsm(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    b: Array,
    side: int = 0,
    lower: int = 0,
    trans_a: int = 0,
    diag: int = 0,
    overwrite_b: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    matrix = routine.square(a, "a")
    right = routine.matrix(b, "b")
    n = right.shape[option(side, "side", SIDE)]
    if matrix.shape[0] != n:
        raise ShapeError(
            f"a has shape {matrix.shape}; with side={side}, b of shape {right.shape} needs ({n}, {n})",
            hint="side=0 solves op(a) @ x = b, side=1 x @ op(a) = b",
        )
    call = solve_triangular
    return _of_triangle(routine, call, alpha, matrix, b, right, (side, lower, trans_a, diag), overwrite_b, stream)


def _of_triangle(
    routine: Routine,
    call: Any,
    alpha: Any,
    matrix: Array,
    given: Array,
    right: Array,
    options: tuple[Any, Any, Any, Any],
    overwrite_b: Any,
    stream: Stream | None,
) -> Array:
    """The result of a call on a triangle at the left side: one at the right side is that of the transposes."""
    side, lower = option(options[0], "side", SIDE), bool(option(options[1], "lower", LOWER))
    trans, unit = option(options[2], "trans_a", TRANS), bool(option(options[3], "diag", DIAG))
    alpha = routine.scalar(alpha, "alpha")
    target = routine.target(right, given, overwrite=may_overwrite(overwrite_b, "b"), stream=stream)
    view = target.T if side else target
    if (trans != 0) != (side == 1):
        matrix, lower = matrix.T, not lower
    conjugate = trans == 2 and routine.dtype.kind == "c"
    enqueue = partial(_enqueue, call, alpha, (lower, unit, conjugate))
    on_device(enqueue, stream, reads={"a": matrix}, updates={"b": view})
    return target


def _enqueue(
    call: Any, alpha: complex, how: tuple[bool, bool, bool], a: DeviceNDArray, b: DeviceNDArray, stream: Stream
) -> None:
    lower, unit, conjugate = how
    call(a, b, stream, lower=lower, unit_diagonal=unit, conjugate=conjugate, alpha=alpha)


strmm = in_dtype(
    _trmm,
    "strmm",
    "float32",
    """``alpha * op(a) @ b`` for a triangle a in float32, as `scipy.linalg.blas.strmm`; (m, n), in Fortran order.

    a: of which the upper triangle is read, the lower one with ``lower=1``, with ``diag=1`` without its diagonal, which
    then counts as ones; (m, m), or larger. ``op`` leaves it as it is where ``trans_a`` is 0; 1 transposes, 2 transposes
    and conjugates. b: (m, n). With ``side=1`` it is ``b @ op(a)``. b is left as it is unless ``overwrite_b``; then the
    result may be put into it, as into c of `sgemm`. Arrays are all NumPy's, or all on the device, as `sgemm` takes
    them; for device arrays the work is enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dtrmm = in_dtype(_trmm, "dtrmm", "float64", "As `strmm`, in float64.")
ctrmm = in_dtype(_trmm, "ctrmm", "complex64", "As `strmm`, in complex64.")
ztrmm = in_dtype(_trmm, "ztrmm", "complex128", "As `strmm`, in complex128.")
strsm = in_dtype(
    _trsm,
    "strsm",
    "float32",
    """The x of ``op(a) @ x = alpha * b`` for a triangle a in float32, as `scipy.linalg.blas.strsm`; (m, n).

    With ``side=1`` that of ``x @ op(a) = alpha * b``. Arguments are those of `strmm`, but that a has no more rows than
    it needs. Zeros on the diagonal are not looked for: they give infinity and NaN, as in BLAS.
    """,
)
dtrsm = in_dtype(_trsm, "dtrsm", "float64", "As `strsm`, in float64.")
ctrsm = in_dtype(_trsm, "ctrsm", "complex64", "As `strsm`, in complex64.")
ztrsm = in_dtype(_trsm, "ztrsm", "complex128", "As `strsm`, in complex128.")
