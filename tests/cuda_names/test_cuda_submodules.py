"""Modules, errors and small functions under CUDA-Python's names."""

from __future__ import annotations

import asyncio
import importlib
import threading

import numpy as np
import pytest
from own_contexts import foreign_queue

import portagpu
from portagpu import cuda, errors
from portagpu.cuda import errors as names

pytestmark = pytest.mark.one_device

MODULES = """
api args cudadrv cudadrv.devicearray cudadrv.devices cudadrv.driver cudadrv.error devicearray errors kernels.reduction
random runtime types vector_types
""".split()


@pytest.mark.parametrize("name", MODULES)
def test_modules_have_what_they_list(name):
    module = importlib.import_module(f"portagpu.cuda.{name}")
    for item in getattr(module, "__all__", ()):
        assert getattr(module, item) is not None
    found = cuda
    for part in name.split("."):
        found = getattr(found, part)
    assert found is module


def test_everything_listed_is_there():
    for module in (cuda, portagpu):
        assert len(set(module.__all__)) == len(module.__all__)
        for name in module.__all__:
            getattr(module, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        cuda.no_such_name  # noqa: B018


def test_types_under_all_names():
    assert portagpu.types.intp is portagpu.int64
    assert cuda.types.float32 is cuda.float32 is portagpu.float32
    assert str(cuda.typeof(np.zeros((2, 3), np.float32))) == "array(float32, 2d, C)"
    named = {1: "int64", 1.5: "float64", 2j: "complex128", None: "none", (1, 2.0): "Tuple(int64, float64)"}
    assert {value: str(cuda.typeof(value)) for value in named} == named
    assert cuda.vector_types.float32x4 is cuda.float32x4
    with pytest.raises(TypeError):
        cuda.typeof("text")


def test_device_array_questions(device):
    array = cuda.to_device(np.arange(3.0))
    module = cuda.devicearray
    assert module.is_cuda_ndarray(array)
    assert module.is_cuda_ndarray(cuda.mapped_array(3))
    assert not module.is_cuda_ndarray(np.zeros(3))
    assert module.auto_device(array)[0] is array
    found, new = module.auto_device([1.0, 2.0])
    assert new
    assert found.shape == (2,)
    assert module.from_array_like(array).shape == (3,)
    with pytest.raises(TypeError):
        module.require_cuda_ndarray(np.zeros(3))


@cuda.jit
def undefined(x):
    x[0] = no_such_name  # noqa: F821


@cuda.jit
def unfit(x):
    x[0] = x + "text"


@cuda.jit
def unsupported(x):
    try:  # noqa: SIM105
        x[0] = 1
    except ValueError:
        pass


@pytest.mark.parametrize(
    ("kernel", "kinds"),
    [
        (undefined, (names.TypingError, names.NumbaError, NameError)),
        (unfit, (names.TypingError, TypeError)),
        (unsupported, (names.UnsupportedError, names.TypingError)),
    ],
)
def test_errors_of_kernels_under_the_originals_names(device, kernel, kinds):
    for kind in kinds:
        with pytest.raises(kind):
            kernel[1, 1](np.zeros(3))


def test_errors_of_launches_and_drivers(device):
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError) as caught:
        cuda.device_array(2**50)
    assert isinstance(caught.value, MemoryError)
    assert caught.value.code == 0  # refused before the driver was asked
    failed = errors.DriverError("failed")
    failed.__cause__ = type("Cause", (Exception,), {"code": -30})()
    assert failed.code == -30
    assert issubclass(errors.LaunchConfigError, names.CudaAPIError)
    assert issubclass(names.BuildError, names.LoweringError)
    assert issubclass(names.NumbaPerformanceWarning, Warning)


def test_awaitable_streams(device):
    streams = [cuda.stream(), cuda.default_stream(), cuda.per_thread_default_stream()]
    arrays = [cuda.to_device(np.arange(1000.0), stream=s) for s in streams]

    async def wait():
        return await asyncio.gather(*(s.async_done() for s in streams))

    assert asyncio.run(wait()) == streams
    assert all(a.copy_to_host()[-1] == 999 for a in arrays)


def test_named_streams(device):
    assert cuda.legacy_default_stream() is cuda.default_stream()
    own = cuda.per_thread_default_stream()
    assert own is cuda.per_thread_default_stream()
    assert own is not cuda.default_stream()
    if device.backend == "cuda":
        return
    for handle in foreign_queue(cuda.current_context()):
        stream = cuda.external_stream(handle)
        array = cuda.to_device(np.arange(3.0), stream=stream)
        stream.synchronize()
        assert array.copy_to_host()[2] == 2
    for wrong in (0, None, "stream", True):
        with pytest.raises(TypeError):
            cuda.external_stream(wrong)


def test_callbacks_and_elapsed_time(device):
    stream, begin, end, seen, called = cuda.stream(), cuda.event(), cuda.event(), [], threading.Event()

    def callback(*given):
        seen.extend(given)
        called.set()

    begin.record(stream)
    stream.add_callback(callback, "tag")
    end.record(stream)

    async def done():
        cancelled = stream.async_done()
        cancelled.cancel()
        assert await stream.async_done() is stream
        assert cancelled.cancelled()

    asyncio.run(done())
    assert cuda.event_elapsed_time(begin, end) >= 0
    assert called.wait(60)
    assert seen[0] is stream
    assert seen[2] == "tag"


def test_what_was_found(device, capsys):
    assert cuda.detect() is True
    text = capsys.readouterr().out
    assert "Found" in text
    assert device.name in text
    assert "devices are supported" in text


def test_small_functions(device):
    context = cuda.current_context()
    assert cuda.cudadrv.devices.get_context() is context
    caps = device.capabilities
    assert cuda.is_float16_supported() == (caps.fp16 or caps.fp16_storage)
    assert cuda.is_bfloat16_supported() is True
    assert cuda.runtime.get_version() == device.capabilities.opencl_c_version
    assert cuda.runtime.is_supported_version()

    @cuda.require_context
    def double(x):
        return 2 * x

    assert double(4) == 8
    assert double.__name__ == "double"
    with cuda.profiling():
        cuda.to_device(np.zeros(3))
