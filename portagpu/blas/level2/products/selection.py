"""Variants of products with a vector, and the choice among them."""

from __future__ import annotations

from portagpu.blas.level2.products.call import ProductCall
from portagpu.blas.level2.products.form import ProductProblem
from portagpu.blas.level2.products.line_variant import LineVariant
from portagpu.blas.level2.products.tile_variant import TileVariant
from portagpu.blas.tunables.choice import RoutineChoice
from portagpu.blas.tunables.parameters import RegistrySpace, problem_maker
from portagpu.blas.tunables.registry import VariantRegistry

KERNEL_VERSION = 1  # raise when a kernel changes in a way that makes stored results wrong

REGISTRY: VariantRegistry[ProductProblem, ProductCall] = VariantRegistry(
    "products with a vector", (LineVariant(), TileVariant())
)
PARAMETERS = RegistrySpace(
    REGISTRY, problem_maker(ProductProblem, "matrix-vector", "routine, lines, columns and dtype")
).parameters("matrix_vector", KERNEL_VERSION)
CHOICE = RoutineChoice(REGISTRY, PARAMETERS)
