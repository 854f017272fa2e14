"""Temporary folders that are removed however their process ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def own_folder(prefix: str) -> Iterator[Path]:
    """A temporary folder, removed at the end; what killed processes have left of the same prefix is removed before.

    Its process holds a lock on it, which ends with the process, even in another container. The number in its name is
    the process's, for people.
    """
    _sweep(prefix)
    folder, handle = _locked_folder(f"{prefix}{os.getpid()}-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _locked_folder(prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        handle = _lock(folder)
        if handle is not None:
            return folder, handle
        # another process took it for a dead one's, and removes it


def _lock(folder: Path) -> int | None:
    """The locked folder; None where another process has it, or where it is gone."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == folder.stat().st_ino:
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _sweep(prefix: str) -> None:
    named = re.compile(re.escape(prefix) + r"\d+-\w+")
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as found:
        for entry in found:
            if not (named.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)):
                continue
            if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            handle = _lock(Path(entry.path))
            if handle is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(handle)
