"""Products of every dtype and shape are measured and verified, at tiny sizes; other machines' peers are played."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from portagpu.bench.cells import Memory, quartiles

from portagpu.bench import core_types, gemm, peers, torch_products, turns
from portagpu.bench.method.turns import BackToBack, Call, OneByOne, play
from portagpu.bench.peers.core_types import CoreTypes
from portagpu.bench.peers.products import Peer, peers_for
from portagpu.blas.gemm.core.problem import DTYPES, Problem
from portagpu.device import DeviceType
from portagpu.settings import Settings

pytestmark = [pytest.mark.usefixtures("short_turns"), pytest.mark.one_device]


def skip_gpu(device):
    """For what is so where NumPy is the peer, and arrays are the host's."""
    if device.device_type is DeviceType.GPU:
        pytest.skip("a GPU's peer is another library")


def problem(m=20, n=30, k=40, dtype="float32", **rest):
    return Problem(m=m, n=n, k=k, dtype=dtype, **rest)


def measured(device, *problems, core_types=None):
    return list(gemm.cells(device, problems, Settings.from_environment(), core_types=core_types))


def device_peer(prepare, serves=lambda served: served):
    return Peer(name="lib 2", memory=Memory.DEVICE, prepare=prepare, serves=serves)


def numpy_on_device(served, a, b):
    held = {}
    kind = np.float32 if a.dtype.kind in "fV" and a.dtype.itemsize <= 4 else a.dtype

    def enqueue():
        held["c"] = (a.astype(kind) @ b.astype(kind)).astype(a.dtype)

    return Call(enqueue=enqueue, fetch=lambda: held["c"])


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(device, dtype):
    skip_gpu(device)
    (found,) = measured(device, problem(dtype=dtype))
    assert found.problem is None
    assert found.error <= 1 and found.ratio > 0
    own = dtype in ("float32", "float64", "complex64", "complex128")
    assert found.peer_arithmetic == ("" if own else "float32")
    assert (found.peer_error is not None) == own


@pytest.mark.parametrize(
    "changes", [{"m": 1}, {"batch": 3}, {"k": 3000, "m": 5}, {"dtype": "float16", "out": "float32"}], ids=str
)
def test_shapes_and_outputs(device, changes):
    (found,) = measured(device, problem(**changes))
    assert found.error <= 1 and found.gflops > 0 and found.product == problem(**changes)
    assert len(found.samples) == len(found.peer_samples) > 0 and all(found.samples) and all(found.peer_samples)
    for gflops, samples in ((found.gflops, found.samples), (found.peer_gflops, found.peer_samples)):
        assert gflops == pytest.approx(problem(**changes).flops / quartiles(samples)[1] / 1e9)


def test_devices_of_one_name_are_told_apart(device, monkeypatch):
    skip_gpu(device)
    twin = replace(device, index=device.index + 7)
    (alone,) = measured(device, problem())
    assert alone.device == device.name
    monkeypatch.setattr(gemm, "devices", lambda: (device, twin))
    (found,) = measured(device, problem())
    assert found.device == f"{device.name} #{device.index}"
    assert gemm.name_of(twin) == f"{device.name} #{device.index + 7}"


def test_device_arrays_against_a_library(device, monkeypatch):
    monkeypatch.setattr(gemm, "peers_for", lambda device: (device_peer(numpy_on_device),))
    for found in measured(device, problem(), problem(batch=4), problem(m=1, dtype="float16")):
        assert found.memory == "device arrays" and found.rival == "lib 2"
        assert found.error <= 1 and found.peer_error <= 1 and found.ratio > 0


def test_what_a_library_cannot_do_leaves_our_number(device, monkeypatch):
    def prepare(served, a, b):
        raise RuntimeError("no such kernel\nat great length")

    monkeypatch.setattr(gemm, "peers_for", lambda device: (device_peer(prepare),))
    (found,) = measured(device, problem())
    assert found.gflops > 0 and found.peer_gflops is None and found.ratio is None
    assert found.problem == "lib 2: no such kernel"


def test_wrong_results_get_no_number(device, monkeypatch):
    skip_gpu(device)

    def wrong(a, b, **rest):
        return np.zeros((a.shape[0], b.shape[1]), a.dtype)

    monkeypatch.setattr(gemm, "matmul", wrong)
    (found,) = measured(device, problem())
    assert found.gflops is None and "wrong result" in found.problem


def test_what_the_device_lacks_is_told(device):
    bare = replace(device, capabilities=replace(device.capabilities, fp64=False))
    found = measured(bare, problem(dtype="float64"), problem(precision="bf16x6"))
    assert found[0].problem == "the device has no float64"
    if found[1].gflops is None:
        assert found[1].problem == "the device has no products of float32/bf16x6"


# OpenBLAS's core types ------------------------------------------------------------------------------------------------


def test_the_best_core_type_is_a_second_peer(device):
    skip_gpu(device)
    if core_types.core_name() is None:
        pytest.skip("NumPy has another library here")
    with CoreTypes(("Haswell", "Haswell", "NoSuchCore")) as found:
        cells = measured(device, problem(), problem(batch=2, dtype="complex64"), core_types=found)
        assert found.found[0] == "Haswell" and len(found.found) <= 2
    assert len(cells) == 4
    assert "best core type:" in cells[1].peer and "best core type:" not in cells[0].peer
    assert cells[1].gflops == cells[0].gflops and cells[1].peer_gflops > 0


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


# turns ----------------------------------------------------------------------------------------------------------------


def test_calls_back_to_back_are_waited_for_once(monkeypatch):
    monkeypatch.setattr(turns, "_BACK_TO_BACK_SECONDS", 0.01)
    told = []
    player = BackToBack(Call(enqueue=lambda: told.append("call"), wait=lambda: told.append("wait")))
    player.turn()
    (seconds,) = player.turn()
    assert 0 < seconds < 0.01
    last = len(told) - 1 - told[::-1][1:].index("wait")  # of the turn: calls after the one before
    assert told[-1] == "wait" and told.count("call") > told.count("wait") and "wait" not in told[last:-1]


@pytest.mark.parametrize("seconds, rounds", [(0.04, turns.SHORT_ROUNDS), (0.06, turns.ROUNDS)])
def test_short_products_have_more_rounds(seconds, rounds):
    """The first player's products count, those of a typical repetition."""
    told = []

    class Told:
        def __init__(self, name, seconds):
            self.name, self.seconds = name, seconds

        def turn(self):
            told.append(self.name)
            return self.seconds

    players = [Told("a", [seconds, seconds, 1.0]), Told("b", [0.05])]
    first, second = play(players, turns.ROUNDS, turns.SHORT_ROUNDS)
    assert (len(first), len(second)) == (3 * rounds, rounds)
    assert "".join(told) == ("abba" * rounds)[: 2 * rounds]
    assert len(play(players, turns.ROUNDS)[1]) == turns.ROUNDS
    assert turns.SHORT_ROUNDS > turns.ROUNDS


def test_turns_change_their_order():
    told = []
    players = [OneByOne(Call(enqueue=lambda name=name: told.append(name))) for name in "ab"]
    times = play(players, 3)
    assert "".join(told) == "abbaab"
    assert [len(t) for t in times] == [3, 3]


# torch ----------------------------------------------------------------------------------------------------------------


class Tensor:
    """A NumPy array that answers to torch's names."""

    def __init__(self, array):
        self.array = array
        self.dtype, self.shape = array.dtype, array.shape

    def cuda(self):
        return self

    cpu = contiguous = cuda

    def view(self, dtype):
        return Tensor(self.array.view(dtype))

    def float(self):
        return Tensor(self.array.astype(np.float32))

    def t(self):
        return Tensor(self.array.T)

    def numpy(self):
        return self.array


class FakeTorch(SimpleNamespace):
    """What the benchmark uses of torch."""

    def __init__(self, name):
        import ml_dtypes

        super().__init__(
            __version__="9.9",
            cuda=SimpleNamespace(get_device_name=lambda index: name, synchronize=lambda: None),
            backends=SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=None))),
            float32=np.float32,
            bfloat16=ml_dtypes.bfloat16,
            from_numpy=Tensor,
            empty=lambda shape, dtype, device: Tensor(np.empty(shape, dtype)),
            mm=self.multiplied,
            bmm=self.multiplied,
        )

    def matmul(self, a, b, out):
        out.array[...] = (a.float().array @ b.float().array) if a.dtype.itemsize == 2 else a.array @ b.array

    def multiplied(self, a, b, out_dtype):
        return Tensor((a.float().array @ b.float().array).astype(out_dtype))

    def _int_mm(self, a, b):
        return Tensor(a.array.astype(np.int32) @ b.array.astype(np.int32))


@pytest.fixture
def torch(device, monkeypatch):
    made = FakeTorch(device.name)
    monkeypatch.setitem(sys.modules, "torch", made)
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: object() if name == "torch" else None)
    return made


def test_torch_on_the_same_gpu(device, torch, monkeypatch):
    gpu = replace(device, device_type=DeviceType.GPU)
    (peer,) = peers_for(gpu)
    assert peer.name == "torch 9.9" and peer.memory is Memory.DEVICE
    monkeypatch.setattr(gemm, "peers_for", lambda device: (peer,))
    products = [
        *(problem(m=32, n=24, dtype=dtype) for dtype in ("float32", "float64", "float16", "bfloat16", "int8")),
        *(problem(batch=3, dtype=dtype) for dtype in ("float32", "complex64", "bfloat16")),
        problem(dtype="bfloat16", out="float32"),
        problem(m=32, n=24, dtype="uint8"),
    ]
    found = measured(device, *products)
    assert [c.problem for c in found] == [None] * len(products)
    assert all(c.ratio > 0 and c.error <= 1 for c in found)
    assert [c.peer_error is not None and c.peer_error <= 1 for c in found] == [True] * (len(products) - 1) + [False]
    assert found[-1].peer_arithmetic == "int8"
    torch.cuda.get_device_name = lambda index: "another one"
    assert "NumPy" in peers_for(gpu)[0].name


def test_torch_modes(torch):
    a = np.ones((32, 8), np.float32)
    for precision, allowed, text in (
        ("tf32", True, "float32/tf32"),
        ("", False, "float32"),
        ("bf16x6", False, "float32"),
    ):
        served = torch_products.serves(problem(precision=precision))
        torch_products.prepare(served, a, a.T)
        assert torch.backends.cuda.matmul.allow_tf32 is allowed
        assert served.arithmetic == text


@pytest.mark.parametrize("changes", [{"m": 16}, {"n": 12}, {"batch": 2}], ids=str)
def test_integers_that_torch_does_not_take(device, torch, changes):
    a = np.ones((32, 8), np.int8)
    with pytest.raises(RuntimeError, match="integer products"):
        torch_products.prepare(replace(problem(m=32, n=24, k=8, dtype="int8"), **changes), a, a.T)
