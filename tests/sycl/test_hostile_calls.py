"""No call of the library over the SYCL run time ends the process, whatever it is passed: it fails with an error.

Calls are made in a process of their own, which says what it is about to call, so that a test names what ended it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sycl_devices import needs_sycl

pytestmark = [needs_sycl, pytest.mark.one_device]
_ROOT = Path(__file__).parents[2]
_HEAD = """
import ctypes, itertools
import numpy as np
from portagpu.backends.sycl.identity import listed
from portagpu.backends.sycl.library import _PROTOTYPES, SyclError, library
from portagpu.backends.sycl.probing.kernels import BASIC
from portagpu.backends.sycl.probing.workbench import Workbench

lib = library()
found = next(one for one in listed(lib) if one.facts["usm_device"] == one.facts["compiles_sycl"] == "1")
SIZES = (ctypes.c_size_t * 3)(64, 1, 1)

def call(name, *values):
    print(name, values, flush=True)
    result = getattr(lib, name)(*values)
    return result, lib.pg_error_code(), lib.pg_error_text().decode(errors="replace")
"""
_NOTHING = """
extremes = {ctypes.c_int: (0, -1, 2**31 - 1), ctypes.c_long: (0, -1, 2**63 - 1), ctypes.c_size_t: (0, 2**64 - 1)}
silent = {"pg_error_text", "pg_error_code", "pg_living", "pg_devices"}
for name, (result, *arguments) in _PROTOTYPES.items():
    for values in itertools.product(*(extremes.get(kind, (None,)) for kind in arguments)):
        if name == "pg_devices" and values[1] > 0:
            continue  # that it has room nowhere is seen below
        got, code, text = call(name, *values)
        if result is not None and name not in silent:
            assert code < 0 and text, (name, code, text)
            assert got in (None, -1, 0), (name, got)
assert call("pg_devices", None, 5)[1] < 0
"""
_SENSELESS = """
bench = Workbench(lib, found.device)
context, device, queue = bench.context.address, bench.device.address, bench.queue.address
kernel = bench.new_kernel("basic", BASIC, [None])

def refused(name, *values):
    got, code, text = call(name, *values)
    assert code and text and got in (None, -1, 0), (name, got, code, text)

for axes in (-1, 0, 4, 2**31 - 1):
    refused("pg_launch", queue, kernel.address, axes, SIZES, SIZES)
none = (ctypes.c_size_t * 3)(0, 0, 0)
refused("pg_launch", queue, kernel.address, 1, SIZES, none)
refused("pg_launch", queue, kernel.address, 1, SIZES, (ctypes.c_size_t * 3)(48, 1, 1))
refused("pg_launch", queue, kernel.address, 1, SIZES, (ctypes.c_size_t * 3)(2**40, 1, 1))
for layout in ((3, 8), (0, 4), (2, 1), (1, 2**40), (2**63, 8)):
    refused("pg_layout", kernel.address, (ctypes.c_size_t * 2)(*layout), 1)
refused("pg_kernel", kernel._program.address, None)
refused("pg_kernel", kernel._program.address, b"of nobody")
for count in (1, 5):
    refused("pg_barrier", queue, None, count, None)
    refused("pg_copy", queue, None, None, 8, None, count, None)
    refused("pg_barrier", queue, (ctypes.c_void_p * 5)(), count, None)
refused("pg_copy", queue, None, None, 8, None, 0, None)
refused("pg_fill", queue, None, 0, 8, None, 0, None)
refused("pg_load", context, device, b"no binary", 9, b"")
refused("pg_load", context, device, b"", 0, b"")
refused("pg_compile", context, device, None, b"", b"", None)
refused("pg_compile", context, device, b"this is no C++", b"", b"", None)
refused("pg_compile", context, device, b"", b"--of-nobody", b"", None)
for bytes, alignment in ((2**63, 128), (2**62, 1)):
    got, code, text = call("pg_allocate", context, device, bytes, alignment, 0)
    assert not got
host = np.zeros(8)
assert call("pg_memory_kind", host.ctypes.data, context)[0] == 3
# and after all of that it works
x = np.arange(256, dtype=np.int32)
bench.run("basic", BASIC, 256, 64, x)
assert np.array_equal(x, 2 * np.arange(256) + 1)
print("fine")
"""


@pytest.mark.parametrize("program", [_NOTHING, _SENSELESS], ids=["nothing", "senseless"])
def test_calls_fail_with_errors(program):
    done = subprocess.run(
        [sys.executable, "-c", _HEAD + program], cwd=_ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]} {done.stderr[-2000:]}"
