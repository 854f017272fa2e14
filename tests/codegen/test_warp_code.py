"""How warp operations and halves are said on devices that this machine may not have."""

from __future__ import annotations

import dataclasses

import pytest

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import FLOAT16, FLOAT32, FLOAT64, UINT16
from portagpu.errors import MissingCapabilityError
from portagpu.ir.types import ArrayType, Layout, Scalar
from portagpu.ir.verify import verify

FULL = 0xFFFFFFFF
FLOATS = ArrayType(Scalar(FLOAT32), 1, Layout.C)
DOUBLES = ArrayType(Scalar(FLOAT64), 1, Layout.C)
HALVES = ArrayType(Scalar(FLOAT16), 1, Layout.C)


@cuda.jit
def exchanges(x, y):
    i = cuda.grid(1)
    if i < 7:
        x[i] = cuda.shfl_xor_sync(FULL, x[i], 1) + cuda.ballot_sync(FULL, x[i] > 0)
        y[i] = cuda.shfl_down_sync(FULL, y[i], 2)
        mask, same = cuda.match_all_sync(FULL, y[i])
        if same or cuda.any_sync(FULL, i > 3) or cuda.all_sync(FULL, i > 3) or cuda.eq_sync(FULL, i > 3):
            cuda.syncwarp(mask)
    cuda.nanosleep(20)
    cuda.cg.this_grid().sync()


@cuda.jit
def compares_few_bits(x, y):
    i = cuda.grid(1)
    x[i] = cuda.popc(cuda.match_any_sync(FULL, i & 0x5F)) + cuda.popc(cuda.match_any_sync(FULL, y[i] & 511))


@cuda.jit
def compares_in_branches(x):
    i = cuda.grid(1)
    if i % 32 < 5:
        x[i] = cuda.popc(cuda.match_any_sync(0x1F, i & 0x5F))
    else:
        x[i] = cuda.popc(cuda.match_any_sync(FULL ^ 0x1F, i & 0x5F))


@cuda.jit
def asks_for_lanes(x):
    x[cuda.laneid] = cuda.warpsize


@cuda.jit
def half_sines(h):
    h[0] = cuda.fp16.hsin(h[0]) + h[1]


@cuda.jit
def half_vectors(h):
    v = cuda.vload(h, 0, 2)
    h[0] = v.x


def source(kernel, arguments, caps):
    program = lower_kernel(kernel.source, arguments, caps)
    verify(program)
    return generate(program, caps)


def test_inline_ptx_needs_no_barriers_of_the_block(device):
    caps = dataclasses.replace(device.capabilities, **from_ptx(True), fp64=True, line_directives=False)
    generated = source(exchanges, (FLOATS, DOUBLES), caps)
    for instruction in (
        *("shfl.sync.bfly.b32", "shfl.sync.down.b32", "vote.sync.ballot.b32", "vote.sync.any.pred"),
        *("vote.sync.all.pred", "vote.sync.uni.pred", "match.all.sync.b64", "bar.warp.sync", "nanosleep.u32"),
    ):
        assert instruction in generated.source, instruction
    kernel = generated.source[generated.source.index("__kernel") :]
    assert "barrier(" not in kernel and "if (i < 7)" in kernel  # branches stay branches
    assert "grid_sync" in kernel and generated.parameters[-1].role.name == "GRID_CELLS"
    assert generated.cooperative and generated.max_threads is None


def test_values_of_few_bits_are_matched_by_votes(device):
    caps = dataclasses.replace(device.capabilities, **from_ptx(True), fp64=True, line_directives=False)
    text = source(compares_few_bits, (FLOATS, ArrayType(Scalar(UINT16), 1, Layout.C)), caps).source
    assert text.count("vote.sync.ballot.b32") == 7 and text.count("match.any.sync.b32") == 1
    parts = source(compares_in_branches, (FLOATS,), caps).source
    assert "vote.sync.ballot.b32" not in parts and parts.count("match.any.sync.b32") == 1


@pytest.mark.parametrize("lanes", [16, 64])
def test_warps_are_32_threads_whatever_runs_in_lockstep(device, lanes):
    """The exchange through shared memory is that of devices without warps, which the other tests run."""
    common = dataclasses.replace(device.capabilities, **from_ptx(False), fp64=True)
    for kernel, arguments in ((exchanges, (FLOATS, DOUBLES)), (asks_for_lanes, (FLOATS,))):
        ours, theirs = (source(kernel, arguments, dataclasses.replace(common, warp_size=n)) for n in (32, lanes))
        assert ours.source == theirs.source
    assert "% 32" in ours.source and "= 32.0f" in ours.source


def test_halves_by_what_a_device_has(device):
    common = dataclasses.replace(device.capabilities, fp16_functions=False, line_directives=False)
    stored = dataclasses.replace(common, fp16=False, fp16_storage=True)
    text = source(half_sines, (HALVES,), stored).source
    assert "vload_half" in text and "vstore_half_rte" in text and "__global ushort* restrict h" in text
    arithmetic = dataclasses.replace(common, fp16=True)
    text = source(half_sines, (HALVES,), arithmetic).source
    assert "(half)sin((float)h[0])" in text
    native = dataclasses.replace(arithmetic, fp16_functions=True)
    assert "sin(h[0])" in source(half_sines, (HALVES,), native).source
    for lacking in (stored, arithmetic):  # vectors of halves are the extension's
        assert "vload_half2(0, (__global const half*)(h + 0))" in source(half_vectors, (HALVES,), lacking).source
    assert "= vload2(0, h);" in source(half_vectors, (HALVES,), native).source
    with pytest.raises(MissingCapabilityError, match="float16"):
        source(half_sines, (HALVES,), dataclasses.replace(stored, fp16_storage=False))
