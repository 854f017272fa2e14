"""Which parameters a product gets: tuned ones where the store or the package has them, else the model's."""

from __future__ import annotations

from portagpu.blas import registry
from portagpu.blas.problem import Problem
from portagpu.blas.tunable import GEMM
from portagpu.blas.tuner import store_path
from portagpu.blas.variant import Config
from portagpu.runtime.context import Context
from portagpu.tuning import Choice
from portagpu.tuning.choice import chooser_for


def choose(problem: Problem, context: Context) -> Config:
    """Parameters for a problem on a device; results of a tuning run, in any process, count from the next call on."""
    chooser = chooser_for(store_path(context.settings))
    return chooser.remembered(
        (problem, context.device.key), lambda: registry.from_json(explain(problem, context).point)
    )


def explain(problem: Problem, context: Context) -> Choice:
    """The parameters, and the rule that chose them; printing it explains it."""
    chooser = chooser_for(store_path(context.settings))
    return chooser.choose(GEMM, problem.values, context.device, context.settings)
