"""Libraries of products: which ones a device has, what they are called, what they compute; played, and real ones."""

from __future__ import annotations

import ctypes
import json
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from portagpu import cuda
from portagpu.bench.method.turns import Call
from portagpu.bench.peers import (
    clblast_library,
    clblast_products,
    clblast_tuned,
    foreign_errors,
    mkl_products,
    products,
    torch_products,
)
from portagpu.bench.peers.products import all_peers, blas_problem, peers_for
from portagpu.bench.product_check import checker
from portagpu.bench.records.cell import Memory, Role, Status
from portagpu.bench.running.case import Options, Peers
from portagpu.bench.suites import epilogue, gemm
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.tuning.trial import operand
from portagpu.device import DeviceType
from portagpu.errors import UnsupportedError

pytestmark = pytest.mark.one_device


def problem(m=20, n=30, k=40, dtype="float32", **rest):
    return Problem(m=m, n=n, k=k, dtype=dtype, **rest)


def error_of(prepare, one):
    """How wrong a library's product is, called twice."""
    generator = np.random.default_rng(1)
    a, b = operand(generator, one, one.m, one.k, "C"), operand(generator, one, one.k, one.n, "C")
    call = prepare(one, a, b)
    call.product()
    call.product()
    return checker(one, a, b)(call.fetch())


# torch, played --------------------------------------------------------------------------------------------------------


class Tensor:
    """A NumPy array that answers to torch's names."""

    def __init__(self, array):
        self.array = array
        self.dtype, self.shape = array.dtype, array.shape

    def to(self, kind):
        return self

    def cpu(self):
        return self

    contiguous = cpu

    def view(self, dtype):
        return Tensor(self.array.view(dtype))

    def float(self):
        return Tensor(self.array.astype(np.float32))

    def t(self):
        return Tensor(self.array.T)

    def numpy(self):
        return self.array


class FakeEvent:
    """An event whose time is the host's."""

    def record(self):
        self.seconds = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.seconds - self.seconds) * 1000


class FakeTorch(SimpleNamespace):
    """What the benchmark uses of torch."""

    def __init__(self, name):
        import ml_dtypes

        super().__init__(
            __version__="9.9",
            __config__=SimpleNamespace(
                show=lambda: "a\n - oneAPI Math Kernel Library Version 2030.1-Product Build 3 for"
            ),
            version=SimpleNamespace(hip=None),
            cuda=SimpleNamespace(
                is_available=lambda: True,
                get_device_name=lambda index: name,
                synchronize=lambda: None,
                Event=lambda enable_timing: FakeEvent(),
            ),
            backends=SimpleNamespace(
                cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=None)),
                mkl=SimpleNamespace(is_available=lambda: True),
            ),
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

    def addmm(self, bias, a, b, out):
        out.array[...] = a.array @ b.array + bias.array
        return out

    def _int_mm(self, a, b):
        return Tensor(a.array.astype(np.int32) @ b.array.astype(np.int32))


@pytest.fixture
def torch(device, monkeypatch):
    made = FakeTorch(device.name)
    monkeypatch.setitem(sys.modules, "torch", made)
    monkeypatch.setattr(products, "_is_installed", lambda name: name == "torch")
    return made


@pytest.fixture
def no_clblast(monkeypatch):
    monkeypatch.setattr(clblast_library, "opened", lambda: None)


def test_torch_on_the_same_gpu(device, torch, measured, monkeypatch):
    gpu = replace(device, device_type=DeviceType.GPU)
    (peer,) = peers_for(gpu)
    assert peer.name == "cuBLAS of torch 9.9" and peer.memory is Memory.DEVICE and peer.role is Role.VENDOR
    monkeypatch.setattr(gemm, "peers_for", lambda device: (peer,))
    chosen = [
        *(problem(m=32, n=24, dtype=dtype) for dtype in ("float32", "float64", "float16", "bfloat16", "int8")),
        *(problem(batch=3, dtype=dtype) for dtype in ("float32", "complex64", "bfloat16")),
        problem(dtype="bfloat16", out="float32"),
        problem(m=32, n=24, dtype="uint8"),
    ]
    options = Options(small=True, core_types=False)
    found = measured(device, gemm.entries(device, options, lambda _: chosen), options)
    assert [cell.reason for cell in found] == [""] * 2 * len(chosen)
    theirs = found[1::2]
    assert all(c.error is not None and c.error <= 1 for c in theirs), "also what was computed in another arithmetic"
    assert theirs[-1].arithmetic == "int8"
    torch.cuda.get_device_name = lambda index: "another one"
    assert "NumPy" in peers_for(gpu)[0].name


def test_epilogues_are_separate_calls_of_torch(device, torch, measured, monkeypatch):
    """On a GPU that torch uses, and CuPy does not."""

    def gelu(x, approximate):
        assert approximate == "tanh"
        c = x.array
        made = Tensor(0.5 * c * (1 + np.tanh(0.7978845608 * (c + 0.044715 * c**3))))
        made.add_ = lambda residual: Tensor(made.array + residual.array)
        return made

    torch.nn = SimpleNamespace(functional=SimpleNamespace(gelu=gelu))
    monkeypatch.setattr(epilogue, "_on_host", None)
    monkeypatch.setattr(epilogue, "DeviceType", SimpleNamespace(CPU=None))  # every device is taken for a GPU
    monkeypatch.setattr(epilogue, "cupy_for", lambda device: None)
    place = SimpleNamespace(place=torch_products.gpu_places()[0], version=torch.__version__)
    monkeypatch.setattr(epilogue.torch_solvers, "places", lambda device: [place])
    options = Options(small=True, quick=True)
    ours, plain, theirs = measured(device, epilogue.entries(device, options), options)
    assert [cell.reason for cell in (ours, plain, theirs)] == [""] * 3
    assert theirs.implementation == "torch 9.9 in separate calls" and theirs.role is Role.VENDOR and theirs.error <= 1
    assert "plain product" in plain.implementation and plain.role is Role.PEER and ours.memory is Memory.DEVICE


def test_names_tell_the_library(device, torch, no_clblast):
    gpu = replace(device, device_type=DeviceType.GPU)
    torch.version.hip = "6.4"
    assert peers_for(gpu)[0].name == "rocBLAS of torch 9.9"
    torch.cuda.is_available = lambda: False
    torch.xpu = SimpleNamespace(is_available=lambda: True, get_device_name=lambda index: device.name)
    assert peers_for(gpu)[0].name == "oneDNN of torch 9.9"
    assert torch_products.cpu_place().label == "oneMKL 2030.1 of torch 9.9"
    torch.backends.mkl.is_available = lambda: False
    torch.__config__.show = lambda: "Build settings: BLAS_INFO=open, BUILD_TYPE=Release"
    assert torch_products.cpu_place().label == "OpenBLAS of torch 9.9"


def test_a_library_that_cannot_be_imported_is_none(device, torch):
    def broken():
        raise OSError("a shared library is missing")

    torch.cuda.is_available = broken
    (peer,) = peers_for(replace(device, device_type=DeviceType.GPU))
    assert "NumPy" in peer.name and peer.role is Role.PEER, "it computes on the host, and is no vendor's of a GPU"


def test_a_library_that_does_not_work_says_why(device, torch, measured, monkeypatch, no_clblast):
    """One that is installed for nothing is no missing column without a word."""

    def broken():
        raise OSError("libcudart.so.99: cannot open shared object file")

    torch.cuda.is_available = torch.backends.mkl.is_available = broken
    gpu = SimpleNamespace(device=replace(device, device_type=DeviceType.GPU))
    found = {peer.name: peer for peer in all_peers(gpu)}
    assert found["torch"].memory is Memory.DEVICE and found["torch"].role is Role.VENDOR
    options = Options(small=True, core_types=False, peers=Peers.ALL)
    cells = measured(device, gemm.entries(device, options, lambda _: [problem()]), options)
    (cell,) = (cell for cell in cells if cell.implementation == "torch")
    assert cell.status is Status.FAILED
    assert cell.reason == "OSError: libcudart.so.99: cannot open shared object file"


def test_torch_modes(torch):
    a = np.ones((32, 8), np.float32)
    (place,) = torch_products.gpu_places()
    for precision, allowed, text in (
        ("tf32", True, "float32/tf32"),
        ("", False, "float32"),
        ("bf16x6", False, "float32"),
    ):
        served = torch_products.serves(problem(precision=precision))
        torch_products.prepare(place, served, a, a.T)
        assert torch.backends.cuda.matmul.allow_tf32 is allowed
        assert served.arithmetic == text
    other = replace(place, kind="xpu")
    with pytest.raises(UnsupportedError, match="tf32"):
        torch_products.prepare(other, problem(precision="tf32"), a, a.T)


@pytest.mark.parametrize("changes", [{"m": 16}, {"n": 12}, {"batch": 2}], ids=str)
def test_integers_that_torch_does_not_take(device, torch, changes):
    a = np.ones((32, 8), np.int8)
    (place,) = torch_products.gpu_places()
    with pytest.raises(UnsupportedError, match="integer products"):
        torch_products.prepare(place, replace(problem(m=32, n=24, k=8, dtype="int8"), **changes), a, a.T)


def test_what_other_libraries_raise_becomes_a_reason():
    class LibraryError(Exception):
        pass

    def fail():
        raise LibraryError("\n  first line\nsecond")

    with pytest.raises(RuntimeError, match="LibraryError: first line"):
        foreign_errors.told(fail)()
    call = foreign_errors.told(lambda: Call(enqueue=fail, wait=fail))()
    with pytest.raises(RuntimeError, match="first line"):
        call.enqueue()
    with pytest.raises(RuntimeError, match="first line"):
        call.wait()


@pytest.mark.parametrize("error", [MemoryError("none"), UnsupportedError("no"), ImportError("no"), RuntimeError("no")])
def test_what_the_engine_takes_stays_as_it_is(error):
    def fail():
        raise error

    with pytest.raises(type(error)) as found:
        foreign_errors.told(fail)()
    assert found.value is error


# what is installed ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "one",
    [problem(), problem(dtype="float64", batch=3), problem(dtype="complex64"), problem(dtype="complex128", batch=2)],
)
def test_libraries_of_numpys_arrays_are_right(device, one):
    """NumPy's, torch's and oneMKL's own, where they are installed."""
    found = [peer for peer in all_peers(cuda.current_context()) if peer.memory is Memory.HOST]
    assert found or device.device_type is DeviceType.GPU
    for peer in found:
        assert error_of(peer.prepare, peer.serves(one)) <= 1, peer.name


def test_a_missing_mkl_is_none(monkeypatch, tmp_path):
    (tmp_path / "libmkl_rt.so.2").write_bytes(b"not a library")
    monkeypatch.setattr(mkl_products, "_candidates", lambda: iter([str(tmp_path / "libmkl_rt.so.2"), "no such file"]))
    assert mkl_products.opened.__wrapped__() is None


class FakeMkl:
    """CBLAS of NumPy: what arguments mean is taken from their places in the documented interface."""

    def __init__(self):
        for letter, dtype in (("s", "float32"), ("d", "float64"), ("c", "complex64"), ("z", "complex128")):
            setattr(self, f"cblas_{letter}gemm", self.product(dtype, strided=False))
            setattr(self, f"cblas_{letter}gemm_batch_strided", self.product(dtype, strided=True))

    def product(self, dtype, *, strided):
        def array(pointer, rows, columns, step, count):
            assert step == columns
            size = count * rows * columns * np.dtype(dtype).itemsize
            flat = np.frombuffer((ctypes.c_char * size).from_address(pointer.value), dtype)
            return flat.reshape(count, rows, columns)

        def call(order, ta, tb, m, n, k, alpha, *rest):
            assert (order.value, ta.value, tb.value) == (101, 111, 111)
            m, n, k = m.value, n.value, k.value
            if strided:
                a, lda, sa, b, ldb, sb, _, c, ldc, sc, count = rest
                assert (sa.value, sb.value, sc.value) == (m * k, k * n, m * n)
                count = count.value
            else:
                (a, lda, b, ldb, _, c, ldc), count = rest, 1
            scale = complex(*alpha) if dtype.startswith("complex") else alpha.value
            found = array(a, m, k, lda.value, count) @ array(b, k, n, ldb.value, count)
            array(c, m, n, ldc.value, count)[...] = scale * found

        return call


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_calls_of_mkl(dtype, batch):
    one = problem(m=5, n=6, k=7, dtype=dtype, batch=batch)
    assert error_of(lambda *given: mkl_products.prepare(FakeMkl(), *given), one) <= 1


# CLBlast --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clblast():
    library = clblast_library.opened()
    if library is None:
        pytest.skip("CLBlast is not installed")
    return library


@pytest.mark.opencl
@pytest.mark.thorough  # the library's kernels take tens of seconds to compile
def test_clblast_is_right(device, clblast):
    context = cuda.current_context()
    one = problem(m=33, n=20, k=17)
    assert clblast_products.serves(problem(dtype="float16", out="float32")) == problem()
    assert error_of(lambda *given: clblast_products.prepare(context, None, *given), one) <= 1
    (peer,) = [p for p in all_peers(context) if p.name.startswith("CLBlast")]
    assert (peer.role, peer.memory) == (Role.PEER, Memory.DEVICE)
    with pytest.raises(UnsupportedError, match="complex64"):
        error_of(peer.prepare, peer.serves(problem(dtype="complex64")))


COPY = {"COPY_DIMX": 8, "COPY_DIMY": 8, "COPY_VW": 1, "COPY_WPT": 1}


def tuners_file(device, /, **changes):
    """As CLBlast's tuners write it."""
    results = [
        {"kernel": "CopyMatrixFast", "time": 0.034, "parameters": {**COPY, "COPY_DIMX": 32, "PRECISION": 32}},
        {"kernel": "CopyMatrixFast", "time": 0.020, "parameters": {**COPY, "PRECISION": 32}},
        {"kernel": "CopyMatrixFast", "time": -1.0, "parameters": {**COPY, "COPY_DIMX": 16, "PRECISION": 32}},
    ]
    told = {"kernel_family": "copy", "precision": "32", "device": device.name, "results": results}
    return json.dumps({**told, **changes})


def test_files_of_the_tuners(device, tmp_path):
    (tmp_path / "a.json").write_text(tuners_file(device))
    faster = [{"kernel": "Xgemm", "time": 1.5, "parameters": {"KWG": 16}}]
    slower = [{"kernel": "Xgemm", "time": 2.5, "parameters": {"KWG": 32, "SA": True, "SB": "1", "VWM": -1}}]
    (tmp_path / "b.json").write_text(tuners_file(device, kernel_family="xgemm_1", results=faster))
    (tmp_path / "c.json").write_text(tuners_file(device, kernel_family="xgemm_2", results=slower))
    (tmp_path / "d.json").write_text(tuners_file(device, precision="64"))
    (tmp_path / "e.json").write_text(tuners_file(device, device="another"))
    (tmp_path / "f.json").write_text(tuners_file(device, kernel_family="unknown"))
    for number, text in enumerate(("", "[]", "[" * 100_000, '{"results": 3}', tuners_file(device, results=[1, {}]))):
        (tmp_path / f"g{number}.json").write_text(text)
    assert clblast_tuned.kernels(tmp_path, device, "float32") == {"Copy": COPY, "Xgemm": {"KWG": 16}}
    assert clblast_tuned.kernels(tmp_path, device, "float64") == {"Copy": COPY}
    with pytest.raises(UnsupportedError, match="float16"):
        clblast_tuned.kernels(tmp_path, device, "float16")


class FakeClBlast:
    """Which parameters a device's kernels have."""

    def __init__(self):
        self.now = {"Copy": {"COPY_DIMX": 1, "COPY_DIMY": 2}, "Pad": {"P": 3}}
        self.calls = 0

    def CLBlastOverrideParameters(self, device, kernel, precision, count, names, values):
        self.calls += 1
        given = {name.decode(): value for name, value in zip(names, values, strict=True)}
        assert count.value == len(given) and precision == 32
        if set(given) != set(self.now[kernel.decode()]):
            return -2045
        self.now[kernel.decode()] = given
        return 0


def test_parameters_are_those_of_each_call(monkeypatch):
    library = FakeClBlast()
    first = {name: dict(values) for name, values in library.now.items()}
    monkeypatch.setattr(clblast_library, "_parameters", lambda lib, device, kernel, precision: dict(first[kernel]))
    state = clblast_library.State(library, 7, "float32")
    state.use(clblast_library.OWN)
    seen = []
    tuned = state.complete({"Copy": {"COPY_DIMX": 8}})
    plain_call = state.using(clblast_library.OWN, lambda: seen.append(library.now["Copy"]["COPY_DIMX"]))
    tuned_call = state.using(tuned, lambda: seen.append(library.now["Copy"]["COPY_DIMX"]))
    for call in (plain_call, plain_call, tuned_call, tuned_call, plain_call):
        call()
    assert seen == [1, 1, 8, 8, 1] and library.calls == 2 and library.now == first
    with pytest.raises(RuntimeError, match="-2045"):
        state.use(state.complete({"Pad": {"UNKNOWN": 3}}))


@pytest.mark.opencl
@pytest.mark.thorough
def test_clblast_with_and_without_its_tuners_results(device, clblast, measured, tmp_path):
    """Interleaved, and each of both right; what the library had is what it has in the end."""
    (tmp_path / "copy.json").write_text(tuners_file(device))
    context = cuda.current_context()
    state = clblast_library.state(context.device.cl_device.int_ptr, "float32")
    before = state.complete({"Copy": {}})
    options = Options(small=True, core_types=False, peers=Peers.ALL, clblast_tuned=tmp_path)
    chosen = [problem(m=33, n=20, k=17), problem(m=33, n=20, k=17, dtype="float64")]
    found = measured(device, gemm.entries(device, options, lambda _: chosen), options)
    label = clblast_library.label()
    plain, tuned, plain64, tuned64 = (cell for cell in found if cell.implementation.startswith(label))
    for cell in (plain, tuned, plain64):
        assert cell.status is Status.MEASURED and cell.error <= 1 and cell.role is Role.PEER, cell.reason
    assert tuned.implementation == f"{label}, tuned"
    assert tuned64.status is Status.UNSUPPORTED and "float64" in tuned64.reason
    state.use(clblast_library.OWN)
    assert clblast_library._parameters(clblast, state._device, "Copy", 32) == before["Copy"]


def test_everyone_is_found_in_the_order_of_importance(device):
    found = all_peers(cuda.current_context())
    assert found[0] == peers_for(device)[0] or found[0].name == peers_for(device)[0].name
    assert len({peer.name for peer in found}) == len(found)
    assert blas_problem(problem(dtype="int8")) == problem()
