"""Differential fuzzing: ``python -m tests.fuzz kernels --device 0 --seconds 300 --seed 1 --record fuzz.json``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parent / "arrays"))
sys.path.insert(1, str(Path(__file__).parent / "blas"))
sys.path.insert(1, str(Path(__file__).parent / "kernels"))

from fuzz_campaign import main

if __name__ == "__main__":
    sys.exit(main())
