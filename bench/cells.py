"""What is measured: a problem, an implementation, and the result as a value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Memory(Enum):
    """Where the operands are while the clock runs."""

    HOST = "NumPy arrays"  # transfers or wrapping are counted
    DEVICE = "device arrays"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One product measured on one device by PortaGPU and a peer, in the same run."""

    device: str
    driver: str
    dtype: str
    size: int
    memory: str
    peer: str
    gflops: float | None  # median
    peer_gflops: float | None
    error: float | None  # largest error relative to the tolerance; at most 1 for a right result
    problem: str | None  # why there are no numbers

    @property
    def ratio(self) -> float | None:
        """PortaGPU's speed over the peer's."""
        if self.gflops is None or not self.peer_gflops:
            return None
        return self.gflops / self.peer_gflops


__all__ = ["Cell", "Memory"]
