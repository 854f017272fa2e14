"""The choice of a product's parameters: tuned or shipped ones, else the model's."""

from __future__ import annotations

from portagpu.blas.gemm.selection.parameters import PARAMETERS
from portagpu.blas.gemm.selection.registry import REGISTRY
from portagpu.blas.tunables.choice import RoutineChoice

CHOICE = RoutineChoice(REGISTRY, PARAMETERS)

choose = CHOICE.choose
generation = CHOICE.generation
chooser_of = CHOICE.chooser_of
explain = CHOICE.explain
