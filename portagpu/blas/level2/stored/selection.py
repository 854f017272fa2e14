"""Variants of products with banded and packed matrices, and the choice among them."""

from __future__ import annotations

from portagpu.blas.level2.stored.problem import ProductCall, StoredProblem
from portagpu.blas.level2.stored.row_variant import RowVariant
from portagpu.blas.tunables.choice import RoutineChoice
from portagpu.blas.tunables.parameters import RegistrySpace, problem_maker
from portagpu.blas.tunables.registry import VariantRegistry

KERNEL_VERSION = 1  # raise when a kernel changes in a way that makes stored results wrong

REGISTRY: VariantRegistry[StoredProblem, ProductCall] = VariantRegistry(
    "products with banded and packed matrices", (RowVariant(),)
)
PARAMETERS = RegistrySpace(
    REGISTRY, problem_maker(StoredProblem, "banded or packed product", "dtype, rows, terms, order and packed")
).parameters("banded_vector", KERNEL_VERSION)
CHOICE = RoutineChoice(REGISTRY, PARAMETERS)
