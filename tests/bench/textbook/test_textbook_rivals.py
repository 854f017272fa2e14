"""Who stands beside the textbook kernels: each right by the kernel's own check, or left out with the reason."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from portagpu import cuda
from portagpu.bench.records.cell import Memory, Role, Status
from portagpu.bench.running.case import Options, Peers
from portagpu.bench.suites import textbook
from portagpu.bench.textbook import cuda_texts, numba_texts, numpy_texts, opencl_texts, rivals
from portagpu.bench.textbook.numpy_texts import TEXTS
from portagpu.device import DeviceType
from portagpu.errors import DeviceError, UnsupportedError

pytestmark = pytest.mark.one_device


def small(name):
    make, _, _, least = textbook.TASKS[name]
    return make(least)


def error_of(contender, made):
    call = contender.prepare()
    call.product()
    return made.error(call.fetch())


@pytest.mark.opencl
@pytest.mark.parametrize("name", textbook.TASKS)
def test_the_same_text_in_opencl(device, name):
    made = small(name)
    (contender,) = rivals.of_opencl(made, cuda.current_context())
    assert contender.role is Role.PEER and contender.implementation.startswith("PyOpenCL ")
    if name == "warp-reduction":
        with pytest.raises(UnsupportedError, match="shuffles"):
            contender.prepare()
        return
    if "double" in cuda_texts.TEXTS[made.kernel.__name__] and not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    assert error_of(contender, made) <= 1


def test_no_word_of_cuda_is_left():
    for name in cuda_texts.TEXTS:
        if name != "sum_warps":
            text = opencl_texts.program(name)
            assert not any(word in text for word in ("__global__", "__shared__", "Idx", "Dim", "__restrict__", "sqrtf"))


@pytest.mark.opencl
def test_a_program_that_does_not_compile_is_told(monkeypatch):
    made = small("saxpy")
    monkeypatch.setattr(opencl_texts, "program", lambda name: "__kernel void saxpy(float a) { return 3 +; }")
    with pytest.raises(DeviceError, match="does not compile saxpy"):
        next(rivals.of_opencl(made, cuda.current_context())).prepare()


@pytest.mark.parametrize("name", [name for name in textbook.TASKS if small(name).kernel.__name__ in TEXTS])
def test_numpys_expressions(name):
    made = small(name)
    before = {label: array.copy() for label, array in made.arrays.items()}
    (contender,) = rivals.of_numpy(made)
    assert error_of(contender, made) <= 1
    assert all(np.array_equal(made.arrays[label], array) for label, array in before.items())  # it works on copies


def test_kernels_that_are_no_expression_have_none():
    assert not list(rivals.of_numpy(small("mandelbrot")))
    assert set(numpy_texts.TEXTS) <= set(cuda_texts.TEXTS)


@pytest.fixture
def numba(monkeypatch):
    """Numba, played by PortaGPU: the dialect is Numba's."""
    made = SimpleNamespace(__version__="9.9", cuda=cuda)
    for name, module in (("numba", made), ("numba.cuda", cuda), ("numba.cuda.random", cuda.random)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(rivals.importlib.util, "find_spec", lambda name: made if name == "numba" else None)
    numba_texts._module.cache_clear()
    yield made
    numba_texts._module.cache_clear()


def test_the_same_text_in_numba(device, numba):
    for name in ("saxpy", "matmul-tiled", "xoroshiro-pi"):
        made = small(name)
        (contender,) = rivals.of_other_languages(made, device)
        assert contender.implementation == "numba.cuda of Numba 9.9, the same text"
        assert error_of(contender, made) <= 1
        assert numba_texts.kernel(made.kernel.__name__) is not made.kernel
    (contender,) = rivals.of_other_languages(small("stencil"), device)
    with pytest.raises(UnsupportedError, match="literals are float64"):
        contender.prepare()


def test_numba_on_another_device_is_nobody(device, numba, monkeypatch):
    monkeypatch.setattr(numba_texts, "device_name", lambda: "another one")
    assert not list(rivals.of_other_languages(small("saxpy"), device))

    def broken():
        raise OSError("no driver")

    monkeypatch.setattr(numba_texts, "device_name", broken)
    assert not list(rivals.of_other_languages(small("saxpy"), device))


@pytest.mark.parametrize("name", ["saxpy", "matmul-tiled"])
def test_tritons_text(name):
    """In Triton's interpreter (``TRITON_INTERPRET=1``) or on its GPU, where it is installed."""
    pytest.importorskip("triton")
    torch = pytest.importorskip("torch")
    from portagpu.bench.textbook.triton_texts import LAUNCHES

    made = small(name)
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    arrays = {label: torch.from_numpy(array.copy()).to(kind) for label, array in made.arrays.items()}
    LAUNCHES[made.kernel.__name__](*(arrays[a] if isinstance(a, str) else a for a in made.arguments))
    assert made.error({label: tensor.cpu().numpy() for label, tensor in arrays.items()}) <= 1


def test_who_is_chosen(device, measured):
    def found(peers):
        options = Options(small=True, peers=peers)
        return measured(device, textbook.entries(device, options, ["saxpy"]), options)

    (ours,) = found(Peers.NONE)
    assert ours.role is Role.OURS and ours.workload.flops == 2000 and ours.workload.nbytes == 12000
    some, every = found(Peers.VENDOR), found(Peers.ALL)
    assert (1 if device.backend != "opencl" else 2) <= len(some) <= 2 and len(every) >= len(some)
    assert all(cell.status is Status.MEASURED for cell in (*some, *every)), [cell.reason for cell in every]
    on_host = [cell.implementation for cell in every if cell.memory is Memory.HOST]
    if device.device_type is DeviceType.CPU:
        assert on_host == ["PortaGPU", f"NumPy {np.__version__}"]
        assert [cell.memory for cell in some] == 2 * [Memory.DEVICE]


@pytest.mark.parametrize("name", textbook.TASKS)
def test_work_is_what_the_compiler_counts(device, name):
    """The closed forms, but for what fills a tile of a product, and for what the values decide."""
    made = small(name)
    arrays = {label: cuda.to_device(array) for label, array in made.arrays.items()}
    arguments = (arrays[a] if isinstance(a, str) else a for a in made.arguments)
    work = made.kernel[made.grid, made.block].count_work(*arguments)
    assert made.nbytes == work.touched_bytes
    if name == "matmul-tiled":
        (m, n, depth), tile = made.sizes, made.block[0]
        assert made.flops == 2 * m * n * depth
        assert work.flops == 2 * np.prod([-(-size // tile) * tile for size in (m, n, depth)])
    elif name == "mandelbrot":
        assert made.flops is None and work.flops > 0
    else:
        assert made.flops == work.flops
