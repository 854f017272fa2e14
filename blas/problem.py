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
        """Class of shapes that share tuning results: the powers of two nearest to m, n, k."""
        return "x".join(str(round_to_power(v)) for v in (self.m, self.n, self.k))


def round_to_power(value: int) -> int:
    """The power of two nearest to a positive number, by ratio."""
    power = 1 << max(value.bit_length() - 1, 0)
    return power if value * value < power * power * 2 else power * 2
