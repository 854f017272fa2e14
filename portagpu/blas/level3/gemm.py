"""`sgemm`, `dgemm`, `cgemm` and `zgemm` with the arguments of `scipy.linalg.blas`, for programs that call these."""

from __future__ import annotations

from typing import Any

from portagpu.blas.arguments import operand_of, operands_of
from portagpu.blas.matmul import matmul
from portagpu.blas.scipy_arguments import Routine, can_take_the_result, copied, in_dtype, may_overwrite, op
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream

Array = Any


def _gemm(
    routine: Routine,
    /,
    alpha: Any,
    a: Array,
    b: Array,
    beta: Any = 0.0,
    c: Array = None,
    trans_a: int = 0,
    trans_b: int = 0,
    overwrite_c: int = 0,
    *,
    stream: Stream | None = None,
) -> Array:
    left = op(routine.matrix(a, "a"), "trans_a", trans_a, stream)
    right = op(routine.matrix(b, "b"), "trans_b", trans_b, stream)
    shape = (left.shape[0], right.shape[1])
    alpha, beta = routine.scalar(alpha, "alpha"), routine.scalar(beta, "beta")
    overwrites = may_overwrite(overwrite_c, "c")
    whole = None if c is None else operand_of(c, "c")
    present = None if whole is None else routine.matrix(whole, "c")
    if whole is None or present is None:
        return matmul(left, right, routine.new(left, shape), alpha=alpha, stream=stream)
    if present.shape != shape:
        raise ShapeError(f"c has shape {whole.shape}; the product has {shape}", hint="pass a c of that shape")
    if beta == 0 and not overwrites:
        made = matmul(left, right, routine.new(left, shape), alpha=alpha, stream=stream)
        return made if whole.ndim == 2 else made.reshape(whole.shape)
    if isinstance(present, DeviceNDArray) != isinstance(left, DeviceNDArray):
        operands_of(left, right)  # an error of these two comes first
        there = "on the device" if isinstance(left, DeviceNDArray) else "NumPy arrays"
        raise ArgumentTypeError(
            f"c is a {type(c).__name__}; a and b are {there}", hint="move it: cuda.to_device(c), or c.copy_to_host()"
        )
    if overwrites and can_take_the_result(present, whole, c):
        matmul(left, right, present, alpha=alpha, beta=beta, stream=stream)
        return whole
    made = matmul(left, right, copied(present, stream), alpha=alpha, beta=beta, stream=stream)
    return made if whole.ndim == 2 else made.reshape(whole.shape)


sgemm = in_dtype(
    _gemm,
    "sgemm",
    "float32",
    """``alpha * op(a) @ op(b) + beta * c`` in float32, as `scipy.linalg.blas.sgemm`: a matrix (m, n) in Fortran order.

    a, b: matrices, both NumPy arrays (or what becomes some) or both device arrays. ``op`` leaves them as they are where
    ``trans_a`` (``trans_b``) is 0; 1 transposes, 2 transposes and conjugates. NumPy arrays of other dtypes are
    converted, as SciPy does; device arrays must be float32. A vector is a column. Unlike SciPy, nothing is copied for
    its order. ``c``: (m, n), or a vector (m) where n is 1, which makes the result one; read only if ``beta`` is not 0,
    and left as it is unless ``overwrite_c``. Then the result may be put into it, and is if it is a device array, or a
    NumPy array of that dtype in Fortran order. Numbers may be NumPy's, bools, or arrays with one element; unlike
    SciPy's, they are not rounded to whole ones or cut, nor read from lists and texts, and must not be too large for the
    function's dtype; those that it rounds to 0 (1e-50 in float32) count as 0, as SciPy's do, but what they scale is
    read. For device arrays the product is enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `UnknownOptionError`, `OutOfMemoryError`.
    """,
)
dgemm = in_dtype(_gemm, "dgemm", "float64", "As `sgemm`, in float64.")
cgemm = in_dtype(_gemm, "cgemm", "complex64", "As `sgemm`, in complex64.")
zgemm = in_dtype(_gemm, "zgemm", "complex128", "As `sgemm`, in complex128.")
