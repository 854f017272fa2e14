"""Manipulation and indexing functions, and methods of arrays, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, xp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
VIEWS = [lambda x: x, lambda x: x.transpose(2, 0, 1), lambda x: x[:, ::-1, ::2]]


def same(found, wanted):
    if isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for mine, theirs in zip(found, wanted, strict=True):
            same(mine, theirs)
        return
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_array_equal(found.copy_to_host(), wanted)


@pytest.mark.parametrize("view", VIEWS, ids=["whole", "transposed", "strided"])
@pytest.mark.parametrize(
    "use",
    [
        lambda x: np.concatenate([x, x], axis=1),
        lambda x: np.concatenate([x, x.astype(np.float64)], axis=None),
        lambda x: np.stack([x, x + 1], axis=-1),
        lambda x: np.vstack([x, x]),
        lambda x: np.hstack([x[0, 0], x[1, 1]]),
        lambda x: np.flip(x),
        lambda x: np.flip(x, (0, -1)),
        lambda x: np.roll(x, 5),
        lambda x: np.roll(x, (1, -2), (0, 2)),
        lambda x: np.roll(x, -4, 1),
        lambda x: np.repeat(x, 3),
        lambda x: np.repeat(x, 2, axis=1),
        lambda x: np.repeat(x[0, 0, :2], [2, 3]),
        lambda x: np.tile(x, (2, 1, 1, 3)),
        lambda x: np.tile(x, 2),
        lambda x: np.moveaxis(x, 0, -1),
        lambda x: np.split(x, [1], axis=-1),
        lambda x: np.array_split(x, 3),
        lambda x: np.broadcast_arrays(x, x[0, 0, :1]),
        lambda x: np.take(x, [1, 0, 1], axis=1),
        lambda x: np.take(x, [[1, -3]]),
        lambda x: np.take(x, [True, False], axis=0),
        lambda x: np.take(x, [5, -9], axis=0, mode="wrap"),
        lambda x: np.take(x, [5, -9], axis=0, mode="clip"),
        lambda x: np.diagonal(x, 1, 0, 2),
        lambda x: np.clip(x, 3, 11),
        lambda x: np.where(x > 5, x, 0),
        lambda x: np.where(x > 5),
        lambda x: np.argwhere(x > 15),
        lambda x: np.flatnonzero(x % 2),
        lambda x: np.extract(x > 4, x),
        lambda x: np.compress([False, True], x, axis=0),
        lambda x: x.reshape(-1),
        lambda x: x.reshape(4, -1, order="F"),
        lambda x: x.ravel("F"),
        lambda x: x.ravel("A"),
        lambda x: x.flatten(),
        lambda x: x.copy("F"),
        lambda x: x.astype(np.int16),
        lambda x: x.nonzero(),
        lambda x: x.clip(None, 7),
        lambda x: np.round(x / 8),
        lambda x: np.round(x / 8, 1),
        lambda x: x.real,
        lambda x: x.imag,
        lambda x: (x + 1j * x).imag,
        lambda x: (x + 1j * x).real[1:],
        lambda x: (x + 1j * x).conj(),
    ],
)
def test_numpys_functions(device, use, view):
    wanted = use(view(X))
    same(use(view(cuda.to_device(X))), wanted)


def test_the_standards_functions(device):
    d = cuda.to_device(X)
    same(xp.concat([d, d], axis=None), np.concatenate([X, X], axis=None))
    same(xp.unstack(d, axis=1), [X[:, n] for n in range(3)])
    same(xp.permute_dims(d, (2, 0, 1)), X.transpose(2, 0, 1))
    same(xp.squeeze(xp.expand_dims(d, axis=1), 1), X)
    same(xp.reshape(d, (6, 4)), X.reshape(6, 4))
    same(xp.repeat(d[0, 0], cuda.to_device(np.array([1, 0, 2, 1]))), np.repeat(X[0, 0], [1, 0, 2, 1]))
    same(xp.where(d > 3, 1, d), np.where(X > 3, np.float32(1), X))
    assert xp.reshape(d, (24,), copy=False).allocation_key == d.allocation_key
    assert xp.reshape(d, (24,), copy=True).allocation_key != d.allocation_key
    with pytest.raises(errors.MemoryNotSharedError):
        xp.reshape(d.T, (24,), copy=False)
    for call in (lambda: xp.concat([d, d[0]]), lambda: xp.stack([d, d[0]]), lambda: xp.concat([d, d], axis=3)):
        with pytest.raises(errors.ShapeError):
            call()


@pytest.mark.parametrize("axis", [0, -1, None])
def test_elements_along_an_axis(device, axis):
    flat = X if axis is not None else X.ravel()
    order = np.argsort(-flat, axis=-1 if axis is None else axis)
    d, places = cuda.to_device(X), cuda.to_device(order)
    same(xp.take_along_axis(d, places, axis=axis), np.take_along_axis(X, order, axis))
    host, few = X.copy(), np.asarray(order[..., :1])
    np.put_along_axis(host, few, 99, axis)
    np.put_along_axis(d, cuda.to_device(few), 99, axis)
    same(d, host)
    host.put([1, -2], [7, 8])
    d.put([1, -2], [7, 8])
    same(d, host)


def test_methods_that_change(device):
    d = cuda.to_device(X)
    d.fill(3)
    same(d, np.full_like(X, 3))
    d[0].fill(2.5)
    d.real[1] = 1
    z = cuda.to_device(X + 0j)
    z.imag[...] = 5
    same(z, X + np.complex64(5j))
    assert d.item(0) == 2.5 and d.item(1, 2, 3) == 1 and d.item(-1) == 1
    np.copyto(d, 4, where=cuda.to_device(X > 3))
    assert d.tolist()[1][2][3] == 4
    with pytest.raises(IndexError):
        d.item(24)
    same(z.astype(np.float32), X)
    with pytest.raises(errors.DTypeError, match="casting"):
        d.astype(np.int8, casting="safe")
