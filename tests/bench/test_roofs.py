"""Probes of roofs: right ones are measured, ones that leave work out are told, and counts are exact."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.bench.records.cell import Cell, Memory, Role, Status
from portagpu.bench.records.files import load, save
from portagpu.bench.records.run import Device, Machine, Run
from portagpu.bench.roofs import (
    arithmetic,
    chains,
    chase,
    fragments,
    levels,
    matrix_units,
    memory,
    probe,
    streaming_stores,
    streams,
    sweep,
    warps,
)
from portagpu.bench.roofs.bare import KINDS, error, random_elements
from portagpu.bench.running.case import Options
from portagpu.bench.suites import roofs
from portagpu.device import DeviceType
from portagpu.errors import MissingCapabilityError
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device(fast=True)
SMALL = Options(small=True)


def entries(device, *names):
    return [one for one in roofs.entries(device, SMALL) if one.path.split("/")[1] in names]


def test_every_probe_is_right_on_a_device(device, measured):
    """Scalar and vector chains, streams, a swept set, a chase."""
    chosen = [one for one in roofs.entries(device, SMALL) if "float16" not in one.path and "float64" not in one.path]
    cells = measured(device, chosen, SMALL)
    ours = [cell for cell in cells if cell.role is Role.ROOF]
    assert {cell.workload.name for cell in ours} >= {"flops", "copy", "read", "write", "triad", "latency"}
    for cell in cells:
        if cell.status is not Status.UNSUPPORTED:
            assert cell.status is Status.MEASURED and cell.error <= 1 and cell.rate > 0, (
                cell.workload.path,
                cell.reason,
            )
    assert all(cell.tuning for cell in ours)


def test_paths_name_the_roofs(device):
    paths = [one.path for one in roofs.entries(device, SMALL)]
    assert "roofs/flops/float32/peak" in paths and "roofs/copy/float32/64-KiB" in paths
    assert "roofs/cache-16-KiB/float32/each-unit" in paths and "roofs/latency/16-KiB" in paths
    assert len(paths) == len(set(paths))


# chains of multiply-adds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", arithmetic.DTYPES)
@pytest.mark.parametrize("steps", [64, 4096])
def test_a_chain_that_is_a_step_short_is_told(dtype, steps):
    given = chains.numbers(dtype, steps)
    wanted = chains.expected(given, steps)
    for one in wanted:
        assert chains.error(np.tile(one, 3), wanted) == 0
        assert np.isfinite(one.astype(np.float64)).all()
    for short in (1, 2):
        for one in chains.expected(given, steps - short):
            assert chains.error(np.tile(one, 3), wanted) > 1, short
    left_out = np.tile(wanted[0], 3)
    left_out[-1] = given.start[-1]
    assert chains.error(left_out, wanted) > 1


@pytest.mark.parametrize("planted", [math.nan, math.inf, 0.0])
def test_what_is_no_number_is_wrong(planted):
    given = chains.numbers("float32", 64)
    wanted = chains.expected(given, 64)
    found = wanted[0].copy()
    found[5] = planted
    assert not chains.error(found, wanted) <= 1


def test_chains_are_as_numpy_computes_them():
    """Two steps by hand, with one rounding and with two."""
    start, factor, addend = np.array([1.5, 2.25]), np.float32(-1.0009765), np.float32(0.3)
    given = chains.Numbers(start=start.astype(np.float32), factor=factor, addend=addend)
    fused, apart = chains.expected(given, 1)
    exact = start * np.float64(factor) + np.float64(addend)
    assert np.array_equal(fused, exact.astype(np.float32))
    assert np.array_equal(apart, start.astype(np.float32) * factor + addend)
    whole = chains.Numbers(start=np.array([3], np.int32), factor=np.int32(5), addend=np.int32(7))
    assert chains.expected(whole, 2)[0].tolist() == [5 * (5 * 3 + 7) + 7]


def test_counts_of_operations_are_exact(device):
    caps = device.capabilities
    for kind in DeviceType:
        for gflops in (0.1, 300.0, 40_000.0, 1e6):
            made = replace(caps, device_type=kind, measured_gflops=gflops)
            for dtype in arithmetic.DTYPES:
                forms = chains.forms(dtype, made)
                for small in (False, True):
                    steps = arithmetic.steps_of(forms, made, small=small)
                    assert len({steps[form] * form.elements for form in forms}) == 1
                    for form in forms:
                        assert steps[form] % chains.UNROLLED == 0 and form.elements % chains.STARTS == 0
                        chains.numbers(dtype, steps[form])  # which its numbers can count
    with Context.for_device(device) as context:
        made = arithmetic.case("float32", SMALL, context)
        form, steps = next(iter(arithmetic.steps_of(chains.forms("float32", caps), caps, small=True).items()))
        assert made.workload.flops == 2 * caps.compute_units * form.elements * steps
    with pytest.raises(ValueError, match="more than float16"):
        chains.numbers("float16", 1 << 14)


def test_a_planted_probe_that_skips_work_is_a_wrong_result(device, measured, monkeypatch):
    right = arithmetic.candidate

    def shortened(form, steps, given, context):
        made = right(form, steps - chains.UNROLLED, given, context)
        return replace(made, fetch=lambda: (steps, made.fetch()[1]))

    monkeypatch.setattr(arithmetic, "candidate", shortened)
    (cell,) = measured(device, [one for one in entries(device, "flops") if one.path.endswith("float32/peak")], SMALL)
    assert cell.status is Status.WRONG and cell.rate is None and not cell.samples


def test_missing_arithmetic_is_told(device):
    caps = replace(device.capabilities, fp64=False, fp16=False)
    assert arithmetic.obstacle("float64", caps) and arithmetic.obstacle("float16", caps)
    assert not arithmetic.obstacle("float32", caps) and not arithmetic.obstacle("int32", caps)


# streams, levels, chases ----------------------------------------------------------------------------------------------


def test_bytes_are_counted_as_mccalpin_does():
    assert {name: memory.workload(name, 1 << 20).nbytes / (1 << 20) for name in streams.KERNELS} == {
        "copy": 2,
        "read": 1,
        "write": 1,
        "triad": 3,
    }
    assert memory.workload("triad", 400).flops == 200
    assert [memory.size_text(n) for n in (100, 1 << 14, 3 << 20, 1 << 30)] == ["100 bytes", "16 KiB", "3 MiB", "1 GiB"]


def test_streams_that_lack_an_element_are_wrong():
    a, b = streams.operands(1 << 12)
    right = {"copy": a, "write": np.full_like(a, streams.FILL), "triad": a + streams.SCALAR * b, "read": a}
    for name, found in right.items():
        assert streams.error(name, found, a, b) <= 1
        wrong = found.copy()
        wrong[-1] += 1
        assert streams.error(name, wrong, a, b) > 1, name


def test_stores_past_caches_write_the_same(device):
    """Where the compiler has them; a stream that stores nothing has no such form, and a GPU's forms have none."""
    a, b = streams.operands(1 << 16)
    context = Context.for_device(device)
    caps = device.capabilities
    form, *_ = streams.forms(caps, a.size)
    assert streaming_stores.candidate("read", form, a, b, context) is None
    assert streaming_stores.candidate("write", replace(form, near=True), a, b, context) is None
    assert streaming_stores.candidate("write", replace(form, lanes=4), a, b, context) is None
    for name in ("copy", "write", "triad"):
        one = streaming_stores.candidate(name, form, a, b, context)
        if device.device_type is DeviceType.GPU:
            assert one is None
            continue
        assert one is not None and "past the caches" in one.text  # both of the CPUs' compilers rest on clang
        one.run()
        assert streams.error(name, one.fetch(), a, b) <= 1


def test_compilers_without_such_stores_are_left_out(device, monkeypatch):
    monkeypatch.setattr(streaming_stores, "_TEXT", "#error none")
    a, b = streams.operands(1 << 16)
    form, *_ = streams.forms(device.capabilities, a.size)
    assert streaming_stores.candidate("write", form, a, b, Context.for_device(device)) is None


def test_arrays_are_beyond_caches_and_fit(device):
    caps = replace(device.capabilities, global_cache=1 << 28, global_memory=1 << 36, max_allocation=1 << 34)
    one = SimpleNamespace(capabilities=caps, device_type=caps.device_type)
    assert memory.array_bytes(one) >= 4 << 28
    one.capabilities = replace(caps, global_memory=1 << 30)
    assert memory.array_bytes(one) <= 1 << 27
    for kind in DeviceType:
        for form in streams.forms(replace(caps, device_type=kind), 1 << 20):
            assert (1 << 20) % form.block == 0


def test_levels_read_what_they_count(device):
    caps = device.capabilities
    for kind in DeviceType:
        made = replace(caps, device_type=kind, local_memory_dedicated=True)
        one = SimpleNamespace(capabilities=made, device_type=kind)
        for options in (Options(), Options(quick=True), SMALL):
            for level in levels.levels(one, options):
                elements, passes = level.nbytes // sweep.ITEM, levels.passes_of(level, small=options.small)
                forms = sweep.forms(made, elements, local=level.local, shared=level.shared)
                assert forms, level
                for form in forms:
                    assert elements % form.chunk == 0 and passes % form.blocks == 0
                    chunks = elements // form.chunk
                    assert chunks & (chunks - 1) == 0 and chunks > 1
                counted = levels.workload(level, one, small=options.small).nbytes
                assert counted == made.compute_units * passes * level.nbytes
    assert levels.obstacle(levels.Level(nbytes=1, local=True), replace(caps, local_memory_dedicated=False))


def test_local_memory_is_swept_where_it_is_emulated(device):
    """The kernel is right; that CPUs are not measured with it is a choice."""
    level = levels.Level(nbytes=sweep.TILE * sweep.ITEM, local=True)
    with Context.for_device(device) as context:
        made = levels.case(level, SMALL, context)
        call = made.contenders[0].prepare()
        call.product()
        assert made.check(call.fetch()) == 0 and made.check(call.fetch() + 1) > 1


def test_a_chase_goes_through_every_line():
    links, places = chase.cycle(1 << 14)
    lines = (1 << 14) // chase.LINE
    assert len(set(places.tolist())) == lines and places[0] == 0
    at = 0
    for step in range(2 * lines):
        assert at == places[step % lines]
        at = int(links[at])


# matrix units ---------------------------------------------------------------------------------------------------------


OF_WARPS = [arithmetic for arithmetic in KINDS if arithmetic != "float32"]


@pytest.mark.parametrize("arithmetic", OF_WARPS)
def test_fragments_hold_every_element_once(arithmetic, device):
    each = warps._ELEMENTS[arithmetic].each
    for target in ((8, 0), (9, 0)):
        form = warps.fragment_of(arithmetic, replace(device.capabilities, ptx_target=target))
        whole = (
            (form.m, form.k, lambda x: fragments.held_of_a(x, each), form.of_a * each),
            (form.k, 8, lambda x: fragments.held_of_b(x, each), form.of_b * each),
            (form.m, 8, fragments.held_of_c, form.of_c),
        )
        for rows, columns, held, count in whole:
            found = held(np.arange(rows * columns).reshape(rows, columns)).reshape(32, -1)
            assert sorted(found.ravel().tolist()) == list(range(rows * columns))
            assert found.shape[1] == count
    tile = fragments.held_of_tile(np.arange(64 * 256).reshape(64, 256))
    assert sorted(tile.ravel().tolist()) == list(range(64 * 256))


@pytest.mark.parametrize("arithmetic", OF_WARPS)
def test_sums_that_lack_a_turn_are_told(arithmetic):
    generator = np.random.default_rng(5)
    (a, bits), (b, _) = (random_elements(arithmetic, (16, 16), generator) for _ in range(2))
    assert bits.dtype.itemsize * warps._ELEMENTS[arithmetic].each in (4, 8)
    once = fragments.held_of_c((a @ b)[:, :8])
    sums = warps._ELEMENTS[arithmetic].sums
    for turns in (16, matrix_units.TURNS):
        right = np.tile(once.ravel() * turns, 3).astype(sums)
        assert error(right, once, turns) <= 1
        assert error(np.tile(once.ravel() * (turns - 1), 3).astype(sums), once, turns) > 1


def test_devices_with_matrix_units_are_probed(device):
    caps = replace(device.capabilities, ptx_target=(0, 0), architecture_ptx=False, matrix_units=())
    assert matrix_units.instructions("float16", caps) == [] and not matrix_units.has_units(caps)
    hopper = replace(caps, ptx_target=(9, 0), architecture_ptx=True)
    assert matrix_units.instructions("float16", hopper) == ["warp", "warp group"]
    assert matrix_units.instructions("float64", hopper) == ["warp"]
    assert matrix_units.has_units(replace(caps, matrix_units=("mfma",)))
    assert matrix_units.workload("tf32", "warp", 1.0).path == "roofs/flops/tf32-matrix-unit/warp"


@pytest.mark.parametrize(
    ("team", "kernel", "multiplied"),
    [("warp", "multiply_fragments", 8 * 16 * 16 * 8 * 16), ("warp group", "multiply_tiles", 2 * 64 * 256 * 64)],
)
def test_launches_of_warps_are_counted(device, monkeypatch, team, kernel, multiplied):
    """With a kernel that does nothing: what is launched, and what the verdict gets."""
    launches = []

    class Nothing:
        def __getitem__(self, shape):
            return lambda *arguments: launches.append((shape, arguments))

    monkeypatch.setattr(fragments, kernel, Nothing())
    caps = replace(device.capabilities, ptx_target=(9, 0), architecture_ptx=True, compute_units=2)
    with Context.for_device(device):
        made = matrix_units.bare("float16", team, caps, SMALL)
        (one,) = made.candidates()
        one.run()
        sums, once, turns = one.fetch()
    ((blocks, threads), (out, _, _, given, _)) = launches[0]
    assert (blocks, threads, given, turns, made.multiplied) == (2, 256, 16, 16, 2 * 16 * multiplied)
    assert sums.size == out.size == blocks * threads * once.size // (32 if team == "warp" else 128)


def test_units_of_waves_and_subgroups_are_probed():
    """Bare instructions beside the shipped product; exact float32 has no product of units."""
    for target, paths in {
        "gfx1100": ("float16-matrix-unit/wave", "int8-matrix-unit/wave", "float16-matrix-unit/product-of-256"),
        "gfx942": ("float64-matrix-unit/wave", "float32-matrix-unit/wave", "tf32-matrix-unit/wave"),
        "dg2": ("bfloat16-matrix-unit/subgroup", "bfloat16-matrix-unit/product-of-256"),
    }.items():
        caps = TARGETS[target].capabilities
        one = SimpleNamespace(capabilities=caps, device_type=caps.device_type)
        found = [entry.path for entry in roofs.entries(one, SMALL)]
        assert {f"roofs/flops/{path}" for path in paths} <= set(found) and len(set(found)) == len(found)
        assert "roofs/flops/float32-matrix-unit/product-of-256" not in found


# forms of GPUs --------------------------------------------------------------------------------------------------------


def as_gpu(device):
    caps = device.capabilities
    return replace(caps, device_type=DeviceType.GPU, compute_units=3, local_memory_dedicated=True, vector_width_float=1)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_chains_of_gpus_are_right(device, dtype):
    with Context.for_device(device) as context:
        for form in chains.forms(dtype, as_gpu(device)):
            given = chains.numbers(dtype, 64)
            made = arithmetic.candidate(form, 64, given, context)
            made.run()
            steps, found = made.fetch()
            assert chains.error(found, chains.expected(given, steps)) <= 1, form


def test_streams_of_gpus_are_right(device):
    a, b = streams.operands(1 << 15)
    with Context.for_device(device):
        sources, target = (cuda.to_device(a), cuda.to_device(b)), cuda.to_device(np.zeros_like(a))
        for name in streams.KERNELS:
            for form in streams.forms(as_gpu(device), a.size):
                run, sums = memory.launch_of(name, form, sources, target)
                run()
                found = (sums if name == "read" else target).copy_to_host()
                assert streams.error(name, found, a, b) <= 1, (name, form)
                target.copy_to_device(np.zeros_like(a))


def test_sweeps_of_gpus_are_right(device):
    caps = as_gpu(device)
    with Context.for_device(device):
        for level in (
            levels.Level(nbytes=1 << 15),
            levels.Level(nbytes=1 << 16, shared=True),
            levels.Level(nbytes=sweep.TILE * sweep.ITEM, local=True),
        ):
            sets = 1 if level.shared or level.local else caps.compute_units
            elements = level.nbytes // sweep.ITEM
            a = sweep.operand(elements * sets)
            wanted = 8 * float(np.sum(a, dtype=np.float64)) * (caps.compute_units // sets)
            forms = sweep.forms(caps, elements, local=level.local, shared=level.shared)
            made = list(levels._candidates(level, forms[::2], 8, a, caps))
            for one in made:
                one.run()
                assert sweep.error(one.fetch(), wanted) == 0, (level, one.text)
            assert made


# forms that are tried -------------------------------------------------------------------------------------------------


def test_forms_that_a_device_refuses_are_left_out():
    def refuse():
        raise MissingCapabilityError("no such thing")

    bad = probe.Candidate(text="bad", run=refuse, fetch=lambda: None)
    good = probe.Candidate(text="good", run=lambda: None, fetch=lambda: None)
    assert probe.fastest([bad, good], lambda: None) is good
    with pytest.raises(MissingCapabilityError):
        probe.fastest([bad, bad], lambda: None)


@pytest.mark.parametrize("workload", [arithmetic.workload("float16"), matrix_units.workload("float16", "16x16x16")])
def test_roofs_that_a_device_lacks_are_read_again(workload, tmp_path):
    lacking = Cell(
        device=0,
        workload=workload,
        implementation="PortaGPU",
        role=Role.OURS,
        memory=Memory.DEVICE,
        status=Status.UNSUPPORTED,
        reason="the device has no arithmetic in float16",
    )
    device = Device(machine=0, name="d", platform="p", driver="1")
    made = Run(identity="i", started="2026", machines=(Machine(),), devices=(device,), cells=(lacking,))
    save(tmp_path / "a.json", made)
    assert load(tmp_path / "a.json") == made
