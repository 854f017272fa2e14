"""Operands of vectorised functions (numbers, host arrays, device arrays), and the signature that they fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.dispatch.arguments.signatures import describe_argument
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.checks import host_array
from portagpu.runtime.arrays.creation import as_device_array, is_device_like, operand_array, to_device
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.execution.context import context_of as stream_context
from portagpu.runtime.execution.stream import Stream, as_stream
from portagpu.types import Signature

_KINDS = "buifc"
_PYTHON_KINDS = {bool: "b", int: "u", float: "f", complex: "c"}


def operand(value: Any) -> Any:
    """A Python number, a NumPy scalar, a host array or a device array. Raises `ArgumentTypeError`."""
    if isinstance(value, DeviceNDArray | np.generic) or type(value) in _PYTHON_KINDS:
        return value
    found = operand_array(value)
    if found is not None:
        return found
    array = host_array(value)
    if array.dtype.kind in "OUS":  # objects and text
        raise ArgumentTypeError(
            f"a {type(value).__name__} is no number and no array of numbers", hint="pass arrays or numbers"
        )
    if array.dtype.kind in "iufc" and not array.dtype.isnative:  # as kernels take it, and as NumPy's results are
        array = array.astype(array.dtype.newbyteorder("="))
    return array[()] if array.ndim == 0 else array


def array_of(value: Any, context: Context | None = None) -> DeviceNDArray:
    """A device array of any operand: of memory of the operand's device, else of a copy in a context.

    Raises `ArgumentTypeError` for what is no array and no number.
    """
    if isinstance(value, DeviceNDArray):
        return value
    found = operand(value)
    return found if isinstance(found, DeviceNDArray) else to_device(np.asarray(found), context=context)


def arrays_of(values: Sequence[Any]) -> list[DeviceNDArray]:
    """The same for several, where the first one is that is on a device."""
    found = [value if isinstance(value, DeviceNDArray) else operand(value) for value in values]
    context = next((x.context for x in found if isinstance(x, DeviceNDArray)), None)
    return [array_of(x, context) for x in found]


def mask_of(where: Any, shape: tuple[int, ...], context: Context | None = None) -> Any:
    """The operand of bools that ``where=`` names: a NumPy bool, or an array whose shape broadcasts to ``shape``.

    Lists and numbers become bools, as NumPy's do. Raises `DTypeError` for an array of other elements, `ShapeError`.
    """
    if where is True or where is False:
        return np.bool_(where)
    on_device = operand_array(where)
    mask = host_array(where) if on_device is None else on_device
    if where is None or isinstance(where, int | float | complex | list | tuple | np.generic):
        mask = mask.astype(bool)
    if mask.dtype.kind != "b":
        raise DTypeError(f"where= is an array of bools, not of {mask.dtype}", hint="pass where=mask.astype(bool)")
    if mask.shape != shape and (mask.ndim > len(shape) or broadcast_shapes((mask.shape, shape)) != shape):
        raise ShapeError(f"where= of shape {mask.shape} does not broadcast to the shape {shape}")
    return array_of(mask, context) if mask.ndim else mask[()]


def is_array(value: Any) -> bool:
    """Whether an operand is an array."""
    return isinstance(value, np.ndarray | DeviceNDArray)


def shape_of(value: Any) -> tuple[int, ...]:
    """Shape of an operand; numbers have none."""
    return value.shape if is_array(value) else ()


def broadcast_shapes(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape. Raises `ShapeError`."""
    return _common(tuple(shapes))


@lru_cache(4096)
def _common(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise ShapeError(f"shapes {', '.join(map(str, shapes))} cannot be broadcast together") from error


def context_of(values: Sequence[Any], stream: Any) -> Context:
    """Where a call runs: the stream's context, the first device array's, or the current one."""
    if isinstance(stream, Stream):
        return stream_context(stream)
    for value in values:
        if isinstance(value, DeviceNDArray):
            return value.context
    context = current_context()
    return stream_context(as_stream(stream, context))


def on_device(value: Any, context: Context, stream: Any) -> DeviceNDArray:
    """An array operand on the device; its copy is in ``stream``."""
    if isinstance(value, DeviceNDArray):
        return value
    return to_device(value, stream=stream, context=context)


def choose(signatures: Sequence[Signature], name: str, inputs: Sequence[Any], *, narrows: bool = False) -> Signature:
    """The signature for these operands: exact types first, then numbers converted, then safe casts of arrays.

    With ``narrows``, numbers and host arrays also become smaller types of their kind. Raises `ArgumentTypeError` where
    none fits.
    """
    for accepts in (_exactly, _with_weak_numbers, _safely, _with_any_numbers, *((_narrowed,) if narrows else ())):
        for signature in signatures:
            if all(accepts(_element(t), value) for t, value in zip(signature.args, inputs, strict=False)):
                return signature
    shown = ", ".join(map(describe_argument, inputs))
    hint = "convert the arguments with .astype(...), or add a signature"
    if any(isinstance(value, DeviceNDArray) for value in inputs):
        hint += "; a device array does not support .astype(): convert it before cuda.to_device, or in a kernel"
    raise ArgumentTypeError(
        f"no signature of `{name}` takes ({shown})",
        hint=hint,
        notes=[str(s) for s in signatures],
    )


def _element(kind: Any) -> np.dtype[Any]:
    dtype = kind.dtype
    return dtype if isinstance(dtype, np.dtype) else dtype.dtype


def _exactly(wanted: np.dtype[Any], value: Any) -> bool:
    return bool(getattr(value, "dtype", None) == wanted) or np.dtype(type(value)) == wanted


def _with_weak_numbers(wanted: np.dtype[Any], value: Any) -> bool:
    kind = _PYTHON_KINDS.get(type(value))
    if kind is None:
        return bool(value.dtype == wanted)
    return _KINDS.index(wanted.kind) >= _KINDS.index(kind)


def _safely(wanted: np.dtype[Any], value: Any) -> bool:
    return _with_weak_numbers(wanted, value) or (hasattr(value, "dtype") and np.can_cast(value.dtype, wanted, "safe"))


def _with_any_numbers(wanted: np.dtype[Any], value: Any) -> bool:
    return type(value) in _PYTHON_KINDS or bool(value.dtype == wanted)


def _narrowed(wanted: np.dtype[Any], value: Any) -> bool:
    if isinstance(value, DeviceNDArray):
        return _safely(wanted, value)
    return type(value) in _PYTHON_KINDS or bool(np.can_cast(value.dtype, wanted, "same_kind"))


def number(value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as a NumPy scalar of ``dtype``. Raises `ArgumentTypeError`."""
    try:
        return np.asarray(value).astype(dtype)[()] if dtype.kind in "mM" else dtype.type(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{value!r} does not fit {dtype}") from error


class Result:
    """Where a call puts one result: the caller's ``out``, or a new array.

    ``drops_ones``: ``out`` may lack axes of length one at the front.
    """

    def __init__(self, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], *, drops_ones: bool = False) -> None:
        self.out = self._given = as_device_array(out) if is_device_like(out) else out
        self.shape, self.dtype = shape, dtype
        if out is None:
            return
        if not is_array(self.out):
            raise ArgumentTypeError(f"out= is an array, not {type(out).__name__}", hint="make one: np.empty(shape)")
        front = len(shape) - self.out.ndim
        if drops_ones and self.out.shape == shape[front:] and set(shape[:front]) == {1}:
            self.out = self.out.reshape(shape)
        if self.out.shape != shape:
            raise ShapeError(f"the result has shape {shape}, out= has {self.out.shape}")
        if not np.can_cast(dtype, self.out.dtype, "same_kind"):
            raise DTypeError(f"the result is {dtype}, out= is {self.out.dtype}", hint="use an array of that dtype")
        if isinstance(self.out, DeviceNDArray) and self.out.readonly:
            raise ArgumentTypeError("out= is read-only")
        if isinstance(self.out, np.ndarray) and not self.out.flags.writeable:
            raise ArgumentTypeError("out= is read-only", hint="pass a writable array")

    @property
    def is_on_device(self) -> bool:
        """Whether the caller's array is a device array."""
        return isinstance(self.out, DeviceNDArray)

    def target(self, context: Context, stream: Any, *, filled: bool = False) -> DeviceNDArray:
        """The device array that kernels write; ``filled`` with what the caller's array holds."""
        if isinstance(self.out, DeviceNDArray):
            return self.out
        if filled and self.out is not None:
            return to_device(self.out.astype(self.dtype), stream=stream, context=context)
        return device_array(self.shape, self.dtype, stream=stream, context=context)

    def finish(self, target: DeviceNDArray, stream: Any, *, keep: bool) -> Any:
        """What the caller gets: ``out``, the device array with ``keep``, else a host array."""
        if isinstance(self.out, DeviceNDArray):
            return self._given
        if self.out is None and keep:
            return target
        host = target.copy_to_host(stream=stream)
        if isinstance(stream, Stream):
            stream.synchronize()
        if self.out is None:
            return host
        self.out[...] = host
        return self._given
