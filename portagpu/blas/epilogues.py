"""Epilogues of products: functions that callers have applied to sums before they are stored, and their arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from portagpu.blas.arguments import native
from portagpu.blas.gemm.core.fusion import Fusion
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.cuda import jit
from portagpu.device.capabilities import Capabilities
from portagpu.dispatch.arguments.conversion import argument_type, check_dtype, checked_number
from portagpu.dispatch.arguments.dates import stored
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dtypes import FLOAT16, FLOAT32, from_numpy
from portagpu.errors import ArgumentCountError, ArgumentTypeError, with_article
from portagpu.frontend.result_types import elementwise_result
from portagpu.frontend.source.callables import undecorated
from portagpu.ir.types import LONG, ArgumentType, ArrayType, Layout, Scalar
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import as_device_array, is_device_like
from portagpu.runtime.arrays.foreign import is_foreign, shared_view
from portagpu.runtime.execution.context import Context
from portagpu.types.record_layout import record_of

_PLACE = ("value", "row", "column")
_BATCH = "batch"  # a fourth parameter of this name gets the number of the matrix
_REMEMBERED = 256  # plain functions: each has one device function, and so its kernels are found again
_TAKEN = "f(value, row, column, ...), with a parameter for each of epilogue_args"


def checked_epilogue(
    epilogue: Any, arguments: Any, *, on_device: bool, context: Context, dtype: np.dtype[Any]
) -> Fusion | None:
    """What is fused with a product: None without an epilogue.

    Epilogues of NumPy arrays have NumPy arrays, those of device arrays ones of their context. ``dtype``: the result's.
    Raises `ArgumentTypeError`, `ArgumentCountError`, `DTypeError`, and subclasses of `KernelError` for functions that
    kernels cannot call for one element.
    """
    if epilogue is None:
        if isinstance(arguments, tuple | list) and not arguments:
            return None
        raise ArgumentTypeError(
            "epilogue_args are given, and there is no epilogue", hint="pass epilogue=, or leave epilogue_args= away"
        )
    function = _device_function(epilogue)
    if not isinstance(arguments, tuple | list):
        raise ArgumentTypeError(
            f"epilogue_args is {with_article(type(arguments).__name__)}, which is no tuple",
            hint="pass a tuple, of one argument, too: epilogue_args=(bias,)",
        )
    owner = context if on_device else None
    found = tuple(_argument(value, f"epilogue_args[{n}]", owner) for n, value in enumerate(arguments))
    names = list(function.signature.parameters)
    batched = len(names) > len(_PLACE) and names[len(_PLACE)] == _BATCH
    _check_count(function, len(found), batched)
    if not function.declared:
        types = (*(LONG,) * (2 + batched), *map(_type_of, found))
        _check_result(function, dtype, types, context.capabilities)
    return Fusion(function=function, arguments=found, batched=batched)


def arrays_of(fusion: Fusion | None) -> tuple[Any, ...]:
    """The arrays among an epilogue's arguments."""
    return () if fusion is None else tuple(x for x in fusion.arguments if isinstance(x, np.ndarray | DeviceNDArray))


def known_by(epilogue: Any, arguments: Any) -> tuple[Any, tuple[DeviceNDArray, ...]] | None:
    """What tells an epilogue on the device from others besides its arrays, and these; None for arguments that convert.

    Equal values of this mean the same launches, as far as the arrays are alike.
    """
    if type(arguments) is not tuple or not isinstance(epilogue, FunctionType | Dispatcher):
        return None
    facts: list[Any] = [epilogue]
    arrays = []
    for value in arguments:
        kind = type(value)
        if kind is DeviceNDArray:
            arrays.append(value)
            facts.append(None)
        elif kind is float:
            facts.append(value.hex())  # 0.0 and -0.0 differ
        elif kind is int or kind is bool:
            facts.append((kind, value))
        else:
            return None
    return tuple(facts), tuple(arrays)


# functions ------------------------------------------------------------------------------------------------------------


def _device_function(epilogue: Any) -> Dispatcher[..., Any]:
    function = undecorated(epilogue)
    if isinstance(function, Dispatcher):
        if function.is_device_function:
            return function
        raise ArgumentTypeError(
            f"epilogue `{function.__name__}` is a kernel", hint="decorate it with @cuda.jit(device=True), or not at all"
        )
    if isinstance(function, FunctionType):
        return _of_python(function)
    raise ArgumentTypeError(
        f"epilogue is {with_article(type(epilogue).__name__)}, which is no Python function",
        hint=f"pass a function {_TAKEN}",
    )


@lru_cache(maxsize=_REMEMBERED)
def _of_python(function: Callable[..., Any]) -> Dispatcher[..., Any]:
    return jit(function, device=True)


def _check_count(function: Dispatcher[..., Any], given: int, batched: bool) -> None:
    expected = len(_PLACE) + batched + given
    try:
        function.signature.bind(*(None,) * expected)
    except TypeError:
        places = ", ".join((*_PLACE, _BATCH) if batched else _PLACE)
        raise ArgumentCountError(
            f"epilogue `{function.__name__}{function.signature}` cannot be called with {places}"
            f" and {given} of epilogue_args",
            hint=f"it is called as {_TAKEN}",
        ) from None


@lru_cache(maxsize=_REMEMBERED)
def _check_result(
    function: Dispatcher[..., Any], dtype: np.dtype[Any], types: tuple[ArgumentType, ...], caps: Capabilities
) -> None:
    """Raise where the function gives no number for an element that can be stored."""
    kind = from_numpy(dtype).computed
    value = Scalar(FLOAT32 if kind is FLOAT16 else kind)
    found = elementwise_result(function, function.source, (value, *types), caps)
    if found.is_complex and not kind.is_complex:
        raise ArgumentTypeError(
            f"epilogue `{function.__name__}` returns {found}, and the result's elements are {dtype}",
            hint="take x.real, x.imag or abs(x)",
        )


def _type_of(argument: Any) -> ArgumentType:
    if not isinstance(argument, np.ndarray):
        return argument_type(argument, alias=False)
    flags = argument.flags
    layout = Layout.C if flags.c_contiguous else Layout.F if flags.f_contiguous else Layout.ANY
    element = record_of(argument.dtype) or Scalar(stored(argument.dtype))
    return ArrayType(element, argument.ndim, layout, readonly=True)


# arguments ------------------------------------------------------------------------------------------------------------


def _argument(value: Any, name: str, context: Context | None) -> Any:
    """An argument as an array of the operands' kind, which is only read, or as a number."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | int | float | complex | np.generic):
        return checked_number(value, name)
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ArgumentTypeError(f"{name} has masked elements, which kernels do not know", hint="pass x.filled(...)")
    found = value
    if not isinstance(value, DeviceNDArray | np.ndarray):
        if is_device_like(value):
            found = as_device_array(value)
        elif is_foreign(value):
            found = shared_view(value, name)
    if not isinstance(found, DeviceNDArray | np.ndarray):
        raise ArgumentTypeError(
            f"{name} is {with_article(type(value).__name__)}, which epilogues cannot take",
            hint="pass arrays and numbers",
        )
    check_dtype(native(found.dtype) if isinstance(found, np.ndarray) else found.dtype, name)
    if context is None:
        if isinstance(found, DeviceNDArray):
            raise ArgumentTypeError(
                f"{name} is on the device, the operands are NumPy arrays",
                hint="copy it: x.copy_to_host(), or move the operands: cuda.to_device(a)",
            )
        host = found.view(np.ndarray)
        return host if host.dtype.isnative else host.astype(native(host.dtype))
    if isinstance(found, np.ndarray):
        raise ArgumentTypeError(
            f"{name} is a NumPy array, the operands are on the device", hint="move it: cuda.to_device(x)"
        )
    if found.context is not context:
        raise ArgumentTypeError(
            f"{name} is on another device than the operands, {found.context.device.name}", hint="copy it to theirs"
        )
    return read_only(found)


def read_only(x: DeviceNDArray) -> DeviceNDArray:
    """A device array as epilogues may only read it: compilers may then load ahead."""
    return x if x.readonly else with_strides(x, x.shape, x.strides, readonly=True)
