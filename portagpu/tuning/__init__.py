"""Tuning of kernels: search spaces, models, trials in child processes, a store that survives crashes.

`tune` finds the fastest parameters of a `Tunable`, `best` and `tuned` use what was found, `replay` compares strategies.
"""

from portagpu.tuning.choice import Choice, Chooser, Rule, best, tuned
from portagpu.tuning.replay import Recording, Replayed, replay
from portagpu.tuning.searches.history import History
from portagpu.tuning.searches.report import SearchResult
from portagpu.tuning.searches.search import Budget, Progress, search
from portagpu.tuning.searches.strategies import Strategy, make_strategy, strategy_names
from portagpu.tuning.session import Session
from portagpu.tuning.store.store import Record, Store, TaskKey
from portagpu.tuning.trials.worker import Worker
from portagpu.tuning.tunables.device_rates import DeviceFigures, figures_of, rates_generation
from portagpu.tuning.tunables.outcomes import (
    CompileFailed,
    LaunchFailed,
    Measured,
    Outcome,
    OutOfBounds,
    Spilled,
    TimedOut,
    WrongResult,
)
from portagpu.tuning.tunables.roofline import Limit, Prediction, Resources, predict
from portagpu.tuning.tunables.space import Axis, SearchSpace, UnionSpace
from portagpu.tuning.tunables.tunable import Case, Parameters, Tunable
from portagpu.tuning.tuner import tune

looks = rates_generation  # the name that it had before

__all__ = [
    "Axis",
    "Budget",
    "Case",
    "Choice",
    "Chooser",
    "CompileFailed",
    "DeviceFigures",
    "History",
    "LaunchFailed",
    "Limit",
    "Measured",
    "OutOfBounds",
    "Outcome",
    "Parameters",
    "Prediction",
    "Progress",
    "Record",
    "Recording",
    "Replayed",
    "Resources",
    "Rule",
    "SearchResult",
    "SearchSpace",
    "Session",
    "Spilled",
    "Store",
    "Strategy",
    "TaskKey",
    "TimedOut",
    "Tunable",
    "UnionSpace",
    "Worker",
    "WrongResult",
    "best",
    "figures_of",
    "looks",
    "make_strategy",
    "predict",
    "rates_generation",
    "replay",
    "search",
    "strategy_names",
    "tune",
    "tuned",
]
