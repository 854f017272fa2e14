"""Which parameters a product gets: tuned ones where the store has them, else the model's."""

from __future__ import annotations

import math
import threading
from pathlib import Path

from portagpu.blas import config as configs
from portagpu.blas.config import Config
from portagpu.blas.problem import Problem
from portagpu.blas.tuner import store_path, task_key
from portagpu.errors import StoreError
from portagpu.runtime.context import Context
from portagpu.tuning.store import Store

_NEAR = 2.0  # octaves, in all: results of a class serve problems at most this far away
_lock = threading.Lock()
_stores: dict[Path, Store] = {}
_chosen: dict[tuple[Path, str, str, str], Config] = {}


def choose(problem: Problem, context: Context) -> Config:
    """Parameters for a problem on a device; results of a tuning run, in any process, count from the next call on."""
    path = store_path(context.settings)
    with _lock:
        store = _stores.setdefault(path, Store(path))
        if store.refresh():
            _chosen.clear()
        key = (path, context.device.key, problem.dtype, problem.shape_class)
        found = _chosen.get(key)
    if found is None:
        found = _tuned(problem, context, store) or configs.default_config(problem, context.capabilities)
        with _lock:
            _chosen[key] = found
    return found


def _tuned(problem: Problem, context: Context, store: Store) -> Config | None:
    wanted = task_key(problem, context.device.key)
    winners = store.winners()
    near = sorted(
        (_distance(task.shape_class, wanted.shape_class), task.shape_class)
        for task in winners
        if (task.device, task.kernel, task.kernel_version, task.dtype)
        == (wanted.device, wanted.kernel, wanted.kernel_version, wanted.dtype)
    )
    for distance, shape_class in near:
        if distance > _NEAR:
            return None
        task = task_key(problem, context.device.key)
        point = next(
            p
            for t, (p, _) in winners.items()
            if t.shape_class == shape_class
            and t.dtype == task.dtype
            and t.device == task.device
            and t.kernel_version == task.kernel_version
        )
        try:
            config = configs.from_json(point)
        except StoreError:
            continue
        if configs.is_legal(config, context.capabilities, problem.itemsize):
            return config
    return None


def _distance(a: str, b: str) -> float:
    """Octaves between two shape classes, the largest over m, n, k."""
    pairs = zip(map(int, a.split("x")), map(int, b.split("x")), strict=True)
    return max(abs(math.log2(x / y)) for x, y in pairs)
