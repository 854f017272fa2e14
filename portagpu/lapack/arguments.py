"""Arguments and results of LAPACK routines as `scipy.linalg.lapack` has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from portagpu.blas.gemm.core.fill import clear
from portagpu.blas.host_arrays import on_device
from portagpu.blas.scipy_arguments import Routine, in_dtype, may_overwrite
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
    """What a matrix is factored in: itself if ``overwrite_NAME`` lets it, else a copy. Raises as `Routine.target`."""
    return routine.target(found, given, overwrite=may_overwrite(overwrite, name), stream=stream)


def right_sides(routine: Routine, b: Any, a: Any, overwrite: Any, stream: Stream | None) -> tuple[Any, Any]:
    """Right sides for a matrix, to be overwritten: as a matrix, and as what is returned, of the shape of b.

    Raises `ShapeError` for another number of rows than the matrix has, and as `Routine.target`.
    """
    found = routine.matrix(b, "b")
    if found.shape[0] != a.shape[0]:
        raise ShapeError(
            f"{routine.name}: b has {found.shape[0]} rows, the matrix has {a.shape[0]}",
            hint="b has a row for each row of the matrix",
        )
    held = target(routine, found, b, "b", overwrite, stream)
    vector = getattr(b, "ndim", 2) == 1
    return held, held.reshape(held.shape[0]) if vector else held


def pivot_rows(routine: Routine, piv: Any, lu: Any) -> Any:
    """Pivots as `getrf` returns them, int32. Raises `ArgumentTypeError`, `ShapeError`."""
    n = lu.shape[0]
    if isinstance(piv, DeviceNDArray):
        if piv.dtype != _INT32:
            raise ArgumentTypeError(f"{routine.name}: piv is {piv.dtype}", hint="pass the int32 pivots of getrf")
        found: Any = piv
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
    if found.shape != (n,):
        raise ShapeError(f"{routine.name}: piv has shape {found.shape}, not ({n},)", hint="pass the pivots of getrf")
    return found


def with_info(
    enqueue: Callable[..., None],
    like: Any,
    stream: Stream | None,
    *,
    reads: Mapping[str, Any] | None = None,
    updates: Mapping[str, Any] | None = None,
    results: Mapping[str, Any] | None = None,
) -> Any:
    """`on_device` with one more result, int32 that begins as 0: a number, or a device array where ``like`` is one.

    enqueue: called with the arrays in their order, info, and the stream. Raises as `on_device`.
    """
    if not isinstance(like, DeviceNDArray):
        info = np.zeros(1, np.int32)
        on_device(enqueue, stream, reads=reads, updates=updates, results={**(results or {}), "info": info})
        return int(info[0])
    made = device_array(1, _INT32, context=like.context)
    on_device(enqueue, stream, reads=reads, updates=updates, results={**(results or {}), "info": made})
    return made


def cleared(info: DeviceNDArray, stream: Stream) -> DeviceNDArray:
    """The same array, of zeros."""
    clear(info, as_stream(stream, info.context))
    return info


def no_info(like: Any, stream: Stream | None) -> Any:
    """The info of a routine that cannot fail: 0."""
    if not isinstance(like, DeviceNDArray):
        return 0
    return cleared(device_array(1, _INT32, context=like.context), as_stream(stream, like.context))
