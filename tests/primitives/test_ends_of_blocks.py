"""What works on arrays of no, one and few elements, and at the ends of blocks, in the form of CPUs and that of GPUs."""

from __future__ import annotations

import numpy as np
import pytest
from against_numpy import alike
from falling_orders import falling_order
from keys_in_arrays import stable_order

from portagpu import cuda, primitives, xp

SIZES = (1, 2, 31, 32, 33, 255, 256, 257, 4095, 4096, 4097, 8193)
SHAPES = [(0, 5), (5, 0), (0, 0), (1, 1), (1, 257), (257, 1), (3, 4097), (33, 32), (2, 0, 3), (0, 2, 3)]


def _host(function):
    """What NumPy makes of host arrays, ours of device arrays, by the same call."""
    return function, function


def _scattered(x, m):
    y = x.copy()
    y[m] = -1
    y[::2] = y[::2] + 1
    return y


def _runs(x, m):
    begins = np.flatnonzero(np.r_[np.ones(min(1, x.size), bool), x[1:] != x[:-1]])
    return begins, np.diff(np.r_[begins, x.size])


def _sums_by_key(x, m):
    begins, _ = _runs(x, m)
    return x[begins], np.add.reduceat(x, begins) if x.size else x


def _pieces(x, flags):
    """Sums up to each element, from the last flag on."""
    sums = np.cumsum(x)
    begins = np.maximum.accumulate(np.where(flags, np.arange(x.size), 0)) if x.size else np.zeros(0, int)
    return sums - sums[begins] + x[begins] if x.size else sums


def _unique(x):
    found = primitives.unique(x, indices=True, inverse=True, counts=True)
    return tuple(found)


def _counted(x, m):
    return np.bincount(x + 4), np.histogram(x, 5, (-4, 4))[0], np.histogram(x, np.arange(-5.0, 6.0))[0]


OPERATIONS = {
    "mask": _host(lambda x, m: x[m]),
    "flatnonzero": _host(lambda x, m: (np.flatnonzero(x), np.flatnonzero(m))),
    "partition": (
        lambda x, m: np.concatenate([x[m], x[~m]]),
        lambda x, m: primitives.partition(x, m)[0],
    ),
    "select_if": (lambda x, m: x[x > 1], lambda x, m: primitives.select_if(x, lambda v: v > 1)),
    "written": _host(_scattered),
    "runs": (
        lambda x, m: (x[_runs(x, m)[0]], _runs(x, m)[1]),
        lambda x, m: primitives.run_length_encode(x),
    ),
    "repeat": _host(lambda x, m: np.repeat(x, m.astype(np.int64) * 2)),
    "unique": (lambda x, m: np.unique(x, True, True, True), lambda x, m: _unique(x)),
    "sets": _host(lambda x, m: (np.union1d(x, x[m]), np.setdiff1d(x, x[m]), np.isin(x, x[:3]))),
    "counts": _host(_counted),
    "weights": _host(lambda x, m: np.bincount(x + 4, m.astype(np.float64)).astype(np.float64)),
    "sort": (
        lambda x, m: (np.sort(x), x[falling_order(x)], np.sort(x.astype(np.complex64) * 1j)),
        lambda x, m: (xp.sort(x), xp.sort(x, descending=True), xp.sort(x.astype(np.complex64) * 1j)),
    ),
    "argsort": (
        lambda x, m: (stable_order(x), stable_order(m), falling_order(x.astype(np.float32))),
        lambda x, m: (xp.argsort(x), xp.argsort(m), xp.argsort(x.astype(np.float32), descending=True)),
    ),
    "sort_by_key": (
        lambda x, m: (np.sort(x), m[stable_order(x)]),
        lambda x, m: primitives.sort_by_key(x, m),
    ),
    "merge_sort": (
        lambda x, m: (x[falling_order(x)], falling_order(x)),
        lambda x, m: primitives.merge_sort(x, lambda a, b: a > b),
    ),
    "top_k": (
        lambda x, m: (x[falling_order(x)][: x.size // 2], falling_order(x)[: x.size // 2]),
        lambda x, m: primitives.top_k(x, x.size // 2),
    ),
    "lexsort": _host(lambda x, m: np.lexsort((x, m))),
    "searchsorted": _host(lambda x, m: (np.searchsorted(np.sort(x), x[::2]), np.searchsorted(np.sort(x), x, "right"))),
    "scans": _host(lambda x, m: (np.cumsum(x), np.maximum.accumulate(x), np.cumsum(m))),
    "exclusive": (
        lambda x, m: np.cumsum(x) - x,
        lambda x, m: primitives.exclusive_scan(x),
    ),
    "initial": (
        lambda x, m: np.concatenate([[0], np.cumsum(x)]),
        lambda x, m: xp.cumulative_sum(x, include_initial=True),
    ),
    "pieces": (_pieces, lambda x, m: primitives.inclusive_scan(x, flags=m)),
    "reduce_by_key": (_sums_by_key, lambda x, m: primitives.reduce_by_key(x, x)),
    "gathered": _host(lambda x, m: (np.take(x, np.flatnonzero(m)), np.roll(x, 3), x[::-1] + x)),
    "joined": _host(lambda x, m: (np.concatenate([x, x[m], x[:1]]), np.stack([x, x], axis=1))),
    "reductions": _host(lambda x, m: (np.sum(x), np.any(m), np.count_nonzero(m), np.prod(x * m), np.mean(x + 1.5))),
    "differences": _host(lambda x, m: (np.diff(x), np.where(m, x, -x)[1:] * 2, np.insert(x, 0, 7), np.delete(x, []))),
}


def _operands(size):
    rng = np.random.default_rng(size)
    return rng.integers(-4, 5, size), rng.random(size) < 0.4


@pytest.mark.one_device(fast=True)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_of_nothing(device, form):
    x, m = _operands(0)
    for name, (numpys, ours) in OPERATIONS.items():
        try:
            alike(ours(cuda.to_device(x), cuda.to_device(m)), numpys(x, m))
        except Exception as error:
            raise AssertionError(f"{name} of no elements") from error


@pytest.mark.one_device(fast=True)
@pytest.mark.in_turn(4)
@pytest.mark.parametrize("name", OPERATIONS)
def test_ends(device, form, name):
    numpys, ours = OPERATIONS[name]
    for size in SIZES:
        x, m = _operands(size)
        alike(ours(cuda.to_device(x), cuda.to_device(m)), numpys(x, m))


LINES = {
    "sums": lambda a: [np.sum(a, axis=k) for k in range(a.ndim)],
    "all": lambda a: [np.all(a > 0, axis=k) for k in range(-1, a.ndim)],
    "scans": lambda a: [np.cumsum(a, axis=k) for k in range(a.ndim)],
    "sorts": lambda a: [np.sort(a, axis=k) for k in range(a.ndim)],
    "argsorts": lambda a: [np.argsort(a, axis=k, kind="stable") for k in range(a.ndim)],
    "nonzero": lambda a: [*np.nonzero(a), np.argwhere(a > 1), a[a > 0]],
    "views": lambda a: [a.T + 1, a[::-1] * a, a[..., ::2] - a[..., :1], np.roll(a, 1, 0) + a],
    "moved": lambda a: [a.T.copy(), np.concatenate([a, a], axis=0), np.stack([a, a], -1), np.tile(a, 2)],
    "taken": lambda a: [np.take(a, [], axis=0), np.compress([False] * a.shape[0], a, axis=0), np.repeat(a, 2, axis=-1)],
}


@pytest.mark.one_device(fast=True)
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", LINES)
def test_lines(device, form, name):
    for shape in SHAPES:
        host = np.random.default_rng(len(shape)).integers(-4, 5, shape)
        alike(LINES[name](cuda.to_device(host)), LINES[name](host))


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("name", ["sums", "all", "views", "moved"])
def test_without_axes(device, form, name):
    functions = {
        "sums": lambda a: [np.sum(a), np.max(a), np.mean(a), np.argmax(a), np.cumsum(a)],
        "all": lambda a: [np.any(a), np.flatnonzero(a), np.unique(a), np.ravel(a)[np.ravel(a) > 0]],
        "views": lambda a: [a + 1, -a, np.where(a > 0, a, 0), a.reshape(1)[::-1] + a],
        "moved": lambda a: [a.copy(), np.concatenate([a.reshape(1)] * 2), np.repeat(a, 2), np.broadcast_to(a, (2, 0))],
    }
    host = np.array(3)
    alike(functions[name](cuda.to_device(host)), functions[name](host))
