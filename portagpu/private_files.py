"""Files of one user, in folders of nobody else: what caches keep, and others must not choose.

Cached programs are native code. So an entry counts only where it is a regular file of this user's (or of root's, who
needs no cache to run code) that nobody else may write, in a folder of which the same holds; links among entries are
not followed, pipes and devices not waited for, and nothing is read beyond a stated size. All of that is asked of what
was opened, not of a path, which may lead elsewhere a moment later. The way to the folder is the user's: it may lead
over links. Drivers and loaders open paths, and check nothing: for them `check_path` looks at the whole way.

Folders are made with mode 0700, files with 0600. What cannot be trusted or written raises `OSError`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_POSIX = hasattr(os, "geteuid") and os.open in os.supports_dir_fd
_OPENED = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NOCTTY", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # opening a pipe waits for its other end
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0
_LONGEST = 60  # characters, of up to four bytes
_MOST_LINKS = 40  # on the way to a folder, as in the kernel
MOST_JSON = 4 * 1024 * 1024  # bytes of a file with an object of JSON


def read_private(path: Path, most: int) -> bytes:
    """What a file of this user's own holds. Raises `OSError` for others, and for more than ``most`` bytes."""
    with _folder(path.parent) as folder, open_regular(path, most, folder=folder) as handle:
        if _POSIX:
            _check_owner(os.fstat(handle), path)
        return _read(handle, most, path)


def write_private(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Put a file in the place of what has its name, a link too. Makes its folder. Raises `OSError`.

    Not ``durable``: where the machine fails soon after, it may be damaged, which whoever reads it is able to tell.
    """
    make_folder(path.parent)
    with _folder(path.parent, to_write=True) as folder:
        name, temporary = path.name, unfinished_name(path.name)
        handle = os.open(_at(path.with_name(temporary), folder), _creating(), 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            _replace(path, temporary, name, folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(_at(path.with_name(temporary), folder), dir_fd=folder)
            raise


def unfinished_name(name: str) -> str:
    """The name of a file until it is written; of a long name the end, as names have at most 255 bytes."""
    return f".{name[-_LONGEST:]}.{secrets.token_hex(6)}"


def read_private_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file of this user's own; None where there is none that can be trusted and understood."""
    try:
        value = json.loads(read_private(path, MOST_JSON))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def touch_private(path: Path) -> None:
    """Note that a file was used. Raises `OSError`."""
    with _folder(path.parent, to_write=True) as folder:
        if folder is None:
            os.utime(path)
        else:
            os.utime(path.name, dir_fd=folder, follow_symlinks=False)


@contextlib.contextmanager
def private_folder(path: Path) -> Iterator[int | None]:
    """A folder of this user's own, made if need be, as a descriptor; None where the system has no such things.

    Raises `OSError`.
    """
    make_folder(path)
    with _folder(path, to_write=True) as folder:
        yield folder


@contextlib.contextmanager
def open_regular(path: Path, most: int, *, folder: int | None = None, follow: bool = False) -> Iterator[int]:
    """A file opened for reading that is none of what could wait or have no end.

    Raises `OSError` for links without ``follow``, pipes, devices and folders, and for more than ``most`` bytes.
    """
    flags = os.O_RDONLY | _AT_ONCE | (_OPENED & ~getattr(os, "O_NOFOLLOW", 0) if follow else _OPENED)
    handle = os.open(_at(path, folder), flags, dir_fd=folder)
    try:
        check_regular(handle, path, most)
        yield handle
    finally:
        os.close(handle)


def check_regular(handle: int, path: Path, most: int) -> None:
    """Raise `OSError` unless what is open is a regular file of at most so many bytes."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    if status.st_size > most:
        raise OSError(errno.EFBIG, f"it has {status.st_size} bytes, more than the {most} that are read", str(path))


def _read(handle: int, most: int, path: Path) -> bytes:
    parts, left = [], most + 1
    while left > 0 and (part := os.read(handle, min(left, 2**24))):
        parts.append(part)
        left -= len(part)
    if left == 0:  # it grew meanwhile
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return b"".join(parts)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, for this user alone. Raises `OSError`."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        if folder == folder.parent:
            break
        folder = folder.parent
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was quicker; what it is shows when it is opened
            one.mkdir(0o700)


@contextlib.contextmanager
def _folder(path: Path, *, to_write: bool = False) -> Iterator[int | None]:
    """The opened folder, which is this user's; its own, closed to others, ``to_write``."""
    if not _POSIX:
        yield None
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if to_write and status.st_uid == os.geteuid() and status.st_mode & 0o077:
            # made by an older version, or for others: what these put there is not read
            os.fchmod(handle, status.st_mode & 0o700)
        else:
            _check_owner(status, path, own=to_write)
        yield handle
    finally:
        os.close(handle)


def _check_owner(status: os.stat_result, path: Path, *, own: bool = False) -> None:
    """Raise `PermissionError` for what others could have written."""
    if status.st_uid != os.geteuid() and (own or status.st_uid != _ROOT):
        raise PermissionError(errno.EPERM, f"it belongs to another user ({status.st_uid})", str(path))
    if status.st_mode & _OTHERS_WRITE:
        raise PermissionError(errno.EPERM, "other users may write it", str(path))


def check_path(path: Path) -> None:
    """Raise `PermissionError` where other users could put files of theirs at an absolute path, now or later.

    Every folder and link on the way belongs to this user or root, and no folder can be written by others; entries of
    folders with the sticky bit, such as ``/tmp``, count as their owners'. What is missing raises `OSError`, too:
    anybody may make it.
    """
    if not _POSIX:
        return
    trusted = (_ROOT, os.geteuid())
    left, reached, links = deque(path.parts), Path(path.anchor), 0
    above = (*trusted, reached.stat().st_uid)  # in some containers root has another number
    while left:
        part = left.popleft()
        reached = reached.parent if part == ".." else reached / part
        status = reached.lstat()
        if status.st_uid not in (above if left else trusted):
            raise PermissionError(errno.EPERM, f"it belongs to another user ({status.st_uid})", str(reached))
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(reached))
            left.extendleft(reversed(reached.readlink().parts))
            reached = reached.parent
        elif _others_write(status) and not (left and status.st_mode & stat.S_ISVTX):
            raise PermissionError(errno.EPERM, "other users may write it", str(reached))


def _others_write(status: os.stat_result) -> bool:
    """Whether others may write it; a group of this user alone is nobody else."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)


def _is_own_group(number: int) -> bool:
    """Whether a group is the private one that many systems give each user, under the user's name."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _creating() -> int:
    return os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPENED | getattr(os, "O_BINARY", 0)


def _at(path: Path, folder: int | None) -> str:
    return str(path) if folder is None else path.name


def _replace(path: Path, temporary: str, name: str, folder: int | None) -> None:
    if folder is None:
        path.with_name(temporary).replace(path)
    else:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
