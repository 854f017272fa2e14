"""`RoutineChoice`: the parameters that a routine gets for a problem: tuned or shipped ones, else the model's."""

from __future__ import annotations

from functools import cache
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from portagpu.blas.tunables.registry import VariantRegistry
from portagpu.blas.tunables.variant import Config, RoutineProblem
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings
from portagpu.tuning import Choice, Chooser, Parameters
from portagpu.tuning.choice import chooser_for
from portagpu.tuning.store.tasks import store_path

P = TypeVar("P", bound=RoutineProblem)
C = TypeVar("C")


class RoutineChoice(Generic[P, C]):
    """What chooses a routine's parameters; results of a tuning run, in any process, count from the next call on."""

    def __init__(self, registry: VariantRegistry[P, C], parameters: Parameters) -> None:
        """``parameters``: the space, model and identity under which the tuner knows the routine."""
        self._registry = registry
        self._parameters = parameters
        self._of_context: WeakKeyDictionary[Context, tuple[Settings, Chooser]] = WeakKeyDictionary()

    def choose(self, problem: P, context: Context) -> Config | None:
        """Parameters for a problem on a device. None where no variant can compute the problem as it is."""
        key = (problem, context.device.key, context.settings.shipped)
        chooser = _chooser(self._parameters.name, context.settings)
        return chooser.remembered(key, lambda: (self._config(problem, context),))[0]

    def generation(self, context: Context) -> int:
        """A number that grows with new tuning results: what was chosen under an older one may not hold."""
        return self.chooser_of(context).generation()

    def chooser_of(self, context: Context) -> Chooser:
        """What remembers the choices under a context's settings."""
        known = self._of_context.get(context)
        if known is None or known[0] is not context.settings:  # a hash of the settings costs more than a launch allows
            made = context.settings, _chooser(self._parameters.name, context.settings)
            known = self._of_context[context] = made
        return known[1]

    def explain(self, problem: P, context: Context) -> Choice:
        """The parameters, and the rule that chose them; printing it explains it."""
        chooser = _chooser(self._parameters.name, context.settings)
        return chooser.choose(self._parameters, problem.values, context.device, context.settings)

    def _config(self, problem: P, context: Context) -> Config | None:
        if not self._registry.variants_for(problem, context.capabilities):
            return None
        return self._registry.from_json(self.explain(problem, context).point)


@cache
def _chooser(name: str, settings: Settings) -> Chooser:
    return chooser_for(store_path(name, settings))
