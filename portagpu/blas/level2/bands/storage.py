"""How bands lie in memory, and the parts of a row that are read alike.

A band is a strided matrix, too: element (r, c) is ``a[above + r - c, c]``, so a step down is one along the first axis
of ``a``, and a step to the right one along its second axis and one back along the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from portagpu.blas.gemm.core.operands import placed, real_flat
from portagpu.runtime.arrays.array import DeviceNDArray

ACROSS, ALONG, DIAGONALLY = range(3)
"""Of `Part.order`: which elements of a part lie side by side: those of neighbouring rows in one column, those of a row,
or those of a diagonal."""

NO_DIAGONAL, UNIT_DIAGONAL, REAL_DIAGONAL = range(3)
"""Of products: whether diagonal elements are those of parts, ones, or real parts of what is stored."""


class Band(NamedTuple):
    """A band as kernels take it: element (r, c) is ``memory[first + r * down + c * right]``."""

    memory: Any
    first: Any
    down: Any
    right: Any


class Part(NamedTuple):
    """A part of each row of op(A) whose elements are found alike; known when kernels are compiled.

    Element (i, j) is the band's (j, i) if ``mirrored``, (i, j) if not; ``conjugated``: its conjugate. ``adjacent``:
    elements that follow each other in the ``order`` do so in memory.
    """

    mirrored: bool
    conjugated: bool
    order: int
    adjacent: bool


class Window(NamedTuple):
    """The part of row i: columns from ``i + low`` up to ``i + high``, the last one not among them."""

    low: Any
    high: Any


@dataclass(frozen=True, slots=True)
class Storage:
    """A band of (rows, columns) with so many diagonals ``below`` and ``above`` the main one.

    array: (below + above + 1, columns) at least, of any strides.
    """

    array: DeviceNDArray
    shape: tuple[int, int]
    below: int
    above: int

    @property
    def steps(self) -> tuple[int, int]:
        """Elements from one row to the next, and from one column to the next."""
        item = self.array.itemsize
        (lines, columns), (first, second) = self.array.shape, self.array.strides
        # a step along an axis of one element is never taken, and may be anything
        down = first // item if lines > 1 else 1
        return down, (second // item if columns > 1 else lines) - down

    def for_kernels(self, number: Any, *, turned: bool = False, real: bool = False) -> Band:
        """The band as kernels take it, or its transpose if ``turned``; number: the type of its steps.

        real: the memory as real numbers, two for each complex one; steps stay those of elements.
        """
        array, item = self.array, self.array.itemsize
        spans = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
        lowest = sum(span for span in spans if span < 0)
        memory = placed(array, sum(map(abs, spans)) // item + 1, lowest)
        down, right = self.steps
        row, column = (right, down) if turned else (down, right)
        first = -lowest // item + self.above * down
        if real and array.dtype.kind == "c":
            memory = real_flat(memory)
        return Band(memory, number(first), number(row), number(column))


def band(a: DeviceNDArray, rows: int, below: int, above: int) -> Storage:
    """A band of so many rows and diagonals ``below`` and ``above``: element (i, j) is ``a[above + i - j, j]``.

    a (below + above + 1, columns) at least, of any strides.
    """
    return Storage(a, shape=(rows, a.shape[1]), below=below, above=above)


def triangular_band(a: DeviceNDArray, k: int, lower: bool) -> Storage:
    """A triangular band with the main diagonal and k more: square, a (k + 1, n) at least, of any strides."""
    return band(a, a.shape[1], *((k, 0) if lower else (0, k)))


@dataclass(frozen=True, slots=True)
class Parts:
    """op(A) as products read it: its parts with their windows, and what its diagonal is.

    Windows are those of rows that begin anywhere; they may reach beyond the matrix. ``turned``: parts are those of a
    band's transpose, see `Storage.for_kernels`.
    """

    shape: tuple[int, int]
    parts: tuple[Part, ...]
    windows: tuple[tuple[int, int], ...]
    diagonal: int
    turned: bool = False

    @property
    def main(self) -> Part:
        """The part that has most elements."""
        return max(zip(self.parts, self.windows, strict=True), key=lambda found: found[1][1] - found[1][0])[0]

    @property
    def terms(self) -> int:
        """The most of a row."""
        found = sum(min(high, self.shape[1]) - max(low, -self.shape[1]) for low, high in self.windows)
        return max(1, min(self.shape[1], found))


def general(storage: Storage, trans: int, *, unit: bool = False, diagonal: bool = True) -> Parts:
    """op(A) of a band. ``unit``: the diagonal is one; not ``diagonal``: leave it out of a triangle."""
    rows, columns = storage.shape[::-1] if trans else storage.shape
    low, high = (-storage.above, storage.below + 1) if trans else (-storage.below, storage.above + 1)
    if unit or not diagonal:
        low, high = (1, high) if low == 0 else (low, 0)
    part = _part(storage, mirrored=trans != 0, conjugated=trans == 2)._replace(mirrored=False)
    return Parts((rows, columns), (part,), ((low, high),), UNIT_DIAGONAL if unit else NO_DIAGONAL, trans != 0)


def symmetric(storage: Storage, *, hermitian: bool = False) -> Parts:
    """A symmetric or Hermitian matrix of which one triangle is stored."""
    width, upper = storage.below + storage.above, storage.above > 0
    real = 1 if hermitian else 0
    named = _part(storage, mirrored=False, conjugated=False)
    other = _part(storage, mirrored=True, conjugated=hermitian)
    if upper:
        windows = ((real, width + 1), (-width, 0))
    else:
        windows = ((-width, 1 - real), (1, width + 1))
    return Parts(storage.shape, (named, other), windows, REAL_DIAGONAL if hermitian else NO_DIAGONAL)


def _part(storage: Storage, *, mirrored: bool, conjugated: bool) -> Part:
    down, right = storage.steps
    rows, columns = (right, down) if mirrored else (down, right)
    steps = {ALONG: columns, ACROSS: rows, DIAGONALLY: rows + columns}
    order = min(steps, key=lambda which: abs(steps[which]))
    return Part(mirrored, conjugated and storage.array.dtype.kind == "c", order, steps[order] == 1)
