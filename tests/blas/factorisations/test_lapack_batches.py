"""`portagpu.lapack` on batches: each matrix as by itself, info of each, orders, what is overwritten, errors."""

from __future__ import annotations

import numpy as np
import pytest
from matrices_in_memory import random

from portagpu import cuda, errors, lapack

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]


def host(x):
    return x.copy_to_host() if hasattr(x, "copy_to_host") else x


def each(function, *arrays, **options):
    """The results for one matrix after the other, which have the shapes (2, 3, ...)."""
    found = [function(*(x[i, j] for x in arrays), **options) for i in range(2) for j in range(3)]
    return [np.stack(one).reshape(2, 3, *np.shape(one[0])) for one in zip(*found, strict=True)]


@pytest.mark.parametrize("on_it", [False, True])
@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("letter, dtype", [("s", "float32"), ("z", "complex128")])
def test_results(device, letter, dtype, part, on_it):
    generator, move = np.random.default_rng(0), cuda.to_device if on_it else np.array
    a, b = random(generator, (2, 3, 9, 9), dtype), random(generator, (2, 3, 9, 2), dtype)
    p = (a @ a.conj().swapaxes(-1, -2) + 9 * np.eye(9)).astype(dtype)
    tall = random(generator, (2, 3, 12, 7), dtype)
    of = {name: getattr(lapack, letter + name) for name in "potrf potrs posv potri getrf getrs gesv getri".split()}
    of |= {name: getattr(lapack, letter + name) for name in ("trtri", "trtrs", "geqrf")}
    of["orgqr"] = getattr(lapack, letter + ("ungqr" if letter == "z" else "orgqr"))
    lu, piv, _ = each(of["getrf"], a)
    qr, tau, *_ = each(of["geqrf"], tall)
    routines = (
        ("potrf", (p,), {"lower": 1}),
        ("potrf", (p,), {"clean": 0}),
        ("potrs", (p, b), {}),
        ("posv", (p, b), {}),
        ("potri", (p,), {"lower": 1}),
        ("getrf", (tall,), {}),
        ("getrs", (lu, piv, b), {"trans": 2}),
        ("getrs", (lu, piv, b[..., 0]), {}),  # vectors
        ("gesv", (a, b), {}),
        ("getri", (lu, piv), {}),
        ("trtri", (p,), {"lower": 1}),
        ("trtrs", (p, b), {"trans": 1}),
        ("geqrf", (tall,), {}),
        ("orgqr", (qr, tau), {}),
    )
    for name, arrays, options in routines[part::2]:  # each has kernels of its own
        wanted = each(of[name], *arrays, **options)
        for given in (arrays, [x[0] for x in arrays]):
            found = of[name](*map(move, given), **options)
            assert len(found) == len(wanted)
            for one, other in zip(found, wanted, strict=True):
                other = other[0] if len(given[0].shape) == 3 else other
                if one.shape != (1,):  # the length of a workspace
                    assert one.shape == other.shape and one.dtype.kind == other.dtype.kind
                    np.testing.assert_allclose(host(one), other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("on_it", [False, True])
def test_info_and_memory(device, on_it):
    move = cuda.to_device if on_it else np.array
    a = np.stack([np.eye(3), np.diag([1.0, -1, 2]), np.diag([2.0, 1, 0])])
    _, info = lapack.dpotrf(move(a))
    assert info.dtype == np.int32 and host(info).tolist() == [0, 2, 3]
    assert host(lapack.dgetrf(move(a))[2]).tolist() == [0, 0, 3]
    assert host(lapack.dtrtri(move(a))[1]).tolist() == [0, 0, 3]
    assert host(lapack.dpotrs(move(a[:1]), move(np.ones((1, 3))))[1]).tolist() == [0]
    held = move(a[:1] * 4)
    before = host(held).copy()
    found, _ = lapack.dpotrf(held)
    assert (host(held) == before).all() and np.allclose(host(found), 2 * np.eye(3))
    found, _ = lapack.dpotrf(held, overwrite_a=1)
    assert np.allclose(host(held), 2 * np.eye(3)) and np.allclose(host(found), host(held))
    turned = move((a[:1] * 4).swapaxes(1, 2).copy()).swapaxes(1, 2)[:, ::-1, ::-1]  # in another order
    assert np.allclose(host(lapack.dpotrf(turned, overwrite_a=1)[0]), 2 * np.eye(3))
    empty, info = lapack.dpotrf(move(np.zeros((0, 3, 3))))
    assert empty.shape == (0, 3, 3) and info.shape == (0,)
    many = move(np.broadcast_to(4 * np.eye(3), (2, 2, 3, 3)).copy()).swapaxes(0, 1)  # no view with one leading axis
    assert np.allclose(host(lapack.dpotrs(many, move(np.ones((2, 2, 3, 1))))[0]), 1 / 16)


def test_repeated_calls(device):
    """Calls on the device that are recorded: new numbers, info and pivots each time, also of vectors."""
    generator = np.random.default_rng(1)
    for turn in range(5):
        a = random(generator, (3, 6, 6), "float32")
        a[turn % 3, :, 0] = 0
        *_, info = lapack.sgetrf(cuda.to_device(a))
        assert host(info).tolist() == [int(i == turn % 3) for i in range(3)]
        a[turn % 3] += 4 * np.eye(6, dtype=np.float32)
        b = random(generator, (3, 6), "float32")
        *_, x, info = lapack.sgesv(cuda.to_device(a), cuda.to_device(b), overwrite_a=turn % 2)
        assert np.allclose(np.linalg.solve(a, b[..., None])[..., 0], host(x), atol=1e-3, rtol=1e-2)
        assert host(info).tolist() == [0] * 3 and info.shape == (3,)


def test_wrong_arguments(device):
    eye = np.stack([np.eye(2)] * 3)
    for error, message, call in [
        (errors.ShapeError, "square a", lambda: lapack.dpotrf(np.ones((2, 3, 4)))),
        (errors.ShapeError, r"b has shape \(3, 4, 1\)", lambda: lapack.dpotrs(eye, np.ones((3, 4, 1)))),
        (errors.ShapeError, r"b has shape \(2, 2, 1\)", lambda: lapack.dpotrs(eye, np.ones((2, 2, 1)))),
        (errors.ShapeError, r"b has shape \(2, 1\)", lambda: lapack.dpotrs(eye, np.ones(2))),
        (errors.ShapeError, r"b has shape \(2, 2, 2\)", lambda: lapack.dpotrs(np.eye(2), np.ones((2, 2, 2)))),
        (errors.ShapeError, r"piv has shape \(2,\)", lambda: lapack.dgetrs(eye, np.arange(2), np.ones((3, 2)))),
        (errors.ShapeError, r"tau has shape \(1, 2\)", lambda: lapack.dorgqr(eye, np.ones((1, 2)))),
        (errors.ShapeError, "c has shape", lambda: lapack.dormqr("L", "N", eye, np.ones((3, 2)), np.ones((2, 2)), 1)),
    ]:
        with pytest.raises(error, match=message):
            call()
