"""A stamp of the package's state: version, sizes and times of its files.

Whatever is kept on disk and depends on how the package works is kept under this stamp, so that a change of a template
or of the compiler is felt at once, also where the version stays the same.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

from portagpu.version import __version__

FOLDER = str(Path(__file__).parent) + os.sep
"""Where the package is."""
_KINDS = (".py", ".mako")
_loaded = time.time()


def is_of_package(function: Any) -> bool:
    """Whether a function's text is in one of the package's files, which the stamp covers and users have no say in."""
    code = getattr(function, "__code__", None)  # what is callable may have none
    return code is not None and bool(code.co_filename.startswith(FOLDER))


@cache
def package_stamp() -> str | None:
    """A digest of the package's state.

    None where there is no telling: the package is not in files, or some were changed since it was loaded.
    """
    newest = 0.0
    parts = [__version__, FOLDER, sys.version]
    waiting = [FOLDER]
    try:
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name.endswith(_KINDS):
                        status = entry.stat()
                        # by this machine's clock, while times of modification may be another's, and in the future
                        newest = max(newest, status.st_ctime)
                        parts.append(f"{entry.path} {status.st_size} {status.st_mtime_ns}")
                    elif entry.is_dir() and entry.name != "__pycache__":
                        waiting.append(entry.path)
    except OSError:
        return None
    if newest > _loaded:
        return None
    return hashlib.sha256("\0".join(sorted(parts)).encode()).hexdigest()
