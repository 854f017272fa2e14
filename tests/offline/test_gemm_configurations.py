"""The configurations that GEMM chooses without tuning spill no registers, says each target's own compiler."""

from __future__ import annotations

import pytest

from portagpu import types
from portagpu.blas.problem import Problem
from portagpu.blas.tile_variant import TileConfig, TileVariant, subgroup_of, tile_kernel, tile_lanes, unroll_of
from portagpu.blas.vectors import vector_type
from portagpu.device.targets import TARGETS

_SIZES = (128, 512, 1024, 2048, 8192)


def _chosen(variant, dtype, caps):
    """The model's choices of a variant over the sizes."""
    problems = [Problem(m=n, n=n, k=n, dtype=dtype) for n in _SIZES]
    choices = [min(variant.shortlist(p, caps), key=lambda c, p=p: variant.predict(c, p, caps)) for p in problems]
    return list(dict.fromkeys(choices))


def _tile_constants(config: TileConfig, dtype, caps, exact):
    return {
        **{name: getattr(config, name) for name in ("tile_m", "tile_n", "tile_k", "thread_m", "thread_n", "group")},
        "vector": vector_type(dtype, tile_lanes(8 if dtype == "float64" else 4)),
        "a_transposed": False,
        "b_transposed": False,
        "exact": exact,
        "unroll": unroll_of(config, caps),
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles(target, dtype):
    caps = target.capabilities
    if dtype == "float64" and not caps.fp64:
        assert target.name in TARGETS
        return
    matrix = getattr(types, dtype)[:, ::1]
    for config in _chosen(TileVariant(), dtype, caps):
        for exact in (True, False):
            kernel = tile_kernel(config.threads, subgroup_of(caps))
            constants = _tile_constants(config, dtype, caps, exact)
            figures = kernel.compile_for(target, (matrix, matrix, matrix), constants=constants).figures
            assert not figures.spills, (config, exact, figures)
            assert figures.local_bytes >= config.local_memory(matrix.dtype.row.size)
