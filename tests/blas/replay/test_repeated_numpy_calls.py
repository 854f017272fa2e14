"""Calls on NumPy arrays like an earlier one: recorded on CPUs that use them in place, and made again."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import scipy.linalg.blas as scipy_blas
from in_threads import in_threads

import portagpu
from portagpu import blas, cuda, linalg
from portagpu.blas.replay import calls
from portagpu.blas.replay.numpy_calls import NumpyRecording
from portagpu.device.capabilities import DeviceType
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device


@pytest.fixture(autouse=True)
def device(device):
    """CPUs, whose drivers use memory in place."""
    if device.capabilities.device_type is not DeviceType.CPU:
        pytest.skip("arrays are copied to the device")
    return device


@pytest.fixture(autouse=True)
def forgotten(device):
    """Nothing is known of calls."""
    calls._recordings.of(Context.for_device(device)).clear()


def placed(array, begin=0):
    """A copy that begins so many bytes after a multiple of 128, and has cache lines of its own."""
    room = np.empty(array.nbytes + 512, np.uint8)
    first = -room.ctypes.data % 128 + 128 + begin
    order = "F" if array.flags.f_contiguous else "C"
    made = np.ndarray(array.shape, array.dtype, room, first, order=order)
    made[...] = array
    return made


def numbers(*shape, seed=0, dtype=np.float64):
    return placed(np.asfortranarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype)))


def recordings(name):
    known = calls._recordings.of(cuda.current_context()).known
    return [found for number, found in known.items() if number[0] == name or number[0][0] == name]


def close(found, wanted):
    if isinstance(wanted, tuple):
        return all(map(close, found, wanted))
    return np.allclose(found, wanted, rtol=1e-10, atol=1e-10) and np.shape(found) == np.shape(wanted)


N = 12
CALLS = {
    "daxpy": (lambda m, x, y, a, b: m.daxpy(x, y, a=1.5), 1),
    "dscal": (lambda m, x, y, a, b: m.dscal(1.5, x), 1),
    "dcopy": (lambda m, x, y, a, b: m.dcopy(x, y, incx=2, incy=-2), 1),
    "dswap": (lambda m, x, y, a, b: m.dswap(x, y, offx=1, offy=1), 1),
    "drot": (lambda m, x, y, a, b: m.drot(x, y, 0.6, 0.8), 1),
    "ddot": (lambda m, x, y, a, b: m.ddot(x, y), 1),
    "dnrm2": (lambda m, x, y, a, b: m.dnrm2(x), 1),
    "dasum": (lambda m, x, y, a, b: m.dasum(x, incx=3), 1),
    "idamax": (lambda m, x, y, a, b: m.idamax(x), 1),
    "dgemv": (lambda m, x, y, a, b: m.dgemv(1.5, a, x, 0.5, y, trans=1), 1),
    "dsymv": (lambda m, x, y, a, b: m.dsymv(1.5, a, x, lower=1), 1),
    "dger": (lambda m, x, y, a, b: m.dger(1.5, x, y, a=a), 1),
    "dsyr": (lambda m, x, y, a, b: m.dsyr(1.5, x, a=a, overwrite_a=1), 1),
    "dtrsv": (lambda m, x, y, a, b: m.dtrsv(a, x, lower=1), 1),
    "dgemm": (lambda m, x, y, a, b: m.dgemm(1.5, a, b, 0.5, a, trans_b=1), 1),
    "dsyrk": (lambda m, x, y, a, b: m.dsyrk(1.5, a, 0.5, b), 1),
    "dsyr2k": (lambda m, x, y, a, b: m.dsyr2k(1.5, a, b), 1),
    "dsymm": (lambda m, x, y, a, b: m.dsymm(1.5, a, b, side=1), 1),
    "dtrmm": (lambda m, x, y, a, b: m.dtrmm(1.5, a, b), 1),
    "dtrsm": (lambda m, x, y, a, b: m.dtrsm(1.5, a, b, overwrite_b=1), 1),
    "drotm": (lambda m, x, y, a, b: m.drotm(x, y, np.array([-1.0, x[0], 0.25, -0.5, 2])), 0),  # which the host reads
    "dgemv of halves": (lambda m, x, y, a, b: m.dgemv(1.5, a.astype(np.float32), x), 0),  # a conversion
    "daxpy of a list": (lambda m, x, y, a, b: m.daxpy(list(x), y), 0),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_other_arrays(device, name):
    """Results, what is overwritten and what is not are SciPy's, whether a call is recorded or made again."""
    call, is_recorded = CALLS[name]
    for seed in range(5):
        ours = [numbers(*shape, seed=seed + n) for n, shape in enumerate(((N,), (N,), (N, N), (N, N)))]
        ours[2] += 8 * np.eye(N)
        theirs = [x.copy(order="F") for x in ours]
        assert close(call(blas, *ours), call(scipy_blas, *theirs)), seed
        assert close(tuple(ours), tuple(theirs)), seed
    assert len(recordings(name.split()[0])) == is_recorded


def test_what_is_returned(device):
    """The argument itself, or an array of its own; numbers of Python's."""
    for seed in range(4):
        x, y, a = numbers(N, seed=seed), numbers(N, seed=seed + 1), numbers(N, N, seed=seed)
        assert blas.daxpy(x, y) is y
        first, second = blas.dswap(x, y)
        assert first is x and second is y
        assert type(blas.ddot(x, y)) is float and type(blas.idamax(x)) is int
        made = blas.dgemm(1.0, a, a)
        assert made.flags.f_contiguous and not np.shares_memory(made, blas.dgemm(1.0, a, a))
        flat = np.asarray(a)[:, :1]
        assert blas.dgemv(1.0, a, x, 1.0, y).shape == (N,)
        assert blas.dgemm(1.0, a, flat, 1.0, y.copy()).shape == (N,)
        assert type(linalg.vecdot(x, y)) is np.float64
    assert {type(found) for found in recordings("ddot")} == {NumpyRecording}


def test_factors_may_be_others(device):
    x, y = numbers(N), numbers(N, seed=1)
    for alpha in (2.0, 3.0, 4.5, -1.0, 0.0, 1.0, 7.0, float("inf"), 5.0):
        found, wanted = blas.daxpy(x, placed(y), a=alpha), y + alpha * x
        assert close(found, wanted) or not np.isfinite(alpha), alpha
    assert blas.zscal(2 + 1j, numbers(N, dtype=np.complex128)).dtype == np.complex128


@pytest.mark.parametrize("begins", [(0, 0), (8, 0), (8, 16), (120, 64)])
def test_wherever_arrays_begin(device, begins):
    for seed in range(4):
        x, y = (placed(numbers(37, seed=seed + n), begin) for n, begin in enumerate(begins))
        wanted = y + 2 * x
        assert close(blas.daxpy(x, y, a=2.0), wanted)
        assert close(blas.ddot(x, y), x @ y)


def test_neighbours_and_views_of_one_array(device):
    """Arrays that share cache lines are in one buffer; those that overlap are refused each time."""
    for seed in range(4):
        room = numbers(64, seed=seed)
        x, y = room[:21], room[21:42]
        wanted = y + 2 * x
        rest = room[42:].copy()
        assert close(blas.daxpy(x, y, a=2.0), wanted) and np.array_equal(room[42:], rest)
        assert close(blas.ddot(x, x), x @ x)
        assert close(blas.ddot(room[::2], room[::-2]), room[::2] @ room[::-2])
        both = room.copy()
        assert close(blas.daxpy(both, both, a=2.0), 3 * room)
        with pytest.raises(ArgumentTypeError, match="shares memory"):
            blas.daxpy(room[:20], room[1:21])
        square = numbers(N, N, seed=seed)
        assert close(blas.dgemv(1.0, square, square[0]), square @ square[0])


def test_read_only_arrays(device):
    x, y = numbers(N), numbers(N, seed=1)
    for _ in range(3):
        blas.daxpy(x, placed(y))
    x.flags.writeable = False
    y.flags.writeable = False
    before = y.copy()
    for _ in range(3):
        assert close(blas.daxpy(x, y), x + y)  # a copy, as SciPy makes
        assert np.array_equal(y, before)
        assert close(blas.ddot(x, y), x @ y)


def test_errors_are_those_of_the_first_call(device):
    x, y = numbers(N), numbers(N, seed=1)
    for _ in range(4):
        with pytest.raises(ShapeError, match="room for"):
            blas.ddot(x, y, n=N + 1)
        with pytest.raises(ArgumentTypeError):
            blas.ddot(x, cuda.to_device(y))
        assert close(blas.ddot(x, y), x @ y)


def test_nothing_is_kept(device):
    """Neither arguments nor results live longer than the caller has them."""
    known = []
    for _ in range(5):
        x, a = np.arange(400.0), np.ones((400, 400), order="F")
        known += [weakref.ref(value) for value in (x, a, blas.dgemv(1.0, a, x, 0.5, x))]
    del x, a
    gc.collect()
    assert not any(reference() is not None for reference in known)


def test_threads(device):
    x, y = numbers(N), numbers(N, seed=1)

    right = []

    def work():
        own = numbers(N, seed=len(right))
        for _ in range(20):
            right.append(close(blas.ddot(own, y), own @ y) and close(blas.dnrm2(x), np.linalg.norm(x)))

    in_threads(work)
    assert len(right) == 80 and all(right)


def test_streams_and_interrupted_calls(device, monkeypatch):
    x, y = numbers(N), numbers(N, seed=1)
    stream = cuda.stream()
    for seed in range(4):
        x[...] = numbers(N, seed=seed)
        assert close(blas.ddot(x, y, stream=stream), x @ y)
    found = recordings("ddot")[0]

    def interrupted(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(found.replay), "complete", interrupted)
        with pytest.raises(KeyboardInterrupt):
            blas.ddot(x, y, stream=stream)
    assert close(blas.ddot(x, y, stream=stream), x @ y)


@pytest.mark.parametrize("shape", [(7, 5, 6), (2, 3, 8, 8), (4, 4)])
def test_batches_and_small_matrices(device, shape):
    for seed in range(4):
        a = numbers(*shape, seed=seed)
        b = numbers(*shape[:-2], shape[-1], 8, seed=seed + 1)
        out = np.zeros((*shape[:-1], 8))
        assert close(portagpu.matmul(a, b), a @ b)
        assert portagpu.matmul(a, b, out=out, alpha=2.0) is out
        assert close(out, 2 * (a @ b))
    assert recordings("matmul")


def test_linear_algebra(device):
    """Copies that the host makes for a call, and elements that it puts into ``out``, are made again, too."""
    for seed in range(4):
        x, y = numbers(N, seed=seed), numbers(N, seed=seed + 1)
        a, b = numbers(N, N, seed=seed) + 8 * np.eye(N), numbers(N, 3, seed=seed + 2)
        assert close(linalg.axpy(2.0, x, y), 2 * x + y)
        assert close(linalg.axpy(2.0, x, y, out=placed(b[:, 0])), 2 * x + y)
        assert close(linalg.scal(2.0, x), 2 * x)
        assert close(linalg.scal(2.0, a[:, ::2]), 2 * a[:, ::2])
        assert close(linalg.norm(a), np.linalg.norm(a))
        assert close(linalg.vecdot(a, x), np.vecdot(a, x))
        assert close(linalg.syrk(a), np.tril(a @ a.T) if linalg.syrk(a)[0, 1] == 0 else np.triu(a @ a.T))
        assert close(linalg.solve_triangular(a, b, lower=True), np.linalg.solve(np.tril(a), b))
        assert close(linalg.solve(a, b), np.linalg.solve(a, b))
        assert close(linalg.det(a), np.linalg.det(a))
