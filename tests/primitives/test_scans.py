"""Scans of device arrays and of the threads of a block, against NumPy and loops."""

import dataclasses

import numpy as np
import pytest

from portagpu import cuda, primitives, xp
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError
from portagpu.primitives.scans import scanning


def integers(shape, seed=0):
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(np.int32)


@cuda.jit(device=True)
def add(x, y):
    return x + y


@cuda.jit(device=True)
def last(x, y):
    """The last number that is not 0: associative, but not commutative."""
    return y if y != 0 else x


@pytest.mark.parametrize(
    ("shape", "axis"), [((1,), 0), ((3000,), 0), ((4, 300), 1), ((300, 40), 0), ((2, 50, 30), 1), ((3000, 3), 0)]
)
def test_sums_along_axes(device, shape, axis):
    host = integers(shape)
    expected = np.cumsum(host, axis=axis, dtype=np.int32)
    x = cuda.to_device(host)
    np.testing.assert_array_equal(primitives.inclusive_scan(x, axis=axis).copy_to_host(), expected)
    np.testing.assert_array_equal(primitives.exclusive_scan(x, axis=axis).copy_to_host(), expected - host)


@pytest.mark.parametrize("size", [300, 70_000])
def test_function_that_does_not_commute(device, size):
    host = integers(size)
    host[np.random.default_rng(1).random(size) < 0.8] = 0
    found = primitives.inclusive_scan(cuda.to_device(host), last, 0).copy_to_host()
    places = np.maximum.accumulate(np.where(host != 0, np.arange(size), -1))
    np.testing.assert_array_equal(found, np.where(places >= 0, host[places], 0))


def by_segments(host, flags):
    """Inclusive and exclusive sums that begin anew at each flag."""
    before = np.cumsum(host) - host
    starts = np.maximum.accumulate(np.where(flags, np.arange(host.size), 0))
    exclusive = before - before[starts]
    return exclusive + host, exclusive


@pytest.mark.parametrize("size", [500, 70_000])
def test_segments(device, size):
    host, flags = integers(size), np.random.default_rng(2).random(size) < 0.05
    inclusive, exclusive = by_segments(host, flags)
    x, keys = cuda.to_device(host), cuda.to_device(np.cumsum(flags))
    found = primitives.inclusive_scan(x, flags=cuda.to_device(flags))
    np.testing.assert_array_equal(found.copy_to_host(), inclusive)
    np.testing.assert_array_equal(primitives.exclusive_scan(x, keys=keys).copy_to_host(), exclusive)


@pytest.mark.one_device
def test_reduction_by_key(device):
    keys = np.sort(np.random.default_rng(0).integers(0, 40, 3000))
    values = integers(3000)
    found = primitives.reduce_by_key(cuda.to_device(keys), cuda.to_device(values))
    own, first = np.unique(keys, return_index=True)
    np.testing.assert_array_equal(found[0].copy_to_host(), own)
    np.testing.assert_array_equal(found[1].copy_to_host(), np.add.reduceat(values, first))


@pytest.mark.one_device
def test_forms_for_kernels(device):
    @cuda.jit
    def kernel(x, out):
        scratch = cuda.shared.array(64, np.int32)
        i = cuda.grid(1)
        out[0, i] = primitives.block_reduce(x[i], add, scratch)
        out[1, i] = primitives.block_inclusive_scan(x[i], add, scratch)
        out[2, i] = primitives.block_exclusive_scan(x[i], add, 0, scratch)
        out[3, i] = primitives.warp_reduce(x[i], add)
        out[4, i] = primitives.warp_inclusive_scan(x[i], add)
        out[5, i] = primitives.warp_exclusive_scan(x[i], add, 0)

    host = integers(64)
    out = cuda.device_array((6, 64), np.int32)
    kernel[1, 64](cuda.to_device(host), out)
    sums, warps = np.cumsum(host), np.cumsum(host.reshape(2, 32), axis=1)
    expected = [np.full(64, sums[-1]), sums, sums - host, np.repeat(warps[:, -1], 32), warps.ravel()]
    np.testing.assert_array_equal(out.copy_to_host(), [*expected, warps.ravel() - host])


@pytest.mark.one_device
@pytest.mark.parametrize("warps", [False, True])
def test_plans_of_gpus(device, monkeypatch, warps):
    """Blocks of threads, and exchanges between them, compute the same wherever they run."""
    real = scanning.divided

    def divided(*args, **options):
        changed = {"local_memory_dedicated": True, "warp_instructions": warps, "max_work_group_size": 64}
        return real(*args[:-1], dataclasses.replace(args[-1], **changed), **options)

    monkeypatch.setattr(scanning, "divided", divided)
    host, flags = integers(9000), np.random.default_rng(2).random(9000) < 0.05
    inclusive, exclusive = by_segments(host, flags)
    x = cuda.to_device(host)
    np.testing.assert_array_equal(primitives.inclusive_scan(x).copy_to_host(), np.cumsum(host))
    found = primitives.inclusive_scan(x, flags=cuda.to_device(flags))
    np.testing.assert_array_equal(found.copy_to_host(), inclusive)
    if not warps:
        found = primitives.exclusive_scan(x, flags=cuda.to_device(flags))
        np.testing.assert_array_equal(found.copy_to_host(), exclusive)


@pytest.mark.one_device
def test_numpys_accumulations(device):
    host = np.random.default_rng(0).random((6, 50))
    x = cuda.to_device(host)
    for found, expected in [
        (np.cumsum(x), np.cumsum(host)),
        (x.cumprod(axis=0), host.cumprod(axis=0)),
        (np.cumsum(x.T, axis=1, dtype=np.float32), np.cumsum(host.T, axis=1, dtype=np.float32)),
        (np.subtract.accumulate(x, axis=1), np.subtract.accumulate(host, axis=1)),
        (np.maximum.accumulate(x), np.maximum.accumulate(host)),
        (np.add.outer(x[0], x[1]), np.add.outer(host[0], host[1])),
        (np.diff(x, n=2, axis=0), np.diff(host, n=2, axis=0)),
        (xp.diff(x, prepend=x[:, :2]), np.diff(host, prepend=host[:, :2])),
        (xp.cumulative_sum(x, axis=1, include_initial=True)[:, 1:], np.cumsum(host, axis=1)),
        (np.cumsum(x > 0.5), np.cumsum(host > 0.5)),
    ]:
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-5)


@pytest.mark.one_device
@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 70), (70, 3), (1, 3)])
def test_functions_without_identity_along_each_axis(device, shape):
    host = np.random.default_rng(0).integers(1, 9, shape).astype(np.float32)
    x = cuda.to_device(host)
    for function in (np.subtract, np.fmin, np.hypot, np.copysign):
        for axis in range(len(shape)):
            expected, found = function.accumulate(host, axis=axis), function.accumulate(x, axis=axis)
            np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-5)


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_sums_keep_signs_of_zeros(device, dtype):
    """Sums of -0.0 are -0.0 until the first 0.0, in any number of parts."""
    for size in (1, 2, 300, 70001):
        real = np.where(np.arange(size) < size - size // 4, -0.0, 0.0)
        host = (real.astype(dtype) if dtype is not np.complex64 else -np.zeros(size, dtype)).reshape(1, size)
        x = cuda.to_device(host)
        for axis, function in ((1, np.cumsum), (0, np.cumsum), (1, np.nancumsum), (1, np.add.accumulate)):
            expected, found = function(host, axis=axis), function(x, axis=axis).copy_to_host()
            np.testing.assert_array_equal(np.signbit(found.real), np.signbit(expected.real))
            np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(expected.imag))
        begun = xp.cumulative_sum(x, axis=1, include_initial=True).copy_to_host()
        assert not np.signbit(begun[0, 0].real)


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("size", [1, 2, 300, 70001])
def test_products_begin_with_the_first_element_itself(device, dtype, size):
    """1 * z would lose an infinite part; behind the first element NumPy's products lose it, too."""
    parts = (np.inf, -np.inf, np.nan, 1.0, -0.0)
    first = np.array([complex(a, b) for a in parts for b in parts], dtype)
    host = np.ones((first.size, size), dtype)
    host[:, 0] = first
    for axis, x in ((1, host), (0, host.T.copy())):
        given = cuda.to_device(x)
        for function in (np.cumprod, np.multiply.accumulate):
            found = function(given, axis=axis).copy_to_host()
            _same_bits(found.take(0, axis=axis), first)
            with np.errstate(all="ignore"):
                expected = function(x, axis=axis)
            _same_bits(found.take(range(min(size, 2)), axis), expected.take(range(min(size, 2)), axis))
        begun = xp.cumulative_prod(given, axis=axis, include_initial=True).copy_to_host()
        _same_bits(begun.take(0, axis=axis), np.ones_like(first))
    with np.errstate(all="ignore"):
        _same_bits(np.vander(cuda.to_device(first), 3).copy_to_host(), np.vander(first, 3))


def _same_bits(found, wanted):
    for x, y in ((found.real, wanted.real), (found.imag, wanted.imag)):
        np.testing.assert_array_equal(x, y)
        there = ~np.isnan(y)
        np.testing.assert_array_equal(np.signbit(x)[there], np.signbit(y)[there])


@pytest.mark.one_device
def test_mistakes(device):
    x = cuda.to_device(np.zeros((2, 3), np.float32))
    with pytest.raises(ShapeError, match="no axis 2"):
        primitives.inclusive_scan(x, axis=2)
    with pytest.raises(ArgumentTypeError, match="needs identity="):
        primitives.inclusive_scan(x, add)
    with pytest.raises(ArgumentTypeError, match="not by both"):
        primitives.inclusive_scan(x, flags=x, keys=x)
    with pytest.raises(DTypeError, match="no identity"):
        primitives.inclusive_scan(x, np.subtract)
    with pytest.raises(ShapeError, match="segments"):
        primitives.inclusive_scan(x, flags=x[0])
    with pytest.raises(ShapeError, match="pass axis="):
        xp.cumulative_sum(x)
    with pytest.raises(ShapeError, match="of one axis"):
        primitives.reduce_by_key(x, x)
