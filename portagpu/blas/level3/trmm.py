"""trmm and trsm: `strmm`, `ztrsm` ...: products with triangles, and triangular systems, with matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.arguments import operand_of
from portagpu.blas.gemm.batching import multiply
from portagpu.blas.gemm.triangles import BlockTriangle, multiply_by_triangle
from portagpu.blas.host_arrays import on_device
from portagpu.blas.level3.triangle_kernels import ZEROS
from portagpu.blas.level3.triangles import expanded, kept
from portagpu.blas.level3.triangular_product import Halving, blocks_of
from portagpu.blas.level3.triangular_solve import solve_triangular
from portagpu.blas.scipy_arguments import (
    DIAG,
    LOWER,
    SIDE,
    TRANS,
    Routine,
    can_take_the_result,
    in_dtype,
    may_overwrite,
    option,
)
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def multiply_triangular(
    a: DeviceNDArray,
    b: DeviceNDArray,
    out: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    unit_diagonal: bool = False,
    conjugate: bool = False,
    alpha: complex = 1.0,
) -> None:
    """``out = alpha * a @ b`` for a triangle a, of which nothing else is read; enqueued.

    a: (n, n), b, out: (n, m), or all with the same leading axes, any strides. out is b itself, or overlaps neither;
    ``conjugate``: a's conjugate is multiplied. With ``unit_diagonal`` the diagonal counts as ones. With ``alpha`` 0
    neither a nor b is read.
    """
    if out.size == 0:
        return
    if alpha == 0:
        multiply(a, b, out, stream, alpha=0.0, beta=0.0, precision="")
        return
    if out is b:
        b = kept(out, stream)
    if multiply_by_triangle(a, b, out, stream, lower=lower, unit=unit_diagonal, alpha=alpha):
        return
    unit: bool | None = unit_diagonal
    if conjugate and a.dtype.kind == "c":  # products have no conjugates: all of a is copied, with zeros
        a = expanded(a, stream, lower=lower, beyond=ZEROS, unit=unit_diagonal, conjugate=True)
        unit = None
    _multiply(a, b, out, stream, lower, unit, alpha)


def _multiply(
    a: DeviceNDArray,
    b: DeviceNDArray,
    out: DeviceNDArray,
    stream: Stream,
    lower: bool,
    unit: bool | None,
    alpha: complex,
) -> None:
    """`multiply_triangular`; unit: None where zeros are beyond a's diagonal.

    The diagonal's blocks are a batch of products; the rest is added in a launch, or by squares of one size after the
    other.
    """
    n, m = out.shape[-2:]
    how = Halving.predict(n)
    rest = BlockTriangle.predict(a, b, out, stream)
    rows, blocks = (how.rows, how.blocks) if rest is None else (rest.rows, n // rest.rows)
    done = rows * blocks
    diagonal = blocks_of(a, (0, 0), (rows, rows), rows, blocks)
    if unit is not None:
        diagonal = expanded(diagonal, stream, lower=lower, beyond=ZEROS, unit=unit)
    given, target = (blocks_of(x, (0, 0), (rows, m), (rows, 0), blocks) for x in (b, out))
    multiply(diagonal, given, target, stream, alpha=alpha, beta=0.0, precision="")
    if rest is not None:
        rest.add_rest(a, b, out, stream, lower=lower, alpha=alpha)
    size = rows if rest is None else done
    while size < done:
        count = done // (2 * size)
        down, right = (size, 0) if lower else (0, size)
        left = blocks_of(a, (down, right), (size, size), 2 * size, count)
        given = blocks_of(b, (right, 0), (size, m), (2 * size, 0), count)
        target = blocks_of(out, (down, 0), (size, m), (2 * size, 0), count)
        multiply(left, given, target, stream, alpha=alpha, beta=1.0, precision="")
        size *= 2
    if done == n:
        return
    _multiply(a[..., done:, done:], b[..., done:, :], out[..., done:, :], stream, lower, unit, alpha)
    head, tail = slice(0, done), slice(done, n)
    to, of = (tail, head) if lower else (head, tail)
    multiply(a[..., to, of], b[..., of, :], out[..., to, :], stream, alpha=alpha, beta=1.0, precision="")


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
    whole = operand_of(b, "b")
    right = routine.matrix(whole, "b")
    n = right.shape[option(side, "side", SIDE)]
    if min(matrix.shape) < n:
        raise ShapeError(
            f"a has shape {matrix.shape}; with side={side}, b of shape {right.shape} needs ({n}, {n})",
            hint="side=0 computes op(a) @ b, side=1 b @ op(a)",
        )
    options = (side, lower, trans_a, diag)
    matrix = matrix[:n, :n]
    made = _of_triangle(routine, multiply_triangular, alpha, matrix, b, right, options, overwrite_b, stream)
    return made.reshape(made.size) if whole.ndim == 1 else made  # a vector stays one, as in SciPy


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
    whole = operand_of(b, "b")
    right = routine.matrix(whole, "b")
    n = right.shape[option(side, "side", SIDE)]
    if matrix.shape[0] != n:
        raise ShapeError(
            f"a has shape {matrix.shape}; with side={side}, b of shape {right.shape} needs ({n}, {n})",
            hint="side=0 solves op(a) @ x = b, side=1 x @ op(a) = b",
        )
    options = (side, lower, trans_a, diag)
    made = _of_triangle(routine, _solution, alpha, matrix, b, right, options, overwrite_b, stream)
    return made.reshape(made.size) if whole.ndim == 1 else made


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
    in_place = may_overwrite(overwrite_b, "b") and _is_own(right, given)
    target = routine.target(right, given, overwrite=True) if in_place else routine.new(right, right.shape)
    source, view = (x.T if side else x for x in (right, target))
    if (trans != 0) != (side == 1):
        matrix, lower = matrix.T, not lower
    told = {"lower": lower, "unit_diagonal": unit, "conjugate": trans == 2, "alpha": alpha}

    def enqueue(a: DeviceNDArray, *arrays: Any) -> None:
        *sides, out, stream = arrays
        call(a, sides[0] if sides else out, out, stream, **told)

    if in_place:
        on_device(enqueue, stream, reads={"a": matrix}, updates={"b": view})
    else:
        on_device(enqueue, stream, reads={"a": matrix, "b": source}, results={"result": view})
    return target


def _is_own(matrix: Array, given: Array) -> bool:
    """Whether an argument's memory can take the result; that of a read-only device array is refused later."""
    if isinstance(matrix, DeviceNDArray):
        return True
    return isinstance(given, np.ndarray) and can_take_the_result(matrix, given, given)


def _solution(a: DeviceNDArray, b: DeviceNDArray, out: DeviceNDArray, stream: Stream, **options: Any) -> None:
    """`solve_triangular`, as `multiply_triangular` is called."""
    solve_triangular(a, b, stream, out=out, **options)


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
