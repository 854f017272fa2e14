"""Blocks: NumPy is restored to the very same objects, whoever opens and leaves how many of them, and however."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from types import ModuleType

import numpy as np
import pytest

import portagpu
from portagpu.accelerate import acceleration
from portagpu.accelerate.names import Replacement

KEPT = [np.dot, np.inner, np.einsum, np.matmul]
A = np.ones((8, 8), np.float32)


def functions():
    return [np.dot, np.inner, np.einsum, np.matmul]


def is_restored():
    return all(one is other for one, other in zip(functions(), KEPT, strict=True))


@pytest.fixture
def block(device):
    return portagpu.accelerate(threshold=0)


@pytest.fixture
def user(monkeypatch):
    """A module of a user's."""
    module = ModuleType("of_a_user")
    monkeypatch.setitem(sys.modules, "of_a_user", module)
    exec("from numpy import dot", module.__dict__)
    return module


@pytest.mark.one_device
def test_names_are_restored_in_every_module(block, user, monkeypatch):
    later = ModuleType("imported_later")
    with block:
        assert np.dot is not KEPT[0] and user.dot is np.dot and np.matmul is KEPT[3]
        assert isinstance(np.dot, Replacement) and repr(np.dot) == repr(KEPT[0]) and np.dot.__doc__ == KEPT[0].__doc__
        assert np.dot.__name__ == "dot" and np.dot.__module__ == "numpy"
        pickled = pickle.dumps(np.dot)
        monkeypatch.setitem(sys.modules, "imported_later", later)
        exec("from numpy import dot", later.__dict__)
        taken_elsewhere = [np.dot]
        user.own = np.inner
        monkeypatch.setattr(np, "inner", max)  # somebody else's
    assert np.inner is max
    monkeypatch.undo()
    assert not isinstance(np.inner, Replacement) or np.inner._original is KEPT[1]
    np.inner = KEPT[1]
    assert is_restored() and user.dot is KEPT[0] and later.dot is KEPT[0] and user.own is KEPT[1]
    assert pickle.loads(pickled) is KEPT[0]
    np.testing.assert_array_equal(taken_elsewhere[0](A, A), KEPT[0](A, A))


@pytest.mark.one_device
def test_an_exception_restores_numpy_and_passes(block):
    with pytest.raises(ZeroDivisionError), block:
        1 / 0  # noqa: B018
    assert is_restored() and sys.unraisablehook != acceleration._loops._unraisable


@pytest.mark.one_device
def test_nested_blocks_and_decorators(block, device):
    outer = portagpu.accelerate(threshold=1e18)
    with outer:
        with block, block:
            np.dot(A, A)
        assert not is_restored()
        np.dot(A, A)
        with portagpu.accelerate(threshold=0):
            A @ A

    @block
    def decorated():
        return A @ A

    decorated()
    assert is_restored()
    assert [row.function for row in block.report().taken] == ["numpy.dot", "numpy.matmul, @"] or [
        row.function for row in block.report().taken
    ] == ["numpy.matmul, @", "numpy.dot"]
    assert [(row.calls, row.why) for row in outer.report().rows] == [(1, "less than 1e+18 operations")]


@pytest.mark.one_device
def test_threads_have_their_own_blocks_and_share_others(device):
    """A thread that has entered a block is served by it, another one by the last that is open; the last restores."""
    blocks = [portagpu.accelerate(threshold=0) for _ in range(3)]
    entered, done = threading.Barrier(3), threading.Barrier(3)
    problems = []

    def work(block):
        try:
            with block:
                entered.wait(60)
                for _ in range(20):
                    assert (A @ A)[0, 0] == np.dot(A, A)[0, 0] == 8
                done.wait(60)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(block,)) for block in blocks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and is_restored()
    assert [sum(row.calls for row in block.report().taken) for block in blocks] == [40, 40, 40]
    with blocks[0]:
        other = threading.Thread(target=lambda: A @ A)
        other.start()
        other.join()
    assert sum(row.calls for row in blocks[0].report().taken) == 41


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*os.fork:RuntimeWarning")  # JAX's, where it runs
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_forked_child_computes_with_numpy(block):
    with block:
        A @ A
        child = os.fork()
        if child == 0:
            good = (A @ A)[0, 0] == np.dot(A, A)[0, 0] == 8 and block.report().taken[0].calls == 1
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.one_device
def test_an_exception_within_a_loop_of_c_is_raised_behind_it(block, monkeypatch):
    """As by Ctrl-C: the product is computed by NumPy, then the program gets the exception."""

    class Interruption(Exception):
        pass

    def interrupted(*arguments):
        raise Interruption

    monkeypatch.setattr(acceleration, "matmul", interrupted)
    c = np.zeros_like(A)
    with block:
        with pytest.raises(Interruption):
            np.matmul(A, A, out=c)
            c[:] = 0
        assert (c == 8).all()
    assert is_restored()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.one_device
def test_signals_meet_small_products_anywhere(device):
    """Each product is right, and each exception of a signal's handler arrives."""

    class Alarm(Exception):
        pass

    def ring(number, frame):
        raise Alarm

    former = signal.signal(signal.SIGALRM, ring)
    rung = 0
    try:
        with portagpu.accelerate(threshold=1e18):
            for _ in range(40):
                signal.setitimer(signal.ITIMER_REAL, 0.001)
                try:
                    for _ in range(10**7):
                        made = A @ A
                        assert made[3, 4] == 8
                except Alarm:
                    rung += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert rung == 40 and is_restored()


@pytest.mark.one_device
def test_scipy_may_be_imported_within_the_block(device):
    """In another process, where nothing has imported it; its own modules keep their names."""
    program = """
import sys, numpy as np, portagpu
assert "scipy.linalg" not in sys.modules
with portagpu.accelerate(threshold=0) as block:
    import scipy.linalg.blas
    from scipy.linalg.blas import dgemm
    a = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    made = dgemm(2.0, a, a, trans_b=1)
    assert (made == 2 * np.dot(a, a.T)).all() and made.flags.f_contiguous and dgemm.__doc__.startswith("c = dgemm(")
    dgemm(1.0, a, a.T, c=made.copy(order="F"), beta=1.0, overwrite_c=1)
assert dgemm is scipy.linalg.blas.dgemm is scipy.linalg._fblas.dgemm
assert type(dgemm).__name__ == "fortran" and not any("AfterImport" in str(finder) for finder in sys.meta_path)
print({row.function: row.why for row in block.report().rows if "blas" in row.function and row.why})
print([row.function for row in block.report().taken if "blas" in row.function])
"""
    environment = {**os.environ, "PORTAGPU_DEVICE": str(device.index)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "{'scipy.linalg.blas.dgemm': 'it may overwrite an argument'}",
        "['scipy.linalg.blas.dgemm']",
    ]
