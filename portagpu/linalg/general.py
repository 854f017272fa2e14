"""Products of general matrices, with matrices and with vectors: gemm and gemv in NumPy's words"""

from __future__ import annotations

from typing import Any

from portagpu.blas.arguments import check_dtypes, operand_of
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.host_arrays import are_on_device
from portagpu.blas.matmul import matmul as matmul
from portagpu.errors import ShapeError
from portagpu.linalg.matrices import Array, broadcast_batches, check_matrix
from portagpu.linalg.products import transpose
from portagpu.linalg.results import takes_results
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


@takes_results
def matvec(
    a: Array,
    x: Array,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    out: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """``alpha * a @ x + beta * out`` for matrices (..., m, n) and vectors (..., n), as `numpy.matvec`: (..., m).

    Leading axes are those of a batch, and broadcast: many vectors with one matrix are one product of matrices. Dtypes,
    strides, ``out``, ``alpha``, ``beta`` and ``stream`` are as in `portagpu.matmul`: float16 and bfloat16, whose sums
    are formed in float32, float32, float64, complex64, complex128, integers. A transposed product is one of
    ``np.swapaxes(a, -1, -2)``, a view.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    matrix, vector, batch = _operands("matvec", a, x, first_is_vector=False)
    _check_shape("matvec", out, (*batch, matrix.shape[-2]))
    told: dict[str, Any] = {"alpha": alpha, "beta": beta, "stream": stream}
    if vector.ndim == 1:
        return matmul(matrix, vector, out, **told)
    if matrix.ndim == 2:
        return matmul(vector, matrix.T, out, **told)
    if out is None:
        return matmul(matrix, column(vector), **told)[..., 0]
    matmul(matrix, column(vector), column(out), **told)
    return out


@takes_results
def vecmat(
    x: Array,
    a: Array,
    *,
    alpha: complex = 1,
    beta: complex = 0,
    out: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """``alpha * conj(x) @ a + beta * out`` for vectors (..., n) and matrices (..., n, m), as `numpy.vecmat`: (..., m).

    All else is as of `matvec`. Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    matrix, vector, batch = _operands("vecmat", a, x, first_is_vector=True)
    _check_shape("vecmat", out, (*batch, matrix.shape[-1]))
    told: dict[str, Any] = {"alpha": alpha, "beta": beta, "stream": stream}
    if vector.dtype.kind == "c":
        vector = transpose(column(vector), conjugate=True, stream=stream)[..., 0, :]
    if matrix.ndim == 2:
        return matmul(vector, matrix, out, **told)
    if out is None:
        return matmul(_row(vector), matrix, **told)[..., 0, :]
    matmul(_row(vector), matrix, _row(out), **told)
    return out


def column(vectors: Array) -> Array:
    """Vectors (..., n) as matrices with one column: a view."""
    if not isinstance(vectors, DeviceNDArray):
        return vectors[..., None]
    return with_strides(vectors, (*vectors.shape, 1), (*vectors.strides, vectors.itemsize))


def _row(vectors: Array) -> Array:
    """Vectors (..., n) as matrices with one row: a view."""
    if not isinstance(vectors, DeviceNDArray):
        return vectors[..., None, :]
    *outer, step = vectors.strides
    shape = (*vectors.shape[:-1], 1, vectors.shape[-1])
    return with_strides(vectors, shape, (*outer, step * vectors.shape[-1], step))


def _operands(function: str, a: Any, x: Any, *, first_is_vector: bool) -> tuple[Array, Array, tuple[int, ...]]:
    """Matrix and vector as arrays that fit together, and the shape of the batch. Raises the errors of `matvec`."""
    matrix, vector = operand_of(a, "a"), operand_of(x, "x")
    there = are_on_device({"x": vector, "a": matrix} if first_is_vector else {"a": matrix, "x": vector}, function)
    check_dtypes(matrix, vector, there, function=function, names=("a", "x"))
    check_matrix(matrix, "a", function)
    if vector.ndim == 0 or vector.shape[-1] != matrix.shape[-2 if first_is_vector else -1]:
        told = "(..., n), (..., n, m)" if first_is_vector else "(..., m, n), (..., n)"
        shapes = f"x has shape {vector.shape}, a {matrix.shape}" if first_is_vector else ""
        raise ShapeError(
            f"{function}: {shapes or f'a has shape {matrix.shape}, x {vector.shape}'}", hint=f"they are {told}"
        )
    return matrix, vector, broadcast_batches(function, a=matrix.shape[:-2], x=vector.shape[:-1])


def _check_shape(function: str, out: Any, shape: tuple[int, ...]) -> None:
    """Raise `ShapeError` for an ``out`` of another shape; what else it must be, the product knows."""
    if getattr(out, "shape", shape) != shape:
        raise ShapeError(f"{function}: out has shape {out.shape}, the result {shape}", hint="pass one of that shape")
