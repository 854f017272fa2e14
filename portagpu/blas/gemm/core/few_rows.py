"""Products with few rows or columns, in the form: few rows times a large matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.flat_operands import Operand, operand
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.problem import Problem
from portagpu.runtime.arrays.array import DeviceNDArray


@dataclass(frozen=True, slots=True)
class FewRows:
    """``rows`` x ``k`` times ``k`` x ``n``, which may be the product of the transposes."""

    rows: int
    n: int
    k: int
    swapped: bool  # the large matrix is a
    along: bool  # its elements lie side by side along k


def few_rows(problem: Problem) -> FewRows:
    """The view of a problem whose rows, or columns, are few."""
    swapped = problem.n < problem.m
    along = problem.a_order == "C" if swapped else problem.b_order == "F"
    rows, n = (problem.n, problem.m) if swapped else (problem.m, problem.n)
    return FewRows(rows, n, problem.k, swapped, along)


@dataclass(frozen=True, slots=True)
class Operands:
    """The few rows, the large matrix and the result in memory, and the distances between rows and columns."""

    few: Operand
    large: Operand
    result: Operand
    few_steps: tuple[int, int]  # from one row to the next, from one k to the next
    result_steps: tuple[int, int]  # from one row to the next, from one column to the next

    @property
    def is_large(self) -> bool:
        """Whether subscripts need 64 bits."""
        return self.few.memory.is_large or self.large.memory.is_large or self.result.memory.is_large


def operands(product: Product, view: FewRows) -> Operands:
    """What a product multiplies, as `view` names it."""
    a, b, c = operand(product.a), operand(product.b), operand(product.c)
    few, large = (b, a) if view.swapped else (a, b)
    lies_along = few.order == ("F" if view.swapped else "C")
    few_steps = (few.pitch, 1) if lies_along else (1, few.pitch)
    return Operands(few, large, c, few_steps, (1, c.pitch) if view.swapped else (c.pitch, 1))


def read_only(memory: DeviceNDArray, dtype: np.dtype[Any] | None = None) -> DeviceNDArray:
    """Memory of one axis as a kernel may only read it, also through its device functions, as whole elements of a type.

    GPUs have other loads for such memory, and compilers may begin them earlier.
    """
    kind = dtype or memory.dtype
    return with_strides(memory, (memory.nbytes // kind.itemsize,), (kind.itemsize,), kind, readonly=True)
