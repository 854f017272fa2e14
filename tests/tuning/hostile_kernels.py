"""Tunables that treat what they are given badly, as users' may; the tuner's child imports this module."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from portagpu import cuda, tuning


@cuda.jit
def add_one(source, target):
    """target[i] = source[i] + 1."""
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i] + 1


def prepare(problem):
    source = np.arange(problem.pop("n"), dtype=np.float32)
    return tuning.Case(
        inputs={"source": source}, outputs={"target": np.zeros_like(source)}, expected={"target": source + 1}
    )


def run(data, point):
    """Changes its arguments; points leave a process or a signal behind."""
    source, left = data.pop("source"), point.pop("left")
    assert point.pop("tile") == (8, 16)
    if left == "process" and os.fork() == 0:
        time.sleep(600)
    if left == "alarm":
        signal.setitimer(signal.ITIMER_REAL, 0.7)
    if left == "slow":
        time.sleep(0.4)
    add_one[-(-source.size // 64), 64](source, data["target"])


def model(problem, point, device):
    return np.float32(LEFT.index(point.pop("left")) + 1e-3)


LEFT = ("alarm", "slow", "process", "nothing")
HOSTILE = tuning.Tunable(
    name="hostile",
    version=np.int64(2),
    space=tuning.SearchSpace.of(left=LEFT, tile=([np.int64(8), 16], (8, 16))),
    prepare=prepare,
    run=run,
    model=model,
    default={"left": "alarm", "tile": [8, 16]},
)
