"""Which parameters a product gets: tuned ones where the store has them, else the model's."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from pathlib import Path

from portagpu.blas import registry
from portagpu.blas.problem import Problem
from portagpu.blas.tuner import store_path, task_key
from portagpu.blas.variant import Config
from portagpu.errors import StoreError
from portagpu.runtime.context import Context
from portagpu.tuning.store import Store

_NEAR = 2.0  # octaves of m, n and k: results serve problems at most this far away
_REMEMBERED = 4096  # choices
_lock = threading.Lock()
_generation = 0
_stores: dict[Path, Store] = {}
_chosen: dict[tuple[Path, str, Problem], Config | None] = {}


def choose(problem: Problem, context: Context) -> Config | None:
    """Parameters for a problem on a device; results of a tuning run, in any process, count from the next call on.

    None where no variant can compute the problem as it is.
    """
    global _generation
    path = store_path(context.settings)
    with _lock:
        store = _stores.setdefault(path, Store(path))
        if store.refresh():
            _chosen.clear()
            _generation += 1
        elif len(_chosen) >= _REMEMBERED:
            _chosen.clear()
        key = (path, context.device.key, problem)
        if key in _chosen:
            return _chosen[key]
    found = _tuned(problem, context, store) or registry.default_config(problem, context.capabilities)
    with _lock:
        _chosen[key] = found
    return found


def generation(context: Context) -> int:
    """A number that grows with new tuning results: what was chosen under an older one may not hold."""
    global _generation
    path = store_path(context.settings)
    with _lock:
        store = _stores.setdefault(path, Store(path))
        if store.refresh():
            _chosen.clear()
            _generation += 1
        return _generation


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
