"""Subscripts with arrays against NumPy: what is selected, where its axes go, what is written, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda, errors

X = np.random.default_rng(0).random((5, 6, 7)).astype(np.float32)
AT = np.array([0, -1, 2])
COLUMN = np.array([[1], [3]])
KEYS = [
    *(
        AT,
        COLUMN,
        (AT,),
        np.s_[:, AT],
        np.s_[AT, :, AT],
        (AT, AT),
        (AT, None, AT),
        (..., AT),
        np.s_[0, :, AT],
        np.s_[:, 0, AT],
    ),
    *((COLUMN, AT), np.s_[COLUMN, 1:3, AT], np.s_[::-1, AT], (None, AT, None), (AT, 1, 2), np.s_[AT, ..., 1]),
    *(X[:, :, 0] > 0.5, X > 0.5, (X[:, :, 0] > 0.5, 2), (X[:, :, 0] > 0.5, np.s_[1:5:2]), (..., X[0, 0] > 0.3)),
    *(np.s_[:, np.arange(6) > 2], True, False, (True, AT), np.bool_(True)),
    *([0, 1], ([0, 1], [2, 3]), [], np.zeros((0, 3), int), AT[:1].astype(np.uint8), [[True] * 6] * 5),
]
VIEWS = [lambda x: x, lambda x: x.transpose(2, 0, 1), lambda x: x[::-1, :, ::2]]


def moved(key):
    """The key with its arrays on the device."""
    if isinstance(key, tuple):
        return tuple(map(moved, key))
    return cuda.to_device(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("view", VIEWS, ids=["whole", "transposed", "strided"])
def test_keys_as_numpys(device, view):
    host, mine = X.copy(), cuda.to_device(X)
    for key in KEYS:
        try:
            wanted = view(host)[key]
        except IndexError:  # of another shape than this view
            with pytest.raises(IndexError):
                view(mine)[key]
            continue
        for given_key in (key, moved(key)):
            found = view(mine)[given_key]
            assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype), key
            np.testing.assert_array_equal(found.copy_to_host(), wanted, err_msg=str(key))
        for value in (3, np.random.default_rng(1).random(wanted.shape)):
            view(host)[key] = value
            view(mine)[moved(key)] = value if np.ndim(value) == 0 else cuda.to_device(value)
            np.testing.assert_array_equal(mine.copy_to_host(), host, err_msg=str(key))


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    data=st.data(),
)
def test_random_keys(device, shape, data):
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    common = data.draw(st.lists(st.integers(1, 3), max_size=2))
    key = []
    for extent in shape:
        kind = data.draw(st.sampled_from(["int", "slice", "array", "bools"]))
        if kind == "int":
            key.append(data.draw(st.integers(-extent, extent - 1)))
        elif kind == "slice":
            key.append(slice(*data.draw(st.tuples(*[st.none() | st.integers(-5, 5)] * 2))))
        elif kind == "array":
            key.append(np.array(data.draw(st.integers(-extent, extent - 1))) + np.zeros(common, int))
        else:
            key.append(np.arange(extent) == data.draw(st.integers(0, extent - 1)))
    wanted = x[tuple(key)]
    found = cuda.to_device(x)[moved(tuple(key))]
    np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.complex64, np.complex128])
def test_dtypes(device, dtype):
    x = (np.arange(24) % 5).astype(dtype).reshape(4, 6)
    d = cuda.to_device(x)
    np.testing.assert_array_equal(d[AT].copy_to_host(), x[AT])
    np.testing.assert_array_equal(d[:, cuda.to_device(AT)].copy_to_host(), x[:, AT])
    mask = x == 1
    np.testing.assert_array_equal(d[cuda.to_device(mask)].copy_to_host(), x[mask])
    d[cuda.to_device(mask)] = 0
    x[mask] = 0
    np.testing.assert_array_equal(d.copy_to_host(), x)


def test_out_of_bounds(device):
    d = cuda.to_device(X)
    for key in ([5], np.array([[0, -6]]), cuda.to_device(np.array([1, 5])), cuda.to_device(np.array([-6]))):
        with pytest.raises(IndexError, match="out of bounds"):
            d[key]
    with pytest.raises(errors.OutOfBoundsError, match="out of bounds"):
        d[AT, cuda.to_device(np.array([0, 6, 0]))]
    with pytest.raises(IndexError, match="out of bounds"):
        d[cuda.to_device(np.array([5]))] = 1
    np.testing.assert_array_equal(d[cuda.to_device(AT)].copy_to_host(), X[AT])  # the fault is forgotten
    with pytest.raises(IndexError, match="bools of shape"):
        d[cuda.to_device(np.ones(4, bool))]
    with pytest.raises(IndexError, match="too many"):
        d[AT, AT, AT, AT]
    with pytest.raises(errors.ArgumentTypeError, match="float64"):
        d[np.array([1.5])]
    with pytest.raises(errors.ShapeError):
        d[AT] = cuda.to_device(np.zeros(3))[:2]
    with pytest.raises(errors.ArgumentTypeError, match="read-only"):
        d.as_readonly()[AT] = 0


def test_an_ellipsis_makes_a_view(device):
    d = cuda.to_device(X)
    assert isinstance(d[0, 0, 0], np.float32)
    one = d[0, 0, 0, ...]
    assert one.shape == () and one.allocation_key == d.allocation_key


@pytest.mark.one_device
def test_keys_make_views_or_copies_as_numpys(device):
    one = np.array(1)
    items = [2, np.int64(2), one, cuda.to_device(one), np.array(1, np.uint8), slice(1, 3), None, ..., True, [1], AT]
    keys = [*items, *((a, b) for a in items for b in items if not (a is ... and b is ...)), (one, one, one), ()]
    for key in keys:
        there, host = cuda.to_device(X), X.copy()
        on_host = (
            tuple(k.copy_to_host() if isinstance(k, type(there)) else k for k in key) if type(key) is tuple else key
        )
        on_host = on_host.copy_to_host() if isinstance(on_host, type(there)) else on_host
        found, expected = there[key], host[on_host]
        if isinstance(expected, np.ndarray):
            found[...], expected[...] = -1, -1
        np.testing.assert_array_equal(there.copy_to_host(), host, str(key))


def test_assignments_are_computed_in_place(device):
    y, d = np.arange(3000.0), cuda.to_device(np.arange(3000.0))
    for target, source in ((np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[::-1], np.s_[:])):
        y[target] = y[source] + 1
        d[target] = d[source] + 1
        np.testing.assert_array_equal(d.copy_to_host(), y)
    np.add(y[:-1], 1, out=y[1:])
    np.add(d[:-1], 1, out=d[1:])
    y[::2] += 5
    d[::2] += 5
    y[[1, 2]] *= 5
    d[[1, 2]] *= 5
    y[5:2000] = 7
    d[5:2000] = 7
    kept = d * 2
    d[:] = kept
    np.testing.assert_array_equal(d.copy_to_host(), y * 2)
    np.testing.assert_array_equal(kept.copy_to_host(), y * 2)
    whole = cuda.to_device(np.zeros(3000, np.int16))
    whole[:] = d
    np.testing.assert_array_equal(whole.copy_to_host(), (y * 2).astype(np.int16))
    with pytest.raises(errors.DTypeError, match="complex"):
        whole[:] = d + 1j


@pytest.mark.parametrize("axis", [0, -1, None, 1])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, axis: np.take(x, [0, 0], axis=axis),
        lambda x, axis: np.take(x, 0, axis=axis),
        lambda x, axis: np.repeat(x, 3, axis=axis),
        lambda x, axis: np.repeat(x, [2], axis=axis),
        lambda x, axis: np.compress([True], x, axis=axis),
    ],
)
def test_an_array_without_axes_is_one_element(device, function, axis):
    try:
        wanted = function(np.array(5.0), axis)
    except np.exceptions.AxisError:
        with pytest.raises(errors.OutOfBoundsError):
            function(cuda.to_device(np.array(5.0)), axis)
        return
    found = function(cuda.to_device(np.array(5.0)), axis).copy_to_host()
    assert (found.shape, found.tolist()) == (wanted.shape, wanted.tolist())


@pytest.mark.one_device
def test_subscripts_that_do_not_broadcast_are_index_errors(device):
    host = np.arange(12.0).reshape(3, 4)
    for key in (([0, 1], [0, 1, 2]), ([[0], [1]], [[0, 1], [1, 2], [0, 1]]), (host[:, 0] < 5, [0, 1, 2])):
        there = tuple(cuda.to_device(np.asarray(part)) for part in key)
        for x, at in ((host, key), (cuda.to_device(host), key), (cuda.to_device(host), there)):
            for call in (lambda x, at: x[at], lambda x, at: x.__setitem__(at, 1), lambda x, at: np.add.at(x, at, 1)):
                with pytest.raises(IndexError):
                    call(x, at)


@pytest.mark.one_device
@pytest.mark.parametrize("kind", "?bBhHiIl")
def test_subscripts_of_every_dtype_wrap_and_are_clipped(device, kind):
    """Of axes that are longer than the dtype counts, too."""
    # NumPy's "wrap" goes to numbers that are far step by step
    low, high = (0, 1) if kind == "?" else (np.iinfo(kind).min, np.iinfo(kind).max)
    ends = sorted({min(max(n, low), high) for n in (-(2**17), -1, 0, 1, 5, 100, 2**17)})
    where = np.array(ends, kind)
    for extent, mode in itertools.product((1, 130, 300, 70000), ("wrap", "clip")):
        host = np.arange(extent)
        x = cuda.to_device(host)
        wanted = np.take(host, where, mode=mode)
        changed = host.copy()
        np.put(changed, where, -1, mode=mode)
        for places in (where, cuda.to_device(where)):
            np.testing.assert_array_equal(np.take(x, places, mode=mode).copy_to_host(), wanted)
            np.testing.assert_array_equal(x.take(places, mode=mode).copy_to_host(), wanted)
            target = cuda.to_device(host)
            np.put(target, places, -1, mode=mode)
            np.testing.assert_array_equal(target.copy_to_host(), changed)
