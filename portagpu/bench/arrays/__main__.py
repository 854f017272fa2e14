"""``python -m portagpu.bench.arrays``: CuPy, if installed, loads its libraries before a device is looked for."""

from __future__ import annotations

import contextlib
import importlib

with contextlib.suppress(Exception):  # CuPy's own errors, of whatever kind, mean that there is no such peer
    importlib.import_module("cupy")

from portagpu.bench.arrays.command import main

if __name__ == "__main__":
    main()
