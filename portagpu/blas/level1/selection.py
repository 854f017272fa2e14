"""Variants of BLAS 1, and the choice among them: of elementwise routines, and of those with one number as result."""

from __future__ import annotations

from portagpu.blas.level1.map_variant import MapCall, MapVariant
from portagpu.blas.level1.problem import VectorProblem
from portagpu.blas.level1.sum_variant import SumCall, SumVariant
from portagpu.blas.tunables.choice import RoutineChoice
from portagpu.blas.tunables.parameters import RegistrySpace, problem_maker
from portagpu.blas.tunables.registry import VariantRegistry
from portagpu.device import DeviceRecord
from portagpu.settings import Settings
from portagpu.tuning import figures_of
from portagpu.tuning.tunables.problems import Problem as Values

KERNEL_VERSION = 1  # raise when a kernel changes in a way that makes stored results wrong

_problem_from = problem_maker(VectorProblem, "vector", "routine, n and dtype")

_SOFT = {"routine": 0.5}  # a result for another routine of the family serves, if nothing nearer is known


def _roof(values: Values, device: DeviceRecord) -> float | None:
    """Each element is moved once; None where memory was not measured."""
    figures = figures_of(device, Settings.from_environment())
    return _problem_from(values).nbytes / figures.dram if figures.measured else None


MAP_REGISTRY: VariantRegistry[VectorProblem, MapCall] = VariantRegistry("elementwise routines", (MapVariant(),))
MAP_PARAMETERS = RegistrySpace(MAP_REGISTRY, _problem_from).parameters(
    "vector_map", KERNEL_VERSION, roof=_roof, soft=_SOFT
)
MAP_CHOICE = RoutineChoice(MAP_REGISTRY, MAP_PARAMETERS)

SUM_REGISTRY: VariantRegistry[VectorProblem, SumCall] = VariantRegistry("sums of vectors", (SumVariant(),))
SUM_PARAMETERS = RegistrySpace(SUM_REGISTRY, _problem_from).parameters(
    "vector_sum", KERNEL_VERSION, roof=_roof, soft=_SOFT
)
SUM_CHOICE = RoutineChoice(SUM_REGISTRY, SUM_PARAMETERS)
