"""Differential fuzzing: ``python -m tests.fuzz --device 0 --kernels 10000 --seed 1 --jobs 16 --record fuzz.json``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_campaign import main

if __name__ == "__main__":
    sys.exit(main())
