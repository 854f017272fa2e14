"""`sgemm`, `dgemm`, `cgemm` and `zgemm` with the arguments of `scipy.linalg.blas`, for programs that call these."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from portagpu.blas.arguments import operand_of
from portagpu.blas.conjugate_kernels import conjugated
from portagpu.blas.matmul import matmul
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError, UnknownOptionError
from portagpu.runtime.array import DeviceNDArray, device_array
from portagpu.runtime.hostpool import out_of_memory, results
from portagpu.runtime.stream import Stream, as_stream

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
    its order. ``c``: (m, n), read only if ``beta`` is not 0, and left as it is unless ``overwrite_c``; then the result
    may be put into it, and is if it is a device array, or a NumPy array of that dtype in Fortran order. For device
    arrays the product is enqueued on ``stream``.

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
    present = None if c is None else _matrix(c, "c", name, kind)
    if present is not None and present.shape != shape:
        raise ShapeError(f"c has shape {present.shape}; the product has {shape}", hint="pass a c of that shape")
    unread = type(beta) in (int, float, complex) and beta == 0
    if present is None or (unread and not overwrite_c):
        on_device = isinstance(left, DeviceNDArray)
        rows = shape[::-1]
        out = device_array(rows, kind, context=left.context) if on_device else results.empty(rows, kind)
        return matmul(left, right, out.T, alpha=alpha, stream=stream)
    if isinstance(present, DeviceNDArray) != isinstance(left, DeviceNDArray):
        there = "on the device" if isinstance(left, DeviceNDArray) else "NumPy arrays"
        raise ArgumentTypeError(
            f"c is a {type(c).__name__}; a and b are {there}", hint="move it: cuda.to_device(c), or c.copy_to_host()"
        )
    out = _target(present, c if overwrite_c else None, stream)
    return matmul(left, right, out, alpha=alpha, beta=beta, stream=stream)


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
        if found.dtype.kind not in ("bifuc" if dtype.kind == "c" else "biuf"):
            raise DTypeError(
                f"{function} takes {dtype}; {name} is {found.dtype}",
                hint="call the function of its dtype: s, d, c or z",
            )
        with out_of_memory(found.shape, dtype, f"{name}, converted,"):
            found = found.astype(dtype)
    return found if found.ndim == 2 else found.reshape((found.size, 1))


def _op(matrix: Any, name: str, trans: Any, stream: Stream | None) -> Any:
    try:
        number = operator.index(trans)
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


def _target(c: Any, overwritten: Any, stream: Stream | None) -> Any:
    """Where the result goes: c itself, if it may be overwritten, or a copy in Fortran order."""
    if isinstance(c, DeviceNDArray):
        if c is overwritten and not c.readonly:
            return c
        made = device_array(c.shape, c.dtype, order="F", context=c.context)
        made.copy_to_device(c, as_stream(stream, c.context))
        return made
    if c is overwritten and c.flags.f_contiguous and c.flags.writeable:
        return c
    return c.copy(order="F")
