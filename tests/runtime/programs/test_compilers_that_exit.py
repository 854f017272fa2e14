"""A compiler that ends its process in order, by ``exit``, has died like one that crashes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from portagpu.backends import build_protocol
from portagpu.backends.build_process import Builders, CompilerDied, NoBuilder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="exit statuses are told from signals on POSIX alone")
_CHILD = f"""
import os, sys
sys.path.append({str(Path(build_protocol.__file__).parent)!r})
from build_protocol import own_output, prepare, serve

def compiled(options, source):
    if source == b"fine":
        return 0, b"said", b"binary"
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
