"""What device arrays do not have names what comes nearest; what needs no arithmetic they have; many reads are told."""

from __future__ import annotations

import io
import warnings
from dataclasses import replace

import numpy as np
import pytest
from own_contexts import native_context

from portagpu import cuda
from portagpu.errors import DTypeError, PortaGPUPerformanceWarning, ShapeError
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "use, hint",
    [
        (lambda d: np.busday_offset(d, 1), "kernel"),
    ],
)
def test_functions_and_operators(device, use, hint):
    with pytest.raises(DTypeError, match=rf"is not available for device arrays\n  hint: .*{hint}"):
        use(cuda.to_device(X))


@pytest.mark.parametrize(
    "name, hint",
    [
        *(("get", "copy_to_host"), ("nonsense", "'nonsense'$")),
    ],
)
def test_members(device, name, hint):
    array = cuda.to_device(X)
    assert not hasattr(array, name)
    with pytest.raises(AttributeError, match=hint) as caught:
        getattr(array, name)
    assert caught.value.name == name and caught.value.obj is array


@pytest.mark.parametrize("name, hint", [("array", "to_device"), ("asnumpy", "copy_to_host"), ("qqqq", "'qqqq'$")])
def test_names_of_the_module(name, hint):
    with pytest.raises(AttributeError, match=hint):
        getattr(cuda, name)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: np.expand_dims(x, 1),
        lambda x: np.expand_dims(x, axis=(0, -1)),
        lambda x: np.moveaxis(x, 0, -1),
        lambda x: np.rollaxis(x, 2),
        lambda x: x.swapaxes(0, 2),
        lambda x: x.flatten("F"),
        lambda x: x[:, ::2].tolist(),
        lambda x: x.item(1, 2, 3),
        lambda x: x[:1, :1, :1].item(),
    ],
)
def test_what_needs_no_arithmetic(device, use):
    np.testing.assert_array_equal(np.asarray(use(cuda.to_device(X))), use(X))


def test_views_are_of_the_same_memory(device):
    array = cuda.to_device(X)
    np.expand_dims(array, 0)[0, 1] = 7
    np.moveaxis(array, 0, -1)[..., 0] = 8
    wanted = X.copy()
    wanted[1], wanted[0] = 7, 8
    np.testing.assert_array_equal(array.copy_to_host(), wanted)
    with pytest.raises(ShapeError, match=r"numpy\.moveaxis of an array of shape \(2, 3, 4\)"):
        np.moveaxis(array, 5, 0)
    with pytest.raises(ShapeError, match="item"):
        array.item(9, 9, 9)


def test_new_arrays_and_files(device):
    for order in "CF":
        made = np.empty_like(cuda.to_device(np.asarray(X, order=order)), dtype=np.int16)
        wanted = np.empty_like(np.asarray(X, order=order), dtype=np.int16)
        assert (made.shape, made.strides, made.dtype) == (wanted.shape, wanted.strides, wanted.dtype)
    assert np.empty_like(cuda.to_device(X), shape=5).shape == (5,)
    file = io.BytesIO()
    np.save(file, cuda.to_device(X))
    file.seek(0)
    np.testing.assert_array_equal(np.load(file), X)


@pytest.mark.parametrize("use", [sum, max, sorted, list])
def test_iterations_are_told_once_at_the_users_line(device, use):
    context = Context(device, native_context(device), replace(Settings.from_environment(), warnings=True))
    small, large = (to_device(np.arange(n), context=context) for n in (100, 2000))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            assert use(small) == use(range(100))
            assert use(large) == use(range(2000))
    (found,) = caught
    assert found.category is PortaGPUPerformanceWarning and found.filename == __file__
    assert "2000 elements" in str(found.message) and "cuda.reduce" in str(found.message)
    context.close()


def test_elements_one_by_one_are_told(device):
    context = Context(device, native_context(device), replace(Settings.from_environment(), warnings=True))
    array = to_device(np.arange(4), context=context)
    with pytest.warns(PortaGPUPerformanceWarning, match="1000 elements of device arrays were read one by one") as told:
        for n in range(1500):
            assert array[n % 4] == n % 4
    assert len(told) == 1 and told[0].filename == __file__
    context.close()


def test_what_is_missing_within_a_property_is_told(device, monkeypatch):
    """Python asks for a missing name when a property raises `AttributeError`, and drops what that said."""
    x = cuda.to_device(X)
    monkeypatch.setattr(type(x), "nbytes", property(lambda self: self.shape.nowhere))
    with pytest.raises(AttributeError, match="'tuple' object has no attribute 'nowhere'"):
        x.nbytes  # noqa: B018
    chosen = cuda.get_current_device()
    monkeypatch.setattr(type(chosen), "supports_float16", property(lambda self: self.record.nowhere))
    with pytest.raises(AttributeError, match="'DeviceRecord' object has no attribute 'nowhere'"):
        chosen.supports_float16  # noqa: B018
