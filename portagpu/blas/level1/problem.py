"""`VectorProblem`: what is asked of a routine of BLAS 1, as a value; and the bytes that it must move."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from portagpu.blas.gemm.core.problem import ITEM_SIZES

MAPS = {"copy": 2, "scal": 2, "axpy": 3, "swap": 4, "rot": 4}
"""Elementwise routines, and how often each element of a vector is read or written."""

SUMS = {"asum": 1, "nrm2": 1, "amax": 1, "dot": 2, "dotc": 2}
"""Routines with one number as their result, and how many vectors they read."""

TRAFFIC = MAPS | SUMS


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorProblem:
    """A routine of BLAS 1 on vectors of n elements; ``batch``: of so many vectors, each with a result of its own.

    ``contiguous``: the elements of every vector lie side by side. (Where they begin at multiples of few bytes only,
    GPUs read them one by one; that is no other problem.) ``routine``: "rot" is rotm, too; "dot" is dotu, "dotc" the one
    that conjugates.
    """

    routine: str
    n: int
    dtype: str
    batch: int = 1
    contiguous: bool = True

    @property
    def is_complex(self) -> bool:
        """Whether elements are complex."""
        return self.dtype.startswith("complex")

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return ITEM_SIZES[self.dtype]

    @property
    def parts(self) -> int:
        """Numbers of an element."""
        return 2 if self.is_complex else 1

    @property
    def number(self) -> str:
        """Dtype of the numbers in memory."""
        return {"complex64": "float32", "complex128": "float64"}.get(self.dtype, self.dtype)

    @property
    def computed(self) -> str:
        """Dtype in which is computed, and sums are formed."""
        return "float64" if self.number == "float64" else "float32"

    @property
    def number_size(self) -> int:
        """Bytes of a number in memory."""
        return ITEM_SIZES[self.number]

    @property
    def nbytes(self) -> int:
        """Bytes that must move at the least."""
        return TRAFFIC[self.routine] * self.n * self.itemsize * self.batch

    @property
    def values(self) -> dict[str, int | float | str | bool]:
        """The problem as the tuner knows it: without what is usual, so that the command need not name it."""
        usual = {"batch": 1, "contiguous": True}
        return {name: value for name, value in asdict(self).items() if usual.get(name) != value}

    @property
    def words(self) -> str:
        """The problem for people: "axpy of 65536 float32, with gaps"."""
        many = f"{self.batch} of " if self.batch > 1 else ""
        return f"{self.routine} of {many}{self.n} {self.dtype}{'' if self.contiguous else ', with gaps'}"
