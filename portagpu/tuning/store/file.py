"""The file of a store on disk: its path, its lock, and what to do where it cannot be written."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from portagpu.errors import StoreError
from portagpu.files import user_path, write_atomically
from portagpu.private_files import check_regular, make_folder, open_regular

MOST_BYTES = 256 * 1024 * 1024  # of a store that is read
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


def check_link(path: Path) -> None:
    """Raise `PermissionError` for a link that another user has made: a link of one's own leads where one wants."""
    try:
        status = os.lstat(path)
    except OSError:
        return
    if stat.S_ISLNK(status.st_mode) and status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it is a link that another user has made", str(path))


@contextmanager
def reading(path: Path) -> Iterator[int]:
    """The file, open for reading. Raises `OSError`, also for what is no regular file."""
    check_link(path)
    with open_regular(path, MOST_BYTES, follow=True) as handle:
        yield handle


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """The file, open for appending, while nobody else writes to it."""
    make_folder(path.parent)
    while True:
        check_link(path)
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            check_regular(handle, path, MOST_BYTES)
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
