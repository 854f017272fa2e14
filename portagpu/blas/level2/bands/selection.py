"""Variants of products with bands, and the choice among them."""

from __future__ import annotations

from portagpu.blas.level2.bands.problem import BandProblem, ProductCall
from portagpu.blas.level2.bands.row_variant import RowVariant
from portagpu.blas.level2.bands.walk_variant import WalkVariant
from portagpu.blas.tunables.choice import RoutineChoice
from portagpu.blas.tunables.parameters import RegistrySpace, problem_maker
from portagpu.blas.tunables.registry import VariantRegistry

KERNEL_VERSION = 1  # raise when a kernel changes in a way that makes stored results wrong

REGISTRY: VariantRegistry[BandProblem, ProductCall] = VariantRegistry(
    "products with bands", (WalkVariant(), RowVariant())
)
PARAMETERS = RegistrySpace(
    REGISTRY, problem_maker(BandProblem, "banded product", "dtype, rows, terms, order and adjacent")
).parameters("banded_vector", KERNEL_VERSION)
CHOICE = RoutineChoice(REGISTRY, PARAMETERS)
