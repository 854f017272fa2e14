"""`sgemm`, `dgemm`, `cgemm` and `zgemm` with the arguments of `scipy.linalg.blas`, for programs that call these."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from portagpu.blas.arguments import check_scalar, conversion, operand_of
from portagpu.blas.gemm.kernels.conjugate import conjugated
from portagpu.blas.matmul import matmul
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError, UnknownOptionError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.host_pool import out_of_memory, results
from portagpu.runtime.execution.stream import Stream, as_stream

Array = Any


def sgemm(
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
    """
    return _gemm("sgemm", "float32", alpha, a, b, beta, c, trans_a, trans_b, overwrite_c, stream)


def dgemm(
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
    """As `sgemm`, in float64."""
    return _gemm("dgemm", "float64", alpha, a, b, beta, c, trans_a, trans_b, overwrite_c, stream)


def cgemm(
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
    """As `sgemm`, in complex64."""
    return _gemm("cgemm", "complex64", alpha, a, b, beta, c, trans_a, trans_b, overwrite_c, stream)


def zgemm(
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
    """As `sgemm`, in complex128."""
    return _gemm("zgemm", "complex128", alpha, a, b, beta, c, trans_a, trans_b, overwrite_c, stream)


def _gemm(
    name: str,
    dtype: str,
    alpha: Any,
    a: Array,
    b: Array,
    beta: Any,
    c: Array,
    trans_a: int,
    trans_b: int,
    overwrite_c: int,
    stream: Stream | None,
) -> Array:
    kind = np.dtype(dtype)
    left = _op(_matrix(a, "a", name, kind), "trans_a", trans_a, stream)
    right = _op(_matrix(b, "b", name, kind), "trans_b", trans_b, stream)
    shape = (left.shape[0], right.shape[1])
    alpha, beta = (check_scalar(_number(x), n, kind, kind) for n, x in (("alpha", alpha), ("beta", beta)))
    try:
        overwrite_c = operator.index(_number(overwrite_c))
    except TypeError:
        raise UnknownOptionError(
            f"overwrite_c is {overwrite_c!r}", hint="0 leaves c as it is, 1 lets it be overwritten"
        ) from None
    whole = None if c is None else operand_of(c, "c")
    present = None if whole is None else _matrix(whole, "c", name, kind)
    if whole is None or present is None:
        return matmul(left, right, _unset(left, shape, kind), alpha=alpha, stream=stream)
    if present.shape != shape:
        raise ShapeError(f"c has shape {whole.shape}; the product has {shape}", hint="pass a c of that shape")
    if beta == 0 and not overwrite_c:
        made = matmul(left, right, _unset(left, shape, kind), alpha=alpha, stream=stream)
        return made if whole.ndim == 2 else made.reshape(whole.shape)
    if isinstance(present, DeviceNDArray) != isinstance(left, DeviceNDArray):
        there = "on the device" if isinstance(left, DeviceNDArray) else "NumPy arrays"
        raise ArgumentTypeError(
            f"c is a {type(c).__name__}; a and b are {there}", hint="move it: cuda.to_device(c), or c.copy_to_host()"
        )
    if overwrite_c and _can_take_the_result(present, whole, c):
        matmul(left, right, present, alpha=alpha, beta=beta, stream=stream)
        return whole
    made = matmul(left, right, _copied(present, stream), alpha=alpha, beta=beta, stream=stream)
    return made if whole.ndim == 2 else made.reshape(whole.shape)


def _unset(left: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> Any:
    """A matrix in Fortran order where the operands are."""
    on_device, rows = isinstance(left, DeviceNDArray), shape[::-1]
    return (device_array(rows, dtype, context=left.context) if on_device else results.empty(rows, dtype)).T


def _number(value: Any) -> Any:
    """A number as SciPy's functions take it: arrays with one element and bools are numbers, too."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    return int(value) if isinstance(value, bool | np.bool_) else value


def _matrix(value: Any, name: str, function: str, dtype: np.dtype[Any]) -> Any:
    """An argument with two axes in the function's dtype."""
    found = operand_of(value, name)
    if found.ndim > 2:
        raise ShapeError(f"{function} takes matrices; {name} has {found.ndim} axes", hint="use matmul for batches")
    if found.dtype != dtype:
        if isinstance(found, DeviceNDArray):
            raise DTypeError(
                f"{function} takes {dtype}; {name} is {found.dtype}",
                hint="call the function of its dtype, or convert it with a kernel",
            )
        if not _is_converted(found.dtype, dtype):
            raise DTypeError(f"{function} takes {dtype}; {name} is {found.dtype}", hint=_hint(found, name, dtype))
        with out_of_memory(found.shape, dtype, f"{name}, converted,"):
            found = found.astype(dtype)
    return found if found.ndim == 2 else found.reshape((found.size, 1))


def _is_converted(given: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Whether NumPy arrays of a dtype are converted to the function's: those of numbers, but complex ones to real."""
    if given.kind == "V":  # those of ml_dtypes, which NumPy knows how to convert, and records, which it does not
        return np.can_cast(given, dtype)
    return given.kind in ("bifuc" if dtype.kind == "c" else "biuf")


def _hint(matrix: Any, name: str, dtype: np.dtype[Any]) -> str:
    if matrix.dtype.kind == "c":
        return "call cgemm or zgemm"
    if matrix.dtype.kind in "OSU":
        return f"where all elements are numbers, convert them: {name}.astype(np.{dtype})"
    return conversion(name, matrix)


def _op(matrix: Any, name: str, trans: Any, stream: Stream | None) -> Any:
    try:
        number = operator.index(_number(trans))
    except TypeError:
        number = -1
    if number not in (0, 1, 2):
        raise UnknownOptionError(
            f"{name} is {trans!r}", hint="0 leaves the matrix as it is, 1 transposes, 2 transposes and conjugates"
        )
    if number == 2 and matrix.dtype.kind == "c":
        on_device = isinstance(matrix, DeviceNDArray)
        matrix = conjugated(matrix, as_stream(stream, matrix.context)) if on_device else matrix.conj()
    return matrix.T if number else matrix


def _can_take_the_result(present: Any, whole: Any, given: Any) -> bool:
    """Whether the matrix that c is has the memory of what was given, where it was not converted, and may be written."""
    if isinstance(present, DeviceNDArray):
        return not present.readonly
    # what only becomes an array may have been copied
    own = whole is given and present.dtype == whole.dtype
    return own and bool(present.flags.f_contiguous and present.flags.writeable)


def _copied(c: Any, stream: Stream | None) -> Any:
    """A copy in Fortran order."""
    if not isinstance(c, DeviceNDArray):
        return c.copy(order="F")
    made = device_array(c.shape, c.dtype, order="F", context=c.context)
    made.copy_to_device(c, as_stream(stream, c.context))
    return made
