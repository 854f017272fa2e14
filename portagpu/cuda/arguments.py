"""Kernel arguments: what their types are, and how host data reaches the device."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dtypes import BOOL, UINT64
from portagpu.errors import ArgumentTypeError, DTypeError
from portagpu.ir.types import PYFLOAT, PYINT, ArgumentType, ArrayType, ConstantType, Layout, Scalar, TupleType
from portagpu.runtime.args import ArgumentWrapper
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.context import Context
from portagpu.runtime.creation import as_device_array, is_device_like

Finish = Callable[[], None]


def argument_key(value: Any) -> Any:
    """A hashable key of a prepared argument: equal keys compile to the same kernel."""
    if isinstance(value, DeviceNDArray):
        return value.type_key
    kind = type(value)
    if isinstance(value, enum.Enum):
        return (kind, value.name)
    if kind is int:
        return int if -(2**63) <= value < 2**63 else "uint64"
    if kind is tuple:
        return tuple(argument_key(v) for v in value)
    return kind


def argument_type(value: Any, *, alias: bool) -> ArgumentType:
    """Type of a prepared argument."""
    if isinstance(value, DeviceNDArray):
        if not value.is_aligned:
            raise ArgumentTypeError(
                f"an array of {value.dtype} starts or steps at bytes that are no multiple of {value.itemsize}"
                f" (offset {value.offset}, strides {value.strides})",
                hint="copy it to an array of its own: array.copy()",
            )
        return ArrayType(
            Scalar(dtypes.from_numpy(value.dtype)),
            value.ndim,
            Layout(value.layout),
            readonly=value.readonly,
            offset=value.offset != 0,
            alias=alias,
        )
    if isinstance(value, tuple):
        return TupleType(tuple(argument_type(v, alias=alias) for v in value))
    if value is None or isinstance(value, enum.Enum):
        return ConstantType(value)  # compared by identity in kernels, so each member has a kernel of its own
    if isinstance(value, bool | np.bool_):
        return Scalar(BOOL)
    if isinstance(value, np.generic):
        return Scalar(dtypes.from_numpy(value.dtype))
    if isinstance(value, int):
        return PYINT if value < 2**63 else Scalar(UINT64)
    return PYFLOAT


def prepare(value: Any, name: str, context: Context, stream: Any, finish: list[Finish]) -> Any:
    """Turn an argument into what kernels take; copies of host arrays come back through ``finish``.

    Raises `ArgumentTypeError` naming the parameter.
    """
    if isinstance(value, ArgumentWrapper) and isinstance(value.value, DeviceNDArray):
        value = value.value
    if isinstance(value, DeviceNDArray):
        if value.context is not context:  # drivers crash on another context's buffers
            raise ArgumentTypeError(
                f"argument `{name}` is on {value.context.device.name}, in another context than the launch's",
                hint="copy it: cuda.to_device(x.copy_to_host())",
            )
        return value
    if value is None or isinstance(value, enum.Enum):
        return value
    if isinstance(value, bool | int | float | np.generic):
        return _number(value, name)
    if isinstance(value, tuple):
        return tuple(prepare(v, f"{name}[{n}]", context, stream, finish) for n, v in enumerate(value))
    if isinstance(value, ArgumentWrapper):
        return value.to_device(context, stream, finish)
    if isinstance(value, np.ndarray):
        _check_dtype(value.dtype, name)
        return ArgumentWrapper.for_host_array(value).to_device(context, stream, finish)
    if is_device_like(value):
        return as_device_array(value, context=context)
    raise ArgumentTypeError(
        f"argument `{name}` is a {type(value).__name__}, which kernels cannot take",
        hint=_advice(value),
    )


def _number(value: Any, name: str) -> Any:
    if isinstance(value, np.generic):
        _check_dtype(value.dtype, name)
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ArgumentTypeError(f"argument `{name}` is {value}, which does not fit into 64 bits")
    return value


def _check_dtype(dtype: np.dtype[Any], name: str) -> None:
    try:
        dtypes.from_numpy(dtype)
    except DTypeError as error:
        raise ArgumentTypeError(f"argument `{name}`: {error.message}", hint=error.hint) from error


def _advice(value: Any) -> str:
    if isinstance(value, list):
        return "pass np.array(...) for data that the kernel reads or writes, or a tuple of numbers"
    if isinstance(value, str):
        return "kernels have no strings; pass a number or an enum"
    if isinstance(value, dict):
        return "pass arrays and numbers one by one"
    if callable(value):
        return "annotate the parameter `cuda.constexpr` to bind a device function when the kernel is specialised"
    return "kernels take NumPy arrays, device arrays, numbers, bools, tuples of these, and None"
