"""Arguments of `portagpu.linalg`: matrices and batches in one dtype, and copies to work in."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.arguments import native, operand_of
from portagpu.blas.host_arrays import are_on_device
from portagpu.blas.replay.host_trace import assign_host, new_host
from portagpu.errors import DTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream, as_stream

Array = Any
INT32 = np.dtype(np.int32)
FULL_PRECISION = ("float32", "float64", "complex64", "complex128")
EVERY_PRECISION = ("float16", "bfloat16", *FULL_PRECISION)


def arrays_of(
    function: str, taken: tuple[str, ...] = FULL_PRECISION, /, **values: Any
) -> tuple[list[Array], np.dtype[Any]]:
    """Arguments as arrays, all NumPy's or all on the device, and the dtype to compute in, one of those ``taken``.

    NumPy arrays are not converted yet: to their common dtype, in which integers count as float64, and halves as float32
    where they are not taken. Raises `ArgumentTypeError`, `DTypeError`.
    """
    found = {name: operand_of(value, name) for name, value in values.items()}
    dtypes = {name: x.dtype for name, x in found.items()}
    first: np.dtype[Any] = next(iter(dtypes.values()))
    told = ", ".join(f"{name} is {dtype}" for name, dtype in dtypes.items())
    if are_on_device(found, function):
        if len(set(dtypes.values())) > 1 or first.name not in taken or not first.isnative:
            raise DTypeError(
                f"{function} takes arrays of one dtype of {', '.join(taken)}; {told}",
                hint="convert with a kernel, or on the host: x.copy_to_host().astype(...)",
            )
        return list(found.values()), first
    kinds = [_counted(function, name, dtype, taken) for name, dtype in dtypes.items()]
    try:
        common = np.result_type(*kinds)
    except TypeError as error:  # float16 and bfloat16 have no common dtype
        raise DTypeError(
            f"{function}: {told}, which have no common dtype", hint="convert them: x.astype(np.float32)"
        ) from error
    return list(found.values()), common


def _counted(function: str, name: str, dtype: np.dtype[Any], taken: tuple[str, ...]) -> np.dtype[Any]:
    """The dtype that NumPy arrays of a dtype are computed in. Raises `DTypeError`."""
    if dtype.name in taken:
        return native(dtype)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype.kind in "fc":
        halves = dtype.itemsize // (2 if dtype.kind == "c" else 1) < 4
        return np.dtype(np.float32 if halves else np.complex128 if dtype.kind == "c" else np.float64)
    if dtype.kind == "V" and np.can_cast(dtype, np.float32):  # those of ml_dtypes
        return np.dtype(np.float32)
    raise DTypeError(f"{function} takes numbers; {name} is {dtype}", hint=f"convert them: {name}.astype(np.float64)")


def check_matrix(x: Array, name: str, function: str, *, square: bool = False) -> None:
    """Raise `ShapeError` for fewer than two axes, or other matrices than square ones."""
    if x.ndim < 2:
        raise ShapeError(
            f"{function} takes matrices; {name} has shape {x.shape}", hint=f"a column: {name}.reshape(-1, 1)"
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{function} takes square matrices; {name} has shape {x.shape}", hint="lstsq takes others")


def broadcast_batches(function: str, **shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the leading axes together. Raises `ShapeError`."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        told = ", ".join(f"those of {name} are {shape}" for name, shape in shapes.items())
        raise ShapeError(
            f"{function}: the leading axes do not fit: {told}", hint="they broadcast as NumPy's do"
        ) from None


def new(like: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An uninitialised array in C order, where ``like`` is."""
    if isinstance(like, DeviceNDArray):
        return device_array(shape, dtype, context=like.context)
    return new_host(shape, dtype)


def copy_of(x: Array, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream | None, into: Array = None) -> Array:
    """The elements of x, broadcast, in a new array in C order, or in another one of that shape and dtype."""
    made = new(x, shape, dtype) if into is None else into
    copy_into(x, made, stream)
    return made


def copy_into(x: Array, target: Array, stream: Stream | None) -> None:
    """Copy elements, broadcast; enqueued on the device."""
    if target.size == 0:
        return
    if isinstance(target, DeviceNDArray):
        target.copy_to_device(x._broadcast(target.shape), as_stream(stream, target.context))
    else:
        assign_host(target, x)
