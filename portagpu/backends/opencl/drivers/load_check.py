"""Loads one OpenCL driver library in a process of its own and says what it offers, as one line of JSON.

Run as a plain script (``python -I load_check.py LIBRARY RESULT_FILE``), with the standard library alone: a library that
crashes or hangs while it is loaded takes down this process instead of the user's.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable

_PLATFORM_NAME = 0x0902
_PLATFORM_VERSION = 0x0901
_ALL_DEVICES = 0xFFFFFFFF
_DEVICE_NAME = 0x102B


def inspect(library: str) -> dict[str, object]:
    """Load ``library`` and list its platforms: ``{"error", "path", "platforms": [{"name", "version", "devices"}]}``."""
    try:
        handle = ctypes.CDLL(library)
    except OSError as failure:
        return {"error": str(failure), "path": None, "platforms": []}
    path = _mapped_path(library)
    try:
        address = handle.clGetExtensionFunctionAddress
    except AttributeError:
        error = "the library has no clGetExtensionFunctionAddress: not an OpenCL driver"
        return {"error": error, "path": path, "platforms": []}
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    entry = address(b"clIcdGetPlatformIDsKHR")
    if not entry:
        return {"error": "the library does not support cl_khr_icd", "path": path, "platforms": []}
    get_platforms = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)(entry)
    ids, code = _list(get_platforms)
    if not ids:
        return {"error": f"the driver lists no platform (code {code})", "path": path, "platforms": []}
    return {"error": None, "path": path, "platforms": [_platform(handle, ctypes.c_void_p(one)) for one in ids]}


def _list(function: Callable[..., int], *leading: object) -> tuple[list[int], int]:
    count = ctypes.c_uint32(0)
    code = function(*leading, 0, None, ctypes.byref(count))
    if code != 0 or count.value == 0:
        return [], int(code)
    ids = (ctypes.c_void_p * count.value)()
    code = function(*leading, count.value, ids, None)
    return [one for one in ids if one], int(code)


def _platform(handle: ctypes.CDLL, platform: ctypes.c_void_p) -> dict[str, object]:
    # Platform and device ids start with a pointer to the dispatch table: entries 1, 2 and 3 are
    # clGetPlatformInfo, clGetDeviceIDs and clGetDeviceInfo. Drivers need not export these names.
    table = ctypes.cast(platform, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p)))[0]
    info = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p
    )
    device_ids = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p
    )
    platform_info, device_info = info(table[1] or 0), info(table[3] or 0)
    devices, _ = _list(device_ids(table[2] or 0), platform, _ALL_DEVICES)
    return {
        "name": _text(platform_info, platform, _PLATFORM_NAME),
        "version": _text(platform_info, platform, _PLATFORM_VERSION),
        "devices": [_text(device_info, ctypes.c_void_p(one), _DEVICE_NAME) for one in devices],
    }


def _text(function: Callable[..., int], handle: ctypes.c_void_p, what: int) -> str:
    buffer = ctypes.create_string_buffer(4096)
    code = function(handle, what, len(buffer), buffer, None)
    return buffer.value.decode("utf-8", "replace").strip() if code == 0 else ""


def _mapped_path(library: str) -> str | None:
    """The file that was really loaded, from the process's memory map."""
    base = os.path.basename(os.path.realpath(library)) if os.sep in library else library
    stem = base.split(".so")[0]
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                path = line.split(maxsplit=5)[-1].strip()
                if path.startswith("/") and os.path.basename(path).startswith(stem + ".so"):
                    return os.path.realpath(path)
    except OSError:
        pass
    return os.path.realpath(library) if os.path.exists(library) else None


if __name__ == "__main__":
    # The answer goes through a file: a driver may write to standard output while it starts.
    with open(sys.argv[2], "w", encoding="utf-8") as result:
        json.dump(inspect(sys.argv[1]), result)
    os._exit(0)  # a driver's exit handlers are none of our business
