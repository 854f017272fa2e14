"""Tunables with planted faults, as a user would write them; the tuner's child imports this module, or runs it."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from portagpu import cuda, tuning

BLOCK = 64


@cuda.jit
def add_one(source, target, shift: cuda.constexpr, amount: cuda.constexpr):
    """target[i + shift] = source[i] + amount."""
    i = cuda.grid(1)
    if i < source.size:
        target[i + shift] = source[i] + amount


def prepare(problem):
    source = np.arange(problem["n"], dtype=np.float32)
    target = np.zeros_like(source)
    return tuning.Case(inputs={"source": source}, outputs={"target": target}, expected={"target": source + 1})


def run(data, point):
    fault = point["fault"]
    if fault == "hangs":
        time.sleep(600)
    if fault == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "exhausts":
        raise MemoryError("planted")
    if fault == "raises":
        raise ValueError("planted")
    if fault == "ends":
        os._exit(3)
    time.sleep(point["repeat"] * 1e-3)  # stands for work
    source = data["source"]
    # negative subscripts count from the end once
    shift = {"overruns": 1, "underruns": -3 - source.size}.get(fault, 0)
    amount = 2 if fault == "wrong" else 1
    if fault == "spoils":  # a right result, but the next candidates would get other inputs
        time.sleep(0.05)
        add_one[-(-source.size // BLOCK), BLOCK](source, data["target"], 0, 1)
        add_one[-(-source.size // BLOCK), BLOCK](source, source, 0, 1)
        return
    add_one[-(-source.size // BLOCK), BLOCK](source, data["target"], shift, amount)


FAULTS = ("none", "hangs", "crashes", "exhausts", "raises", "ends", "overruns", "underruns", "wrong", "spoils")
PLANTED = tuning.Tunable(
    name="planted",
    space=tuning.SearchSpace.of(
        lambda fault, repeat: fault == "none" or repeat == 1, fault=FAULTS[::-1], repeat=(200, 1, 100)
    ),
    prepare=prepare,
    run=run,
    # the faulty ones look best, so that each is tried before the one that works
    model=lambda problem, point, device: 1e-9 if point["fault"] != "none" else 1e-6 * point["repeat"],
)


def verify(problem, point):
    return "planted" if point["repeat"] == 1 else None


# far apart, since a machine that is busy with other tests puts threads off for tens of milliseconds
PICKY = tuning.Tunable(
    name="picky",
    space=tuning.SearchSpace.of(fault=("none",), repeat=(1, 100, 200)),
    prepare=prepare,
    run=run,
    verify=verify,
)
ODD = tuning.Tunable(
    name="odd",
    space=tuning.SearchSpace.of(fault=("none",), repeat=(1, 100)),
    prepare=prepare,
    run=run,
    verify_on=({"n": 1}, {"n": 1001}),
)


def prepare_slowly(problem):
    time.sleep(3.5)
    return prepare(problem)


SLOWLY_PREPARED = tuning.Tunable(
    name="slowly prepared",
    space=tuning.SearchSpace.of(fault=("none",), repeat=(1, 20)),
    prepare=prepare_slowly,
    run=run,
)


@cuda.jit
def copy(source, target):
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i]


def prepare_with_scratch(problem):
    case = prepare(problem)
    scratch = np.zeros(problem["n"], np.float32)
    inputs = {
        **case.inputs,
        "shape": (BLOCK, "row", np.float32),
        "scratch": cuda.to_device(scratch) if problem["on_device"] else scratch,
    }
    return tuning.Case(inputs=inputs, outputs=case.outputs, expected=case.expected)


def run_in_two_stages(data, point):
    grid = -(-data["source"].size // BLOCK), BLOCK
    if point["lazy"]:
        time.sleep(1e-3)
    else:
        time.sleep(50e-3)
        add_one[grid](data["source"], data["scratch"], 0, 1)
    copy[grid](data["scratch"], data["target"])


LAZY = tuning.Tunable(
    name="lazy",
    space=tuning.SearchSpace.of(lazy=(False, True)),
    prepare=prepare_with_scratch,
    run=run_in_two_stages,
)


if __name__ == "__main__":
    result = tuning.tune(PLANTED, {"n": 4096}, budget="90s", trial_limit="6s", show=True, strategy="model")
    print(result)
