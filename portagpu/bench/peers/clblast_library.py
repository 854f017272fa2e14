"""CLBlast's shared library, found and named, and the parameters of its kernels, read and replaced.

The C interface is CLBlast's documented one (doc/api.md of its releases); Debian's package libclblast1 has the library.
Parameters are of the process: `State` says for each call which ones it is with, and replaces them where they are
others. That takes microseconds: CLBlast keeps the programs of all parameters that it was called with.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from portagpu.errors import UnsupportedError

_NAMES = ("libclblast.so.1", "libclblast.so", "clblast.dll", "libclblast.dylib")
PRECISIONS = {"float32": 32, "float64": 64}
Kernels = Mapping[str, Mapping[str, int]]
"""Parameters by name, by kernel."""


@cache
def opened() -> ctypes.CDLL | None:
    """The library, if it is installed."""
    for name in _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


@cache
def label() -> str:
    """The implementation's name in tables: with the version, where the loaded file's name tells it."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "CLBlast"
    found = re.search(r"libclblast\.so\.(\d[\d.]*)$", "\n".join(lines), re.MULTILINE)
    return f"CLBlast {found[1]}" if found else "CLBlast"


class State:
    """The parameters that a device's kernels of a precision have now."""

    def __init__(self, library: ctypes.CDLL, device: int, dtype: str) -> None:
        self._library, self._device, self._precision = library, ctypes.c_void_p(device), PRECISIONS[dtype]
        self._first: dict[str, Mapping[str, int]] = {}
        self._now: Kernels = {}

    def complete(self, kernels: Kernels) -> Kernels:
        """Parameters with those that the library has by itself where they lack one.

        Raises `UnsupportedError` where the library does not tell its own ones: they could not be restored.
        """
        for kernel in kernels:
            if kernel not in self._first:
                self._first[kernel] = _parameters(self._library, self._device, kernel, self._precision)
        return {kernel: {**self._first[kernel], **own} for kernel, own in kernels.items()}

    def use(self, kernels: Kernels) -> None:
        """Let calls that follow have these, complete ones, and all other kernels the library's own."""
        if kernels is self._now:
            return
        for kernel, values in {**{name: self._first[name] for name in self._now}, **kernels}.items():
            names = (ctypes.c_char_p * len(values))(*(name.encode() for name in values))
            numbers = (ctypes.c_size_t * len(values))(*values.values())
            status = self._library.CLBlastOverrideParameters(
                self._device, kernel.encode(), self._precision, ctypes.c_size_t(len(values)), names, numbers
            )
            if status:
                raise RuntimeError(f"CLBlast takes no such parameters of {kernel}: it reports {status}")
        self._now = kernels

    def using(self, kernels: Kernels, call: Callable[[], None]) -> Callable[[], None]:
        """The call with these parameters, whatever others use meanwhile."""

        def enqueue() -> None:
            if self._now is not kernels:
                self.use(kernels)
            call()

        return enqueue


OWN: Kernels = {}
"""The parameters that the library comes with."""


@cache
def state(device: int, dtype: str) -> State:
    """The one state of a device's kernels; ``device`` is OpenCL's handle."""
    library = opened()
    assert library is not None
    made = State(library, device, dtype)
    made.use(OWN)
    return made


# the parameters are told by C++ only ----------------------------------------------------------------------------------

_RETRIEVE = (
    "_ZN7clblast18RetrieveParametersEP13_cl_device_idRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS_9Precision"
    "ERSt13unordered_mapIS7_mSt4hashIS7_ESt8equal_toIS7_ESaISt4pairIS8_mEEE"
)


class _String(ctypes.Structure):
    """``std::string`` as GNU's library lays it out since 2015, on which the function's name above insists."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("room", ctypes.c_char * 16))


class _Node(ctypes.Structure):
    """An element of a map."""

    _fields_ = (("next", ctypes.c_void_p), ("name", _String), ("value", ctypes.c_size_t))


class _Map(ctypes.Structure):
    """``std::unordered_map`` of the same library."""

    _fields_ = (
        ("buckets", ctypes.c_void_p),
        ("bucket_count", ctypes.c_size_t),
        ("first", ctypes.c_void_p),
        ("elements", ctypes.c_size_t),
        ("load", ctypes.c_float),
        ("next_resize", ctypes.c_size_t),
        ("single_bucket", ctypes.c_void_p),
    )


def _parameters(library: ctypes.CDLL, device: ctypes.c_void_p, kernel: str, precision: int) -> dict[str, int]:
    """A kernel's parameters by name. Some hundred bytes that the function makes are never given back."""
    function: Any = getattr(library, _RETRIEVE, None)
    if function is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        raise UnsupportedError("this build of CLBlast does not tell its parameters, so that none can be restored")
    text = ctypes.create_string_buffer(kernel.encode())
    name = _String(data=ctypes.addressof(text), size=len(kernel))
    found = _Map(bucket_count=1, load=1.0)
    found.buckets = ctypes.addressof(found) + _Map.single_bucket.offset
    status = function(device, ctypes.byref(name), ctypes.c_int(precision), ctypes.byref(found))
    if status:
        raise RuntimeError(f"CLBlast does not tell the parameters of {kernel}: it reports {status}")
    parameters: dict[str, int] = {}
    at = found.first
    while at:
        node = _Node.from_address(at)
        parameters[ctypes.string_at(node.name.data, node.name.size).decode()] = node.value
        at = node.next
    return parameters


__all__ = ["OWN", "PRECISIONS", "Kernels", "State", "label", "opened", "state"]
