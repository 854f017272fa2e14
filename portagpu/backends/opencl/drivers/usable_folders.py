"""Folder in which PyOpenCL keeps Python text, which it runs; switched off where it is not this user's to write.

It is a database below the home folder, and no kernel can be called where it cannot be made.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from pathlib import Path

import platformdirs

from portagpu.backends.driver_caches import is_usable
from portagpu.private_files import check_path

_logger = logging.getLogger(__name__)


def secure_pyopencl(environ: MutableMapping[str, str]) -> None:
    """PyOpenCL without its store where need be: making the text anew takes a third of a millisecond for each kernel.

    Precedes its first kernel.
    """
    if environ.get("PYOPENCL_NO_CACHE") or _is_safe():
        return
    _logger.debug("PyOpenCL's cache is not this user's to write; it is switched off")
    environ["PYOPENCL_NO_CACHE"] = "1"
    loaded = sys.modules.get("pyopencl")
    if loaded is not None and "pyopencl.invoker" not in sys.modules:  # which opens the store, at the first kernel
        loaded._PYOPENCL_NO_CACHE = True  # type: ignore[attr-defined]  # it has read the variable already


def _is_safe() -> bool:
    try:
        folder = Path(platformdirs.user_cache_dir("pytools", "pytools"))
        usable = is_usable(folder)
        check_path(folder)
    except (OSError, RuntimeError):  # a `RuntimeError` says that there is no home folder
        return False
    return usable
