"""`portagpu.linalg.vecdot` and `norm`: NumPy's rules for axes and batches, dtypes, out, errors."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, linalg

pytestmark = pytest.mark.one_device


def numbers(shape, dtype, seed=1):
    generator = np.random.default_rng(seed)
    found = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * generator.standard_normal(shape)
    return found.astype(dtype)


def on_host(x):
    return x.copy_to_host() if hasattr(x, "copy_to_host") else x


def vecdots(x, y, axis):
    """In NumPy of any version."""
    x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
    return (x.conj() * y).sum(-1)


@pytest.mark.parametrize("on_it", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_batches_and_axes(device, dtype, on_it):
    move = cuda.to_device if on_it else np.asarray
    eps = np.finfo(dtype).eps
    for left, right, axis in (
        ((9,), (9,), -1),
        ((4, 9), (4, 9), -1),
        ((4, 9), (9,), -1),
        ((4, 1, 9), (3, 9), -1),
        ((9, 4), (9, 4), 0),
        ((2, 9, 3), (2, 9, 1), 1),
        ((0, 9), (9,), -1),
        ((4, 0), (4, 0), -1),
        ((300, 700), (300, 700), -1),
    ):
        x, y = numbers(left, dtype), numbers(right, dtype, 2)
        wanted = vecdots(x, y, axis)
        found = linalg.vecdot(move(x), move(y), axis=axis)
        assert found.shape == wanted.shape and found.dtype == dtype
        assert (abs(on_host(found) - wanted) <= 32 * eps * vecdots(abs(x), abs(y), axis).real).all()
    x = numbers((6, 10), dtype)
    views = move(x)[::2, ::-3], move(x)[::-2, :4]
    wanted = vecdots(x[::2, ::-3], x[::-2, :4], -1)
    assert np.allclose(on_host(linalg.vecdot(*views)), wanted, rtol=1e-4)
    out = move(np.zeros((3, 2), dtype))[:, 0]
    assert linalg.vecdot(*views, out=out) is out and np.allclose(on_host(out), wanted, rtol=1e-4)
    assert type(linalg.vecdot(x[0], x[0])) is dtype


@pytest.mark.parametrize("on_it", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_norms(device, dtype, on_it):
    move = cuda.to_device if on_it else np.asarray
    for shape, options in (
        ((9,), {}),
        ((9,), {"ord": 2}),
        ((5, 9), {}),
        ((5, 9), {"ord": "fro"}),
        ((5, 9), {"axis": 1}),
        ((5, 9), {"axis": 0, "ord": 2, "keepdims": True}),
        ((3, 5, 9), {"axis": (0, 2)}),
        ((3, 5, 9), {"axis": (-1, -2), "keepdims": True}),
        ((3, 5, 9), {}),
        ((3, 5, 0), {"axis": 2}),
    ):
        for x in (numbers(shape, dtype), np.asfortranarray(numbers(shape, dtype)), numbers((*shape, 2), dtype)[..., 0]):
            wanted = np.linalg.norm(x, **options)
            found = linalg.norm(move(x), **options)
            assert found.shape == wanted.shape and found.dtype == wanted.dtype
            assert np.allclose(on_host(found), wanted, rtol=32 * np.finfo(dtype).eps)
    huge = np.full(50, np.finfo(dtype).max / 16, dtype)
    assert np.isclose(on_host(linalg.norm(move(huge))) / huge[0].real, 50**0.5)
    if np.dtype(dtype).kind == "f":
        x = numbers((4, 9), dtype)
        assert np.allclose(on_host(linalg.norm(move(x), 1, axis=1)), abs(x).sum(1))


def test_dtypes(device):
    x = np.arange(5)
    assert linalg.vecdot(x, x.astype(np.float32)) == 30.0 and linalg.norm(x).dtype == np.float64
    assert linalg.vecdot(x, x * 1j) == 30j
    half = np.full(3000, 0.5, np.float16)
    assert linalg.vecdot(half, half) == 750 and linalg.vecdot(half, half).dtype == np.float16
    assert linalg.norm(half).dtype == np.float16
    swapped = np.arange(5.0).astype(">f8")
    assert linalg.vecdot(swapped, swapped) == 30.0


def test_errors(device):
    x = np.ones((3, 4))
    for call, kind, text in (
        (lambda: linalg.vecdot(x, x[:, :3]), errors.ShapeError, "x1 has 4 elements along axis -1, x2 3"),
        (lambda: linalg.vecdot(x, x[:2]), errors.ShapeError, "the leading axes do not fit"),
        (lambda: linalg.vecdot(x, x, axis=2), errors.ShapeError, "x1 has shape .3, 4., and axis is 2"),
        (lambda: linalg.vecdot(1.0, 2.0), errors.ShapeError, r"x1 has shape \(\)"),
        (lambda: linalg.vecdot(x, cuda.to_device(x)), errors.ArgumentTypeError, "x1 is a NumPy array"),
        (lambda: linalg.vecdot(x, x, out=np.zeros(2)), errors.ShapeError, "out has shape"),
        (lambda: linalg.vecdot(x, x.astype(object)), errors.DTypeError, "x2 is object"),
        (lambda: linalg.vecdot(cuda.to_device(x), cuda.to_device(x.astype("f4"))), errors.DTypeError, "x2 is float32"),
        (lambda: linalg.norm(x, 2), errors.UnknownOptionError, "ord is 2"),
        (lambda: linalg.norm(x, "nuc"), errors.UnknownOptionError, "ord is 'nuc'"),
        (lambda: linalg.norm(x * 1j, 1, axis=0), errors.UnknownOptionError, "ord is 1, of complex"),
        (lambda: linalg.norm(x, axis=(0, 0)), errors.ShapeError, "axis is .0, 0."),
        (lambda: linalg.norm(x, axis="rows"), errors.ArgumentTypeError, "axis is"),
    ):
        with pytest.raises(kind, match=text):
            call()
