"""Fusion: a caller's function of a product's results, and its arguments, as the engine passes them on to kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.kernel_arguments import Fused, Order
from portagpu.dispatch.dispatcher import Dispatcher

_NARROW = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """``function(value, row, column, *arguments)`` of each scaled sum, which is stored in its place.

    arguments: device arrays, which are only read, and numbers. With ``batched`` the function gets the number of the
    matrix, in C order of the result's leading axes, before its arguments. ``first``: that of the first matrix of a
    product. ``rows``: of each matrix, where several are one tall one; 0 otherwise. ``turned``: the product is that of
    the transposes, so that rows are the caller's columns.
    """

    function: Dispatcher[..., Any]
    arguments: tuple[Any, ...] = ()
    batched: bool = False
    first: int = 0
    rows: int = 0
    turned: bool = False

    def of_transposes(self) -> Fusion:
        """The same for the product of the transposes."""
        return replace(self, turned=not self.turned)

    def from_matrix(self, number: int) -> Fusion:
        """The same for a product of which this matrix is the first one."""
        return replace(self, first=self.first + number)

    def with_arguments(self, arguments: tuple[Any, ...]) -> Fusion:
        """The same function of other arguments."""
        return replace(self, arguments=arguments)

    def fused(self, *, turned: bool = False) -> Fused:
        """What kernels take; ``turned``: a kernel that computes the product of the transposes."""
        rows = (np.int32 if self.rows < _NARROW else np.int64)(self.rows) if self.rows else None
        return Fused(
            function=self.function,
            arguments=self.arguments,
            order=Order.TURNED if self.turned != turned else Order.GIVEN,
            batched=Order.GIVEN if self.batched else None,
            first=np.int32(self.first),
            rows=rows,
        )
