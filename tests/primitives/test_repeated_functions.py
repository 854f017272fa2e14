"""Functions that are one launch, made again: of arrays that lie otherwise they are others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda, xp
from portagpu.dispatch import ready
from portagpu.dispatch.repeated import repeated

pytestmark = pytest.mark.one_device(fast=True)

PLACES = np.array([[3, -1, 0], [2, 2, -4]])
HOST = np.random.default_rng(3).integers(-50, 50, (12, 12))
LAYOUTS = (
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::2],
    lambda x: x[1:, 2:],
    lambda x: x[4],
    lambda x: x[:, 3],
    lambda x: x[5, ::-1],
)
FUNCTIONS = (
    (lambda x: np.sort(x), lambda x: np.sort(x)),
    (lambda x: np.sort(x, axis=0), lambda x: np.sort(x, axis=0)),
    (lambda x: xp.sort(x, descending=True), lambda x: -np.sort(-x)),
    (lambda x: np.argsort(x, stable=True), lambda x: np.argsort(x, kind="stable")),
    (lambda x: xp.argsort(x, axis=0), lambda x: np.argsort(x, axis=0, kind="stable")),
    (lambda x: np.cumsum(x), lambda x: np.cumsum(x)),
    (lambda x: np.cumsum(x, axis=0), lambda x: np.cumsum(x, axis=0)),
    (lambda x: xp.cumulative_sum(x, axis=0, include_initial=True), None),
    (lambda x: np.concatenate([x, x]), lambda x: np.concatenate([x, x])),
    (lambda x: np.concatenate([x, x + 1]), lambda x: np.concatenate([x, x + 1])),
    (lambda x: np.stack([x, x[::-1]]), lambda x: np.stack([x, x[::-1]])),
    (lambda x: x[x > 5], lambda x: x[x > 5]),
    (lambda x: x.take(cuda.to_device(PLACES)), lambda x: x.take(PLACES)),
    (lambda x: x[cuda.to_device(PLACES)], lambda x: x[PLACES]),
    (lambda x: x.take(cuda.to_device(PLACES), axis=-1), lambda x: x.take(PLACES, axis=-1)),
    (lambda x: np.flatnonzero(x > 0), lambda x: np.flatnonzero(x > 0)),
    (lambda x: np.extract(x < -60, x), lambda x: np.extract(x < -60, x)),
)


def with_first(x):
    return np.concatenate([np.zeros((1, *x.shape[1:]), x.dtype), np.cumsum(x, axis=0)])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(LAYOUTS), st.sampled_from(FUNCTIONS), st.sampled_from([np.float32, np.int32, np.int64])
        ),
        min_size=4,
        max_size=10,
    )
)
def test_in_turns(device, cases):
    for layout, (function, on_host), dtype in cases * 2:
        own = HOST.astype(dtype)
        x = cuda.to_device(own)
        wanted = (on_host or with_first)(layout(own))
        np.testing.assert_allclose(function(layout(x)).copy_to_host(), wanted, rtol=1e-6)
        np.testing.assert_array_equal(x.copy_to_host(), own)


def test_results_are_apart(device):
    x = cuda.to_device(HOST[0].astype(np.float32))
    found = [np.sort(x) for _ in range(4)]
    found[1][...] = 0
    for n in (0, 2, 3):
        np.testing.assert_array_equal(found[n].copy_to_host(), np.sort(HOST[0]))
    assert len({y.allocation_key for y in found}) == 4 and all(y.base is None for y in found[1:])


def test_two_operands(device):
    edges, values = np.sort(HOST[0]).astype(np.float32), HOST[1].astype(np.float32)
    for side in ("left", "right", "left"):
        for part in (slice(None), slice(0, 12, 2), slice(11, None, -1)):
            x, y = cuda.to_device(edges), cuda.to_device(values)
            found = np.searchsorted(x, y[part], side=side)
            np.testing.assert_array_equal(found.copy_to_host(), np.searchsorted(edges, values[part], side=side))
            found = np.searchsorted(x, x, side=side)
            np.testing.assert_array_equal(found.copy_to_host(), np.searchsorted(edges, edges, side=side))


def test_subscripts_out_of_bounds_raise_each_time(device):
    x, right = cuda.to_device(HOST[0]), cuda.to_device(PLACES)
    wrong = cuda.to_device(PLACES + 10)
    for _ in range(3):
        np.testing.assert_array_equal(x[right].copy_to_host(), HOST[0][PLACES])
        with pytest.raises(IndexError):
            x[wrong]


def test_one_operand_twice(device):
    hosts = [HOST[n].astype(np.float32) for n in range(2)]
    x, y = map(cuda.to_device, hosts)
    for _ in range(2):
        for pick in ((0, 0), (0, 1), (1, 0), (1, 1), (0, 0, 1), (0, 1, 0), (1, 0, 0)):
            found = np.concatenate([(x, y)[n] for n in pick])
            np.testing.assert_array_equal(found.copy_to_host(), np.concatenate([hosts[n] for n in pick]))
        found = np.concatenate([x[:6], x[6:]])  # of one memory, which is whose?
        np.testing.assert_array_equal(found.copy_to_host(), hosts[0])


def test_of_expressions_and_in_order(device):
    for n in range(3):
        x = cuda.to_device(HOST[0].astype(np.float32))
        y = x * 2 + n
        found = np.sort(y)
        x[...] = 0
        np.testing.assert_array_equal(found.copy_to_host(), np.sort(HOST[0] * 2 + n))
        np.testing.assert_array_equal(np.cumsum(y).copy_to_host(), np.cumsum(HOST[0] * 2 + n))


def kept(x):
    return [key for key in x.context.expression_launches if key[0] is repeated]


def test_only_functions_of_one_launch_are_kept(device):
    x = cuda.to_device(HOST[0].astype(np.float32))
    x.context.expression_launches.clear()

    def two():
        return np.sort(x).copy() + 0

    def view():
        return x[1:]

    def reads():
        return xp.zeros(int(np.cumsum(x)[-1] > 0) + 1, dtype=np.float32)

    for function in (two, view, reads):
        for _ in range(3):
            assert repeated((function,), (x,), function).size
    assert all(key[1] not in (two, view, reads) for key in kept(x))
    np.sort(x)
    assert kept(x)


def test_notes_end_with_an_error(device):
    x = cuda.to_device(HOST[0].astype(np.float32))

    def fails():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        repeated((fails,), (x,), fails)
    assert ready.noting.launches is None
