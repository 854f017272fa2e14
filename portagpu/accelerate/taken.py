"""What is taken over, by its full name: the functions, and what plans their calls."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

from portagpu.accelerate import solvers
from portagpu.accelerate.einsum_calls import plan_einsum
from portagpu.accelerate.products import plan_dot, plan_inner, plan_matmul
from portagpu.accelerate.routines import routines
from portagpu.accelerate.work import Planner

SCIPY = "scipy.linalg"
Table = dict[str, tuple[Any, Planner]]


def of_numpy(*, matmul: bool) -> Table:
    """NumPy's functions and their planners. ``matmul``: also `numpy.matmul`, whose loops could not be replaced."""
    planners: dict[str, Planner] = {"numpy.dot": plan_dot, "numpy.inner": plan_inner, "numpy.einsum": plan_einsum}
    if matmul:
        planners["numpy.matmul"] = plan_matmul
    planners |= _solvers("numpy.linalg", solvers.OF_NUMPY)
    return {title: (_named(title), planner) for title, planner in planners.items()}


def of_scipy() -> Table:
    """SciPy's functions and their planners; none before `scipy.linalg` is imported."""
    if SCIPY not in sys.modules:
        return {}
    blas = importlib.import_module("scipy.linalg.blas")
    planners = {f"scipy.linalg.blas.{name}": planner for name, planner in routines().items() if hasattr(blas, name)}
    planners |= _solvers(SCIPY, solvers.OF_SCIPY)
    return {title: (_named(title), planner) for title, planner in planners.items()}


def _solvers(module: str, planners: dict[str, Planner]) -> dict[str, Planner]:
    """Those that `portagpu.linalg` has."""
    if importlib.util.find_spec("portagpu.linalg") is None:
        return {}
    there = dir(importlib.import_module("portagpu.linalg"))
    return {f"{module}.{name}": planner for name, planner in planners.items() if name in there}


def _named(title: str) -> Any:
    module, _, name = title.rpartition(".")
    return getattr(importlib.import_module(module), name)
