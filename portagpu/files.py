"""Files that users name, which are replaced atomically, and caches: folders of files that may vanish."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from portagpu.private_files import read_private, touch_private, unfinished_name, write_private

_log = logging.getLogger(__name__)
_ABANDONED = 3600.0  # seconds after which a file that was never finished has no writer any more
MOST_ENTRY = 64 * 1024 * 1024  # bytes of one cached program
_unswept: dict[Path, int] = {}  # bytes that this process wrote since it looked at all of a folder's files


def user_path(path: str | os.PathLike[str]) -> Path:
    """A path as a user writes it: ``~`` is the home folder, where there is one."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # of a user that does not exist
        return Path(path)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether it is a regular file, or a link to one. A path's method raises for long names, and folders of others."""
    try:
        return Path(path).is_file()
    except OSError:
        return False


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether it is a folder, or a link to one."""
    try:
        return Path(path).is_dir()
    except OSError:
        return False


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that other processes see the old content or the new, never a part. Creates its folder.

    It may be read by whom the old one could be, or else by whom new files can. A link stays, its target is replaced.
    What is there and no regular file, a pipe or a device, is written to.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(unfinished_name(path.name))
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            with contextlib.suppress(OSError):  # there is none, or it is somebody else's
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file of a folder of this process's own; None where there is no valid one."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class FileCache:
    """Files of one folder, by key, which may vanish or be damaged at any time; the folder is the user's alone.

    A file is ``magic``, the SHA-256 of the key and the data, and the data, at most `MOST_ENTRY` bytes. Once the folder
    has more than ``limit`` bytes, the files unused longest go. Nothing raises: what cannot be read or trusted is absent
    (see `portagpu.private_files`), what cannot be written is not kept, and ``unkept`` is told why.
    """

    def __init__(
        self,
        folder: Path,
        suffix: str,
        magic: bytes,
        limit: int,
        unkept: Callable[[Path, OSError], None] = lambda folder, error: None,
    ) -> None:
        self.folder = folder
        self._suffix, self._magic, self._limit, self._unkept = suffix, magic, limit, unkept

    def path(self, key: str) -> Path:
        """Where the data of a key are."""
        return self.folder / f"{key}{self._suffix}"

    def read(self, key: str) -> bytes | None:
        """The data of a key; None where there are none, or damaged ones."""
        try:
            content = read_private(self.path(key), MOST_ENTRY)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                _log.debug("cache file %s is left alone: %s", self.path(key), error)
            return None
        start = len(self._magic) + 32
        data = content[start:]
        if not content.startswith(self._magic) or _sum(key, data) != content[start - 32 : start]:
            _log.debug("cache file %s is corrupt", self.path(key))
            return None
        return data

    def write(self, key: str, data: bytes) -> None:
        """Keep the data of a key, in place of what it had."""
        content = self._magic + _sum(key, data) + data
        if len(content) > MOST_ENTRY:
            _log.debug("%s is not kept: it has %d bytes", self.path(key), len(content))
            return
        try:
            write_private(self.path(key), content, durable=False)  # `_sum` tells, and waiting for a disk takes long
        except OSError as error:
            _log.debug("%s is not kept: %s", self.path(key), error)
            self._unkept(self.folder, error)
            return
        try:
            before = _unswept.get(self.folder)
            # to look at all files takes long where there are many, so not after each one
            _unswept[self.folder] = written = (before or 0) + len(content)
            if before is None or written > self._limit // 64:
                _unswept[self.folder] = 0
                self.sweep()
        except OSError as error:
            _log.debug("%s is not swept: %s", self.folder, error)

    def touch(self, key: str) -> None:
        """Note that the data of a key were used: many file systems do not keep times of access."""
        try:
            touch_private(self.path(key))
        except OSError as error:  # somebody else's folder, or already removed
            _log.debug("%s is not marked as used: %s", self.path(key), error)

    def sweep(self) -> None:
        """Remove the files unused longest where the folder has grown too large, and what killed writers have left.

        Raises `OSError`.
        """
        entries = []
        unfinished = re.compile(rf"\..*{re.escape(self._suffix)}\.[0-9a-f]{{12}}")  # as `unfinished_name` makes them
        abandoned = time.time() - _ABANDONED
        with os.scandir(self.folder) as found:
            for entry in found:
                is_unfinished = unfinished.fullmatch(entry.name) is not None
                if not (is_unfinished or entry.name.endswith(self._suffix)):
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISDIR(status.st_mode):  # nothing of ours
                    continue
                if not is_unfinished:
                    entries.append((status.st_mtime, status.st_size, entry.path))
                elif status.st_mtime < abandoned:
                    with contextlib.suppress(OSError):  # somebody else's
                        Path(entry.path).unlink()
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self._limit:
                return
            Path(path).unlink(missing_ok=True)
            total -= size


def _sum(key: str, data: bytes) -> bytes:
    """What tells that data are a key's: not damaged, and no other entry under another name."""
    found = hashlib.sha256(key.encode() + b"\0")
    found.update(data)
    return found.digest()
