"""Products of every dtype and shape are measured and verified, at tiny sizes; other machines' peers are played."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from portagpu.bench.method.turns import Call
from portagpu.bench.peers import core_types
from portagpu.bench.peers.core_types import CoreTypes
from portagpu.bench.peers.products import Peer, peers_for
from portagpu.bench.problems import missing
from portagpu.bench.product_check import checker
from portagpu.bench.products import own_call
from portagpu.bench.records.cell import Memory, Role, Status
from portagpu.bench.running import facts, session
from portagpu.bench.running.case import Options, Peers
from portagpu.bench.running.programs import with_programs
from portagpu.bench.suites import gemm
from portagpu.blas.gemm.core.problem import DTYPES, Problem
from portagpu.blas.gemm.tuning.trial import operand
from portagpu.device import DeviceType
from portagpu.runtime.execution.context import Context

pytestmark = [pytest.mark.usefixtures("short_turns"), pytest.mark.one_device]

PLAIN = Options(small=True, core_types=False)


def skip_gpu(device):
    """For what is so where NumPy is the peer, and arrays are the host's."""
    if device.device_type is DeviceType.GPU:
        pytest.skip("a GPU's peer is another library")


def problem(m=20, n=30, k=40, dtype="float32", **rest):
    return Problem(m=m, n=n, k=k, dtype=dtype, **rest)


@pytest.fixture
def cells(measured):
    def of(device, *problems, options=PLAIN):
        return measured(device, gemm.entries(device, options, lambda _: problems), options)

    return of


def device_peer(prepare, serves=lambda served: served):
    return Peer(name="lib 2", memory=Memory.DEVICE, prepare=prepare, serves=serves)


def numpy_on_device(served, a, b):
    held = {}
    kind = np.float32 if a.dtype.kind in "fV" and a.dtype.itemsize <= 4 else a.dtype

    def enqueue():
        held["c"] = (a.astype(kind) @ b.astype(kind)).astype(a.dtype)

    return Call(enqueue=enqueue, fetch=lambda: held["c"])


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(device, cells, dtype):
    skip_gpu(device)
    ours, peer = cells(device, problem(dtype=dtype))
    assert (ours.role, peer.role) == (Role.OURS, Role.VENDOR)
    assert ours.status is peer.status is Status.MEASURED and ours.error <= 1 and ours.rate > 0 and peer.rate > 0
    own = dtype in ("float32", "float64", "complex64", "complex128")
    assert peer.arithmetic == ("" if own else "float32")
    assert peer.error is not None and peer.error <= 1


@pytest.mark.parametrize(
    "changes", [{"m": 1}, {"batch": 3}, {"k": 3000, "m": 5}, {"dtype": "float16", "out": "float32"}], ids=str
)
def test_shapes_and_outputs(device, cells, changes):
    ours, peer = cells(device, problem(**changes))
    assert ours.error <= 1 and ours.rate > 0
    assert ours.workload == gemm.workload_of(problem(**changes))
    assert len(ours.samples) == len(peer.samples) > 0 and all(ours.samples) and all(peer.samples)
    for cell in (ours, peer):
        assert cell.rate == pytest.approx(problem(**changes).flops / cell.seconds / 1e9)


def test_devices_of_one_name_are_told_apart(device, monkeypatch):
    twin = replace(device, index=device.index + 7)
    assert session.new_run([device], PLAIN).devices[0].name == device.name
    monkeypatch.setattr(facts, "devices", lambda source: (device, twin))
    names = [one.name for one in session.new_run([device, twin], PLAIN).devices]
    assert names == [f"{device.name} #{one.label}" for one in (device, twin)]


def test_device_arrays_against_a_library(device, cells, monkeypatch):
    monkeypatch.setattr(gemm, "peers_for", lambda device: (device_peer(numpy_on_device),))
    found = cells(device, problem(), problem(batch=4), problem(m=1, dtype="float16"))
    assert [cell.implementation for cell in found] == 3 * ["PortaGPU", "lib 2"]
    assert all(cell.memory is Memory.DEVICE and cell.error <= 1 and cell.rate > 0 for cell in found)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_call_of_device_arrays_is_the_first_product(device, dtype):
    """What prepares it runs and compiles nothing, so that the first call's time is what it is said to be."""
    one = problem(dtype=dtype)
    a, b = (operand(np.random.default_rng(0), one, *shape, "C") for shape in ((20, 40), (40, 30)))
    if missing(one, device.capabilities):
        pytest.skip("the device has no such products")
    with Context.for_device(device) as context:
        calls = []
        assert with_programs(lambda: calls.append(own_call(context, one, a, b, Memory.DEVICE))) == ""
        (call,) = calls
        assert with_programs(call.product)
        assert checker(one, a, b)(call.fetch()) <= 1


def test_what_a_library_cannot_do_leaves_our_number(device, cells, monkeypatch):
    def prepare(served, a, b):
        raise RuntimeError("no such kernel\nat great length")

    monkeypatch.setattr(gemm, "peers_for", lambda device: (device_peer(prepare),))
    ours, peer = cells(device, problem())
    assert ours.rate > 0 and peer.rate is None
    assert (peer.status, peer.reason) == (Status.FAILED, "no such kernel")


def test_wrong_results_get_no_number(device, cells, monkeypatch):
    def wrong(context, one, a, b, memory):
        return Call(enqueue=lambda: None, fetch=lambda: np.zeros((a.shape[0], b.shape[1]), a.dtype))

    monkeypatch.setattr(gemm, "own_call", wrong)
    ours, peer = cells(device, problem())
    assert ours.status is Status.WRONG and ours.rate is None and "the tolerance" in ours.reason
    assert peer.status is Status.MEASURED


def test_what_the_device_lacks_is_told(device, cells):
    bare = replace(device, capabilities=replace(device.capabilities, fp64=False))
    (found,) = cells(bare, problem(dtype="float64"))
    assert (found.status, found.reason) == (Status.UNSUPPORTED, "the device has no float64")
    found = cells(bare, problem(precision="bf16x6"))[0]
    assert found.rate or found.reason == "the device has no products of float32/bf16x6"


def test_nobody_beside_us(device, cells):
    (ours,) = cells(device, problem(), options=replace(PLAIN, peers=Peers.NONE, core_types=True))
    assert ours.role is Role.OURS and ours.rate > 0 and ours.memory is peers_for(device)[0].memory


# OpenBLAS's core types ------------------------------------------------------------------------------------------------


def test_the_best_core_type_is_a_second_peer(device, cells, monkeypatch):
    skip_gpu(device)
    if core_types.core_name() is None:
        pytest.skip("NumPy has another library here")
    with CoreTypes(("Haswell", "Haswell", "NoSuchCore")) as children:
        monkeypatch.setattr(core_types, "shared", lambda: children)
        options = replace(PLAIN, core_types=True)
        found = cells(device, problem(), problem(batch=2, dtype="complex64"), options=options)
        assert children.found[0] == "Haswell" and len(children.found) <= 2
    assert len(found) == 6
    ours, plain, best = found[:3]
    assert "best core type:" in best.implementation and "best core type" not in plain.implementation
    assert ours.rate > 0 and plain.rate > 0 and best.rate > 0 and best.role is Role.VENDOR


def test_a_core_type_that_dies_is_left_out():
    with CoreTypes(("Haswell",)) as found:
        if not found.found:
            pytest.skip("NumPy has another library here")
        assert found.players(problem(m=-1)) == []  # its child raises and is ended
        assert found.found == ()


def test_children_answer():
    assert core_types.answer({"action": "name"}) == {"name": core_types.core_name()}
    core_types.answer({"action": "prepare", "m": 3, "n": 4, "k": 5, "batch": 2, "dtype": "complex128"})
    assert len(core_types.answer({"action": "turn"})["seconds"]) == 1
