"""The memory's rate: as many bytes as a task must move, moved by NumPy in a thread for each core.

Reading is the largest element's search, writing a copy, a change in place or a sum of two, by what the task reads and
writes. NumPy's loops for them are vectorised and leave the interpreter's lock, so that all cores move bytes. What the
first call fetches tells whether all was moved.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from portagpu.bench.method.turns import Call
from portagpu.bench.routines.task import Array, Task

_WRITING = {
    "axpy": ("add", 3),
    "copy": ("copy", 2),
    "swap": ("copy", 2),
    **dict.fromkeys(("scal", "ger", "syr", "syr2", "spr", "spr2"), ("change", 2)),
}


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare(task: Task) -> Call:
    """The task's bytes, moved."""
    kind, passes = _WRITING.get(task.name, ("read", 1))
    count = max(1, int(task.work) // passes // np.dtype(task.dtype).itemsize)
    generator = np.random.default_rng(11)
    arrays = [generator.random(count, np.dtype(task.dtype).type) for _ in range(_ARRAYS[kind])]
    wanted = _after_one(kind, arrays)
    threads = cores()
    pool = ThreadPoolExecutor(threads)
    parts = [slice(count * i // threads, count * (i + 1) // threads) for i in range(threads)]
    jobs = [_job(kind, [x[part] for x in arrays]) for part in parts if part.start < part.stop]
    held: dict[str, Any] = {}

    def enqueue() -> None:
        held["found"] = [done.result() for done in [pool.submit(job) for job in jobs]]

    def is_moved() -> bool:
        """After the first call."""
        return bool(max(held["found"]) == wanted if kind == "read" else np.array_equal(arrays[-1], wanted))

    return Call(enqueue=enqueue, fetch=is_moved)


_ARRAYS = {"read": 1, "copy": 2, "change": 1, "add": 2}


def _after_one(kind: str, arrays: list[Array]) -> Any:
    """What the last array holds after one call; of a read its largest element."""
    x, y = arrays[0], arrays[-1]
    made: dict[str, Callable[[], Any]] = {"read": x.max, "copy": x.copy, "change": lambda: -x, "add": lambda: x + y}
    return made[kind]()


def _job(kind: str, arrays: list[Array]) -> Callable[[], Any]:
    x, y = arrays[0], arrays[-1]
    jobs: dict[str, Callable[[], Any]] = {
        "read": lambda: np.maximum.reduce(x),
        "copy": lambda: np.copyto(y, x),
        "change": lambda: np.negative(x, out=x),
        "add": lambda: np.add(x, y, out=y),
    }
    return jobs[kind]
