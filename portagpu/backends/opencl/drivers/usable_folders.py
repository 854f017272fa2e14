"""Folders that PyOpenCL and drivers write to, replaced where they cannot be written.

PyOpenCL keeps Python text in a database below the home folder, and no kernel can be called where it cannot be made.
PoCL makes its folder when it starts, and has no device where it cannot. Containers have such homes, and full disks.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import sys
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

import platformdirs

from portagpu.backends.temporary_folders import remove_at_exit
from portagpu.private_files import private_folder
from portagpu.settings import Settings

_TRIED = b"\0" * 65536  # what must fit into a file
_FREE = 4 * 1024 * 1024  # bytes on the disk: a compiled kernel and a database
_logger = logging.getLogger(__name__)


def prepare(settings: Settings, environ: MutableMapping[str, str]) -> None:
    """Point PyOpenCL and PoCL elsewhere if they cannot write where they would. Precedes the drivers' start."""
    _invokers(environ)
    _kernels(settings, environ)


def _invokers(environ: MutableMapping[str, str]) -> None:
    """PyOpenCL without its store: making the text anew takes a third of a millisecond for each kernel."""
    if environ.get("PYOPENCL_NO_CACHE") or is_usable(Path(platformdirs.user_cache_dir("pytools", "pytools"))):
        return
    _logger.debug("PyOpenCL's cache cannot be written; it is switched off")
    environ["PYOPENCL_NO_CACHE"] = "1"
    loaded = sys.modules.get("pyopencl")
    if loaded is not None and "pyopencl.invoker" not in sys.modules:  # which opens the store, at the first kernel
        loaded._PYOPENCL_NO_CACHE = True  # type: ignore[attr-defined]  # it has read the variable already


def _kernels(settings: Settings, environ: MutableMapping[str, str]) -> None:
    """PoCL's folder of compiled kernels, which is the user's choice, or lies below the home folder."""
    chosen = environ.get("POCL_CACHE_DIR")
    if chosen and os.access(chosen, os.W_OK) and is_usable(Path(chosen)):
        return
    base = environ.get("XDG_CACHE_HOME") or (os.path.join(environ["HOME"], ".cache") if environ.get("HOME") else "")
    usual = Path(base, "pocl", "kcache") if base else Path(tempfile.gettempdir(), "pocl", "kcache")
    if not chosen and is_usable(usual):
        return
    own = settings.cache_dir.absolute() / "pocl"
    if not is_usable(own):
        try:
            own = Path(tempfile.mkdtemp(prefix="portagpu-pocl-"))
        except OSError as error:
            _logger.debug("no folder for PoCL's kernels can be made: %s", error)
            return
        remove_at_exit(own)
    else:
        with private_folder(own):
            pass
    _logger.debug("PoCL keeps its kernels in %s", own)
    environ["POCL_CACHE_DIR"] = str(own)


def is_usable(folder: Path) -> bool:
    """Whether a file of some size can be made in a folder, which is made if it is missing."""
    handle = None
    tried = folder / f".portagpu-{secrets.token_hex(6)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if hasattr(os, "statvfs"):
            found = os.statvfs(folder)
            if found.f_bavail * found.f_frsize < _FREE:
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
