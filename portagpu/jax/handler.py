"""The handlers that XLA calls for operators: memory of arguments and results as arrays, without copies.

On the host they are NumPy arrays; on a card device arrays whose stream is the one in which XLA runs the operator, so
that kernels take their turn there, and nobody waits.
"""

from __future__ import annotations

import ctypes
import functools
import traceback
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from portagpu.backends.registry import described
from portagpu.errors import DTypeError, MemoryNotSharedError, OperatorError, PortaGPUError
from portagpu.jax import c_api
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.foreign_views import view_of_parts
from portagpu.runtime.arrays.host_memory import lent_array
from portagpu.runtime.execution.ordering import enqueuing

TARGET = "portagpu_operator"
"""The name that XLA knows the handler by."""
KEY = "operator"
"""The attribute that says which operator is called."""

Run = Callable[[list[Any], list[Any]], None]
_RUNS: dict[str, Run] = {}
_MOST_KNOWN = 512
_known: dict[Any, DeviceNDArray] = {}  # by how XLA's memory lies: it comes again and again, and nothing here keeps it


def enter(key: str, run: Run) -> None:
    """Have ``run`` called, with arguments and results, for calls whose attribute is ``key``."""
    _RUNS[key] = run


def _handle(execute: Callable[[c_api.CallFrame], None], address: Any) -> int | None:
    """Called by XLA, from threads of its own: nothing may be raised here, so errors are returned."""
    frame = address.contents
    extension = frame.extension
    if extension and extension.contents.type == c_api.METADATA:
        _answer(frame, c_api.Metadata.from_address(extension.contents.metadata))
        return None
    if frame.stage != c_api.EXECUTE:
        return None
    try:
        execute(frame)
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


def _on_host(frame: c_api.CallFrame) -> None:
    run = _run_of(frame)
    run(_arrays(frame.arguments, writable=False), _arrays(frame.results, writable=True))


def _on_card(frame: c_api.CallFrame) -> None:
    run = _run_of(frame)
    told = c_api.StreamArguments(struct_size=ctypes.sizeof(c_api.StreamArguments), context=frame.context)
    failed = frame.api.contents.get_stream(ctypes.byref(told))
    if failed:
        raise OperatorError("XLA does not tell in which stream an operator runs")
    arguments = _views(frame.arguments, told.stream, readonly=True)
    results = _views(frame.results, told.stream, readonly=False)
    run(arguments, results)
    streams = {v.stream for v in (*arguments, *results) if isinstance(v, DeviceNDArray) and v.stream}
    for stream in streams:
        with enqueuing(stream):  # what XLA enqueues next comes after what the function did in the default stream
            pass


def _run_of(frame: c_api.CallFrame) -> Run:
    key = _attribute(frame.attributes)
    run = _RUNS.get(key)
    if run is None:
        raise OperatorError(
            f"the operator {key} is not known in this process", hint="import the module that declares it first"
        )
    return run


def _attribute(attributes: c_api.Attributes) -> str:
    for n in range(attributes.size):
        if attributes.types[n] == c_api.STRING and attributes.names[n].contents.text() == KEY:
            return c_api.Bytes.from_address(attributes.items[n]).text()
    raise OperatorError("XLA called an operator without saying which")


def _arrays(buffers: c_api.Buffers, *, writable: bool) -> list[np.ndarray[Any, Any]]:
    return [_array(buffers.items[n].contents, writable) for n in range(buffers.size)]


class _OnCard:
    """Memory of a card by the CUDA Array Interface."""

    def __init__(self, buffer: c_api.Buffer, readonly: bool) -> None:
        shape, dtype = _form(buffer)
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": dtype.str,
            "data": (buffer.data, readonly),
            "strides": None,
            "version": 3,
        }


def _views(buffers: c_api.Buffers, stream: int | None, *, readonly: bool) -> list[Any]:
    """Device arrays; for arrays without elements, which have no memory, NumPy's."""
    return [_view(buffers.items[n].contents, stream or 0, readonly) for n in range(buffers.size)]


def _view(buffer: c_api.Buffer, stream: int, readonly: bool) -> Any:
    lie = (buffer.data, tuple(buffer.dims[: buffer.rank]), buffer.dtype, stream, readonly)
    known = _known.get(lie)
    if known is not None and not known.context.closed and known._buffer is not None:
        return known
    if 0 in lie[1]:
        return np.empty(*_form(buffer))
    memory = _OnCard(buffer, readonly)
    parts = described(memory.__cuda_array_interface__, stream)
    if parts is None:
        raise MemoryNotSharedError("XLA's memory is on no card that a back end drives", hint="see `portagpu devices`")
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    found = _known[lie] = view_of_parts(parts, memory)
    return found


def _array(buffer: c_api.Buffer, writable: bool) -> np.ndarray[Any, Any]:
    shape, dtype = _form(buffer)
    return lent_array(buffer.data or 0, shape, dtype, writable=writable)


def _form(buffer: c_api.Buffer) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of an array. Raises `DTypeError` for elements that kernels do not have."""
    dtype = c_api.dtype_of(buffer.dtype)
    if dtype is None:
        raise DTypeError(f"kernels have no dtype for XLA's number {buffer.dtype}", hint="convert the array first")
    return tuple(buffer.dims[: buffer.rank]), dtype


def _error(frame: c_api.CallFrame, message: str) -> int | None:
    arguments = c_api.ErrorArguments(
        struct_size=ctypes.sizeof(c_api.ErrorArguments), message=message.encode(), code=c_api.INTERNAL
    )
    found: int | None = frame.api.contents.create_error(ctypes.byref(arguments))
    return found


_HANDLERS = {  # they must live as long as XLA may call them
    "cpu": c_api.Handler(functools.partial(_handle, _on_host)),
    "CUDA": c_api.Handler(functools.partial(_handle, _on_card)),
}
for _platform, _handler in _HANDLERS.items():
    _capsule = jax.ffi.pycapsule(ctypes.cast(_handler, ctypes.c_void_p).value)
    jax.ffi.register_ffi_target(TARGET, _capsule, platform=_platform)
