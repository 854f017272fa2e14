"""Kernel arguments: types of values, and the transfer of host data to the device."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.dispatch.arguments.dates import stored
from portagpu.dtypes import BOOL, UINT64
from portagpu.errors import ArgumentTypeError, DTypeError, with_article
from portagpu.frontend.source.callables import DeviceCallable
from portagpu.ir.types import (
    PYCOMPLEX,
    PYFLOAT,
    PYINT,
    ArgumentType,
    ArrayType,
    ConstantType,
    Layout,
    Scalar,
    TupleType,
    fields_of,
)
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import writable_view
from portagpu.runtime.arrays.creation import as_device_array, is_device_like
from portagpu.runtime.arrays.foreign import is_foreign, shared_view
from portagpu.runtime.arrays.overlap import may_overlap
from portagpu.runtime.execution.context import Context
from portagpu.runtime.host_arguments import ArgumentWrapper, HostWork, like_tuple
from portagpu.types.record_layout import record_of


def argument_key(value: Any) -> Any:
    """A hashable key of a prepared argument: equal keys compile to the same kernel."""
    if isinstance(value, DeviceNDArray):
        return value.type_key
    kind = type(value)
    if isinstance(value, enum.Enum):
        return (kind, value.name)
    if isinstance(value, DeviceCallable):
        return (kind, value)
    if kind is int:
        return int if -(2**63) <= value < 2**63 else "uint64"
    if isinstance(value, tuple):
        return (fields_of(value), *(argument_key(v) for v in value))
    return kind


def argument_type(value: Any, *, alias: bool) -> ArgumentType:
    """Type of a prepared argument."""
    if isinstance(value, DeviceNDArray):
        return ArrayType(
            record_of(value.dtype) or Scalar(stored(value.dtype)),
            value.ndim,
            Layout(value.layout),
            readonly=value.readonly,
            offset=value.shifted,
            alias=alias,
            align=value.align,
        )
    if isinstance(value, tuple):
        return TupleType(tuple(argument_type(v, alias=alias) for v in value), fields_of(value))
    if _is_constant(value):
        return ConstantType(value)
    if isinstance(value, bool | np.bool_):
        return Scalar(BOOL)
    if isinstance(value, np.generic):
        return Scalar(dtypes.from_numpy(value.dtype).computed)
    if isinstance(value, int):
        return PYINT if value < 2**63 else Scalar(UINT64)
    return PYCOMPLEX if isinstance(value, complex) else PYFLOAT


def _is_constant(value: Any) -> bool:
    """Whether an argument has a kernel of its own: what is compared by identity in kernels, and device functions."""
    return value is None or isinstance(value, enum.Enum) or is_device_function(value)


def is_device_function(value: Any) -> bool:
    """Whether kernels can call an argument."""
    return isinstance(value, DeviceCallable) and value.is_device_function


def check_context(array: DeviceNDArray, context: Context, what: str) -> None:
    """Raise `ArgumentTypeError` for an array of another context, on whose memory drivers crash."""
    if array.context is not context:
        raise ArgumentTypeError(
            f"{what} is on {array.context.device.name}, in another context than the launch's",
            hint="copy it: cuda.to_device(x.copy_to_host())",
        )


def prepare(value: Any, name: str, context: Context, stream: Any, work: HostWork) -> Any:
    """Turn an argument into what kernels take; host arrays come back through ``work``.

    Raises `ArgumentTypeError` naming the parameter.
    """
    if isinstance(value, ArgumentWrapper) and isinstance(value.value, DeviceNDArray):
        value = value.value
    if isinstance(value, DeviceNDArray):
        check_context(value, context, f"argument `{name}`")
        return value
    value = writable_view(value)  # results reach NumPy's records, as they reach arrays
    if _is_constant(value):
        return value
    if isinstance(value, bool | int | float | complex | np.generic):
        return checked_number(value, name)
    if isinstance(value, tuple):
        return like_tuple(value, (prepare(v, f"{name}[{n}]", context, stream, work) for n, v in enumerate(value)))
    if isinstance(value, ArgumentWrapper):
        return value.to_device(context, stream, work)
    if isinstance(value, np.ndarray):
        check_dtype(value.dtype, name)
        return ArgumentWrapper.for_host_array(value).to_device(context, stream, work)
    if is_device_like(value):
        return prepare(as_device_array(value), name, context, stream, work)
    raise ArgumentTypeError(
        f"argument `{name}` is {with_article(type(value).__name__)}, which kernels cannot take",
        hint=_advice(value),
    )


def adopted(value: Any, name: str) -> Any:
    """Another library's array in host memory as the NumPy array of that memory, or as a number where it has no axes.

    Anything else is as it was. A launch adopts its arguments before it looks which of them share memory.
    """
    if isinstance(value, tuple):
        if any(is_foreign(item) or isinstance(item, tuple) for item in value):
            return like_tuple(value, (adopted(item, f"{name}[{n}]") for n, item in enumerate(value)))
        return value
    if not is_foreign(value) or is_device_like(value):
        return value
    found = shared_view(value, f"argument `{name}`")
    return found if found.ndim else found[()]


def checked_number(value: Any, name: str) -> Any:
    """A number as kernels take it. Raises `ArgumentTypeError` naming the parameter."""
    if isinstance(value, np.bool_):
        return bool(value)  # PyOpenCL packs no NumPy bools
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value.view(np.int64)
    if isinstance(value, np.generic):
        check_dtype(value.dtype, name)
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ArgumentTypeError(f"argument `{name}` is {value}, which does not fit into 64 bits")
    return value


def check_dtype(dtype: np.dtype[Any], name: str) -> None:
    """Raise `ArgumentTypeError` for elements that kernels do not know, naming the parameter."""
    if record_of(dtype) is not None:
        return  # fields that kernels do not know may stand beside others
    try:
        stored(dtype)
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
        return "decorate a function with @cuda.jit(device=True) to call it from the kernel"
    return "kernels take NumPy arrays, device arrays, numbers, bools, device functions, tuples of these, and None"


def check_hashable(name: str, value: Any) -> None:
    """Raise `ArgumentTypeError` for a compile-time argument that cannot be a key."""
    try:
        hash(value)
    except Exception as error:  # of any kind: the class is the user's
        raise ArgumentTypeError(
            f"`{name}` is a compile-time parameter and must be hashable, not {with_article(type(value).__name__)}",
            hint="pass a number, a tuple of numbers, a dtype or a device function",
        ) from error


def _arrays(args: tuple[Any, ...]) -> list[DeviceNDArray]:
    found = []
    for value in args:
        if isinstance(value, DeviceNDArray):
            found.append(value)
        elif isinstance(value, tuple):
            found += _arrays(value)
    return found


def facts_of(args: tuple[Any, ...]) -> tuple[bool, bool]:
    """What a specialisation knows of all arrays together: whether two may overlap, and whether one is large.

    Two arguments in one allocation must not be taken to be apart; a large array needs 64-bit subscripts.
    """
    arrays = _arrays(args)
    alias = len(arrays) > 1 and may_overlap(arrays)
    return alias, any(a.is_large for a in arrays)
