"""Temporary folders that go with the process that made them: for what no cache takes."""

from __future__ import annotations

import atexit
import os
import shutil
from pathlib import Path


def remove_at_exit(folder: Path) -> None:
    """Remove a folder at the end of this process, and not of one that was forked from it."""
    atexit.register(_remove, folder, os.getpid())


def _remove(folder: Path, creator: int) -> None:
    if os.getpid() == creator:
        shutil.rmtree(folder, ignore_errors=True)
