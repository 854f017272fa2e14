"""Kernels that may never end are told of: in a process of their own, which is then killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from portagpu.device import DeviceType
from portagpu.settings import Settings

HANGS = """
import numpy as np
from portagpu import cuda

@cuda.jit
def waits_for_the_next(ready, out):
    t = cuda.threadIdx.x
    done = 0
    while done < 1:
        if t == cuda.blockDim.x - 1 or cuda.atomic.add(ready, t + 1, 0) > 0:
            cuda.atomic.add(ready, t, 1)
            done += 1
    out[t] = 1

@cuda.jit
def takes_a_lock(lock, out):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    out[0] += 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)

out = np.zeros(4, np.int32)
for _ in range(3):
    takes_a_lock[8, 1](np.zeros(1, np.int32), out)
print("locks", out[0], flush=True)
waits_for_the_next[1, 4](np.zeros(5, np.int32), out)
print("ended", flush=True)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "hangs.py"
    path.write_text(HANGS)
    return path


PATIENCE = 120  # seconds


def told_by(program, device, path):
    """The first line that a hanging program writes to standard error, and all that it printed."""
    watched = {"PORTAGPU_WARNINGS": "1", "PORTAGPU_HANG_SECONDS": "0.3"}
    env = os.environ | watched | {"PORTAGPU_DEVICE": str(device.index)}
    errors, printed = path / "errors.txt", path / "printed.txt"
    with errors.open("w") as stderr, printed.open("w") as stdout:
        child = subprocess.Popen([sys.executable, str(program)], stdout=stdout, stderr=stderr, env=env)
    try:
        end = time.monotonic() + PATIENCE
        while "\n" not in errors.read_text() and child.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        child.kill()
        child.wait()
    return errors.read_text().partition("\n")[0], printed.read_text()


def test_a_wait_for_a_later_thread_is_told(device, program, tmp_path):
    if device.capabilities.device_type is not DeviceType.CPU or "Oclgrind" in device.name:
        pytest.skip("threads of GPUs go on by themselves")
    told, printed = told_by(program, device, tmp_path)
    line = HANGS.partition("    while done")[0].count("\n") + 1
    start = f"{program}:{line}: PortaGPUCorrectnessWarning: the kernel `waits_for_the_next` has not ended"
    assert told.startswith(start), told
    assert "docs/lockstep.md#threads-that-wait-for-a-later-thread" in told
    assert printed == "locks 24\n"


def test_the_setting():
    assert Settings.from_environment({}).hang_seconds == 10
    assert Settings.from_environment({"PORTAGPU_HANG_SECONDS": "0"}).hang_seconds == 0
    assert Settings.from_environment({"PORTAGPU_HANG_SECONDS": "2.5"}).hang_seconds == 2.5


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_settings_that_are_no_seconds(text):
    with pytest.raises(ValueError, match="no number of seconds"):
        Settings.from_environment({"PORTAGPU_HANG_SECONDS": text})
