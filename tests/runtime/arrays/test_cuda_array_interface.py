"""The CUDA Array Interface between objects of one process."""

from __future__ import annotations

import gc
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from small_kernels import double

from portagpu import cuda, errors
from portagpu.device import DeviceRecord

pytestmark = pytest.mark.one_device


class Wrapper:
    """What other libraries look like: an object around a device array, with the interface only."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.array, self.changes = array, changes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.array.__cuda_array_interface__ | self.changes


def test_the_description(device: DeviceRecord) -> None:
    x = cuda.to_device(np.zeros((3, 4), np.float32))
    told = x.__cuda_array_interface__
    assert told["shape"] == (3, 4) and told["strides"] is None
    assert told["typestr"] == "<f4" and told["version"] == 3
    pointer, readonly = told["data"]
    assert readonly is False and pointer == x.device_ctypes_pointer.value
    assert x[1:].__cuda_array_interface__["data"][0] == pointer + 16
    assert x.T.__cuda_array_interface__["strides"] == (4, 16)
    default = cuda.default_stream() if x.context.driver.shares_addresses else None
    assert told["stream"] == (default and x.context.driver.handle(default.queue))
    assert cuda.device_array(0).__cuda_array_interface__["data"][0] == 0
    stream = cuda.stream()
    there = cuda.to_device(np.ones(3), stream=stream)
    assert there.__cuda_array_interface__["stream"] == int(stream)
    taken = cuda.as_cuda_array(Wrapper(there)).stream
    assert taken is (cuda.default_stream() if there.context.driver.shares_addresses else stream)


def test_wrapped_arrays_are_arguments_and_operands(device: DeviceRecord) -> None:
    x = cuda.to_device(np.arange(10))
    double[1, 32](Wrapper(x))
    double[1, 32](Wrapper(x[5:]))
    double[1, 32](Wrapper(x[::2]))
    expected = np.arange(10) * 2
    expected[5:] *= 2
    expected[::2] *= 2
    np.testing.assert_array_equal(x.copy_to_host(), expected)
    again = cuda.as_cuda_array(Wrapper(x))
    assert again.dtype == x.dtype and cuda.is_cuda_array(Wrapper(x)) and not cuda.is_cuda_array(Wrapper)
    again[2] = 77
    assert x[2] == 77
    assert cuda.to_device(Wrapper(x))[2] == 77
    target = cuda.device_array_like(x)
    target.copy_to_device(cuda.as_cuda_array(Wrapper(x)))
    assert target[2] == 77


def test_views_by_the_description_alone(device: DeviceRecord) -> None:
    x = cuda.to_device(np.arange(24, dtype=np.int32).reshape(4, 6))
    back = cuda.from_cuda_array_interface(x[::-1, 1::2].__cuda_array_interface__)
    np.testing.assert_array_equal(back.copy_to_host(), np.arange(24).reshape(4, 6)[::-1, 1::2])
    flat = cuda.as_cuda_array(Wrapper(x, shape=(24,), strides=None))
    assert flat[13] == 13
    assert cuda.as_cuda_array(Wrapper(x, shape=(0, 6))).shape == (0, 6)
    pair = np.dtype([("a", np.int32), ("b", np.float64)])
    records = cuda.to_device(np.array([(1, 2.5), (3, 4.5)], pair))
    assert cuda.as_cuda_array(Wrapper(records)).copy_to_host().tolist() == [(1, 2.5), (3, 4.5)]


def test_the_memory_lives_as_long_as_who_uses_it(device: DeviceRecord) -> None:
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("a description does not keep memory of CUDA, as in its other libraries")
    x = cuda.to_device(np.arange(100))
    told = x.__cuda_array_interface__
    view = cuda.from_cuda_array_interface(told)
    del x
    gc.collect()
    others = [cuda.to_device(np.zeros(100, np.int64)) for _ in range(5)]
    np.testing.assert_array_equal(view.copy_to_host(), np.arange(100))
    del view, others
    gc.collect()
    with pytest.raises(errors.MemoryNotSharedError, match="memory of CUDA libraries"):
        cuda.from_cuda_array_interface(told)


def test_read_only_arrays_stay_so(device: DeviceRecord) -> None:
    x = cuda.to_device(np.arange(4))
    pointer = x.__cuda_array_interface__["data"][0]
    with pytest.raises(errors.PortaGPUError, match="read-only"):
        double[1, 4](Wrapper(x, data=(pointer, True)))


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    (
        ({"data": (4096, False)}, errors.MemoryNotSharedError, "memory of CUDA libraries"),
        ({"mask": object()}, errors.MaskedArrayError, "Masked"),
        ({"shape": (99,)}, errors.ShapeError, "reaches out of"),
        ({"strides": (-8,)}, errors.ShapeError, "reaches out of"),
        ({"typestr": "?!"}, errors.ArgumentTypeError, "not a CUDA Array Interface"),
        ({"version": 9}, errors.ArgumentTypeError, "version 9"),
        ({"typestr": "|O"}, errors.PortaGPUError, "object"),
    ),
)
def test_what_cannot_be_used_says_so(
    device: DeviceRecord, changes: dict[str, Any], error: type[Exception], words: str
) -> None:
    x = cuda.to_device(np.arange(4))
    if error is errors.ShapeError and x.context.driver.shares_addresses:
        pytest.skip("how large memory is, nobody tells there")
    with pytest.raises(error, match=words):
        cuda.as_cuda_array(Wrapper(x, **changes))


def test_no_description_at_all(device: DeviceRecord) -> None:
    with pytest.raises(errors.ArgumentTypeError, match="not a CUDA Array Interface: KeyError"):
        cuda.from_cuda_array_interface({})


def test_libraries_do_not_see_the_pointer(device):
    """They would take it for CUDA's. What is written in C has no frame of its own, so the caller's counts."""
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("the pointer is theirs")
    x, name = cuda.to_device(np.arange(3)), "__cuda_" + "array_interface__"
    assert not _has(x, name)
    library = {"__name__": "torch.utils"}
    exec("def find(x): return hasattr(x, '__cuda_array_interface__')", library)
    assert not library["find"](x)
    own = {"__name__": "__main__"}
    exec("def find(x): return x.__cuda_array_interface__", own)
    assert own["find"](x)["shape"] == (3,)
    assert Wrapper(x).__cuda_array_interface__["version"] == 3


def test_modules_of_a_library_whose_cuda_is_ours_see_the_pointer(device, monkeypatch):
    """Programs that put `portagpu.cuda` in the place of `numba.cuda`: the pointers come back to us."""
    x = cuda.to_device(np.arange(3))
    module = {"__name__": "numba.cuda.testing"}
    exec("def interface(x): return getattr(x, '__cuda_array_interface__', None)", module)
    if not cuda.current_context().driver.shares_addresses:
        monkeypatch.setitem(sys.modules, "numba.cuda", ModuleType("numba.cuda"))
        assert module["interface"](x) is None
    monkeypatch.setitem(sys.modules, "numba.cuda", cuda)
    assert module["interface"](x)["shape"] == (3,)


def _has(x, name):
    return hasattr(x, name)


def test_the_stream_of_an_array_that_was_taken(device: DeviceRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    """0 where none is named; else that one, also of a view alone, and taking the array waits for it or does not."""
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("streams wait for each other there, and the host for none")
    x = cuda.to_device(np.zeros(8, np.float32))
    assert x.stream == 0 and x[2:].stream == 0
    assert cuda.as_cuda_array(Wrapper(x)).stream == 0
    stream = cuda.stream()
    bound = x.bind(stream)
    waited = []
    monkeypatch.setattr(type(stream), "synchronize", lambda self: waited.append(self))
    assert cuda.as_cuda_array(Wrapper(bound[1:])).stream is stream
    assert waited == [stream]
    monkeypatch.setenv("PORTAGPU_INTERFACE_SYNC", "0")
    assert cuda.as_cuda_array(Wrapper(bound)).stream is stream
    double[1, 8](Wrapper(bound))
    monkeypatch.delenv("PORTAGPU_INTERFACE_SYNC")
    monkeypatch.setattr(cuda.config, "CUDA_ARRAY_INTERFACE_SYNC", False)
    assert cuda.as_cuda_array(Wrapper(bound)).stream is stream
    assert waited == [stream]
    monkeypatch.undo()
    monkeypatch.setenv("PORTAGPU_INTERFACE_SYNC", "maybe")
    with pytest.raises(errors.SettingsError, match="PORTAGPU_INTERFACE_SYNC"):
        cuda.as_cuda_array(Wrapper(bound))


@pytest.mark.parametrize("memory", [cuda.mapped_array, cuda.managed_array])
def test_shared_memory_without_a_stream_has_stream_0(device: DeviceRecord, memory: Any) -> None:
    made = memory(3)
    assert made.__cuda_array_interface__["stream"] is None
    assert made.stream == 0
