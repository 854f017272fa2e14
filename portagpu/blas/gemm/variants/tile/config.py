"""Parameters of the tile variant."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.blas.gemm.core.interface import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class TileConfig(Config):
    """Parameters of the tile variant."""

    tile_m: int
    tile_n: int
    tile_k: int
    thread_m: int
    thread_n: int
    group: int
    split_k: int = 1  # parts of a sum, of a block each
    problems: int = 1  # products of a batch that a block computes

    @property
    def threads(self) -> int:
        """Threads for a tile."""
        return (self.tile_m // self.thread_m) * (self.tile_n // self.thread_n)

    def local_memory(self, itemsize: int) -> int:
        """Bytes of local memory: two buffers of padded tiles of A and B, for each product."""
        return 2 * self.problems * self.tile_k * (self.tile_m + 4 + self.tile_n + 4) * itemsize
