"""Compilation of candidates in a child process: they run, but no kernel is enqueued.

Their programs go to the caches on disk. What comes of a run is told by nobody here: what a kernel would have computed
is missing, so that a check may find anything wrong.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from portagpu.runtime.arrays.array import device_array
from portagpu.runtime.arrays.creation import order_of
from portagpu.runtime.execution.context import Context
from portagpu.tuning.trials.trial import context_of, tunable_of
from portagpu.tuning.tunables.problems import Problem, text_of
from portagpu.tuning.tunables.space import Point
from portagpu.tuning.tunables.tunable import Tunable
from portagpu.tuning.tunables.values import read_point

_NICENESS = 10  # whoever measures comes first
_MANY = 200  # programs that are kept in memory
_log = logging.getLogger(__name__)
_prepared: dict[tuple[str, str], Mapping[str, Any]] = {}  # of the latest problem


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Answer the tuner: ``start``, ``prepare``, or build what it takes to ``measure`` or ``verify`` a point."""
    context = context_of(request)
    context.only_builds = True
    if request["action"] == "start":
        with contextlib.suppress(OSError):
            os.nice(_NICENESS)
        return {}
    reference = str(request["tunable"])
    tunable, problem, point = tunable_of(reference), request["problem"], read_point(request["point"])
    if request["action"] == "prepare":
        _try(lambda: _data(reference, tunable, problem, context))
    elif request["action"] == "measure":
        _try(lambda: tunable.run(dict(_data(reference, tunable, problem, context)), dict(point)))
    else:
        _verify(tunable, problem, point, context)
    if len(context.programs) > _MANY:
        context.reset()
    return {}


def _verify(tunable: Tunable, problem: Problem, point: Point, context: Context) -> None:
    verify = tunable.verify
    if verify is not None:
        _try(lambda: verify(dict(problem), dict(point)))
    for other in tunable.verify_on:
        _try(lambda other=other: tunable.run(_arguments(tunable, other, context), dict(point)))  # type: ignore[misc]


def _try(call: Callable[[], object]) -> None:
    """Failures are found, and told, by who measures."""
    try:
        call()
    except Exception as error:
        _log.info("compiling ended with %s: %s", type(error).__name__, error)


def _data(reference: str, tunable: Tunable, problem: Problem, context: Context) -> Mapping[str, Any]:
    key = (reference, text_of(problem))
    found = _prepared.get(key)
    if found is None:
        _prepared.clear()  # one problem at a time: its arrays may fill the memory
        found = _prepared[key] = _arguments(tunable, problem, context)
    return found


def _arguments(tunable: Tunable, problem: Problem, context: Context) -> dict[str, Any]:
    """What a run gets: arrays like those of a measurement, without contents. Only what is used takes memory."""
    if tunable.prepare_to_compile is not None:
        found = tunable.prepare_to_compile(dict(problem))
    else:
        case = tunable.prepare(dict(problem))
        found = {**case.inputs, **case.outputs}
    return {name: _unset(value, context) for name, value in found.items()}


def _unset(value: Any, context: Context) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return device_array(value.shape, value.dtype, order=order_of(value), context=context)
