"""Instructions of matrix units of subgroups: eight rows, as many columns as a subgroup has lanes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from portagpu.bench.roofs.bare import KINDS
from portagpu.bench.roofs.lane_products import Held, Instruction
from portagpu.blas.gemm.variants.subgroup.matrix_kernels import ROWS, instruction
from portagpu.device import Capabilities
from portagpu.frontend.intrinsics.subgroup_matrix import MAD, mad_types

Array = np.ndarray[Any, Any]

_BYTES = {"float16": 2, "bfloat16": 2, "int8": 1, "tfloat32": 4}  # of an element
_COLUMN = 32  # bytes of a column of B


def instructions(arithmetic: str, caps: Capabilities) -> Iterator[Instruction]:
    """The one of an arithmetic, if a device has it; its subgroups are the smallest."""
    kind, size = KINDS[arithmetic], min(caps.subgroup_sizes, default=0)
    unit = "subgroup_tfloat32" if kind == "tfloat32" else "subgroup"
    if kind not in MAD or unit not in caps.matrix_units or size not in ((16,) if kind == "tfloat32" else (8, 16)):
        return
    types = mad_types(kind, size, ROWS)
    depth = _COLUMN // _BYTES[kind]
    yield Instruction(
        name=f"m{ROWS}n{size}k{depth} of {kind}",
        m=ROWS,
        n=size,
        k=depth,
        lanes=size,
        subgroup_size=size,
        a=Held(types.a[0][0], types.a[1]),
        b=Held(types.b[0][0], types.b[1]),
        sums=Held(*types.acc),
        of_a=partial(held_of_a, size),
        of_b=held_of_b,
        of_sums=held_of_sums,
        multiply=_multiply(kind),
    )


_multiply = cache(instruction)


def held_of_a(size: int, matrix: Array) -> Array:
    """Elements of A (8, k) by lane and place: a row has its elements in all lanes, or two short rows share them."""
    lines = matrix.reshape(-1, max(size, matrix.shape[1]))
    each = lines.shape[1] // size
    return np.ascontiguousarray(lines.reshape(len(lines), size, each).swapaxes(0, 1)).reshape(size, -1)


def held_of_b(matrix: Array) -> Array:
    """Elements of B (k, n): a lane has a column."""
    found: Array = matrix.T
    return found


def held_of_sums(matrix: Array) -> Array:
    """Sums (8, n): likewise."""
    found: Array = matrix.T
    return found


__all__ = ["held_of_a", "held_of_b", "held_of_sums", "instructions"]
