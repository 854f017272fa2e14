"""Writes tensor maps on the device (see `portagpu.blas.gemm.variants.wgmma.tensor_maps`); in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda

_SWIZZLE = 128  # bytes of the pattern in which the copies permute parts of a row


@cuda.jit
def encode_maps(
    maps,
    a,
    shape_a,
    strides_a,
    box_a: cuda.constexpr,
    kind_a: cuda.constexpr,
    b,
    shape_b,
    strides_b,
    box_b: cuda.constexpr,
    kind_b: cuda.constexpr,
    c,
    shape_c,
    strides_c,
    box_c: cuda.constexpr,
    kind_c: cuda.constexpr,
):
    """Write the tensor maps of A, B and C: (batch, rows, columns) as they lie in memory, strides in bytes.

    ``maps`` has 16 words for each.
    """
    if cuda.grid(1) == 0:
        for i in range(len(maps)):
            maps[i] = 0
        cuda.tensor_map_encode(maps, 0, a, shape_a, strides_a, box_a, _SWIZZLE, kind_a)
        cuda.tensor_map_encode(maps, 16, b, shape_b, strides_b, box_b, _SWIZZLE, kind_b)
        cuda.tensor_map_encode(maps, 32, c, shape_c, strides_c, box_c, _SWIZZLE, kind_c)
