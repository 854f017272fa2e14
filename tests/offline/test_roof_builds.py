"""Probes of roofs compile for GPUs that are not here: without spills, with the instructions that they time."""

from __future__ import annotations

import re

import pytest
from compilers import compiler_of

from portagpu import cuda, types
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.bench.roofs import chains, fragments, lane_products, subgroups, sweep, warps, waves
from portagpu.bench.roofs.bare import KINDS

_WORDS = "void({sums}[::1], {register}[::1], {register}[::1], int32)"


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("arithmetic", [arithmetic for arithmetic in KINDS if arithmetic != "float32"])
def test_instructions_of_a_warp(target, arithmetic):
    caps = compiler_of(TARGETS[target]).capabilities
    elements = warps._ELEMENTS[arithmetic]
    made = fragments.multiply_fragments.compile_for(
        target,
        _WORDS.format(sums=elements.sums, register=elements.register),
        constants={"form": warps.fragment_of(arithmetic, caps)},
        block=(256, 1, 1),
    )
    assert not made.figures.spills and "mma.sync" in made.assembly


@pytest.mark.parametrize("arithmetic", ["float16", "int8"])
def test_instructions_of_a_warp_group(arithmetic):
    compiler_of(TARGETS["sm_90"])
    made = fragments.multiply_tiles.compile_for(
        "sm_90",
        f"void({warps._ELEMENTS[arithmetic].sums}[::1], uint32[:, ::1], uint32[:, ::1], int32)",
        constants={"kind": KINDS[arithmetic]},
    )
    assert not made.figures.spills and "wgmma" in made.assembly


_ON_LANES = [
    (target, form)
    for target in ("gfx908", "gfx942", "gfx1100", "gfx1201", "dg2", "pvc")
    for arithmetic in KINDS
    for known in (waves.instructions, subgroups.instructions)
    for form in lane_products.forms(known(arithmetic, TARGETS[target].capabilities), TARGETS[target].capabilities)
]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("target", "form"), _ON_LANES, ids=[f"{target}-{form.text}" for target, form in _ON_LANES])
def test_instructions_of_waves_and_subgroups(target, form):
    """Each product is one instruction; the loop has nothing else to do, such as moving sums between registers."""
    compiler_of(TARGETS[target])
    one = form.instruction
    made = lane_products.kernel_of(lane_products.TEAMS * one.lanes, one.subgroup_size).compile_for(
        target,
        (*(getattr(types, dtype)[::1] for dtype in (one.sums.dtype, one.a.dtype, one.b.dtype)), types.int32),
        constants={"plan": form.plan},
    )
    assert not made.figures.spills and made.figures.lanes == one.lanes
    assert made.figures.mix.matrix == form.rows * form.columns
    assert not re.search(r"v_(dual_)?mov|accvgpr|scratch", _loop_of(made.assembly))


def _loop_of(assembly):
    """From the label before the first instruction of a matrix unit to the branch after the last one."""
    lines = assembly.splitlines()
    units = [i for i, line in enumerate(lines) if re.search(r"v_mfma|v_wmma|dpas", line)]
    first = max(i for i, line in enumerate(lines[: units[0]]) if re.match(r"\S+:", line))
    last = next(i for i, line in enumerate(lines) if i > units[-1] and re.search(r"branch|jmpi|goto|while", line))
    return "\n".join(lines[first:last])


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
