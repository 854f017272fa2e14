"""Which parameters a product gets: tuned ones where the store has them, else the model's."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from portagpu.blas import registry
from portagpu.blas.problem import Problem
from portagpu.blas.tuner import store_path, task_key
from portagpu.blas.variant import Config
from portagpu.errors import StoreError
from portagpu.runtime.context import Context
from portagpu.settings import Settings
from portagpu.tuning.store import Store

_NEAR = 2.0  # octaves of m, n and k: results serve problems at most this far away
_REMEMBERED = 4096  # choices
_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class _Generation:
    """When a context's store was looked at, for which settings, and what stood for its contents."""

    looked: float
    settings: Settings
    token: object


_lock = threading.Lock()
_stores: dict[Path, Store] = {}
_tokens: dict[Path, object] = {}  # stand for what has been read of a store
_generations: dict[int, _Generation] = {}  # by context
_chosen: dict[tuple[Path, str, Problem], Config | None] = {}


def choose(problem: Problem, context: Context) -> Config | None:
    """Parameters for a problem on a device; results of a tuning run, in any process, count from the next call on.

    None where no variant can compute the problem as it is.
    """
    with _lock:
        store = _store(context)
        if store.refresh():
            _chosen.clear()
            _tokens.pop(store.path, None)
        if len(_chosen) >= _REMEMBERED:
            _chosen.clear()
        key = (store.path, context.device.key, problem)
        if key in _chosen:
            return _chosen[key]
    found = _tuned(problem, context, store) or registry.default_config(problem, context.capabilities)
    with _lock:
        _chosen[key] = found
    return found


def generation(context: Context) -> object:
    """Stands for what is known of tuning results: another object once there are new ones.

    The file system is asked every few milliseconds only.
    """
    now = time.monotonic()
    found = _generations.get(context.key)
    if found is not None and now < found.looked + _LOOK_SECONDS and found.settings is context.settings:
        return found.token
    with _lock:
        store = _store(context)
        if store.refresh():
            _chosen.clear()
            _tokens.pop(store.path, None)
        token = _tokens.setdefault(store.path, object())
        _generations[context.key] = _Generation(now, context.settings, token)
    return token


def _store(context: Context) -> Store:
    path = store_path(context.settings)
    return _stores.setdefault(path, Store(path))


def _tuned(problem: Problem, context: Context, store: Store) -> Config | None:
    """The winner of the nearest tuned sizes, if they are near."""
    wanted = task_key(problem, context.device.key)
    near = [
        (distance, point)
        for task, (point, _) in store.winners().items()
        if replace(task, shape_class=wanted.shape_class) == wanted
        and (distance := _distance(task.shape_class, problem)) <= _NEAR
    ]
    for _, point in sorted(near, key=lambda found: found[0]):
        try:
            config = registry.from_json(point)
        except StoreError:
            continue
        if registry.is_legal(config, problem, context.capabilities):
            return config
    return None


def _distance(shape_class: str, problem: Problem) -> float:
    """Octaves between stored sizes and a problem's, the largest over m, n, k; infinite for what is no list of sizes."""
    try:
        m, n, k = map(int, shape_class.split("x"))
        pairs = ((m, problem.m), (n, problem.n), (k, problem.k))
        return max(abs(math.log2(x / y)) for x, y in pairs)
    except ValueError:
        return math.inf
