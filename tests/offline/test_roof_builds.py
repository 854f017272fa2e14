"""Probes of roofs compile for GPUs that are not here: without spills, with the instructions that they time."""

from __future__ import annotations

import pytest
from compilers import compiler_of

from portagpu import cuda
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.bench.roofs import chains, fragments, matrix_units, sweep

_WORDS = "void({sums}[::1], {register}[::1], {register}[::1], int32)"


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("arithmetic", list(matrix_units.KINDS))
def test_instructions_of_a_warp(target, arithmetic):
    caps = compiler_of(TARGETS[target]).capabilities
    elements = matrix_units._ELEMENTS[arithmetic]
    made = fragments.multiply_fragments.compile_for(
        target,
        _WORDS.format(sums=elements.sums, register=elements.register),
        constants={"form": matrix_units.fragment_of(arithmetic, caps)},
        block=(256, 1, 1),
    )
    assert not made.figures.spills and "mma.sync" in made.assembly


@pytest.mark.parametrize("arithmetic", ["float16", "int8"])
def test_instructions_of_a_warp_group(arithmetic):
    compiler_of(TARGETS["sm_90"])
    made = fragments.multiply_tiles.compile_for(
        "sm_90",
        f"void({matrix_units._ELEMENTS[arithmetic].sums}[::1], uint32[:, ::1], uint32[:, ::1], int32)",
        constants={"kind": matrix_units.KINDS[arithmetic]},
    )
    assert not made.figures.spills and "wgmma" in made.assembly


@pytest.mark.parametrize("target", ["sm_90", "gfx942", "dg2"])
def test_chains_and_sweeps(target):
    compiler_of(TARGETS[target])
    made = chains.scalar_chains.compile_for(
        target,
        "void(float32[::1], float32[::1], float32, float32, int32)",
        constants={"count": 16, "fused": True},
        block=(256, 1, 1),
    )
    assert not made.figures.spills
    made = sweep.sweep_local.compile_for(
        target,
        "void(float32[::1], float32[::1], uint32, uint32, uint32)",
        constants={"vector": cuda.float32x4, "unrolled": 4},
        block=(256, 1, 1),
    )
    assert not made.figures.spills
