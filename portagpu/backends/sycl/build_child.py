"""A process that compiles SYCL programs for another one, and may die of it.

Run as a file, without site-packages: ``python -I -S build_child.py SHIM PARENT DEVICE_KEY``. Options of a request are
lines: those of SYCL's compiler, and after an empty one those of the driver's. See `portagpu.backends.build_protocol`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __name__ != "__main__":
    from portagpu.backends.build_protocol import NO_DEVICE, own_output, prepare, serve
else:  # the package's own modules take ten times as long to import
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from build_protocol import NO_DEVICE, own_output, prepare, serve

REFUSED = 1
_MOST_DEVICES = 256
_MOST_TEXT = 65536
_Pointer = ctypes.c_void_p


def device_of(shim: Any, key: str) -> int | None:
    """The address of the first device whose platform, name and driver version the key has; None without one."""
    found = (_Pointer * _MOST_DEVICES)()
    text = ctypes.create_string_buffer(_MOST_TEXT)
    count = max(0, shim.pg_devices(found, _MOST_DEVICES))
    for address in filter(None, found[:count]):
        shim.pg_describe(_Pointer(address), text, _MOST_TEXT)
        facts = dict(line.split("\t", 1) for line in text.value.decode(errors="replace").splitlines() if "\t" in line)
        if "|".join(" ".join(facts.get(name, "").split()) for name in ("platform", "name", "driver_version")) == key:
            return address
    return None


def main(library: str, parent: int, key: str) -> int:
    """Serve until nobody asks; the exit status."""
    prepare(parent)
    answers = own_output()
    shim = ctypes.CDLL(library)
    for name in ("pg_devices", "pg_describe", "pg_binary"):
        getattr(shim, name).restype = ctypes.c_long
    shim.pg_default_context.restype = shim.pg_compile.restype = _Pointer
    shim.pg_error_text.restype = ctypes.c_char_p
    device = device_of(shim, key)
    if device is None:
        return NO_DEVICE
    place = _Pointer(device)
    context = _Pointer(shim.pg_default_context(place))

    def compiled(options: bytes, source: bytes) -> tuple[int, bytes, bytes]:
        own, _, of_driver = options.rstrip(b"\0").partition(b"\n\n")
        said = _Pointer()
        made = shim.pg_compile(context, place, source, own, of_driver, ctypes.byref(said))
        log = ctypes.string_at(said.value) if said.value else b""
        shim.pg_drop_text(said)
        if not made:
            return REFUSED, shim.pg_error_text() + b"\n" + log, b""
        program = _Pointer(made)
        size = shim.pg_binary(program, None, ctypes.c_size_t(0))
        binary = ctypes.create_string_buffer(max(1, size))
        shim.pg_binary(program, binary, ctypes.c_size_t(max(0, size)))
        shim.pg_drop_program(program)
        return 0, log, binary.raw[: max(0, size)]

    serve(compiled, answers)
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    os._exit(status)  # what drivers do at a process's end is of no use here
