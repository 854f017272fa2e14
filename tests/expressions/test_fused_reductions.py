"""Reductions of device arrays: NumPy's results, for all dtypes, layouts and axes."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda, xp
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError
from portagpu.expressions.reductions import stages

FUNCTIONS = "sum prod max min any all mean var std argmax argmin count_nonzero ptp".split()
DTYPES = ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"]
LAYOUTS = {
    "plain": lambda a: a,
    "transposed": lambda a: a.T,
    "steps": lambda a: a[::2, ::-3, 1:],
    "broadcast": lambda a: np.broadcast_to(a[:, :1], a.shape),
}


def values_of(dtype, shape, seed=0):
    """Small numbers, some of them equal; of floats a few are NaN, infinite or -0.0."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) > 0.3
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0 if dtype[0] == "u" else -9, 9, shape).astype(dtype)
    found = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype[0] == "c" else 0)
    return found.astype(dtype)


def tolerance(dtype):
    """A bound for the few elements of these tests: several hundred units in the last place of what is computed."""
    kind = np.dtype(dtype)
    return 300 * np.finfo(kind).eps if kind.kind in "fc" else 0


def check(found, expected, wider=1):
    host, expected = found.copy_to_host(), np.asarray(expected)
    assert host.dtype == expected.dtype
    assert host.shape == expected.shape
    limit = wider * tolerance(expected.dtype)
    np.testing.assert_allclose(host, expected, rtol=limit, atol=limit)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("function", FUNCTIONS)
@given(data=st.data())
def test_results_are_numpys(device, function, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    if function == "ptp" and dtype == "bool":
        return  # NumPy subtracts no bools
    axis = data.draw(st.sampled_from([None, 0, 1, -1] + ([] if function.startswith("arg") else [(0, 2), ()])))
    layout = LAYOUTS[data.draw(st.sampled_from(sorted(LAYOUTS)))]
    host = values_of(dtype, data.draw(st.sampled_from([(5, 37, 4), (3, 6, 70)])))
    expected = getattr(np, function)(layout(host), axis=axis)
    check(getattr(np, function)(layout(cuda.to_device(host)), axis=axis), expected)


@pytest.mark.parametrize("size", [1, 1000, 70_001])
def test_sums_err_by_few_roundings(device, size):
    values = np.random.default_rng(size).random(size, np.float32) - np.float32(0.25)
    found = float(xp.sum(cuda.to_device(values)))
    additions = 256 + 2 * math.log2(size + 1)
    limit = additions * np.finfo(np.float32).eps / 2 * math.fsum(np.abs(values).tolist())
    assert abs(found - math.fsum(values.tolist())) <= limit
    assert found == float(xp.sum(cuda.to_device(values)))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_and_infinities(device, dtype):
    rows = np.zeros((5, 40), dtype)
    rows[0, [7, 30]] = np.nan
    rows[1, 3], rows[1, 33] = np.inf, -np.inf
    rows[2] = -np.inf
    rows[3] = -0.0
    rows[4, 20] = -1
    on_device = cuda.to_device(rows)
    for axis in (0, 1):
        for name in ("max", "min", "argmax", "argmin", "nanmax", "nansum", "any"):
            with np.errstate(invalid="ignore"):
                expected = getattr(np, name)(rows, axis=axis)
            np.testing.assert_array_equal(getattr(np, name)(on_device, axis=axis).copy_to_host(), expected)


@pytest.mark.one_device
def test_extremes_of_integers(device):
    for dtype in ("int8", "uint8", "int64", "uint64"):
        limits = np.iinfo(dtype)
        host = np.array([limits.max, limits.min, limits.max], dtype)
        found = [int(f(cuda.to_device(host))) for f in (xp.max, xp.min, xp.argmax, xp.argmin)]
        assert found == [limits.max, limits.min, 0, 1]


@pytest.mark.one_device
def test_expression_is_computed_by_its_reduction(device):
    a, b = (values_of("float32", (20, 30), seed) for seed in (1, 2))
    product = cuda.to_device(a) * cuda.to_device(b)
    total = product.sum(axis=0)
    assert product.deferred is not None  # nothing of it was stored
    largest = product.max(axis=0)
    assert product.deferred is None  # so that it is not computed a third time
    check(total, (a * b).sum(axis=0))
    check(largest, (a * b).max(axis=0))


@pytest.mark.one_device
def test_operands_that_broadcast(device):
    a, b = values_of("float32", (20, 30)), values_of("float32", (20, 1), 3)
    found = ((cuda.to_device(a) - cuda.to_device(b)) ** 2).sum(axis=0)
    check(found, ((a - b) ** 2).sum(axis=0))


@pytest.mark.one_device
def test_options_of_ufuncs(device):
    host = values_of("int32", (6, 50))
    x, odd = cuda.to_device(host), host % 2 == 1
    mask = cuda.to_device(odd)
    check(np.add.reduce(x, axis=1, initial=7), np.add.reduce(host, axis=1, initial=7))
    check(np.sum(x, where=mask, keepdims=True), np.sum(host, where=odd, keepdims=True))
    check(np.max(x, axis=0, where=mask, initial=-3), np.max(host, axis=0, where=odd, initial=-3))
    check(np.subtract.reduce(x, axis=1), np.subtract.reduce(host, axis=1))
    check(np.bitwise_xor.reduce(x), np.bitwise_xor.reduce(host))
    check(x.sum(axis=0, dtype=np.float32), host.sum(axis=0, dtype=np.float32))
    out = cuda.device_array(50, np.float64)
    assert np.add.reduce(x, out=out) is out
    np.testing.assert_array_equal(out.copy_to_host(), host.sum(axis=0))
    check(np.mean(x, axis=1, where=mask), np.mean(host, axis=1, where=odd))
    check(x.var(axis=1, ddof=1), host.var(axis=1, ddof=1))


@pytest.mark.one_device
def test_no_elements(device):
    x = cuda.to_device(np.zeros((0, 3), np.float32))
    check(x.sum(axis=0), np.zeros(3, np.float32))
    check(xp.prod(x), np.float32(1))
    check(x.max(axis=1), np.zeros(0, np.float32))
    check(xp.count_nonzero(x), np.intp(0))
    with pytest.raises(ShapeError, match="of no elements"):
        x.max()
    with pytest.raises(ShapeError, match="of no elements"):
        x.argmin()


@pytest.mark.one_device
def test_mistakes(device):
    x = cuda.to_device(np.zeros((2, 3), np.float32))
    with pytest.raises(ShapeError, match="no axis 2"):
        x.sum(axis=2)
    with pytest.raises(ShapeError, match="twice"):
        x.sum(axis=(0, -2))
    with pytest.raises(ShapeError, match="no integer"):
        x.sum(axis=0.5)
    with pytest.raises(ShapeError, match="depends on the order"):
        np.subtract.reduce(x, axis=(0, 1))
    with pytest.raises(ShapeError, match="needs initial="):
        np.max(x, where=x > 0)
    with pytest.raises(DTypeError, match="cannot reduce"):
        np.equal.reduce(x)
    with pytest.raises(ArgumentTypeError, match="device array"):
        np.add.reduce(x, out=np.zeros(3, np.float32))


@pytest.mark.one_device
@pytest.mark.parametrize("warps", [False, True])
def test_plans_of_gpus(device, monkeypatch, warps):
    """Blocks of threads, and exchanges between them, compute the same wherever they run."""
    real = stages.planned

    def planned(axes, reducer, operands, caps):
        changed = {"local_memory_dedicated": True, "warp_instructions": warps, "max_work_group_size": 64}
        return real(axes, reducer, operands, dataclasses.replace(caps, **changed))

    monkeypatch.setattr(stages, "planned", planned)
    monkeypatch.setattr(cuda.current_context(), "expression_launches", {})
    host = values_of("float32", (3, 5000))
    x = cuda.to_device(host)
    check(xp.sum(x, axis=1), host.sum(axis=1), wider=10)
    check(xp.argmax(x), np.argmax(host))
    if not warps:
        check(xp.max(cuda.to_device(host.T.copy()), axis=0), host.max(axis=1))
        check(xp.sum(cuda.to_device(host[:, 1:]), axis=0), host[:, 1:].sum(axis=0))


@pytest.mark.parametrize("name", ["any", "min", "argmax", "sum"])
def test_reductions_alike_get_a_kernel_of_their_own(device, name):
    """Results are the same before, with the kernel for any array, and after."""
    values = (np.arange(3 * 5 * 64) * 7 % 911).astype(np.int32).reshape(3, 64, 5) - 200
    x = cuda.to_device(values)
    for view, host in ((x, values), (x[:, ::-2], values[:, ::-2]), (x.T, values.T)):
        for axis in (None, 1):
            wanted = getattr(np, name)(host, axis=axis)
            for _ in range(70):
                found = getattr(np, name)(view, axis=axis)
            assert np.array_equal(np.asarray(found), wanted)


def test_costly_functions_are_computed_once(device):
    """Of an array that the program has: what is reduced a second time is stored, in whatever expression it is."""
    x = cuda.to_device(np.linspace(0.5, 2, 40, dtype=np.float32))
    y = np.exp(x)
    first, second, third = np.sum(y + 1), np.max(y * 2), np.any(y > 7)
    assert y.deferred is None
    host = np.exp(np.asarray(x))
    np.testing.assert_allclose([float(first), float(second)], [np.sum(host + 1), 2 * host.max()], rtol=1e-5)
    assert bool(third) == (host.max() > 7)
    cheap = x + 1
    assert float(np.max(cheap * 2)) == float(np.max(cheap - 3)) * 2 + 6
    assert cheap.deferred is not None
