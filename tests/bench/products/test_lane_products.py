"""Bare instructions of waves and subgroups, emulated by the documented layouts: what is expected of sums is right.

In NumPy every instruction of the dialect, in kernels one of each way that lanes hold operands.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lane_tables import of_a, of_subgroup_a, of_subgroup_b, of_subgroup_sums, of_sums

from portagpu import cuda
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.bench.roofs import lane_products, matrix_units, subgroups, waves
from portagpu.bench.roofs.bare import KINDS, error
from portagpu.bench.roofs.lane_products import Form
from portagpu.bench.running.case import Options
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.frontend.intrinsics.subgroup_matrix import MAD, MFMA, WMMA
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device(fast=True)
BYTES = {"float16": 2, "bfloat16": 2, "tf32": 4, "int8": 1, "float64": 8, "float32": 4}
TENSOR = replace(TARGETS["pvc"].capabilities, matrix_units=("subgroup", "subgroup_tfloat32"))
CAPS = {
    "mfma": replace(
        TARGETS["gfx942"].capabilities, matrix_units=(*TARGETS["gfx942"].capabilities.matrix_units, "mfma_int8")
    ),
    "wmma": TARGETS["gfx1100"].capabilities,
    "wmma_halves": TARGETS["gfx1201"].capabilities,
    "subgroup 8": TARGETS["dg2"].capabilities,
    "subgroup 16": TENSOR,
}
ALL = [
    (unit, arithmetic, one)
    for unit, caps in CAPS.items()
    for arithmetic in KINDS
    for one in (*waves.instructions(arithmetic, caps), *subgroups.instructions(arithmetic, caps))
]
IDS = [f"{unit}-{one.name}" for unit, _, one in ALL]


def tables(unit, arithmetic, one):
    """Of each lane: (row, k) of A, (column, k) of B, (row, column) of the sums."""
    lanes = range(one.lanes)
    if unit.startswith("subgroup"):
        a = [of_subgroup_a(one.lanes, one.k, lane) for lane in lanes]
        return a, [of_subgroup_b(one.k, lane) for lane in lanes], [of_subgroup_sums(lane) for lane in lanes]
    name = f"mfma{one.m}" if unit == "mfma" else unit
    a = [of_a(name, one.k, lane) for lane in lanes]
    name += " of float64" if arithmetic == "float64" else ""
    return a, a, [of_sums(name, lane) for lane in lanes]


def values(words, arithmetic):
    """The elements that numbers hold, least significant first."""
    if arithmetic == "bfloat16":
        return (words.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    kind = {"float16": "float16", "int8": "int8", "float64": "float64"}.get(arithmetic, "float32")
    found = words.view(kind)
    return found.astype(np.int64) if arithmetic == "int8" else found.astype(np.float64)


def dense(held, table, shape):
    """A matrix from what lanes hold of it; what two lanes hold is the same."""
    found = np.full(shape, np.nan)
    for lane, places in enumerate(table):
        assert len(places) == held.shape[1]
        for element, place in zip(held[lane], places, strict=True):
            assert np.isnan(found[place]) or found[place] == element
            found[place] = element
    assert not np.isnan(found).any()
    return found


@pytest.mark.parametrize(("unit", "arithmetic", "one"), ALL, ids=IDS)
def test_lanes_hold_what_instructions_take(unit, arithmetic, one):
    form = Form(one, 2, 3)
    made = lane_products.operands(form, arithmetic, np.random.default_rng(3))
    of_rows, of_columns, of_results = tables(unit, arithmetic, one)
    a = values(made.a.reshape(form.rows, one.lanes, -1), arithmetic)
    b = values(made.b.reshape(form.columns, one.lanes, -1), arithmetic)
    assert made.once.shape == (one.lanes, form.rows, form.columns, one.sums.numbers)
    for i in range(form.rows):
        left = dense(a[i], of_rows, (one.m, one.k))
        for j in range(form.columns):
            product = left @ dense(b[j], of_columns, (one.n, one.k)).T
            wanted = [[product[place] for place in places] for places in of_results]
            np.testing.assert_allclose(made.once[:, i, j], wanted, rtol=0, atol=1e-12)


def test_every_instruction_is_probed():
    """All of the dialect's tables: none is forgotten where a new one comes."""
    names = {(one.name, unit) for unit, _, one in ALL}
    assert {name for name, unit in names if unit == "mfma"} == {f"{shape} of {kind}" for kind, shape in MFMA}
    for unit in ("wmma", "wmma_halves"):
        assert {name for name, other in names if other == unit} == {f"{shape} of {kind}" for kind, shape in WMMA}
    assert {name.partition(" of ")[2] for name, unit in names if unit == "subgroup 16"} == set(MAD)


# kernels --------------------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def element(words, lane, place, kind: cuda.constexpr, each: cuda.constexpr):
    """An element by its place in a lane's numbers, each of which holds so many."""
    word = words[lane, place // each]
    if kind == "int8":
        return np.int32((word >> (place % each * 8) & 255 ^ 128) - 128)
    if kind == "float16":
        wide = np.uint32(word >> (place % each * 16)) & np.uint32(0xFFFF)
        size = ((wide & np.uint32(0x7FFF)) << np.uint32(13)).view(np.float32) * np.float32(2.0**112)
        return -size if wide >= np.uint32(0x8000) else size
    if kind == "bfloat16":
        return (np.uint32(word >> (place % each * 16)) << np.uint32(16)).view(np.float32)
    return word


def emulation(unit, arithmetic, one, threads):
    """An instruction as a function: all lanes show what they hold, and each adds up its own results."""
    of_rows, of_columns, of_results = tables(unit, arithmetic, one)
    where_a, where_b = np.zeros((one.m, one.k, 2), np.int32), np.zeros((one.n, one.k, 2), np.int32)
    for where, table in ((where_a, of_rows), (where_b, of_columns)):
        for lane, places in enumerate(table):
            for e, place in enumerate(places):
                where[place] = lane, e
    results = np.array(of_results, np.int32)
    lanes, depth, held_a, held_b, sums = one.lanes, one.k, one.a, one.b, one.sums
    each_a, each_b = (np.dtype(held.dtype).itemsize // BYTES[arithmetic] for held in (held_a, held_b))
    type_a, type_b, total_type = (np.dtype(held.dtype).type for held in (held_a, held_b, sums))
    four, eight, sixteen = (vector_type(sums.dtype, count) for count in (4, 8, 16))

    @cuda.jit(device=True)
    def multiply(a, b, acc):
        left = cuda.shared.array((threads, held_a.numbers), type_a)
        right = cuda.shared.array((threads, held_b.numbers), type_b)
        rows, columns, places = (
            cuda.const.array_like(where_a),
            cuda.const.array_like(where_b),
            cuda.const.array_like(results),
        )
        s = cuda.local.array(sums.numbers, total_type)
        t = np.int32(cuda.threadIdx.x)
        for e in cuda.unroll(range(held_a.numbers)):
            left[t, e] = a if held_a.numbers == 1 else a[e]
        for e in cuda.unroll(range(held_b.numbers)):
            right[t, e] = b if held_b.numbers == 1 else b[e]
        cuda.syncthreads()
        lane = t % lanes
        for r in cuda.unroll(range(sums.numbers)):
            total = total_type(acc[r])
            for k in range(np.int32(depth)):
                i, j = places[lane, r, 0], places[lane, r, 1]
                x = element(left, t - lane + rows[i, k, 0], rows[i, k, 1], arithmetic, each_a)
                total += x * element(right, t - lane + columns[j, k, 0], columns[j, k, 1], arithmetic, each_b)
            s[r] = total
        cuda.syncthreads()
        low = four(s[0], s[1], s[2], s[3])
        if sums.numbers == 4:
            return low
        half = eight(low, s[4], s[5], s[6], s[7])
        if sums.numbers == 8:
            return half
        return sixteen(half, s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15])

    return multiply


IN_KERNELS = {
    "mfma-m16n16k16 of float16",  # a vector, of sixteen bits each
    "mfma-m32n32k16 of int8",  # one number of 64 bits, sixteen sums
    "mfma-m16n16k4 of float64",
    "wmma-m16n16k16 of float16",  # both halves of the wave hold the same
    "wmma_halves-m16n16k16 of bfloat16",
    "subgroup 8-m8n8k32 of int8",
    "subgroup 16-m8n16k16 of float16",  # rows of 16 bits, columns of 32
    "subgroup 16-m8n16k8 of tfloat32",
}
assert set(IDS) >= IN_KERNELS


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("unit", "arithmetic", "one"),
    [made for made, name in zip(ALL, IDS, strict=True) if name in IN_KERNELS],
    ids=[name for name in IDS if name in IN_KERNELS],
)
def test_sums_of_kernels_are_what_is_expected(device, monkeypatch, unit, arithmetic, one):
    """Forms of different turns do the same work; a turn less or more would be a whole of what is measured here."""
    if not device.capabilities.conditional_barriers:  # whose compiler takes minutes over so many barriers
        pytest.skip("the emulation is checked on other drivers")
    if arithmetic == "float64" and not device.capabilities.fp64:
        pytest.skip("no float64")
    monkeypatch.setattr(lane_products, "TEAMS", 2)
    same = replace(one, subgroup_size=None, multiply=emulation(unit, arithmetic, one, 2 * one.lanes))
    forms = [Form(same, 2, 1), Form(same, 1, 1)]
    probe = lane_products.of_lanes(forms, arithmetic, 3, 4, np.random.default_rng(7))
    assert probe.multiplied == 3 * 2 * 4 * one.m * one.n * one.k
    turns = []
    for candidate in probe.candidates():
        candidate.run()
        found = candidate.fetch()
        assert found[0].size == 3 * 2 * found[1].size
        assert error(*found) <= 1e-4
        turns.append(found[2])
    assert turns == [2, 4]


def test_a_case_of_an_instruction(device, monkeypatch):
    """From the choice of forms to the verdict, which knows a turn that is missing."""
    if not device.capabilities.conditional_barriers:
        pytest.skip("the emulation is checked on other drivers")
    unit, arithmetic, one = ALL[IDS.index("wmma_halves-m16n16k16 of float16")]
    monkeypatch.setattr(lane_products, "TEAMS", 1)
    monkeypatch.setattr(lane_products, "_SIDES", ((1, 2), (1, 1)))
    same = replace(one, multiply=emulation(unit, arithmetic, one, one.lanes))
    monkeypatch.setitem(matrix_units._LANES, "wave", lambda arithmetic, caps: iter([same]))
    with Context.for_device(device) as context:
        made = matrix_units.case(arithmetic, "wave", Options(small=True), context)
        (probe,) = made.contenders
        call = probe.prepare()
        call.product()
        sums, once, turns = call.fetch()
    assert probe.tuning().startswith("m16n16k16 of float16, 1 x ")
    assert made.workload.path == "roofs/flops/float16-matrix-unit/wave"
    assert made.workload.flops == 2 * device.capabilities.compute_units * 16 * 16**3
    assert made.check((sums, once, turns)) <= 1e-4 and made.check((sums, once, turns + 1)) > 1


# choice ---------------------------------------------------------------------------------------------------------------


def test_devices_are_probed_with_what_they_have():
    known = {
        "gfx908": {"wave": {"float16", "int8", "float32"}},
        "gfx942": {"wave": set(KINDS)},
        "gfx1100": {"wave": {"float16", "bfloat16", "int8"}},
        "gfx1201": {"wave": {"float16", "bfloat16", "int8"}},
        "gfx1030": {},
        "dg2": {"subgroup": {"float16", "bfloat16", "int8"}},
        "pvc": {"subgroup": {"float16", "bfloat16", "int8"}},
        "tgllp": {},
        "sm_80": {"warp": set(KINDS) - {"float32"}},
    }
    for name, wanted in known.items():
        caps = TARGETS[name].capabilities
        found = {}
        for arithmetic in KINDS:
            for team in matrix_units.instructions(arithmetic, caps):
                found.setdefault(team, set()).add(arithmetic)
        assert found == wanted, name
    assert matrix_units.instructions("tf32", TENSOR) == ["subgroup"]


def test_forms_fit_in_registers():
    for (_, caps), arithmetic in ((one, kind) for one in CAPS.items() for kind in KINDS):
        known = [*waves.instructions(arithmetic, caps), *subgroups.instructions(arithmetic, caps)]
        forms = lane_products.forms(iter(known), caps)
        assert {form.instruction.name for form in forms} == {one.name for one in known}
        assert all(form.registers <= caps.thread_registers for form in forms)
        assert all(form.rows * form.columns >= 4 for form in forms)
        assert all(form.multiplied & (form.multiplied - 1) == 0 for form in forms)  # so that all can do the same
        assert all(lane_products.TEAMS * form.instruction.lanes <= caps.largest_block for form in forms)
