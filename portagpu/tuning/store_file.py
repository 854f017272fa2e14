"""The file of a store on disk: its path, its lock, and what to do where it cannot be written."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from portagpu.errors import StoreError
from portagpu.files import user_path, write_atomically

_ELSEWHERE = "name another file (store=), or another folder for all results (PORTAGPU_DATA_DIR)"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_FOLDER = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EISDIR})


def path_of(path: Path | str) -> Path:
    """The path that a user gave. Raises `StoreError` for what is none."""
    given: Any = path  # whatever a user gave
    if not isinstance(given, str | os.PathLike):
        raise StoreError(f"{given!r} is no file", hint="give the path of a file of tuning results")
    return user_path(given)


def seen(status: os.stat_result) -> tuple[int, int]:
    """What tells whether a file is another one, or has grown."""
    return status.st_ino, status.st_size


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, also where it is not there yet."""
    return os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """The file, open for appending, while nobody else writes to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not path.exists() or os.fstat(handle).st_ino != path.stat().st_ino:
                continue  # it was compacted or deleted meanwhile
            yield handle
            return
        finally:
            os.close(handle)


def replaced(path: Path, lines: Iterable[bytes]) -> None:
    """Put lines in the place of the file. Raises `StoreError`."""
    try:
        write_atomically(path, b"".join(lines))
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> StoreError:
    """The error for a file that cannot be written."""
    hint = _ELSEWHERE
    if error.errno in _FULL:
        hint = f"make room, or {_ELSEWHERE}"
    elif error.errno in _NO_FOLDER:
        hint = f"its folder is none, or cannot be made: {_ELSEWHERE}"
    return StoreError(f"{path} cannot be written: {error}", hint=hint)
