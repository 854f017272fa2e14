"""Writes tensor maps on the device (see `portagpu.blas.tensor_maps`); in the dialect."""

from __future__ import annotations

from portagpu import cuda


@cuda.jit
def encode_maps(
    maps,
    a,
    shape_a,
    strides_a,
    box_a: cuda.constexpr,
    swizzle_a: cuda.constexpr,
    kind_a: cuda.constexpr,
    b,
    shape_b,
    strides_b,
    box_b: cuda.constexpr,
    swizzle_b: cuda.constexpr,
    kind_b: cuda.constexpr,
    c,
    shape_c,
    strides_c,
    box_c: cuda.constexpr,
    swizzle_c: cuda.constexpr,
    kind_c: cuda.constexpr,
):
    """Write the tensor maps of A, B and C: (batch, rows, columns) as they lie in memory, strides in bytes.

    ``maps`` has 16 words for each; ``c`` may be None. ``swizzle`` is the pattern's length in bytes, 0 for none.
    """
    if cuda.grid(1) == 0:
        for i in range(len(maps)):
            maps[i] = 0
        cuda.tensor_map_encode(maps, 0, a, shape_a, strides_a, box_a, swizzle_a, kind_a)
        cuda.tensor_map_encode(maps, 16, b, shape_b, strides_b, box_b, swizzle_b, kind_b)
        if c is not None:
            cuda.tensor_map_encode(maps, 32, c, shape_c, strides_c, box_c, swizzle_c, kind_c)
