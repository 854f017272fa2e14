"""`matmul`: NumPy's matrix product for NumPy arrays and device arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.gemm import gemm
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError
from portagpu.runtime.array import DeviceNDArray, device_array
from portagpu.runtime.checks import host_array
from portagpu.runtime.context import Context, current_context
from portagpu.runtime.creation import as_device_array, is_device_like, to_device
from portagpu.runtime.hostmem import SharedSpans, map_back, wrap_host
from portagpu.runtime.stream import Stream, as_stream

_DTYPES = ("float32", "float64")
Array = Any


def matmul(a: Array, b: Array, out: Array = None, *, stream: Stream | None = None) -> Array:
    """Matrix product with `numpy.matmul`'s rules, computed on the current device.

    a, b: NumPy arrays (the result is a NumPy array) or device arrays (the result is a device array), both of one kind;
    float32 or float64; shapes (..., m, k) and (..., k, n), where leading axes broadcast and 1-D operands are treated
    as a row and a column. Any strides. ``out``: where to put the result, of its shape and dtype. For device arrays the
    product is enqueued on ``stream`` (default: the device's default stream).

    NumPy arrays of different dtypes are promoted as NumPy does; device arrays must agree.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    a, b = _operand(a, "a"), _operand(b, "b")
    on_device = isinstance(a, DeviceNDArray)
    if on_device != isinstance(b, DeviceNDArray):
        raise ArgumentTypeError(
            "one operand is a NumPy array, the other is on the device",
            hint="move one: cuda.to_device(x), or x.copy_to_host()",
        )
    _check_dtypes(a, b, on_device)
    if a.ndim == 0 or b.ndim == 0:
        hint = "scale with a kernel" if on_device else "use * for scalars"
        raise ShapeError("matmul needs operands with at least one axis", hint=hint)
    shape, batch = _result_shape(a, b)
    where = as_stream(stream, a.context if on_device else current_context())
    if on_device:
        if a.context is not b.context:
            raise ArgumentTypeError("the operands are on different devices", hint="copy one of them")
        if where.context is not a.context:
            raise ArgumentTypeError("the stream is on another device than the operands", hint="use a stream of theirs")
        return _on_device(a, b, out, shape, batch, where)
    result = _on_host(a, b, out, shape, batch, where)
    return result if shape or out is not None else result[()]  # of two vectors: a scalar, as NumPy's


def dot(a: Array, b: Array, out: Array = None) -> Array:
    """`numpy.dot` of device arrays where it is a matrix product: of vectors and matrices. See `matmul`."""
    a, b = _operand(a, "a"), _operand(b, "b")
    for name, operand in (("a", a), ("b", b)):
        if not 1 <= operand.ndim <= 2:
            raise ShapeError(
                f"numpy.dot of device arrays takes vectors and matrices; operand {name} has {operand.ndim} axes",
                hint="use numpy.matmul, or reshape to two axes" if operand.ndim else "scale with a kernel",
            )
    return matmul(a, b, out)


def _operand(value: Any, name: str) -> Any:
    if isinstance(value, DeviceNDArray | np.ndarray):
        return value
    if is_device_like(value):
        return as_device_array(value)
    if isinstance(value, list | tuple | int | float | np.generic):
        return host_array(value)
    raise ArgumentTypeError(f"operand {name} is a {type(value).__name__}", hint="pass NumPy arrays or device arrays")


def _check_dtypes(a: Any, b: Any, on_device: bool) -> None:
    for name, operand in (("a", a), ("b", b)):
        if operand.dtype.name not in _DTYPES:
            raise DTypeError(
                f"matmul takes float32 and float64; operand {name} is {operand.dtype}",
                hint=_conversion(name, operand),
            )
    if on_device and a.dtype != b.dtype:
        raise DTypeError(f"the operands are {a.dtype} and {b.dtype}", hint="convert one of them")


def _conversion(name: str, operand: Any) -> str:
    if operand.dtype.kind == "c":
        return "multiply real and imaginary parts"
    if isinstance(operand, DeviceNDArray):
        return f"convert it with a kernel, or on the host: {name}.copy_to_host().astype(np.float32)"
    return f"convert it: {name}.astype(np.float32)"


def _result_shape(a: Any, b: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    inner_a = a.shape[-1]
    inner_b = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if inner_a != inner_b:
        raise ShapeError(
            f"shapes {a.shape} and {b.shape} do not fit: a has {inner_a} columns, b has {inner_b} rows",
            hint="transpose one of them (x.T), or check the order of the operands",
        )
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError as error:
        raise ShapeError(f"the leading axes of {a.shape} and {b.shape} do not broadcast") from error
    rows = a.shape[-2:-1] if a.ndim > 1 else ()
    columns = b.shape[-1:] if b.ndim > 1 else ()
    return (*batch, *rows, *columns), batch


def _check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], kind: type[Any]) -> None:
    if not isinstance(out, kind):
        raise ArgumentTypeError(
            f"out is a {type(out).__name__}; the operands need a {kind.__name__}",
            hint="leave out= away to get a new array",
        )
    if out.shape != shape:
        raise ShapeError(f"out has shape {out.shape}; the product has {shape}")
    if out.dtype != dtype:
        raise DTypeError(f"out is {out.dtype}; the product is {dtype}")
    writeable = not out.readonly if isinstance(out, DeviceNDArray) else out.flags.writeable
    if not writeable:
        raise ArgumentTypeError("out is read-only")


# device arrays ------------------------------------------------------------------------------------------------------


def _on_device(
    a: DeviceNDArray, b: DeviceNDArray, out: Any, shape: tuple[int, ...], batch: tuple[int, ...], stream: Stream
) -> DeviceNDArray:
    if out is None:
        result = device_array(shape, a.dtype, context=a.context)
    else:
        _check_out(out, shape, a.dtype, DeviceNDArray)
        if out.context is not a.context:
            raise ArgumentTypeError("out is on another device than the operands", hint="copy it, or leave out= away")
        result = out
    overlaps = result.allocation_key in (a.allocation_key, b.allocation_key)
    target = device_array(shape, a.dtype, context=a.context) if overlaps else result
    _product(a, b, target, batch, stream)
    if target is not result:
        result.copy_to_device(target, stream)
    return result


def _product(a: DeviceNDArray, b: DeviceNDArray, c: DeviceNDArray, batch: tuple[int, ...], stream: Stream) -> None:
    """``c = a @ b`` with leading axes; enqueued."""
    if c.size == 0:
        return
    if a.size == 0 or b.size == 0:
        c[...] = 0
        return
    matrix_a = a if a.ndim > 1 else a[None, :]
    matrix_b = b if b.ndim > 1 else b[:, None]
    full = (*batch, matrix_a.shape[-2], matrix_b.shape[-1])
    matrix_c = c
    if b.ndim == 1:
        matrix_c = matrix_c[..., None]
    if a.ndim == 1:
        matrix_c = matrix_c[..., None, :]
    assert matrix_c.shape == full
    if not batch:
        gemm(matrix_a, matrix_b, matrix_c, stream)
        return
    wide_a = matrix_a.broadcast_to((*batch, *matrix_a.shape[-2:]))
    wide_b = matrix_b.broadcast_to((*batch, *matrix_b.shape[-2:]))
    for index in np.ndindex(*batch):
        gemm(wide_a[index], wide_b[index], matrix_c[index], stream)


# NumPy arrays -------------------------------------------------------------------------------------------------------


def _on_host(
    a: Any, b: Any, out: Any, shape: tuple[int, ...], batch: tuple[int, ...], stream: Stream
) -> np.ndarray[Any, Any]:
    dtype = np.result_type(a, b)
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    if out is None:
        result: np.ndarray[Any, Any] = np.empty(shape, dtype)
    else:
        _check_out(out, shape, dtype, np.ndarray)
        result = out
    if result.size == 0:
        return result
    if a.size == 0 or b.size == 0:
        result[...] = 0
        return result
    context = stream.context
    overlaps = np.may_share_memory(result, a) or np.may_share_memory(result, b)
    spans = SharedSpans(() if overlaps else (result,), (a, b))
    shared = None if overlaps else wrap_host(context, result, spans=spans)
    target = shared if shared is not None else device_array(shape, dtype, context=context)
    _product(_borrow(a, context, spans), _borrow(b, context, spans), target, batch, stream)
    if shared is not None:
        map_back(shared, stream)
        return result
    stream.synchronize()
    if result.flags.c_contiguous:
        target.copy_to_host(result)
    else:
        result[...] = target.copy_to_host()
    return result


def _borrow(array: np.ndarray[Any, Any], context: Context, spans: SharedSpans) -> DeviceNDArray:
    """A host operand on the device: its own memory where the device can use it, else a copy."""
    shared = wrap_host(context, array, spans=spans, readonly=True)
    return shared if shared is not None else to_device(array, context=context)
