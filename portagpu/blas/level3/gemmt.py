"""`sgemmt`, `dgemmt`, `cgemmt`, `zgemmt`: products of which one triangle is wanted; an extension of BLAS 3."""

from __future__ import annotations

from typing import Any

from portagpu.blas.host_arrays import on_device
from portagpu.blas.level3.results import result_of
from portagpu.blas.level3.triangles import update
from portagpu.blas.level3.triangular_product import Terms, triangular_product
from portagpu.blas.scipy_arguments import LOWER, Routine, in_dtype, op, option
from portagpu.errors import ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def gemmt(
    a: DeviceNDArray,
    b: DeviceNDArray,
    c: DeviceNDArray,
    stream: Stream,
    *,
    lower: bool,
    alpha: complex = 1.0,
    beta: complex = 0.0,
) -> None:
    """``c = alpha * a @ b + beta * c`` in the triangle that ``lower`` names; enqueued.

    a: (n, k), b: (k, n), c: (n, n), or with the same leading axes, any strides; c must not overlap a or b. Nothing else
    of c is written; with ``beta`` 0 it is not read, with ``alpha`` 0 neither are a and b.
    """
    if c.size == 0:
        return
    if alpha == 0 or a.shape[-1] == 0:
        if beta != 1:
            update(c, stream, lower=lower, beta=beta)
        return
    triangular_product((Terms(left=a, right=b, alpha=alpha),), c, stream, lower=lower, beta=beta)


def _gemmt(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    b: Array,
    beta: Any = 0.0,
    c: Array = None,
    trans_a: int = 0,
    trans_b: int = 0,
    lower: int = 0,
    overwrite_c: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    left = op(routine.matrix(a, "a"), "trans_a", trans_a, stream)
    right = op(routine.matrix(b, "b"), "trans_b", trans_b, stream)
    named = bool(option(lower, "lower", LOWER))
    if left.shape != right.shape[::-1]:
        raise ShapeError(
            f"op(a) has shape {left.shape}, op(b) {right.shape}; {routine.name} takes (n, k) and (k, n)",
            hint="sgemm and its like compute other products",
        )
    n = left.shape[0]
    alpha, beta = routine.scalar(alpha, "alpha"), routine.scalar(beta, "beta")
    result, target = result_of(routine, c, overwrite_c, (n, n), like=left, stream=stream)
    is_new = c is None

    def enqueue(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, stream: Stream) -> None:
        if is_new:
            update(c, stream, lower=not named, strict=True)
        gemmt(a, b, c, stream, lower=named, alpha=alpha, beta=0.0 if is_new else beta)

    written: dict[str, Any] = {"results" if is_new else "updates": {"c": target}}
    on_device(enqueue, stream, reads={"a": left, "b": right}, **written)
    return result


sgemmt = in_dtype(
    _gemmt,
    "sgemmt",
    "float32",
    """The upper triangle of ``alpha * op(a) @ op(b) + beta * c`` in float32; (n, n), in Fortran order.

    For products that are known to be symmetric, or whose other half is not needed: half of the work of `sgemm`, whose
    arguments these are, with ``lower=1`` for the lower triangle. What is beyond it is c's, or zero without one. op(a)
    is (n, k), op(b) (k, n). Not in SciPy; as in MKL, OpenBLAS and LAPACK 3.12 (``sgemmtr``).

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dgemmt = in_dtype(_gemmt, "dgemmt", "float64", "As `sgemmt`, in float64.")
cgemmt = in_dtype(_gemmt, "cgemmt", "complex64", "As `sgemmt`, in complex64.")
zgemmt = in_dtype(_gemmt, "zgemmt", "complex128", "As `sgemmt`, in complex128.")
