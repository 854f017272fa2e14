"""What the tuner knows of a routine: its space, model and identity, as a `VariantRegistry` answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from portagpu.blas.tunables.registry import VariantRegistry
from portagpu.blas.tunables.variant import RoutineProblem
from portagpu.device import DeviceRecord
from portagpu.device.capabilities import Capabilities
from portagpu.errors import TuningError
from portagpu.tuning import Parameters, UnionSpace
from portagpu.tuning.tunables.problems import Problem as Values
from portagpu.tuning.tunables.space import Point

P = TypeVar("P", bound=RoutineProblem)
C = TypeVar("C")


def capabilities_of(device: DeviceRecord) -> Capabilities:
    """A device's capabilities. Raises `TuningError` for one that does not work."""
    if device.capabilities is None:
        raise TuningError(f"{device.name} does not work: {device.problem}", hint=device.remedy)
    return device.capabilities


def problem_maker(kind: type[P], routine: str, needed: str) -> Callable[[Values], P]:
    """A function that makes a routine's problem of the tuner's values; ``needed``: what these are, in words."""

    def problem_from(values: Values) -> P:
        """The routine's problem from the tuner's. Raises `TuningError`."""
        try:
            return kind(**values)
        except TypeError as error:
            raise TuningError(f"{dict(values)!r} is no {routine} problem", hint=f"it has {needed}") from error

    return problem_from


class RegistrySpace(Generic[P, C]):
    """The functions of `portagpu.tuning.Parameters` that a registry answers."""

    def __init__(self, registry: VariantRegistry[P, C], problem_from: Callable[[Values], P]) -> None:
        self.registry = registry
        self.problem_from = problem_from

    def space(self, values: Values, device: DeviceRecord) -> UnionSpace:
        """The search space of a problem."""
        return self.registry.search_space(self.problem_from(values), capabilities_of(device))

    def default(self, values: Values, device: DeviceRecord) -> Point:
        """The model's choice among sound configurations. Raises `TuningError` where there is none."""
        problem = self.problem_from(values)
        found = self.registry.default_config(problem, capabilities_of(device))
        if found is None:
            raise TuningError(f"no variant of {self.registry.routine} computes {problem.dtype} on {device.name}")
        return self.registry.to_json(found)

    def seconds(self, values: Values, point: Point, device: DeviceRecord) -> float:
        """What the variant's model expects."""
        config = self.registry.from_json(point)
        return self.registry.predicted_time(config, self.problem_from(values), capabilities_of(device))

    def describe(self, values: Values) -> str:
        """A problem in words."""
        return self.problem_from(values).words

    def parameters(self, name: str, version: int, **others: Any) -> Parameters:
        """What the tuner knows of the routine: ``name`` and ``version`` are its identity in stores.

        ``others``: fields of `portagpu.tuning.Parameters` in place of the registry's answers, such as a roof.
        """
        fields: dict[str, Any] = {
            "space": self.space,
            "model": self.seconds,
            "default": self.default,
            "default_is_modelled": True,
            "describe": self.describe,
        }
        return Parameters(name=name, version=version, **{**fields, **others})
