"""The C functions of the shim, and errors of theirs as exceptions."""

from __future__ import annotations

import ctypes
import os
import threading
from enum import Enum
from typing import Any

from portagpu.backends.driver_caches import secure_driver_caches
from portagpu.backends.sycl.announcement import INSTALL
from portagpu.backends.sycl.drivers.installed import adapt_environment, find_runtime
from portagpu.backends.sycl.shim_build import shim_library
from portagpu.errors import DeviceSelectionError, DriverError
from portagpu.settings import Settings

_P, _L, _I, _N, _S = ctypes.c_void_p, ctypes.c_long, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
_PROTOTYPES: dict[str, tuple[Any, ...]] = {  # the result's type, then those of the arguments
    "pg_devices": (_L, _P, _L),
    "pg_describe": (_L, _P, _P, _L),
    "pg_default_context": (_P, _P),
    "pg_context_of": (_P, _P),
    "pg_device_of": (_P, _P),
    "pg_device_of_context": (_P, _P),
    "pg_copy_context": (_P, _P),
    "pg_copy_device": (_P, _P),
    "pg_copy_queue": (_P, _P),
    "pg_give_event": (_P, _P),
    "pg_give_queue": (_P, _P),
    "pg_hash_device": (_N, _P),
    "pg_hash_context": (_N, _P),
    "pg_hash_queue": (_N, _P),
    "pg_drop_device": (None, _P),
    "pg_drop_context": (None, _P),
    "pg_error_text": (_S,),
    "pg_error_code": (_I,),
    "pg_living": (_L, _I),
    "pg_queue": (_P, _P, _P, _I),
    "pg_drop_queue": (None, _P),
    "pg_is_in_order": (_I, _P),
    "pg_measures": (_I, _P),
    "pg_finish": (_I, _P),
    "pg_barrier": (_I, _P, _P, _L, _P),
    "pg_wait": (_I, _P),
    "pg_is_done": (_I, _P),
    "pg_end_time": (_I, _P, _P),
    "pg_drop_event": (None, _P),
    "pg_allocate": (_P, _P, _P, _N, _N, _I),
    "pg_free": (_I, _P, _P),
    "pg_memory_kind": (_I, _P, _P),
    "pg_copy": (_I, _P, _P, _P, _N, _P, _L, _P),
    "pg_fill": (_I, _P, _P, _I, _N, _P, _L, _P),
    "pg_compile": (_P, _P, _P, _S, _S, _S, _P),
    "pg_drop_text": (None, _P),
    "pg_load": (_P, _P, _P, _S, _N, _S),
    "pg_binary": (_L, _P, _P, _N),
    "pg_drop_program": (None, _P),
    "pg_kernel": (_P, _P, _S),
    "pg_layout": (_P, _P, _P, _L),
    "pg_drop_kernel": (None, _P),
    "pg_max_threads": (_L, _P, _P),
    "pg_preferred_multiple": (_L, _P, _P),
    "pg_private_bytes": (_L, _P, _P),
    "pg_launch": (_I, _P, _P, _I, _P, _P),
    "pg_launch_behind": (_I, _P, _P, _I, _P, _P, _P, _L, _P),
}


class Living(Enum):
    """Kinds of objects of the library's that the shim counts; see ``common.hpp``."""

    DEVICE = 0
    CONTEXT = 1
    QUEUE = 2
    EVENT = 3
    PROGRAM = 4
    KERNEL = 5


class SyclError(Exception):
    """What the SYCL run time raised; ``code`` is a number of `sycl::errc`, or below zero."""

    MEMORY = 9
    PROFILING = 11

    def __init__(self, text: str, code: int = -2) -> None:
        super().__init__(" ".join(text.split()))
        self.code = code


class Library:
    """The loaded shim: its functions are attributes."""

    def __init__(self, path: str) -> None:
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            raise DriverError(
                f"the SYCL run time cannot be loaded: {error}", hint=f"{INSTALL} brings one with all its parts"
            ) from error
        for name, (result, *arguments) in _PROTOTYPES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def failure(self) -> SyclError:
        """The error of this thread's latest call, which has failed."""
        return SyclError(self.pg_error_text().decode(errors="replace"), self.pg_error_code())

    def check(self, status: int) -> int:
        """The status of a call. Raises `SyclError` where it has failed."""
        if status < 0:
            raise self.failure()
        return status

    def made(self, address: int | None) -> int:
        """The address of what a call has made. Raises `SyclError` where it made nothing."""
        if not address:
            raise self.failure()
        return address

    def living(self, kind: Living) -> int:
        """How many objects of a kind the shim has handed out and not got back."""
        return int(self.pg_living(kind.value))


_lock = threading.Lock()
_library: Library | None = None


def library(settings: Settings | None = None) -> Library:
    """The shim, compiled and loaded at the first call, and with it the SYCL run time.

    Raises `DeviceSelectionError` without a run time, `MissingCompilerError`, `BuildError`, `DriverError`.
    """
    global _library
    with _lock:
        if _library is None:
            runtime = find_runtime()
            if runtime is None:
                raise DeviceSelectionError("the SYCL run time is not installed", hint=INSTALL)
            adapt_environment(runtime)
            settings = settings or Settings.from_environment()
            secure_driver_caches(settings, os.environ)
            _library = Library(str(shim_library(runtime, settings)))
        return _library
