"""What a GEMM is asked to do, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """``c (m, n) = a (m, k) @ b (k, n)`` in one dtype."""

    m: int
    n: int
    k: int
    dtype: str

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return {"float32": 4, "float64": 8}[self.dtype]

    @property
    def flops(self) -> int:
        """Floating-point operations: a multiplication and an addition for each of m * n * k terms."""
        return 2 * self.m * self.n * self.k

    @property
    def shape_class(self) -> str:
        """The sizes: times of different sizes cannot be compared. `choice` decides which results serve which sizes."""
        return f"{self.m}x{self.n}x{self.k}"
