"""Which parameters a product gets: tuned ones where the store has them, else the model's."""

from __future__ import annotations

import threading

from portagpu.blas.config import Config, default_config
from portagpu.blas.problem import Problem
from portagpu.runtime.context import Context

_lock = threading.Lock()
_chosen: dict[tuple[str, str, str], Config] = {}


def choose(problem: Problem, context: Context) -> Config:
    """Parameters for a problem on a device."""
    key = (context.device.key, problem.dtype, problem.shape_class)
    found = _chosen.get(key)
    if found is None:
        with _lock:
            found = _chosen.setdefault(key, default_config(problem, context.capabilities))
    return found
