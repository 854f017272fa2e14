"""`BandProblem`: what is asked of a product with a band; `ProductCall`: its arrays."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from portagpu.blas.level2.bands.storage import ACROSS, ALONG, DIAGONALLY, Parts, Storage
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream
from portagpu.tuning.tunables.problems import Value

_ORDERS = {ACROSS: "across", ALONG: "along", DIAGONALLY: "diagonally"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BandProblem:
    """A product: so many rows with so many terms each; ``order``: which elements lie side by side, see
    `storage`; ``adjacent``: whether without gaps."""

    dtype: str
    rows: int
    terms: int
    order: int
    adjacent: bool = True

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype).itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements that are used."""
        return self.rows * self.terms * self.itemsize

    @property
    def values(self) -> dict[str, Value]:
        """The problem as the tuner knows it."""
        return asdict(self)

    @property
    def words(self) -> str:
        """The problem for people."""
        return f"band of {self.dtype}, {self.rows} rows of {self.terms} terms, neighbours {_ORDERS[self.order]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductCall:
    """``y = alpha * op(A) @ x + beta * y`` for rows and columns of op(A).

    bounds: first and last row, first and last column.
    """

    storage: Storage
    x: DeviceNDArray
    y: DeviceNDArray
    bounds: tuple[int, int, int, int]
    parts: Parts
    alpha: complex
    beta: complex
    dtype: np.dtype[Any]
    stream: Stream

    @property
    def rows(self) -> int:
        """Of the result that are written."""
        return self.bounds[1] - self.bounds[0]
