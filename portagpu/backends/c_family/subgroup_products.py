"""Compilers' functions for matrix units of subgroups (`cuda.subgroup_matrix_mad`), by their names and types.

They are those of cl_intel_subgroup_matrix_multiply_accumulate and of its extension for TF32. OpenCL C and SYCL C++
reach the same functions, which the driver's compiler has.
"""

from __future__ import annotations

from typing import NamedTuple

from portagpu.backends.c_family.c_types import c_type
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar, Type, Vector

# dtype -> the format's name in the functions, and the depth of a product
_FORMATS = {
    "float16": ("f16_f16", 16),
    "bfloat16": ("bf16_bf16", 16),
    "int8": ("i8_i8", 32),
    "tfloat32": ("tf32_tf32", 8),
}
OPERATIONS = tuple(f"mad_{dtype}" for dtype in _FORMATS)
"""The operations of the IR that these functions are."""


class ProductFunction(NamedTuple):
    """A function's name; the element and the number of lanes of A, B and the sums, integers with a sign."""

    name: str
    types: tuple[tuple[str, int], ...]


def function_of(expr: Operation) -> ProductFunction:
    """The function for one of `OPERATIONS`."""
    name, depth = _FORMATS[expr.name.removeprefix("mad_")]
    return ProductFunction(f"intel_sub_group_{name}_matrix_mad_k{depth}", tuple(_lanes(a.type) for a in expr.args))


def _lanes(kind: Type) -> tuple[str, int]:
    assert isinstance(kind, Scalar | Vector)
    element = c_type(Scalar(kind.dtype))
    lanes = kind.lanes if isinstance(kind, Vector) else 1
    return element if kind.dtype.is_float else element.removeprefix("u"), lanes
