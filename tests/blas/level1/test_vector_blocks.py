"""Kernels of BLAS 1 with blocks of many threads and with one, whichever the device would choose; batches; halves."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import blas, cuda, tuning
from portagpu.blas.level1 import elementwise, map_variant, reductions
from portagpu.blas.level1.map_variant import AXPY, AXPY_COMPLEX, MapCall, MapConfig, MapVariant
from portagpu.blas.level1.selection import MAP_PARAMETERS, MAP_REGISTRY, SUM_PARAMETERS, SUM_REGISTRY
from portagpu.blas.level1.sum_variant import SumCall, SumConfig, SumVariant
from portagpu.blas.level1.tuning import VECTOR_MAP, VECTOR_SUM

pytestmark = pytest.mark.one_device

MANY = {"threads": 32, "width": 16, "items": 2, "blocks": 2}
ONE = {"threads": 1, "width": 32, "items": 4, "blocks": 4}


def numbers(shape, dtype):
    generator = np.random.default_rng(5)
    found = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * generator.standard_normal(shape)
    return found.astype(dtype)


@pytest.mark.oclgrind
@pytest.mark.parametrize(("dtype", "config"), [(np.float32, MANY), (np.complex64, MANY), (np.float32, ONE)])
def test_axpy(device, dtype, config):
    alpha = 2.0 + (0.5j if np.dtype(dtype).kind == "c" else 0)
    operation = AXPY_COMPLEX if np.dtype(dtype).kind == "c" else AXPY
    for n in (1, 63, 700):
        x, y = numbers(n, dtype), numbers(n + 1, dtype)[1:]
        on_it = [cuda.to_device(v) for v in (x, np.append(y, 7).astype(dtype))]
        stream = on_it[0].context.default_stream
        call = MapCall(
            routine="axpy",
            operation=operation,
            x=on_it[0],
            y=on_it[1][:n],
            stream=stream,
            factors=(alpha.real, complex(alpha).imag),
        )
        MapVariant().run(MapConfig(**config), call)
        found = on_it[1].copy_to_host()
        assert np.allclose(found[:n], alpha * x + y, rtol=1e-5, atol=1e-5) and found[n] == 7


@pytest.mark.oclgrind
@pytest.mark.parametrize(("dtype", "config"), [(np.float32, MANY), (np.complex64, MANY), (np.complex64, ONE)])
@pytest.mark.parametrize("routine", ["dotc", "nrm2", "asum", "amax"])
def test_sums(device, routine, dtype, config):
    """One block or several, whole chunks and rests, a batch of vectors with gaps between them."""
    for batch, n in ((1, 1), (1, 700), (3, 333)):
        x, y = (numbers((batch, n + 3), dtype)[:, :n] for _ in range(2))
        y = y[:, ::-1].copy()
        dx, dy = (cuda.to_device(np.ascontiguousarray(v)) for v in (x, y))
        wide = cuda.to_device(np.pad(x, ((0, 0), (0, 4))))[:, :n]
        size = np.abs(x.real) + np.abs(x.imag)
        wanted = {
            "dotc": (x.conj().astype(np.complex128) * y).sum(1),
            "nrm2": np.sqrt((np.abs(x.astype(np.complex128)) ** 2).sum(1)),
            "asum": size.sum(1),
            "amax": size.argmax(1),
        }[routine]
        how = "dot" if routine == "dotc" and np.dtype(dtype).kind == "f" else routine
        for left in (dx, wide):
            result = cuda.device_array(batch, reductions.result_dtype("dot" if "dot" in how else how, np.dtype(dtype)))
            right = dy if "dot" in how else left
            call = SumCall(routine=how, x=left, y=right, result=result, stream=dx.context.default_stream)
            SumVariant().run(SumConfig(**config), call)
            assert np.allclose(result.copy_to_host(), wanted, rtol=1e-5, atol=1e-4 * n**0.5)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves(device, name):
    """axpy, scal, dot and nrm2, with sums in float32; vectors side by side and with gaps."""
    dtype = np.dtype(np.float16) if name == "float16" else np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    eps = 2.0**-10 if name == "float16" else 2.0**-7
    for step in (1, 2):
        x, y = (numbers(600, np.float32).astype(dtype) for _ in range(2))
        y = y[::-1].copy()
        dx, dy = cuda.to_device(x)[::step], cuda.to_device(y)[::step]
        stream = dx.context.default_stream
        x, y = (v[::step].astype(np.float64) for v in (x, y))
        result = cuda.device_array(1, dtype)
        reductions.dot(dx, dy, result, stream)
        assert abs(float(result.copy_to_host()[0]) - x @ y) <= eps * abs(x) @ abs(y)
        reductions.nrm2(dx, result, stream)
        assert abs(float(result.copy_to_host()[0]) - np.linalg.norm(x)) <= eps * np.linalg.norm(x)
        elementwise.axpy(1.5, dx, dy, stream)
        elementwise.scal(0.5, dx, stream)
        for found, wanted in ((dy, 1.5 * x + y), (dx, 0.5 * x)):
            assert (abs(found.copy_to_host().astype(np.float64) - wanted) <= eps * (abs(x) * 1.5 + abs(y))).all()


@pytest.mark.thorough
def test_results_of_the_tuner_count(device, tmp_path, monkeypatch):
    """Both families are tunables: trials are right, and calls get the winner, also other routines of the family."""
    monkeypatch.setenv("PORTAGPU_DATA_DIR", str(tmp_path))
    record = cuda.current_context().device
    for tunable, registry, parameters, routine, other in (
        (VECTOR_MAP, MAP_REGISTRY, MAP_PARAMETERS, "rot", "axpy"),
        (VECTOR_SUM, SUM_REGISTRY, SUM_PARAMETERS, "nrm2", "asum"),
    ):
        values = {"routine": routine, "n": 10_000, "dtype": "float32"}
        found = tuning.tune(tunable, values, device=record, trials=2, strategy="random", compilers=0)
        assert not found.failures, found
        chosen = tuning.best(tunable, {**values, "routine": other}, device=record)
        assert chosen.point == found.winner
        assert registry.from_json(found.winner) and parameters.name == tunable.name


def test_where_host_arrays_lie_chooses_no_kernel(device):
    memory = [np.ones(6000, np.float32) for _ in range(2)]

    def add(x_first, y_first):
        x, y = memory[0][x_first : x_first + 5000], memory[1][y_first : y_first + 5000]
        assert blas.saxpy(x, y) is y

    kernel = map_variant._kernel(1)
    if not device.capabilities.host_unified_memory or device.capabilities.local_memory_dedicated:
        pytest.skip("arrays are copied, or loads must be aligned")
    add(0, 1)
    count = len(kernel.overloads)
    for x_first in range(0, 32, 5):
        add(x_first, 16)
        add(16, x_first)
    assert len(kernel.overloads) == count
