"""Tuning: search spaces, trials in child processes, a store that survives crashes."""

from portagpu.tuning.outcomes import CompileFailed, LaunchFailed, Measured, Outcome, TimedOut, WrongResult
from portagpu.tuning.search import Progress, SearchResult, tune
from portagpu.tuning.space import Axis, SearchSpace
from portagpu.tuning.store import Store, TaskKey
from portagpu.tuning.worker import Worker

__all__ = [
    "Axis",
    "CompileFailed",
    "LaunchFailed",
    "Measured",
    "Outcome",
    "Progress",
    "SearchResult",
    "SearchSpace",
    "Store",
    "TaskKey",
    "TimedOut",
    "Worker",
    "WrongResult",
    "tune",
]
