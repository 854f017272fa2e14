"""A process that compiles OpenCL programs for another one, and may die of it.

Run as a file, without site-packages: ``python -I -S build_child.py LIBRARY PARENT DEVICE_KEY``. It starts in 60 ms,
since it imports nothing but ctypes: ``LIBRARY`` is one through which OpenCL's functions are found. Requests come by
the standard input, each with the lengths of its two parts before them: options and source. The answer has OpenCL's
status, what the compiler said and the binary. It ends with its input, with its parent, and after a minute without work.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __name__ != "__main__":
    from portagpu.backends.build_protocol import NO_DEVICE, own_output, prepare, serve
else:  # the package's own modules take ten times as long to import
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from build_protocol import NO_DEVICE, own_output, prepare, serve

_PLATFORM_NAME, _DEVICE_NAME, _DRIVER_VERSION = 0x0902, 0x102B, 0x102D
_BUILD_LOG, _BINARY_SIZES, _BINARIES = 0x1183, 0x1165, 0x1166
_ALL_DEVICES = 0xFFFFFFFF
_Pointer = ctypes.c_void_p


class Refusal(Exception):
    """OpenCL's error code."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class OpenCL:
    """The few functions that a build needs."""

    def __init__(self, library: str) -> None:
        if sys.platform == "win32":
            self._library: ctypes.CDLL = ctypes.WinDLL(library)
        else:
            self._library = ctypes.CDLL(library)
        for name in ("clCreateContext", "clCreateProgramWithSource"):
            self._function(name).restype = _Pointer

    def _function(self, name: str) -> Any:
        return getattr(self._library, name)

    def call(self, name: str, *arguments: Any) -> None:
        """A function that returns its status. Raises `Refusal`."""
        status = self._function(name)(*arguments)
        if status:
            raise Refusal(status)

    def make(self, name: str, *arguments: Any) -> Any:
        """A function that returns an object and takes a pointer for its status last. Raises `Refusal`."""
        status = ctypes.c_int()
        made = self._function(name)(*arguments, ctypes.byref(status))
        if status.value:
            raise Refusal(status.value)
        return _Pointer(made)

    def info(self, name: str, *which: Any) -> bytes:
        """What one of the functions clGet...Info tells."""
        size = ctypes.c_size_t()
        self.call(name, *which, ctypes.c_size_t(0), None, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(1, size.value))
        self.call(name, *which, size, buffer, None)
        return buffer.raw[: size.value]

    def listed(self, name: str, *which: Any) -> list[Any]:
        """What one of the functions clGet...IDs lists; nothing where it fails."""
        count = ctypes.c_uint()
        if self._function(name)(*which, 0, None, ctypes.byref(count)) or not count.value:
            return []
        found = (_Pointer * count.value)()
        self.call(name, *which, count, found, None)
        return [_Pointer(each) for each in found]

    def device(self, key: str) -> Any:
        """The first device with this key (`DeviceIdentity.key`), or None."""
        for platform in self.listed("clGetPlatformIDs"):
            name = _words(self.info("clGetPlatformInfo", platform, _PLATFORM_NAME))
            for device in self.listed("clGetDeviceIDs", platform, ctypes.c_uint64(_ALL_DEVICES)):
                texts = [_words(self.info("clGetDeviceInfo", device, w)) for w in (_DEVICE_NAME, _DRIVER_VERSION)]
                if "|".join((name, *texts)) == key:
                    return device
        return None

    def built(self, context: Any, device: Any, options: bytes, source: bytes) -> tuple[int, bytes, bytes]:
        """Status, what the compiler said, and the binary of a program."""
        text, length = ctypes.c_char_p(source), ctypes.c_size_t(len(source))
        program = self.make("clCreateProgramWithSource", context, 1, ctypes.byref(text), ctypes.byref(length))
        try:
            devices = (_Pointer * 1)(device)
            status = self._function("clBuildProgram")(program, 1, devices, options, None, None)
            said = self.info("clGetProgramBuildInfo", program, device, _BUILD_LOG).rstrip(b"\0")
            return status, said, b"" if status else self._binary(program)
        finally:
            self._function("clReleaseProgram")(program)

    def _binary(self, program: Any) -> bytes:
        (size,) = struct.unpack("N", self.info("clGetProgramInfo", program, _BINARY_SIZES))
        buffer = ctypes.create_string_buffer(max(1, size))
        place = (_Pointer * 1)(ctypes.addressof(buffer))
        self.call("clGetProgramInfo", program, _BINARIES, ctypes.c_size_t(ctypes.sizeof(place)), place, None)
        return buffer.raw[:size]


def _words(text: bytes) -> str:
    return " ".join(text.decode(errors="replace").replace("\0", " ").split())


def main(library: str, parent: int, key: str) -> int:
    """Serve until nobody asks; the exit status."""
    prepare(parent)
    answers = own_output()
    opencl = OpenCL(library)
    device = opencl.device(key)
    if device is None:
        return NO_DEVICE
    devices = (_Pointer * 1)(device)
    context = opencl.make("clCreateContext", None, 1, devices, None, None)

    def compiled(options: bytes, source: bytes) -> tuple[int, bytes, bytes]:
        try:
            return opencl.built(context, device, options, source)
        except Refusal as refusal:
            return refusal.status, b"", b""

    serve(compiled, answers)
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    os._exit(status)  # some drivers crash in their exit handlers after all is done
