"""Arguments and results of LAPACK routines as `scipy.linalg.lapack` has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from portagpu.blas.arguments import operand_of
from portagpu.blas.factorisations.batches import stacked
from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.host_arrays import on_device
from portagpu.blas.scipy_arguments import Routine, in_dtype, may_overwrite, new_array
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream, as_stream

_P = ParamSpec("_P")
_R = TypeVar("_R")
_INT32 = np.dtype(np.int32)


def lapack_function(
    routine: Callable[Concatenate[Routine, _P], _R], name: str, dtype: str, doc: str | None
) -> Callable[_P, _R]:
    """The public function of a routine in one dtype, with the attributes that SciPy's have."""
    function = in_dtype(routine, name, dtype, doc)
    vars(function)["module_name"] = "flapack"
    return function


def target(routine: Routine, found: Any, given: Any, name: str, overwrite: Any, stream: Stream | None) -> Any:
    """What is computed in: the argument itself if ``overwrite_NAME`` lets it, else a copy. Raises as `Routine.target`.

    Copies of batches are in C order; a batch is itself overwritten if it is in that order.
    """
    may = may_overwrite(overwrite, name)
    if found.ndim <= 2:
        return routine.target(found, given, overwrite=may, stream=stream)
    if isinstance(found, DeviceNDArray):
        if may and found.readonly:
            raise ArgumentTypeError(
                f"{routine.name} writes into {name}, which is read-only", hint=f"pass a copy of it: {name}.copy()"
            )
        return found if may and found.is_c_contiguous() else _in_rows(found, stream)
    usable = found.flags.c_contiguous and found.flags.behaved
    own = isinstance(given, np.ndarray) and (
        may or found.dtype != given.dtype
    )  # what a conversion made is nobody else's
    return found if usable and own else np.array(found, order="C")


def folded(x: Any, stream: Stream | None) -> Any:
    """Matrices with at most one leading axis, for kernels: a view, or a copy of what has none; see `stacked`."""
    return stacked(x if x.ndim <= 3 else contiguous(x, stream))


def contiguous(x: Any, stream: Stream | None) -> Any:
    """An array in C order with these elements: itself, or a copy."""
    if not isinstance(x, DeviceNDArray):
        return np.ascontiguousarray(x)
    return x if x.is_c_contiguous() else _in_rows(x, stream)


def _in_rows(x: DeviceNDArray, stream: Stream | None) -> DeviceNDArray:
    made = device_array(x.shape, x.dtype, context=x.context)
    if x.size:
        made.copy_to_device(x, as_stream(stream, x.context))
    return made


def new(like: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """An uninitialised array where ``like`` is: matrices in Fortran order, as SciPy's, all else in C order."""
    if len(shape) == 2 and like.ndim == 2:
        return new_array(like, shape, np.dtype(dtype))
    if isinstance(like, DeviceNDArray):
        return device_array(shape, np.dtype(dtype), context=like.context)
    return np.empty(shape, dtype)


def right_sides(routine: Routine, b: Any, a: Any, overwrite: Any, stream: Stream | None) -> tuple[Any, Any]:
    """Right sides for matrices, to be overwritten: as matrices, and as what is returned, of the shape of b.

    A batch of matrices takes a batch of matrices, or of vectors, with the same leading axes. Raises `ShapeError` for
    another number of rows than the matrix has, and as `Routine.target`.
    """
    given = operand_of(b, "b")
    found = routine.matrix(given, "b", batch=True)
    batch, n = a.shape[:-2], a.shape[-1]
    vectors = given.ndim == 1 if not batch else found.ndim == a.ndim - 1
    if not batch and found.shape[-2] != n:
        raise ShapeError(
            f"{routine.name}: b has {found.shape[-2]} rows, the matrix has {n}",
            hint="b has a row for each row of the matrix",
        )
    if found.shape[: len(batch) + 1] != (*batch, n) or found.ndim > a.ndim:
        raise ShapeError(
            f"{routine.name}: b has shape {found.shape}, the matrices {a.shape}",
            hint="b has the same leading axes, then a row for each row of the matrix: linalg.solve broadcasts",
        )
    held = target(routine, found, b, "b", overwrite, stream)
    if not vectors:
        return held, held
    if batch:
        return held.reshape((*held.shape, 1)), held
    return held, held.reshape(n)


def pivot_rows(routine: Routine, piv: Any, lu: Any, stream: Stream | None) -> Any:
    """Pivots as `getrf` returns them, int32, of a matrix or a batch. Raises `ArgumentTypeError`, `ShapeError`."""
    shape, n = lu.shape[:-1], lu.shape[-1]
    if isinstance(piv, DeviceNDArray):
        if piv.dtype != _INT32:
            raise ArgumentTypeError(f"{routine.name}: piv is {piv.dtype}", hint="pass the int32 pivots of getrf")
        found: Any = contiguous(piv, stream)
    else:
        found = np.ascontiguousarray(piv)
        if found.dtype.kind not in "iu":
            raise ArgumentTypeError(f"{routine.name}: piv is {found.dtype}", hint="pass the pivots of getrf")
        if found.size and (found.min() < 0 or found.max() >= n):
            raise ShapeError(
                f"{routine.name}: piv has rows from {found.min()} to {found.max()}, the matrix has {n}",
                hint="pivots count rows from 0",
            )
        found = found.astype(np.int32)
    if found.shape != shape:
        raise ShapeError(f"{routine.name}: piv has shape {found.shape}, not {shape}", hint="pass the pivots of getrf")
    return found if found.ndim == 1 else found.reshape((math.prod(shape[:-1]), n))


def with_info(
    enqueue: Callable[..., None],
    like: Any,
    stream: Stream | None,
    *,
    reads: Mapping[str, Any] | None = None,
    updates: Mapping[str, Any] | None = None,
    results: Mapping[str, Any] | None = None,
) -> Any:
    """`on_device` with one more result, int32: one number for each matrix of ``like``, which ``enqueue`` has to set.

    A number, or an array of the batch's shape; a device array where ``like`` is one, without axes for one
    matrix. enqueue: called with the arrays in their order, info, and the stream. Raises as `on_device`.
    """
    batch = like.shape[:-2]
    made = new(like, (max(1, math.prod(batch)),), _INT32)
    on_device(enqueue, stream, reads=reads, updates=updates, results={**(results or {}), "info": made})
    return _info_of(made, batch)


def _info_of(made: Any, batch: tuple[int, ...]) -> Any:
    if batch:
        return made[: math.prod(batch)].reshape(batch)
    return made.reshape(()) if isinstance(made, DeviceNDArray) else int(made[0])


def cleared(info: DeviceNDArray, stream: Stream) -> DeviceNDArray:
    """The same array, of zeros."""
    clear(info, as_stream(stream, info.context))
    return info


def no_info(like: Any, stream: Stream | None) -> Any:
    """The info of a routine that cannot fail: 0 for each matrix of ``like``."""
    batch = like.shape[:-2]
    made = new(like, (max(1, math.prod(batch)),), _INT32)
    if isinstance(made, DeviceNDArray):
        cleared(made, as_stream(stream, made.context))
    else:
        made[...] = 0
    return _info_of(made, batch)
