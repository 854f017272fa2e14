"""Writes tensor maps on the device (see `portagpu.blas.gemm.variants.wgmma.tensor_maps`); in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda

_SWIZZLE = 128  # bytes of the pattern in which the copies permute parts of a row


class Lying(NamedTuple):
    """A matrix as it lies in memory: (batch, rows, columns) and steps in bytes."""

    memory: Any
    shape: Any
    strides: Any


class Tiles(NamedTuple):
    """Tiles of a matrix that are copied, and as what elements they are, see `cuda.tensor_map_encode`."""

    box: tuple[int, int, int]
    kind: str


@cuda.jit
def encode_maps(maps, a, b, c, of_a: cuda.constexpr, of_b: cuda.constexpr, of_c: cuda.constexpr):
    """Write the tensor maps of A, B and C, each `Lying`, whose `Tiles` are given; ``maps`` has 16 words for each."""
    if cuda.grid(1) == 0:
        for i in range(len(maps)):
            maps[i] = 0
        cuda.tensor_map_encode(maps, 0, a.memory, a.shape, a.strides, of_a.box, _SWIZZLE, of_a.kind)
        cuda.tensor_map_encode(maps, 16, b.memory, b.shape, b.strides, of_b.box, _SWIZZLE, of_b.kind)
        cuda.tensor_map_encode(maps, 32, c.memory, c.shape, c.strides, of_c.box, _SWIZZLE, of_c.kind)
