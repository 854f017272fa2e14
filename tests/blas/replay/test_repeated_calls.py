"""Calls of BLAS and LAPACK functions on device arrays that are made again, with other arrays and other factors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_threads import in_threads
from memory_places import place_of

from portagpu import blas, cuda, lapack, linalg
from portagpu.blas.replay.factors import Factors
from portagpu.errors import ArgumentTypeError, ClosedError, ShapeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.replay.arguments import Arguments, Number
from portagpu.runtime.replay.replay import Replay

pytestmark = pytest.mark.one_device

N = 24
KINDS = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


@pytest.fixture
def replays(monkeypatch):
    """Counts calls that were launched again, by whether it could be done."""
    found = []
    launch = Replay.launch

    def counted(self, *arguments, **keywords):
        found.append(launch(self, *arguments, **keywords))
        return found[-1]

    monkeypatch.setattr(Replay, "launch", counted)
    return found


def numbers(generator, shape, dtype, order="F"):
    made = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * generator.standard_normal(shape)
    return np.asarray(made, dtype, order=order)


def vector(generator, dtype):
    return numbers(generator, N, dtype)


def matrix(generator, dtype):
    return numbers(generator, (N, N), dtype)


def triangle(generator, dtype):
    return np.asfortranarray(matrix(generator, dtype) / N + np.eye(N, dtype=dtype))


def positive(generator, dtype):
    a = matrix(generator, dtype)
    return np.asfortranarray((a @ a.conj().T / N + np.eye(N)).astype(dtype))


# function, operands, keywords; factors are added to these by name, a new one each time
CALLS = [
    ("saxpy", (vector, vector), {}, ("a",)),
    ("zscal", (vector,), {}, ("a",)),
    ("sdot", (vector, vector), {}, ()),
    ("dznrm2", (vector,), {}, ()),
    ("idamax", (vector,), {}, ()),
    ("dswap", (vector, vector), {}, ()),
    ("drot", (vector, vector), {"c": 0.6, "s": 0.8}, ()),
    ("dgemv", (matrix, vector), {"beta": 0.5, "trans": 1}, ("alpha",)),
    ("zhemv", (matrix, vector), {"lower": 1}, ("alpha",)),
    ("cgerc", (vector, vector), {}, ("alpha",)),
    ("zher2", (vector, vector), {}, ("alpha",)),
    ("dtrsv", (triangle, vector), {"lower": 1}, ()),
    ("dsymm", (matrix, matrix), {"side": 1}, ("alpha",)),
    ("zher2k", (matrix, matrix), {}, ("alpha",)),
    ("dtrsm", (triangle, matrix), {"lower": 1}, ("alpha",)),
    ("ctrmm", (triangle, matrix), {"trans_a": 2}, ("alpha",)),
    ("dgeam", (matrix, matrix), {"trans_a": 1}, ("alpha", "beta")),
    ("dpotrf", (positive,), {"lower": 1}, ()),
    ("zgetrf", (matrix,), {}, ()),
]


_TWO, _PRODUCT = ("x", "y"), ("a", "x")
OPERANDS = {  # others' are a and b
    **dict.fromkeys(("saxpy", "zscal", "sdot", "dznrm2", "idamax", "dswap", "drot", "cgerc", "zher2"), _TWO),
    **dict.fromkeys(("dgemv", "zhemv", "dtrsv"), _PRODUCT),
}


def function(name):
    return getattr(blas, name, None) or getattr(lapack, name)


def on_host(found):
    found = found if isinstance(found, tuple) else (found,)
    # info is a number, or an array of one
    return [np.ravel(x.copy_to_host() if hasattr(x, "copy_to_host") else x) for x in found]


def called(name, arrays, keywords):
    """The results, of arrays of either kind."""
    names = OPERANDS.get(name, ("a", "b"))
    return function(name)(**dict(zip(names, arrays, strict=False)), **keywords)


@pytest.mark.parametrize(("name", "operands", "keywords", "factors"), CALLS, ids=[call[0] for call in CALLS])
def test_other_arrays_and_factors(device, replays, name, operands, keywords, factors):
    dtype = KINDS[name[1 if name in ("idamax", "dznrm2") else 0]]
    generator = np.random.default_rng(3)
    is_complex = np.dtype(dtype).kind == "c" and name != "zher2"
    for turn in range(6):
        host = [make(generator, dtype) for make in operands]
        values = {
            x: generator.uniform(0.1, 0.9) + (1j * generator.uniform(0.1, 0.9) if is_complex else 0) for x in factors
        }
        arrays = [cuda.to_device(x) for x in host]
        before = [x.copy() for x in host]
        wanted = on_host(called(name, [x.copy(order="F") for x in host], {**keywords, **values}))
        launched = len(replays)
        found = on_host(called(name, arrays, {**keywords, **values}))
        assert turn < (3 if factors else 2) or replays[launched:] == [True], turn
        for x, y in zip(found, wanted, strict=True):
            assert x.shape == y.shape
            np.testing.assert_allclose(x, y, rtol=0, atol=200 * N * np.finfo(dtype).eps)
        if name not in ("saxpy", "zscal", "dswap"):  # SciPy's write into what they are given
            for x, y in zip(arrays, before, strict=True):
                np.testing.assert_array_equal(x.copy_to_host(), y)


LINALG = {
    "vecdot": lambda a, b: linalg.vecdot(a, b, axis=0),
    "norm": lambda a, b: linalg.norm(b, axis=(0, 1)),
    "syrk": lambda a, b: linalg.syrk(a),
    "solve": linalg.solve,
    "lu_solve": lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b),
    "qr": lambda a, b: linalg.qr(a),
    "lstsq": linalg.lstsq,
}


@pytest.mark.parametrize("name", LINALG)
def test_linear_algebra(device, replays, name):
    generator = np.random.default_rng(3)
    for turn in range(4):
        host = triangle(generator, np.float64), matrix(generator, np.float64)
        wanted = LINALG[name](*host)
        launched = len(replays)
        found = LINALG[name](*map(cuda.to_device, host))
        assert turn < 2 or (replays[launched:] and all(replays[launched:]))
        assert type(found) is (type(wanted) if isinstance(wanted, tuple) else DeviceNDArray)
        for x, y in zip(on_host(found), on_host(wanted), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-9)


def test_results_are_the_arrays_that_were_given(device, replays):
    generator = np.random.default_rng(0)
    for _ in range(4):
        x, y = (cuda.to_device(vector(generator, np.float64)) for _ in range(2))
        assert blas.daxpy(x, y, a=0.5) is y
        b, a = (cuda.to_device(matrix(generator, np.float64)) for _ in range(2))
        assert blas.dtrsm(1.0, a, b, overwrite_b=1) is b
    assert replays == [True] * 4


def test_views_share_memory_with_what_was_given(device):
    generator = np.random.default_rng(0)
    for _ in range(4):
        memory = cuda.to_device(numbers(generator, (N, N + 8), np.float64, "C"))
        host = memory.copy_to_host()
        rows = memory[:, 4:-4]
        found = blas.dscal(0.25, rows[2])
        assert found.allocation_key == memory.allocation_key
        host[2, 4:-4] *= 0.25
        np.testing.assert_array_equal(memory.copy_to_host(), host)
        found.copy_to_device(np.zeros(N))
        assert not memory.copy_to_host()[2, 4:-4].any()


def test_new_results_have_memory_of_their_own(device):
    generator = np.random.default_rng(0)
    x, y = (cuda.to_device(vector(generator, np.float64)) for _ in range(2))
    results = [blas.ddot(x, y) for _ in range(5)]
    assert len({place_of(found) for found in results}) == 5
    assert len({found.allocation_key for found in results}) == 5
    assert len({float(found.copy_to_host()) for found in results}) == 1


def test_arrays_that_overlap_are_told_from_others(device):
    generator = np.random.default_rng(0)
    x, y = (cuda.to_device(vector(generator, np.float64)) for _ in range(2))
    for _ in range(4):
        blas.dcopy(x, y)
    for _ in range(3):
        with pytest.raises(ArgumentTypeError, match="shares memory"):
            blas.dgemv(1.0, cuda.to_device(np.eye(N)), x, 0.0, x, overwrite_y=1)
    both = blas.ddot(x, x).copy_to_host()
    for _ in range(4):
        assert blas.ddot(x, x).copy_to_host() == both
        np.testing.assert_allclose(blas.ddot(x, y).copy_to_host(), both)


def test_zeros_ones_and_what_is_not_finite_are_told_apart(device):
    host = np.arange(1.0, N + 1)
    factors = [0.5, 0.75, 0.25, 0.0, -0.0, 1.0, -1.0, np.nan, np.inf, 0.5, 3.5]
    for factor in factors * 3:
        found = blas.dscal(factor, cuda.to_device(host)).copy_to_host()
        wanted = factor * host
        np.testing.assert_array_equal(found, wanted)
        assert np.array_equal(np.signbit(found), np.signbit(wanted)) or np.isnan(factor)


def test_factors_that_a_type_cannot_hold_are_refused_each_time(device):
    x = cuda.to_device(np.ones(N, np.float32))
    for factor in (0.5, 0.25, 0.125, 0.75):
        blas.sscal(factor, x)
    for _ in range(3):
        with pytest.raises(ArgumentTypeError, match="a is"):
            blas.sscal(1e300, x)


@pytest.mark.parametrize("turns", [1, 4])
def test_calls_that_fit_no_signature_are_told_each_time(device, turns):
    x = cuda.to_device(np.ones(N))
    for _ in range(turns):
        with pytest.raises(ArgumentTypeError, match="ddot"):
            blas.ddot(x)
        with pytest.raises(ArgumentTypeError, match="nothing"):
            blas.ddot(x, x, nothing=1)
        with pytest.raises(ShapeError):
            blas.ddot(x, cuda.to_device(np.ones(N - 1)), n=N)


def test_streams_and_threads_have_recordings_of_their_own(device):
    x = cuda.to_device(np.arange(float(N)))
    wanted = float(np.sum(np.arange(float(N)) ** 2))

    right = []
    streams = iter([cuda.stream() for _ in range(4)])  # of this device, which others' is not

    def many():
        stream = next(streams)
        for _ in range(6):
            found = blas.ddot(x, x, stream=stream)
            stream.synchronize()
            right.append(float(found.copy_to_host()) == wanted)

    in_threads(many)
    assert right == [True] * 24


def test_memory_that_was_given_back(device):
    for _ in range(4):
        x = cuda.to_device(np.arange(float(N)))
        found = blas.ddot(x, x)
        assert float(found.copy_to_host()) > 0
        x.close()
        with pytest.raises(ClosedError):
            blas.ddot(x, x)


@given(st.lists(st.sampled_from([0.5, -0.5, 2.0, 3.0, 0.125]), min_size=4, max_size=4))
def test_a_number_that_may_be_either_factor_is_not_guessed(values):
    """Launches that take both factors, in any places: what is told apart gives the right numbers for any others."""
    first, second = tuple(values[:2]), tuple(values[2:])

    def launches(alpha, beta):
        return Arguments(tuple(Number(0, n, np.float64(x)) for n, x in enumerate((alpha, -beta, 7.0, beta))), ("same",))

    told = Factors(first).told_apart(launches(*first), second, launches(*second))
    if told is None:
        return
    again = told.numbers((0.3, 0.7))
    if again is None:  # one of them was the same in both
        assert first[0] == second[0] or first[1] == second[1]
        return
    found = list(launches(*second).numbers)
    for number in again:
        found[number.argument] = number
    assert found == list(launches(0.3, 0.7).numbers)


def test_what_goes_into_other_arguments_is_no_factor():
    first, second = (0.5,), (0.25,)
    shape = [Arguments((Number(0, 0, np.float32(x)),), (size,)) for x, size in ((0.5, 3), (0.25, 4))]
    assert Factors(first).told_apart(shape[0], second, shape[1]) is None
    derived = [Arguments((Number(0, 0, np.float32(x * x)),), ()) for x in (0.5, 0.25)]
    assert Factors(first).told_apart(derived[0], second, derived[1]) is None
    none = Arguments((), ())
    assert Factors(first).told_apart(none, second, none) is None
