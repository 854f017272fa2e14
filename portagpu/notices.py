"""Warnings at the user's line: the first one outside the package."""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path

from portagpu.errors import PortaGPUWarning
from portagpu.package_stamp import FOLDER
from portagpu.settings import Settings

_GENERATED = "<portagpu"  # how file names of generated Python begin
_lock = threading.Lock()
_told: set[str] = set()


def warn(text: str, category: type[Warning]) -> None:
    """Warn of the user's line, wherever in the package that is found out."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith((FOLDER, _GENERATED)):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def unkept(settings: Settings, folder: Path, error: OSError) -> None:
    """Warn, once in a process, that what is compiled cannot be kept. Where warnings are errors, this one is none."""
    with _lock:
        if "unkept" in _told or not settings.warnings:
            return
        _told.add("unkept")
    text = (
        f"compiled kernels cannot be kept in {folder} ({error.strerror or error}), so each process compiles anew: "
        "set PORTAGPU_CACHE_DIR to a folder of your own, or PORTAGPU_DISK_CACHE=0"
    )
    warn(text, PortaGPUWarning)
