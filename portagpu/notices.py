"""Warnings at the user's line: the innermost one outside the package and its callers."""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path
from types import FrameType

from portagpu.errors import PortaGPUWarning
from portagpu.package_stamp import FOLDER
from portagpu.settings import Settings

_GENERATED = "<portagpu"  # how file names of generated Python begin
_CALLERS = frozenset({"contextlib", "functools", "jax", "jaxlib", "torch"})  # packages that call for the user
_lock = threading.Lock()
_reported: set[str] = set()


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The user's frame among those that led to a frame, itself included; None where there is none.

    Operators of other libraries are called by these, and by what they generate, which belongs to no module.
    """
    outside: FrameType | None = None
    while frame is not None:
        if not frame.f_code.co_filename.startswith((FOLDER, _GENERATED)):
            outside = frame if outside is None else outside
            module = frame.f_globals.get("__name__")
            if module is not None and str(module).partition(".")[0] not in _CALLERS:
                return frame
        frame = frame.f_back
    return outside


def warn(text: str, category: type[Warning]) -> None:
    """Warn of the user's line, wherever in the package that is found out."""
    frame, level = sys._getframe(1), 2
    wanted = users_frame(frame)
    while frame.f_back is not None and frame is not wanted:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def unsafe_cache(settings: Settings, variable: str, folder: str, error: OSError) -> None:
    """Warn, once for each variable, that a driver's cache is elsewhere than the user said."""
    with _lock:
        if variable in _reported or not settings.warnings:
            return
        _reported.add(variable)
    text = (
        f"{variable}={folder} is not used, since other users could put programs there that run as yours "
        f"({error.filename}: {error.strerror}); compiled kernels are kept in a private folder: "
        f"name a folder that only you can write (chmod 700)"
    )
    warn(text, PortaGPUWarning)


def unkept(settings: Settings, folder: Path, error: OSError) -> None:
    """Warn, once in a process, that what is compiled cannot be kept. Where warnings are errors, this one is none."""
    with _lock:
        if "unkept" in _reported or not settings.warnings:
            return
        _reported.add("unkept")
    text = (
        f"compiled kernels cannot be kept in {folder} ({error.strerror or error}), so each process compiles anew: "
        "set PORTAGPU_CACHE_DIR to a folder of your own, or PORTAGPU_DISK_CACHE=0"
    )
    warn(text, PortaGPUWarning)
