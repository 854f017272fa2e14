"""What is asked of a product with a vector (`ProductProblem`), and how its kernels get it.

Kernels see a matrix as lines of neighbours in memory (`Sheet`): rows, or columns of one in Fortran order. A line's
elements are used along it (an output for each line, ``y[i] += m[i, j] * x[j]``), across (``y[j] += m[i, j] * x[i]``),
or both ways, as those of a symmetric matrix are, of which one triangle is read.

Kernels compute with real numbers. Complex lines are real ones twice as long, multiplied by two vectors: along, the line
with ``(re, -im)`` of each x is the real part of a sum, with ``(im, re)`` the imaginary one; across, lines are
multiplied by the real and by the imaginary part of their x, and neighbours put together at the end. Where elements are
conjugated, signs are others.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

FULL, LOWER, UPPER = range(3)
"""Which elements of a `Sheet` there are: all, or those up to the diagonal of each line, or from it on."""

READ, REAL, UNIT = range(3)
"""What a triangle's diagonal is: what the memory has, the real part of that, or ones."""


class Form(NamedTuple):
    """What is known of a product when its kernels are compiled; the rest is the `Sheet`'s.

    ``parts``: numbers of an element, 2 of a complex one; ``along``, ``across``: how elements are used; ``triangle``:
    there is one, not all elements.
    """

    parts: int
    along: bool
    across: bool
    triangle: bool = False


class Sheet(NamedTuple):
    """Lines of real numbers: number c of line i is ``memory[i * pitch + i * (i - 1) / 2 * growth + c]``.

    ``growth`` is 0 but for packed triangles, whose lines lie one after the other, each longer than the one before, or
    shorter; numbers are unsigned and wrap. ``shape``: `FULL` or a triangle; ``diagonal``: of a triangle.
    """

    memory: Any
    pitch: Any
    growth: Any
    shape: Any
    diagonal: Any


class Given(NamedTuple):
    """The vector x in the memory that kernels read.

    What number c of a line is multiplied by is ``memory[along + v * columns + c]``, for v below `Form.parts`; a line i
    is multiplied by ``memory[across + v * lines + i]``.
    """

    memory: Any
    along: Any
    across: Any


class Extents(NamedTuple):
    """Lines, and numbers of a line; in the unsigned type of indices."""

    lines: Any
    columns: Any


class Tiling(NamedTuple):
    """Parts of a sheet that blocks have: strips of so many lines, in chunks of so many numbers."""

    strip: Any
    chunk: Any


class Sums(NamedTuple):
    """Sums of parts of a sheet, which `finish` adds.

    Those along, of chunk q: ``memory[q * lines * parts + i * parts + v]`` for line i. Those across, of strip s:
    ``memory[across + (s * parts + v) * columns + c]``. ``shape``: the sheet's.
    """

    memory: Any
    across: Any
    shape: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductProblem:
    """A product with a vector, without the arrays: ``routine`` in ``dtype``, of ``lines`` with ``columns`` elements.

    ``shape``: "full", or the triangle "lower" or "upper" of the lines; ``along``, ``across``: how elements are used.
    """

    routine: str
    lines: int
    columns: int
    dtype: str
    shape: str = "full"
    along: bool = True
    across: bool = False

    @property
    def values(self) -> dict[str, int | float | str | bool]:
        """The problem as the tuner knows it."""
        return asdict(self)

    @property
    def words(self) -> str:
        """The problem for people: "symv 512 x 512 float32, lower triangle of the lines, along and across"."""
        triangle = "" if self.shape == "full" else f", {self.shape} triangle of the lines"
        how = " and ".join(word for word, used in (("along", self.along), ("across", self.across)) if used)
        return f"{self.routine} {self.lines} x {self.columns} {self.dtype}{triangle}, {how}"

    @property
    def parts(self) -> int:
        """Numbers of an element: 2 of a complex one."""
        return 2 if self.dtype.startswith("complex") else 1

    @property
    def itemsize(self) -> int:
        """Bytes of a real number."""
        return 8 if self.dtype in ("float64", "complex128") else 4

    @property
    def nbytes(self) -> int:
        """Bytes of the elements that are read."""
        elements = self.lines * self.columns if self.shape == "full" else self.lines * (self.lines + 1) // 2
        return elements * self.parts * self.itemsize
