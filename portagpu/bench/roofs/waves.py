"""Instructions of matrix units of waves, by the layouts that the shipped product has of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from portagpu.bench.roofs.bare import KINDS
from portagpu.bench.roofs.lane_products import Held, Instruction
from portagpu.blas.gemm.variants.wave_matrix.kernels import instruction
from portagpu.blas.gemm.variants.wave_matrix.variant import LAYOUTS, Layout
from portagpu.device import Capabilities
from portagpu.frontend.intrinsics.subgroup_matrix import MFMA, WMMA

Array = np.ndarray[Any, Any]


def instructions(arithmetic: str, caps: Capabilities) -> Iterator[Instruction]:
    """Those of an arithmetic that a device has."""
    for function, table in (("mfma", MFMA), ("wmma", WMMA)):
        for (kind, shape), several in table.items():
            one = next((found for found in several if found.unit in caps.matrix_units), None)
            if kind != KINDS[arithmetic] or one is None:
                continue
            layout = layout_of(function, kind, shape, one.unit)
            names, count = one.operand
            operand = Held(next(name for name in names if name != "float16"), count)  # halves by their bits
            yield Instruction(
                name=f"{shape} of {kind}",
                m=layout.size,
                n=layout.size,
                k=layout.depth,
                lanes=layout.lanes,
                a=operand,
                b=operand,
                sums=Held(*one.accumulator),
                of_a=partial(held_of_a, layout),
                of_b=partial(held_of_b, layout),
                of_sums=partial(held_of_sums, layout),
                multiply=_multiply(function, shape, kind),
            )


_multiply = cache(instruction)


def layout_of(function: str, kind: str, shape: str, unit: str) -> Layout:
    """The layout of an instruction of any elements: that of halves of the same size, less or more deep."""
    size, depth = (int(number) for number in re.findall(r"\d+", shape)[1:])
    known = next(
        one
        for one in LAYOUTS.values()
        if (one.function, one.size) == (function, size) and (one.unit == unit or function == "mfma")
    )
    found = replace(known, unit=unit, depth=depth, elements=known.elements * depth // known.depth)
    # sums of 64 bits lie row by row in the lanes that share a column, not four rows in a lane
    return replace(found, run=1, stride=4, part=1) if kind == "float64" else found


def held_of_a(layout: Layout, matrix: Array) -> Array:
    """Elements of A (m, k) by lane and place."""
    lane, element = np.ogrid[: layout.lanes, : layout.elements]
    first = lane // layout.size * layout.elements if layout.splits_depth else 0
    found: Array = matrix[lane % layout.size, first + element]
    return found


def held_of_b(layout: Layout, matrix: Array) -> Array:
    """Elements of B (k, n): as A's, with columns for rows."""
    return held_of_a(layout, matrix.T)


def held_of_sums(layout: Layout, matrix: Array) -> Array:
    """Sums (m, n) by lane and place."""
    lane, place = np.ogrid[: layout.lanes, : layout.results]
    row = place // layout.run * layout.stride + place % layout.run + lane // layout.size * layout.part
    found: Array = matrix[row, lane % layout.size]
    return found


__all__ = ["held_of_a", "held_of_b", "held_of_sums", "instructions", "layout_of"]
