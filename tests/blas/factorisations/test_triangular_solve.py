"""Triangular systems on device arrays, all orders and options, against higher precision."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matrices_in_memory import Placed, only_triangle, random

from portagpu.blas.level3.diagonal_inverses import Inversion, diagonal_inverses
from portagpu.blas.level3.substitution import Substitution
from portagpu.blas.level3.triangular_solve import solve_triangular


@pytest.fixture(params=["shared", "quads", "own"])
def memory(request, device, monkeypatch):
    """Kernels as for devices with shared memory, for those with warps, too, or without either."""
    for kind in (Substitution, Inversion):
        predict = kind.predict.__func__

        def chosen(cls, caps, *args, _predict=predict):
            is_shared, has_warps = request.param != "own", request.param == "quads"
            caps = dataclasses.replace(caps, local_memory_dedicated=is_shared, warp_instructions=has_warps)
            found = _predict(cls, caps, *args)
            return dataclasses.replace(found, rows=16) if getattr(found, "quads", False) else found

        monkeypatch.setattr(kind, "predict", classmethod(chosen))
    return request.param


SIZES = [(1, 1), (3, 40), (8, 5), (64, 33), (65, 40), (130, 70), (257, 33), (600, 9)]


def check(n, m, dtype, orders, stream, *, lower, batch=(), shared=False, alpha=1.0, unit=False, conjugate=False):
    generator = np.random.default_rng(n + m)
    a = random(generator, (*(() if shared else batch), n, n), dtype) / np.sqrt(n).astype(np.float32)
    a += 2 * np.eye(n, dtype=a.dtype)
    b = random(generator, (*batch, n, m), dtype)
    triangle = only_triangle(a, lower, 0)
    given = only_triangle(a, lower)
    if unit:
        given[..., range(n), range(n)] = np.nan
        triangle[..., range(n), range(n)] = 1
    left, right = Placed(given.astype(dtype), orders[0]), Placed(b, orders[1])
    solve_triangular(left.array, right.array, stream, lower=lower, unit_diagonal=unit, conjugate=conjugate, alpha=alpha)
    x = right.found()
    assert x.dtype == dtype
    np.testing.assert_array_equal(left.found(), given)
    t = triangle.conj() if conjugate else triangle
    wide = np.longdouble if np.dtype(dtype).kind == "f" else np.clongdouble
    error = np.abs(t.astype(wide) @ x - alpha * b.astype(wide))
    bound = np.abs(t) @ np.abs(x) + abs(alpha) * np.abs(b)
    assert np.all(error <= 16 * np.finfo(dtype).eps * bound)


@pytest.mark.each_value(thorough=True)
@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("orders", ["CC", "FF", "CF", "FC"])
@pytest.mark.parametrize("unit, conjugate", [(False, False), (True, False), (False, True)])
def test_solutions(device, memory, stream, dtype, lower, orders, unit, conjugate, share):
    for n, m in share(SIZES, dtype in ("float32", "complex64")):
        alpha = 1.0 if n % 2 else -1.5
        check(n, m, dtype, orders, stream, lower=lower, alpha=alpha, unit=unit, conjugate=conjugate)


@pytest.mark.one_device(fast=True)
@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("shared", [False, True])
def test_batches(device, memory, stream, dtype, shared):
    for n, m, count in [(5, 3, 1), (16, 16, 37), (33, 17, 5), (70, 2, 3)]:
        check(n, m, dtype, "CF", stream, lower=False, batch=(count,), shared=shared, alpha=2.0)


@pytest.mark.oclgrind
@pytest.mark.parametrize("orders", ["CC", "FF"])
def test_small(device, memory, stream, orders):
    """Every way to read and write, at sizes that a simulator runs."""
    for n, m, batch in [(11, 5, ()), (9, 3, (3,)), (18, 34, ())]:
        check(n, m, "float32", orders, stream, lower=True, batch=batch)
    check(7, 5, "complex64", orders, stream, lower=False, conjugate=True)


@pytest.mark.oclgrind
@pytest.mark.parametrize("lower", [True, False])
def test_inverses_of_blocks(device, stream, lower):
    """Of small blocks, as those of 512 rows are made; what is beyond the triangle, and ones, are not read."""
    n, rows = 48, 16
    a = random(np.random.default_rng(0), (n, n), "float32") / 10 + np.eye(n, dtype="float32")
    given = only_triangle(a, lower)
    given[range(n), range(n)] = np.nan
    placed = Placed(given, "F")
    by = Substitution.predict(device.capabilities, 4, 4, 1, np.dtype("float32"))
    how = Inversion(least=4, rows=rows, blocks=n // rows)
    found = diagonal_inverses(placed.array, stream, how, by, lower=lower, unit=True).copy_to_host()
    triangle = only_triangle(a, lower, 0).astype(np.float64)
    triangle[range(n), range(n)] = 1
    for i, inverse in enumerate(found):
        block = triangle[i * rows : (i + 1) * rows, i * rows : (i + 1) * rows]
        np.testing.assert_allclose(inverse, np.linalg.inv(block), atol=1e-5)
        np.testing.assert_array_equal(inverse, only_triangle(inverse, lower, 0))


@pytest.mark.one_device
def test_zeros_on_the_diagonal(device, memory, stream):
    """Rows that are found before the zero's are right, and none is infinite or NaN for nothing."""
    n, place = 300, 150
    a = np.tri(n, dtype=np.float32) / n + np.eye(n, dtype=np.float32)
    b = np.ones((n, 2), np.float32)
    a[place, place] = 0
    left, right = Placed(a, "F"), Placed(b, "F")
    solve_triangular(left.array, right.array, stream, lower=True)
    x = right.found()
    np.testing.assert_allclose(a[:place, :place] @ x[:place], b[:place], rtol=1e-5)
    assert not np.isfinite(x[place:]).any()


@pytest.mark.one_device
def test_nothing_to_do(device, stream):
    """No rows or columns; a factor of zero reads nothing, and a zero on the diagonal divides."""
    for n, m in [(0, 3), (3, 0)]:
        left, right = Placed(np.full((n, n), np.nan), "C"), Placed(np.ones((n, m)), "C")
        solve_triangular(left.array, right.array, stream, lower=True)
        assert right.found().shape == (n, m)
    left, right = Placed(np.full((3, 3), np.nan), "C"), Placed(np.full((3, 2), np.nan), "C")
    solve_triangular(left.array, right.array, stream, lower=True, alpha=0.0)
    assert np.all(right.found() == 0)
    left, right = Placed(np.zeros((2, 2)), "C"), Placed(np.ones((2, 1)), "C")
    solve_triangular(left.array, right.array, stream, lower=True)
    assert not np.any(np.isfinite(right.found()))
