"""What all methods of a generator have in common: sizes, dtypes, out=, devices, arrays that are put off, errors."""

from __future__ import annotations

import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.device import working_devices
from portagpu.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError
from portagpu.random import default_rng

F32 = np.float32


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 255, 256, 257, 1023, 1025, 3000])
def test_numbers_do_not_depend_on_how_many_there_are(device, count):
    whole = default_rng(1).standard_normal(3000, F32).copy_to_host()
    assert (default_rng(1).standard_normal(count, F32).copy_to_host() == whole[:count]).all()
    whole = default_rng(1).gamma(0.7, 1.0, 3000, F32).copy_to_host()
    assert (default_rng(1).gamma(0.7, 1.0, count, F32).copy_to_host() == whole[:count]).all()


def test_all_devices_give_the_same_numbers():
    """Bit by bit, but for the rounding of functions."""
    exact, rounded = [], []
    for device in working_devices():
        with cuda.select_device(device):
            rng = default_rng(2)
            exact.append(
                [
                    rng.random(1001, F32).copy_to_host(),
                    rng.uniform(0, 4, 1001, F32).copy_to_host(),
                    rng.integers(0, 1000, 1001).copy_to_host(),
                    rng.permutation(1001).copy_to_host(),
                    rng.permuted(np.arange(300).reshape(10, 30), axis=1).copy_to_host(),
                ]
            )
            rounded.append([rng.normal(1, 2, 1001, F32).copy_to_host(), rng.gamma(2, 1, 1001, F32).copy_to_host()])
    for one, other in zip(exact[1:], exact[:-1], strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
    for one, other in zip(rounded[1:], rounded[:-1], strict=True):
        assert all(np.allclose(a, b, rtol=1e-5, atol=1e-5) for a, b in zip(one, other, strict=True))


def test_results_have_the_shape_and_dtype_that_are_asked_for(device):
    rng = default_rng(3)
    default = np.float64 if device.capabilities.fp64 else F32
    assert rng.random().shape == () and rng.random().dtype == default
    assert rng.random((2, 3, 0), F32).shape == (2, 3, 0)
    assert rng.normal([1.0, 2.0], [[1.0], [2.0], [3.0]], dtype=F32).shape == (3, 2)
    assert rng.normal([1.0, 2.0], dtype=F32).dtype == F32
    assert rng.poisson([1.0, 2.0]).shape == (2,)
    assert rng.weibull([1.0, 2.0], (5, 2), F32).shape == (5, 2)


def test_numbers_go_into_arrays_that_are_there(device):
    """Also where these have gaps, and after what is put off has read them."""
    whole = default_rng(4).random((4, 6), F32).copy_to_host()
    out = cuda.to_device(np.ones((4, 6), F32))
    later = out * 2
    assert default_rng(4).random(out=out) is out
    assert (out.copy_to_host() == whole).all()
    assert (later.copy_to_host() == 2).all()
    wide = cuda.to_device(np.zeros((4, 12), F32))
    default_rng(4).random(out=wide[:, ::2])
    assert (wide.copy_to_host()[:, ::2] == whole).all() and (wide.copy_to_host()[:, 1::2] == 0).all()
    part = cuda.to_device(np.zeros(30, F32))
    default_rng(4).random(out=part[3:27])
    assert (part.copy_to_host()[3:27] == whole.ravel()).all() and (part.copy_to_host()[27:] == 0).all()
    scaled = default_rng(4).uniform(cuda.to_device(np.zeros(6, F32)), 2.0, out=out)
    assert np.allclose(scaled.copy_to_host(), 2 * whole, rtol=1e-6)


def test_streams_order_the_work(device):
    stream = cuda.stream()
    rng = default_rng(5, stream=stream)
    made = rng.random(1000, F32)
    assert (made.copy_to_host(stream=stream) == default_rng(5).random(1000, F32).copy_to_host()).all()


def test_functions_of_the_module(device):
    portagpu.random.seed(6)
    first = [portagpu.random.rand(2, 3).copy_to_host(), portagpu.random.randint(10, size=5).copy_to_host()]
    portagpu.random.seed(6)
    again = [portagpu.random.rand(2, 3).copy_to_host(), portagpu.random.randint(10, size=5).copy_to_host()]
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert portagpu.random.randn(4).shape == (4,) and portagpu.random.rand().shape == ()


def test_functions_for_kernels(device):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        words = portagpu.random.philox4x32(
            (np.uint32(i), np.uint32(0), np.uint32(0), np.uint32(0)), (np.uint32(7), np.uint32(0))
        )
        x, y = portagpu.random.normal_float32(words[0], words[1])
        out[i, 0], out[i, 1] = x, y
        out[i, 2], out[i, 3] = portagpu.random.normal_float32(words[2], words[3])

    out = cuda.device_array((64, 4), F32)
    kernel[2, 32](out)
    same = portagpu.random.Generator(portagpu.random.Philox(key=7)).standard_normal((64, 4), F32)
    assert np.allclose(out.copy_to_host(), same.copy_to_host(), rtol=1e-6, atol=1e-7)


@pytest.mark.one_device
def test_wrong_arguments_are_refused(device):
    rng = default_rng(7)
    with pytest.raises(ArgumentValueError, match="scale is at least 0, not -1"):
        rng.normal(0, -1)
    with pytest.raises(ArgumentValueError, match="p is at least 0 and at most 1"):
        rng.binomial(5, [0.5, 1.5])
    with pytest.raises(ArgumentValueError, match="lam is"):
        rng.poisson(float("nan"))
    with pytest.raises(ArgumentTypeError, match="loc is a real number"):
        rng.normal(1j)
    with pytest.raises(DTypeError, match="float32 or float64"):
        rng.random(3, np.int32)
    with pytest.raises(DTypeError, match="out= has float32"):
        rng.random(dtype=np.float64, out=cuda.device_array(3, F32))
    with pytest.raises(ShapeError, match="the result has shape"):
        rng.random(4, F32, out=cuda.device_array(3, F32))
    with pytest.raises(ShapeError, match="do not fit a result"):
        rng.normal([1.0, 2.0], size=3)
    with pytest.raises(ArgumentTypeError, match="out= is a device array"):
        rng.random(out=np.zeros(3))
