"""Programs that end while callbacks are still to come."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("callback", ["lambda *a: print('called')", "lambda *a: 1 / 0", "lambda: None"])
def test_a_callback_at_the_end(device, callback):
    """The program waits for it, and ends as always, also where the callback fails."""
    text = f"from portagpu import cuda\ncuda.stream().add_callback({callback})\nprint('end')\n"
    env = os.environ | {"PORTAGPU_DEVICE": str(device.index)}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert "end" in done.stdout
    assert "called" in done.stdout or "called" not in callback
