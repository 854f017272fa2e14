"""Trials of a planted problem, run in the tuner's child: some points hang, crash or fail."""

from __future__ import annotations

import os
import time

from portagpu.tuning.tunables import outcomes
from portagpu.tuning.tunables.outcomes import CompileFailed, Measured, WrongResult


def run(request):
    """Best is 7; 3 hangs, 4 raises, 5 crashes, 6 is wrong, 9 does not compile, 8 fails its verification."""
    x = request["point"]["x"]
    if request.get("action") == "verify":
        return {"problem": "planted" if x == 8 else None}
    if x == 3:
        time.sleep(600)
    if x == 4:
        raise ValueError("planted reason")
    if x == 5:
        os.abort()
    if x == 6:
        return outcomes.to_json(WrongResult("planted"))
    if x == 9:
        return outcomes.to_json(CompileFailed("planted"))
    return outcomes.to_json(Measured(0.05 if x == 8 else 0.1 + abs(x - 7) / 100))
