"""Which matrix units of subgroups are worth a trial: those whose shapes SYCL lists (`matrix_combinations`).

A line of the shim's lists for each shape the types of A, B, C and the result, and M x N x K, the largest where there
are several. Matrix units of other makers, and of CPUs, are listed, too: they have other shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupUnit:
    """A kind of `Capabilities.matrix_units`: types and depth of its product, and what a trial multiplies by what."""

    types: str
    depth: int
    function: str


UNITS = {
    "subgroup": SubgroupUnit(types="fp16:fp16:fp32:fp32", depth=16, function="f16_f16_matrix_mad_k16"),
    "subgroup_tfloat32": SubgroupUnit(types="tf32:tf32:fp32:fp32", depth=8, function="tf32_tf32_matrix_mad_k8"),
}
_SIZES = {"subgroup": (8, 16), "subgroup_tfloat32": (16,)}  # of subgroups, and so columns of a product
_ROWS = 8


def listed_units(facts: Mapping[str, str], smallest: int) -> tuple[str, ...]:
    """The kinds that a device lists for its smallest subgroups."""
    shapes = facts.get("matrix_combinations", "").split()
    return tuple(
        name
        for name, unit in UNITS.items()
        if smallest in _SIZES[name] and f"{unit.types}:{_ROWS}x{smallest}x{unit.depth}" in shapes
    )
