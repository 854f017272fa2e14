"""Routines on NumPy arrays that the device borrows, and on device arrays: what is read, written, and refused."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors
from portagpu.blas.host_arrays import Loan, on_device
from portagpu.blas.level1.vectors import vector_of

pytestmark = pytest.mark.one_device


@cuda.jit
def add_elements(x, y, n):
    """``y += x``."""
    i = cuda.grid(1)
    if i < n:
        y.memory[y.first + i * y.step] += x.memory[x.first + i * x.step]


def add(x, y, stream):
    add_elements[-(-x.size // 64), 64, stream](vector_of(x), vector_of(y), np.int32(x.size))


@pytest.mark.parametrize("n", [5, 5000])  # a copy, and the array's own memory where the device shares it
@pytest.mark.parametrize("on_it", [False, True])
def test_steps_and_overlaps(device, n, on_it):
    move = cuda.to_device if on_it else np.array
    host = (lambda found: found.copy_to_host()) if on_it else np.asarray
    before = np.arange(2.0 * n)
    x, y = move(before), move(np.ones(2 * n))
    on_device(add, None, reads={"x": x[::-2]}, updates={"y": y[1::2]})
    assert (host(y)[::2] == 1).all() and (host(y)[1::2] == before[::-2] + 1).all()
    on_device(add, None, reads={"x": x[::2]}, updates={"y": x[1::2]})
    before[1::2] += before[::2]
    assert (host(x) == before).all()
    on_device(add, None, reads={"x": x[::2]}, updates={"y": x[::2]}, in_place=True)
    before[::2] *= 2
    assert (host(x) == before).all()
    for crossing in (x[1:], x[::-1], x[: n + 1]):
        with pytest.raises(errors.ArgumentTypeError, match="y shares memory with x"):
            on_device(add, None, reads={"x": x[: crossing.size]}, updates={"y": crossing})
    with pytest.raises(errors.ArgumentTypeError, match="y shares memory with x"):
        on_device(add, None, reads={"x": x}, updates={"y": x})
    assert (host(x) == before).all()


def test_both_kinds(device):
    x = np.ones(3)
    with pytest.raises(errors.ArgumentTypeError, match="y is a NumPy array, x is on the device"):
        on_device(add, None, reads={"x": cuda.to_device(x)}, updates={"y": x})


def test_results_are_not_read(device):
    """What is in a result that is written as a whole need not go to the device, and gaps stay as they are."""

    def copy(x, y, stream):
        y.copy_to_device(x, stream)

    around = np.full((50, 60), np.nan)
    x = np.asfortranarray(np.random.default_rng(1).standard_normal((25, 30)))
    on_device(copy, None, reads={"x": x}, results={"y": around[::2, ::2]})
    assert (around[::2, ::2] == x).all() and np.isnan(around[1::2]).all() and np.isnan(around[:, 1::2]).all()
    empty = np.empty((0, 3))
    on_device(copy, None, reads={"x": empty}, results={"y": empty.copy()})


def test_the_same_elements_are_copied_once(device, monkeypatch):
    """As for devices with memory of their own: ``x.T @ x`` moves x once, and others stay apart."""
    monkeypatch.setattr(Loan, "_in_place", lambda self, array, readonly: None)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    loan = Loan(cuda.default_stream(), (), (x, x.T))
    first = loan.read(x)
    assert loan.read(x).buffer is first.buffer and loan.read(x.T).buffer is first.buffer
    np.testing.assert_array_equal(loan.read(x.T).copy_to_host(), x.T)
    for other in (x[:2], x[:, ::2], x.copy(), x.view(np.int32)):
        assert loan.read(other).buffer is not first.buffer
        np.testing.assert_array_equal(loan.read(other).copy_to_host(), other)
