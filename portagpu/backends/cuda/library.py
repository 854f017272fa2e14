"""CUDA's driver API through ctypes: functions, their errors, and the structures that launches need.

The library comes with the card's driver, so that nothing has to be installed for it. Functions give the interpreter's
lock up while they run: some wait for work that waits for callbacks in Python.

Source of names, numbers and layouts: the CUDA driver API's reference, ``cuda.h`` of version 12 and later.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from portagpu.backends.driver_caches import secure_driver_caches
from portagpu.errors import NoDeviceError
from portagpu.settings import Settings

_P, _INT, _UINT, _SIZE, _CHARS = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_char_p
_LIBRARIES = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")

SUCCESS, OUT_OF_MEMORY, INVALID_CONTEXT, INVALID_HANDLE, NOT_READY = 0, 2, 201, 400, 600
_TOO_OLD = -1  # no code of CUDA's
LEGACY_STREAM = 1  # the handle of the default stream that waits for others, also where 0 means another one
PER_THREAD_STREAM = 2  # the largest handle that every context has
BLOCKING_SYNC, DISABLE_TIMING = 1, 2  # of events: who waits does not spin; they know no times
CLUSTER_DIMENSION, PROGRAMMATIC_STREAM_SERIALIZATION = 4, 6  # launch attributes

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (_UINT,),
    "cuDeviceGetCount": (_P,),
    "cuDeviceGetByPCIBusId": (_P, _CHARS),
    "cuDeviceGetAttribute": (_P, _INT, _INT),
    "cuDevicePrimaryCtxGetState": (_INT, _P, _P),
    "cuDevicePrimaryCtxRetain": (_P, _INT),
    "cuCtxGetCurrent": (_P,),
    "cuCtxGetDevice": (_P,),
    "cuCtxSetCurrent": (_P,),
    "cuCtxPushCurrent_v2": (_P,),
    "cuCtxPopCurrent_v2": (_P,),
    "cuCtxSynchronize": (),
    "cuStreamCreate": (_P, _UINT),
    "cuStreamDestroy_v2": (_P,),
    "cuStreamSynchronize": (_P,),
    "cuStreamQuery": (_P,),
    "cuStreamGetCtx": (_P, _P),
    "cuStreamIsCapturing": (_P, _P),
    "cuThreadExchangeStreamCaptureMode": (_P,),
    "cuStreamWaitEvent": (_P, _P, _UINT),
    "cuStreamBeginCapture_v2": (_P, _INT),
    "cuStreamEndCapture": (_P, _P),
    "cuGraphInstantiateWithFlags": (_P, _P, ctypes.c_ulonglong),
    "cuGraphLaunch": (_P, _P),
    "cuGraphDestroy": (_P,),
    "cuGraphExecDestroy": (_P,),
    "cuEventCreate": (_P, _UINT),
    "cuEventDestroy_v2": (_P,),
    "cuEventRecord": (_P, _P),
    "cuEventQuery": (_P,),
    "cuEventSynchronize": (_P,),
    "cuEventElapsedTime": (_P, _P, _P),
    "cuMemAlloc_v2": (_P, _SIZE),
    "cuMemGetAddressRange_v2": (_P, _P, _SIZE),
    "cuMemFree_v2": (_P,),
    "cuMemHostAlloc": (_P, _SIZE, _UINT),
    "cuMemFreeHost": (_P,),
    "cuMemcpyHtoDAsync_v2": (_P, _P, _SIZE, _P),
    "cuMemcpyDtoHAsync_v2": (_P, _P, _SIZE, _P),
    "cuMemcpyDtoDAsync_v2": (_P, _P, _SIZE, _P),
    "cuMemsetD8Async": (_P, ctypes.c_ubyte, _SIZE, _P),
    "cuPointerGetAttribute": (_P, _INT, _P),
    "cuModuleLoadDataEx": (_P, _P, _UINT, _P, _P),
    "cuModuleUnload": (_P,),
    "cuModuleGetFunction": (_P, _P, _CHARS),
    "cuFuncGetAttribute": (_P, _INT, _P),
    "cuFuncSetAttribute": (_P, _INT, _INT),
    "cuLaunchKernelEx": (_P, _P, _P, _P),
}


class CudaError(Exception):
    """A call of CUDA's driver failed; ``code`` is CUDA's number, ``routine`` the function."""

    def __init__(self, code: int, routine: str) -> None:
        super().__init__(f"{routine}: {_name_of(code)} ({code})")
        self.code, self.routine = code, routine


class Library:
    """The functions under their names without ``cu``: they raise `CudaError`, those of `raw` return codes."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._loaded = loaded
        self._known: dict[str, Any] = {}

    def raw(self, name: str) -> Any:
        """A function that returns its code."""
        found = getattr(self._loaded, name)
        found.argtypes, found.restype = _FUNCTIONS[name], _INT
        return found

    def __getattr__(self, name: str) -> Callable[..., None]:
        full = f"cu{name}"
        if full not in _FUNCTIONS:
            raise AttributeError(name)
        function = self.raw(full)

        def call(*arguments: Any) -> None:
            code = function(*arguments)
            if code:
                raise CudaError(code, full)

        setattr(self, name, call)
        return call

    def handle(self, name: str, *arguments: Any) -> int:
        """What a function hands out through its first argument: a handle, or an address."""
        made = _P()
        getattr(self, name)(ctypes.byref(made), *arguments)
        return made.value or 0

    def handle_of(self, name: str, owner: int) -> int:
        """What a function hands out through its second argument."""
        made = _P()
        getattr(self, name)(owner, ctypes.byref(made))
        return made.value or 0

    def number(self, name: str, *arguments: Any) -> int:
        """The int that a function writes through its first argument."""
        made = _INT()
        getattr(self, name)(ctypes.byref(made), *arguments)
        return made.value


@cache
def _loaded() -> ctypes.CDLL | None:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


@cache
def _started(process: int) -> Library | int:
    """The library, or the code with which it does not start, `_TOO_OLD` where it lacks functions.

    A forked child has none of its parent's.
    """
    loaded = _loaded()
    assert loaded is not None
    if not all(hasattr(loaded, name) for name in _FUNCTIONS):
        return _TOO_OLD
    secure_driver_caches(Settings.from_environment(), os.environ)
    library = Library(loaded)
    try:
        library.Init(0)
    except CudaError as error:
        return error.code
    return library


def library() -> Library:
    """CUDA's driver, started. Raises `NoDeviceError` where there is none."""
    if _loaded() is None:
        raise NoDeviceError(
            "the back end `cuda` needs a driver of CUDA, and none is installed",
            hint="install the card's driver, which brings libcuda.so.1; PORTAGPU_BACKEND=opencl runs without it",
        )
    found = _started(os.getpid())
    if found == _TOO_OLD:
        raise NoDeviceError(
            "the card's driver is older than CUDA 11.8, whose functions the back end `cuda` calls",
            hint="install driver 520 or later; PORTAGPU_BACKEND=opencl runs with older ones",
        )
    if isinstance(found, int):
        raise NoDeviceError(
            f"CUDA's driver does not start: {_name_of(found)} ({found})",
            hint="the program nvidia-smi of the driver tells whether it sees the card",
        )
    return found


def is_there() -> bool:
    """Whether CUDA's driver is installed and starts; raises nothing."""
    return _loaded() is not None and not isinstance(_started(os.getpid()), int)


def _name_of(code: int) -> str:
    loaded, text = _loaded(), _CHARS()
    if loaded is None or loaded.cuGetErrorName(_INT(code), ctypes.byref(text)) or text.value is None:
        return "unknown error"
    return text.value.decode()


class LaunchAttribute(ctypes.Structure):
    """``CUlaunchAttribute``; of its values, the extents of a cluster."""

    _fields_ = (("id", _UINT), ("pad", _UINT), ("x", _UINT), ("y", _UINT), ("z", _UINT), ("rest", _UINT * 13))


class LaunchConfig(ctypes.Structure):
    """``CUlaunchConfig``."""

    _fields_ = (
        ("grid_x", _UINT),
        ("grid_y", _UINT),
        ("grid_z", _UINT),
        ("block_x", _UINT),
        ("block_y", _UINT),
        ("block_z", _UINT),
        ("shared_bytes", _UINT),
        ("stream", _P),
        ("attributes", _P),
        ("attribute_count", _UINT),
    )
