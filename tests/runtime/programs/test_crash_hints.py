"""Where a kernel ends the process, standard error says how to find the line: in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from portagpu.device import DeviceType
from portagpu.runtime.execution.crash_hint import HINT

PROGRAM = """
import sys
import numpy as np
from portagpu import cuda

@cuda.jit
def far_outside(x):
    x[cuda.grid(1) + 1000000000] = 1

x = np.zeros(32)
far_outside.specialize(x)
if sys.argv[1] == "kernel":
    far_outside[1, 32](x)
    cuda.synchronize()
"""


def run(device, path, what, **environment):
    path.write_text(PROGRAM)
    values = os.environ | {"PORTAGPU_DEVICE": str(device.index), "PORTAGPU_WARNINGS": "1"} | environment
    return subprocess.run([sys.executable, path, what], env=values, capture_output=True, text=True, timeout=120)


@pytest.fixture
def program(device, tmp_path):
    if device.device_type is not DeviceType.CPU:
        pytest.skip("an access out of bounds ends no process there")
    return tmp_path / "program.py"


def test_a_hint_where_a_kernel_ends_the_process(device, program):
    ended = run(device, program, "kernel")
    assert ended.returncode == -signal.SIGSEGV
    assert HINT in ended.stderr and "program.py" in ended.stderr


def test_no_hint_where_nobody_wants_one(device, program):
    ended = run(device, program, "kernel", PORTAGPU_WARNINGS="0")
    assert ended.returncode == -signal.SIGSEGV and HINT not in ended.stderr


def test_nothing_is_written_at_a_quiet_end(device, program):
    ended = run(device, program, "nothing")
    assert ended.returncode == 0 and ended.stderr == ""
