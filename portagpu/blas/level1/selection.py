"""Variants of BLAS 1, and the choice among them: of elementwise routines, and of those with one number as result."""

from __future__ import annotations

from portagpu.blas.level1.map_variant import MapCall, MapVariant
from portagpu.blas.level1.problem import VectorProblem
from portagpu.blas.level1.sum_variant import SumCall, SumVariant
from portagpu.blas.tunables.choice import RoutineChoice
from portagpu.blas.tunables.parameters import RegistrySpace, problem_maker
from portagpu.blas.tunables.registry import VariantRegistry

KERNEL_VERSION = 1  # raise when a kernel changes in a way that makes stored results wrong

_problem_from = problem_maker(VectorProblem, "vector", "routine, n and dtype")

MAPS: VariantRegistry[VectorProblem, MapCall] = VariantRegistry("elementwise routines", (MapVariant(),))
MAP_CHOICE = RoutineChoice(MAPS, RegistrySpace(MAPS, _problem_from).parameters("vector_map", KERNEL_VERSION))

SUMS: VariantRegistry[VectorProblem, SumCall] = VariantRegistry("sums of vectors", (SumVariant(),))
SUM_CHOICE = RoutineChoice(SUMS, RegistrySpace(SUMS, _problem_from).parameters("vector_sum", KERNEL_VERSION))
