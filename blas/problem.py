"""What a GEMM is asked to do, as a value."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """``c (m, n) = a (m, k) @ b (k, n)`` in one dtype."""

    m: int
    n: int
    k: int
    dtype: str
    layout: str = "NN"  # a and b: N where rows are contiguous, T where columns are
    aligned: bool = True  # whether rows of a, b and c begin at multiples of 16 bytes

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return {"float32": 4, "float64": 8}[self.dtype]

    @property
    def flops(self) -> int:
        """Floating-point operations: a multiplication and an addition for each of m * n * k terms."""
        return 2 * self.m * self.n * self.k

    @property
    def values(self) -> dict[str, int | float | str | bool]:
        """The problem as the tuner knows it."""
        return asdict(self)
