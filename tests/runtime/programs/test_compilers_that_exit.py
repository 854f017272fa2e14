"""Compilers that end their process in order, by ``exit``, die of what they did before, or do not end at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from portagpu.backends import build_protocol
from portagpu.backends.build_process import Builders, CompilerDied, NoBuilder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="exit statuses are told from signals on POSIX alone")
_CHILD = f"""
import os, sys, time
sys.path.append({str(Path(build_protocol.__file__).parent)!r})
from build_protocol import own_output, prepare, serve

done = []

def compiled(options, source):
    if source == b"endless":
        time.sleep(600)
    if source == b"fine" or (source == b"only alone" and not done):
        done.append(source)
        return 0, b"said", b"binary"
    if source == b"only alone":
        os._exit(7)
    print("the compiler's last words", flush=True)
    os._exit(int(source))

prepare({os.getpid()})
answers = own_output()
if sys.argv[1] == "no device":
    sys.exit(3)
serve(compiled, answers)
"""


@pytest.fixture
def builders():
    """Children without a driver."""
    made = Builders(lambda key: ["-I", "-S", "-c", _CHILD, key])
    yield made
    made.close()


@pytest.mark.parametrize("status", [0, 1, 3, 11, 255])
def test_an_exit_is_a_death(builders, status):
    assert builders.build("key", "fine", ()).binary == b"binary"
    with pytest.raises(CompilerDied, match=f"exit status {status}; .*last words"):
        builders.build("key", str(status), ())
    assert builders.build("key", "fine", ()).said == "said"


def test_an_end_before_the_compiler_is_none(builders):
    with pytest.raises(NoBuilder, match="no such device"):
        builders.build("no device", "fine", ())


def test_a_process_that_has_built_others_is_no_proof(builders):
    for _ in range(2):
        assert builders.build("key", "fine", ()).binary == b"binary"
        assert builders.build("key", "only alone", ()).binary == b"binary"


def test_a_compiler_that_does_not_end_is_ended(builders, monkeypatch):
    monkeypatch.setenv("PORTAGPU_BUILD_SECONDS", "0.5")
    with pytest.raises(CompilerDied, match=r"did not end within 0.5 s \(PORTAGPU_BUILD_SECONDS\)"):
        builders.build("key", "endless", ())
    monkeypatch.setenv("PORTAGPU_BUILD_SECONDS", "0")
    assert builders.build("key", "fine", ()).binary == b"binary"
