"""Drivers' caches of compiled programs: private folders in place of those that others can write, or nobody can.

A driver runs what it reads from its cache. Without a home the folder may be ``/tmp/NAME``, which anybody can make
first, so that it is never used; a home may be another user's (``sudo`` keeps it on some systems), or lie where nothing
can be written. Where the usual folder is not safe, the driver's variable names one of PortaGPU's cache. Precedes the
drivers' start.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import sys
import tempfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from portagpu import notices
from portagpu.backends.temporary_folders import remove_at_exit
from portagpu.device.cache_folders import CACHE_FOLDERS, CacheFolder
from portagpu.errors import SettingsError
from portagpu.private_files import check_path, make_folder, private_folder
from portagpu.settings import Settings

_TRIED = b"\0" * 65536  # what must fit into a file
_FREE = 4 * 1024 * 1024  # bytes on the disk: a compiled kernel and a database
_logger = logging.getLogger(__name__)


def secure_driver_caches(settings: Settings, environ: MutableMapping[str, str]) -> None:
    """Have every driver keep compiled programs where nobody else can put any. Changes ``environ`` only.

    Raises `SettingsError` where there is no folder for temporary files, without which no driver can be tried.
    """
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise SettingsError(
            "no folder for temporary files can be written", hint="name one that can be written in TMPDIR"
        ) from error
    for cache in CACHE_FOLDERS:
        is_off = cache.off is not None and environ.get(cache.off[0]) == cache.off[1]
        if not is_off and (cache.is_needed or sys.platform != "win32"):
            _secure(cache, settings, environ)


def _secure(cache: CacheFolder, settings: Settings, environ: MutableMapping[str, str]) -> None:
    chosen = environ.get(cache.variable)
    try:
        _check(Path(chosen).absolute() if chosen else _usual(cache, environ), cache)
    except OSError as error:
        _logger.debug("the folder of %s is not used: %s", cache.variable, error)
        _replace(cache, settings.cache_dir.absolute() / cache.own, environ)
        if chosen and isinstance(error, PermissionError):
            notices.unsafe_cache(settings, cache.variable, chosen, error)


def _usual(cache: CacheFolder, environ: Mapping[str, str]) -> Path:
    """The folder that the driver takes by itself. Raises `OSError` where that is not known."""
    home, base = environ.get("HOME"), environ.get("XDG_CACHE_HOME")
    if cache.in_cache and base:
        folder = Path(base, cache.in_cache)
    elif home:
        folder = Path(home, ".cache", cache.in_cache) if cache.in_cache else Path(home, cache.in_home or "")
    else:
        raise FileNotFoundError(errno.ENOENT, "there is no home folder")
    if not folder.is_absolute():
        raise FileNotFoundError(errno.ENOENT, "it depends on the current folder", str(folder))
    return folder


def _check(folder: Path, cache: CacheFolder) -> None:
    """Raise `OSError` for a folder that a driver should not use, `PermissionError` where others can write it."""
    if cache.is_needed:
        make_folder(folder)  # in folders where anybody could make it
        check_path(folder)
        if not is_usable(folder):
            raise OSError(errno.EROFS, "it cannot be written", str(folder))
        return
    while not os.access(folder, os.F_OK) and folder != folder.parent:
        folder = folder.parent
    check_path(folder)


def _replace(cache: CacheFolder, own: Path, environ: MutableMapping[str, str]) -> None:
    """Set the variable to a folder of PortaGPU's cache; where there can be none, to a temporary one, or no cache."""
    try:
        with private_folder(own):
            check_path(own)
        if not is_usable(own):
            raise OSError(errno.EROFS, "it cannot be written", str(own))
    except OSError as error:
        _logger.debug("no folder of %s can be made: %s", cache.variable, error)
        if cache.off is not None:
            environ[cache.off[0]] = cache.off[1]
            return
        try:
            own = Path(tempfile.mkdtemp(prefix=f"portagpu-{cache.own}-"))
        except OSError as failure:
            _logger.debug("nor a temporary one: %s", failure)
            return
        remove_at_exit(own)
    environ[cache.variable] = str(own)


def is_usable(folder: Path) -> bool:
    """Whether a file of some size can be made in a folder, which is made if it is missing."""
    handle = None
    tried = folder / f".portagpu-{secrets.token_hex(6)}"
    try:
        make_folder(folder)
        if hasattr(os, "statvfs"):
            disk = os.statvfs(folder)
            if disk.f_bavail * disk.f_frsize < _FREE:
                return False
        handle = os.open(tried, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
        return os.write(handle, _TRIED) == len(_TRIED)
    except OSError:
        return False
    finally:
        if handle is not None:
            os.close(handle)
            with contextlib.suppress(OSError):
                tried.unlink()
