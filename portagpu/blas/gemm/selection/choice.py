"""The choice of a product's parameters: tuned or shipped ones, else the model's."""

from __future__ import annotations

from functools import cache
from weakref import WeakKeyDictionary

from portagpu.blas.gemm.core.interface import Config
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.selection.parameters import PARAMETERS
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings
from portagpu.tuning import Choice, Chooser
from portagpu.tuning.choice import chooser_for
from portagpu.tuning.store.tasks import store_path


def choose(problem: Problem, context: Context) -> Config | None:
    """Parameters for a problem on a device; results of a tuning run, in any process, count from the next call on.

    None where no variant can compute the problem as it is.
    """
    key = (problem, context.device.key, context.settings.shipped)
    return _chooser(context.settings).remembered(key, lambda: (_config(problem, context),))[0]


def generation(context: Context) -> int:
    """A number that grows with new tuning results: what was chosen under an older one may not hold."""
    return chooser_of(context).generation()


def chooser_of(context: Context) -> Chooser:
    """What remembers the choices under a context's settings."""
    known = _of_context.get(context)
    if known is None or known[0] is not context.settings:  # a hash of the settings costs more than a launch allows
        known = _of_context[context] = context.settings, _chooser(context.settings)
    return known[1]


_of_context: WeakKeyDictionary[Context, tuple[Settings, Chooser]] = WeakKeyDictionary()


@cache
def _chooser(settings: Settings) -> Chooser:
    return chooser_for(store_path(PARAMETERS.name, settings))


def _config(problem: Problem, context: Context) -> Config | None:
    if not registry.variants_for(problem, context.capabilities):
        return None
    return registry.from_json(explain(problem, context).point)


def explain(problem: Problem, context: Context) -> Choice:
    """The parameters, and the rule that chose them; printing it explains it."""
    return _chooser(context.settings).choose(PARAMETERS, problem.values, context.device, context.settings)
