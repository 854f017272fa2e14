"""NumPy's functions of device arrays are loaded when the first one is asked for, by whichever thread that is."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import threading, numpy as np
from portagpu import cuda

x = cuda.to_device(np.arange(8, dtype=np.float32))
ready, failed = threading.Barrier(4), []

def run(operation):
    ready.wait()
    try:
        operation()
    except BaseException as error:
        failed.append(repr(error))

operations = [lambda: x + 1, lambda: np.sort(x), lambda: x.sum(), lambda: np.concatenate([x, x])]
threads = [threading.Thread(target=run, args=(operation,)) for operation in operations]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failed)
"""


@pytest.mark.thorough
def test_four_threads_begin_at_once():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
