"""``python -m portagpu.accelerate``: a program sees what ``python`` shows it, and a report follows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import atexit, sys, threading, time
import numpy as np
print(__name__, __file__, sys.argv, sys.path[0], __spec__, __builtins__.__name__, sorted(vars()))
assert sys.modules["__main__"].__dict__ is globals()
atexit.register(print, "at the end", flush=True)
a = np.ones((20, 30), np.float32)
def later():
    time.sleep(0.2)
    np.dot(a, a.T)
threading.Thread(target=later).start()
print((a @ a.T)[0, 0], flush=True)
exec(sys.argv[1])
"""


def run(device, *arguments, folder):
    environment = {**os.environ, "PORTAGPU_DEVICE": str(device.index)}
    found = filter(None, [os.environ.get("PYTHONPATH")])
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), *found])
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=folder)


@pytest.fixture
def folder(tmp_path):
    Path(tmp_path, "program.py").write_text(PROGRAM)
    Path(tmp_path, "wrong.py").write_text("def f(:\n")
    return tmp_path


ENDS = {
    "": 0,
    "sys.exit(7)": 7,
    "raise SystemExit('some text')": 1,
    "1 / 0": 1,
    "sys.excepthook = lambda kind, error, traceback: print('mine', traceback.tb_lineno); 1 / 0": 1,
    "import os, signal; os.kill(os.getpid(), signal.SIGINT); time.sleep(9)": -signal.SIGINT,
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.one_device
def test_a_program_sees_what_python_shows_it(end, device, folder):
    plain = run(device, "program.py", end, "--option", folder=folder)
    found = run(device, "-m", "portagpu.accelerate", "--threshold", "0", "program.py", end, "--option", folder=folder)
    assert plain.returncode == found.returncode == ENDS[end]
    assert found.stdout == plain.stdout and "at the end" in found.stdout
    errors, _, report = found.stderr.partition("accelerate: ")
    assert errors == plain.stderr
    assert "taken over: 2 calls" in report and "numpy.dot " in report and "numpy.matmul, @ " in report


@pytest.mark.one_device
def test_a_program_with_a_wrong_syntax(device, folder):
    plain = run(device, "wrong.py", folder=folder)
    found = run(device, "-m", "portagpu.accelerate", "--no-report", "wrong.py", folder=folder)
    assert (found.returncode, found.stderr) == (plain.returncode, plain.stderr)


@pytest.mark.one_device
def test_a_module(device, folder):
    found = run(device, "-m", "portagpu.accelerate", "-m", "program", "x = 3", folder=folder)
    assert found.returncode == 0 and "accelerate: " in found.stderr
    assert found.stdout.startswith(f"__main__ {folder / 'program.py'} ['{folder / 'program.py'}', 'x = 3'] {folder}")


@pytest.mark.thorough
@pytest.mark.one_device
def test_what_cannot_be_run(device, folder):
    def said(*arguments):
        done = run(device, "-m", "portagpu.accelerate", *arguments, folder=folder)
        return done.returncode, done.stderr

    assert said("nothing.py") == (2, "error: 'nothing.py' cannot be read: No such file or directory\n")
    assert said("-m", "nothing_there") == (1, "error: No module named nothing_there can be run\n")
    assert said("--threshold", "-1", "program.py")[1].startswith("error: threshold=-1.0 is no number of operations")
    assert said("--device", "no such", "program.py")[1].startswith("error: no device matches 'no such'")
    assert said()[0] == 2 and "Missing argument" in said()[1]
    assert said("--help")[0] == 0
