"""What functions of random numbers take: shapes, dtypes, places for results, parameters that are numbers or arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, ArgumentValueError, DTypeError, MissingCapabilityError, ShapeError
from portagpu.expressions.apply import as_operands, convert, lazy_array
from portagpu.expressions.node import Node
from portagpu.expressions.operations import conversion
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.checks import check_writable
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.arrays.layout import checked_shape
from portagpu.runtime.execution.context import Context
from portagpu.ufuncs.operands import broadcast_shapes, operand, shape_of


class Target:
    """Where a call's numbers go: a new array, or one that was given, whose context and dtype count."""

    __slots__ = ("_given", "array", "context", "dtype")

    def __init__(
        self, context: Context, size: Any, dtype: np.dtype[Any], out: Any, parameters: tuple[Any, ...] = ()
    ) -> None:
        """Raises `ShapeError` where ``size``, ``out`` and parameters do not fit, `DTypeError` for another ``out``."""
        shape = broadcast_shapes([shape_of(p) for p in parameters]) if parameters else ()
        wanted = out.shape if size is None and isinstance(out, DeviceNDArray) else size
        if wanted is not None:
            wanted = checked_shape(wanted)
            if not _fits(shape, wanted):
                raise ShapeError(f"parameters of shape {shape} do not fit a result of shape {wanted}")
            shape = wanted
        if out is not None:
            if not isinstance(out, DeviceNDArray):
                raise ArgumentTypeError(
                    f"out= is a device array, not {type(out).__name__}", hint="make one with cuda.device_array(n)"
                )
            if out.shape != shape:
                raise ShapeError(f"the result has shape {shape}, out= has {out.shape}")
            if out.dtype != dtype:
                raise DTypeError(f"the numbers are {dtype}, out= has {out.dtype}", hint=f"pass dtype={out.dtype}")
            check_writable(out)
            context = out.context
        if dtype == np.float64 and not context.capabilities.fp64:
            raise MissingCapabilityError(f"{context.device.name} has no float64", hint="pass dtype=np.float32")
        self.context, self.dtype, self._given = context, dtype, out
        in_place = out is not None and out.is_c_contiguous()
        self.array: DeviceNDArray = out if in_place else device_array(shape, dtype, context=context)

    def filled(self, fill: Callable[[DeviceNDArray], Any]) -> DeviceNDArray:
        """The result, after ``fill`` wrote the elements as an array of one axis."""
        array = self.array
        if array is self._given:
            fill(array.reshape(-1))
            return self.array
        with self.context.unsettled:  # nobody has seen the memory
            fill(array.reshape(-1))
        return self.stored(array)

    def stored(self, made: DeviceNDArray) -> DeviceNDArray:
        """The result, where another array has its elements."""
        if self._given is None:
            return made
        self._given.copy_to_device(made)
        found: DeviceNDArray = self._given
        return found


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether a shape broadcasts to another one."""
    return len(shape) <= len(wanted) and all(n in (1, m) for n, m in zip(shape[::-1], wanted[::-1], strict=False))


def real_dtype(dtype: Any, context: Context) -> np.dtype[Any]:
    """float32 or float64; None: the widest that the device has. Raises `DTypeError`."""
    if dtype is None:
        return np.dtype(np.float64 if context.capabilities.fp64 else np.float32)
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(f"{dtype!r} is no dtype") from error
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise DTypeError(f"random numbers are float32 or float64, not {found}", hint="convert them with x.astype(...)")
    return found


class Limits:
    """What a parameter may be: ``least`` to ``most``, and whether that may be ``least`` itself."""

    __slots__ = ("_least", "_most", "_open")

    def __init__(self, least: float = -math.inf, most: float = math.inf, *, is_open: bool = False) -> None:
        self._least, self._most, self._open = least, most, is_open

    def check(self, name: str, value: float) -> None:
        """Raises `ArgumentValueError`; NaN is refused where there are limits."""
        above = value > self._least if self._open else value >= self._least
        if not (above and value <= self._most) and (self._least > -math.inf or self._most < math.inf):
            least = f"above {self._least:g}" if self._open else f"at least {self._least:g}"
            most = "" if self._most == math.inf else f" and at most {self._most:g}"
            raise ArgumentValueError(f"{name} is {least}{most}, not {value!r}")


ANY, NOT_NEGATIVE, POSITIVE = Limits(), Limits(0.0), Limits(0.0, is_open=True)


def parameter(name: str, value: Any, limits: Limits = ANY) -> Any:
    """A number as a float, or an array; limits are those of numbers and of arrays on the host.

    Raises `ArgumentTypeError`, `ArgumentValueError`.
    """
    found = operand(value)
    if isinstance(found, DeviceNDArray | np.ndarray):
        if found.dtype.kind not in "buif":
            raise ArgumentTypeError(f"{name} is real, not {found.dtype}")
        if isinstance(found, np.ndarray) and found.size:
            limits.check(name, float(found.min()))
            limits.check(name, float(found.max()))
        return found
    try:
        number = float(found)
    except (TypeError, OverflowError) as error:
        raise ArgumentTypeError(f"{name} is a real number, not {value!r}") from error
    limits.check(name, number)
    return number


def as_dtype(value: Any, dtype: np.dtype[Any]) -> Any:
    """A parameter as an operand of numbers of a dtype, which stay of it."""
    if isinstance(value, float):
        return value
    return convert(value, dtype) if isinstance(value, DeviceNDArray) else value.astype(dtype)


def laid_out(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], context: Context) -> DeviceNDArray:
    """A parameter as an array of one axis, with an element for each of a shape."""
    if not isinstance(value, DeviceNDArray):
        host = np.broadcast_to(np.asarray(value).astype(dtype), shape)
        return to_device(np.ascontiguousarray(host).reshape(-1), context=context)
    operands, _, _, where = as_operands((value,))
    made = lazy_array(Node(where, conversion(dtype), operands, shape))
    made.buffer  # noqa: B018 - computed now
    flat: DeviceNDArray = made.reshape(-1)
    return flat
