"""The handler that XLA calls for operators: memory of arguments and results as NumPy arrays, without copies."""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from portagpu.errors import DTypeError, OperatorError, PortaGPUError
from portagpu.jax import c_api
from portagpu.runtime.arrays.host_memory import lent_array

TARGET = "portagpu_operator"
"""The name that XLA knows the handler by."""
KEY = "operator"
"""The attribute that says which operator is called."""

Run = Callable[[list[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]], None]
_RUNS: dict[str, Run] = {}


def enter(key: str, run: Run) -> None:
    """Have ``run`` called, with arguments and results, for calls whose attribute is ``key``."""
    _RUNS[key] = run


def _handle(address: Any) -> int | None:
    """Called by XLA, from threads of its own: nothing may be raised here, so errors are returned."""
    frame = address.contents
    extension = frame.extension
    if extension and extension.contents.type == c_api.METADATA:
        _answer(frame, c_api.Metadata.from_address(extension.contents.metadata))
        return None
    if frame.stage != c_api.EXECUTE:
        return None
    try:
        _execute(frame)
    except PortaGPUError as error:
        return _error(frame, f"{type(error).__name__}: {error}")
    except BaseException:  # a user's function may raise anything
        return _error(frame, traceback.format_exc())
    return None


def _answer(frame: c_api.CallFrame, metadata: c_api.Metadata) -> None:
    """Say which API the handler is made for: XLA's own, if its structures are those that are known here."""
    version = frame.api.contents.version
    metadata.version.major = version.major if version.major == c_api.MAJOR else c_api.MAJOR
    metadata.version.minor = version.minor
    metadata.traits = 0


def _execute(frame: c_api.CallFrame) -> None:
    key = _attribute(frame.attributes)
    run = _RUNS.get(key)
    if run is None:
        raise OperatorError(
            f"the operator {key} is not known in this process", hint="import the module that declares it first"
        )
    run(_arrays(frame.arguments, writable=False), _arrays(frame.results, writable=True))


def _attribute(attributes: c_api.Attributes) -> str:
    for n in range(attributes.size):
        if attributes.types[n] == c_api.STRING and attributes.names[n].contents.text() == KEY:
            return c_api.Bytes.from_address(attributes.items[n]).text()
    raise OperatorError("XLA called an operator without saying which")


def _arrays(buffers: c_api.Buffers, *, writable: bool) -> list[np.ndarray[Any, Any]]:
    return [_array(buffers.items[n].contents, writable) for n in range(buffers.size)]


def _array(buffer: c_api.Buffer, writable: bool) -> np.ndarray[Any, Any]:
    dtype = c_api.dtype_of(buffer.dtype)
    if dtype is None:
        raise DTypeError(f"kernels have no dtype for XLA's number {buffer.dtype}", hint="convert the array first")
    shape = tuple(buffer.dims[: buffer.rank])
    return lent_array(buffer.data or 0, shape, dtype, writable=writable)


def _error(frame: c_api.CallFrame, message: str) -> int | None:
    arguments = c_api.ErrorArguments(
        struct_size=ctypes.sizeof(c_api.ErrorArguments), message=message.encode(), code=c_api.INTERNAL
    )
    found: int | None = frame.api.contents.create_error(ctypes.byref(arguments))
    return found


_HANDLER = c_api.Handler(_handle)  # it must live as long as XLA may call it
jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(ctypes.cast(_HANDLER, ctypes.c_void_p).value), platform="cpu")
