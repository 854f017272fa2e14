"""What is taken over, by its full name: the functions, and what plans their calls."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from portagpu.accelerate.einsum_calls import plan_einsum
from portagpu.accelerate.products import plan_dot, plan_inner, plan_matmul
from portagpu.accelerate.work import Planner

_OF_NUMPY: dict[str, Planner] = {"numpy.dot": plan_dot, "numpy.inner": plan_inner, "numpy.einsum": plan_einsum}


def of_numpy(*, matmul: bool) -> dict[str, tuple[Any, Planner]]:
    """NumPy's functions and their planners. ``matmul``: also `numpy.matmul`, whose loops could not be replaced."""
    planners = {**_OF_NUMPY, "numpy.matmul": plan_matmul} if matmul else _OF_NUMPY
    return {title: (_named(title), planner) for title, planner in planners.items()}


def _named(title: str) -> Any:
    module, _, name = title.rpartition(".")
    return getattr(importlib.import_module(module), name)
