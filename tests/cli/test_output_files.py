"""Files that commands write, which need not be files."""

from __future__ import annotations

import os
import stat
import threading

import pytest

from portagpu.files import write_atomically


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipes_are_written_to_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"text")
    reader.join()
    assert read == [b"text"] and stat.S_ISFIFO(pipe.stat().st_mode)
