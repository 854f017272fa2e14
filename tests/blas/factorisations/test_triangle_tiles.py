"""Triangles that are cleared, copied and subtracted, identities and conversions: tile by tile, with one thread or many,
whichever the device would have; nothing else is written."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.blas.factorisations import refinement, triangle_update, triangles
from portagpu.blas.level3 import triangles as level3_triangles
from portagpu.blas.level3.tiles import Threads
from portagpu.runtime.execution.stream import as_stream

pytestmark = [pytest.mark.oclgrind, pytest.mark.one_device, pytest.mark.each_value]
SHAPES = ((1, 1), (5, 3), (32, 32), (33, 70), (65, 40))
CANARY = 77.0


@pytest.fixture(params=[Threads(32, 4), Threads(16, 1), Threads(1, 1)], ids=str)
def threads(request, monkeypatch):
    for module in (refinement, triangle_update, triangles, level3_triangles):
        monkeypatch.setattr(module, "threads_for", lambda caps: request.param)


def _inside(n, m, order):
    """Two matrices within larger ones, in rows or in columns: a view, and the whole in which it is."""
    shape = (2, n + 2, m + 3) if order == "C" else (2, m + 3, n + 2)
    whole = cuda.to_device(np.full(shape, CANARY))
    return (whole if order == "C" else whole.transpose((0, 2, 1)))[:, 1 : n + 1, 2 : m + 2], whole


def _unchanged(whole, view):
    """Whether nothing beyond the view is other than it was."""
    view.copy_to_device(np.full(view.shape, CANARY))
    return (whole.copy_to_host() == CANARY).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_cleared(device, threads, order):
    for turn, (n, m) in enumerate(SHAPES):
        generator = np.random.default_rng(turn)
        given = generator.standard_normal((2, n, m))
        for lower in (True, False):
            view, whole = _inside(n, m, order)
            view.copy_to_device(given)
            triangles.clear_beyond(view, as_stream(None, view.context), lower=lower, unit_diagonal=turn % 2 == 0)
            wanted = np.tril(given) if lower else np.triu(given)
            if turn % 2 == 0:
                wanted[:, range(min(n, m)), range(min(n, m))] = 1
            assert np.array_equal(view.copy_to_host(), wanted) and _unchanged(whole, view)


@pytest.mark.parametrize("order", ["C", "F"])
def test_identity_and_conversion(device, threads, order):
    for turn, (n, m) in enumerate(SHAPES):
        view, whole = _inside(n, m, order)
        stream = as_stream(None, view.context)
        level3_triangles.identity(view, stream)
        assert np.array_equal(view.copy_to_host(), np.broadcast_to(np.eye(n, m), (2, n, m)))
        low = np.random.default_rng(turn).standard_normal((2, n, m)).astype(np.float32)
        refinement._convert(cuda.to_device(low), view, stream, adds=True)
        assert np.array_equal(view.copy_to_host(), np.eye(n, m) + low) and _unchanged(whole, view)


@pytest.mark.parametrize("orders", ["CC", "CF", "FF"])
def test_copied(device, threads, orders):
    for turn, n in enumerate((1, 31, 33, 70)):
        given = np.random.default_rng(turn).standard_normal((2, n, n))
        for lower in (True, False):
            (source, _), (target, whole) = _inside(n, n, orders[0]), _inside(n, n, orders[1])
            source.copy_to_device(given)
            diagonal = turn % 2 == 0
            triangles.copy_triangle(source, target, as_stream(None, target.context), lower=lower, diagonal=diagonal)
            part = np.tri(n, n, 0 if diagonal else -1, dtype=bool)
            wanted = np.where(part if lower else part.T, given, CANARY)
            assert np.array_equal(target.copy_to_host(), wanted) and _unchanged(whole, target)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("order", ["C", "F"])
def test_subtracted(device, threads, order, dtype):
    """By whole products, of which a triangle counts: in a batch, and in squares on one matrix's diagonal."""
    generator = np.random.default_rng(3)
    for shape, k, size in (((2, 70, 70), 3, 32), ((70, 70), 5, 33)):
        c = np.full(shape, CANARY, dtype)
        x = generator.standard_normal((*shape[:-1], k)).astype(dtype)
        if dtype == np.complex128:
            x += 1j * generator.standard_normal(x.shape)
        y = np.conj(np.swapaxes(x, -1, -2))
        there = cuda.to_device(c if order == "C" else np.swapaxes(c, -1, -2).copy())
        there = there if order == "C" else there.transpose((*range(there.ndim - 2), there.ndim - 1, there.ndim - 2))
        update = triangle_update._subtract_from_batch if len(shape) == 3 else triangle_update.subtract_product
        update(there, cuda.to_device(x), cuda.to_device(y), as_stream(None, there.context), size)
        found, wanted = there.copy_to_host(), c - x @ y
        lower = np.tri(shape[-1], dtype=bool)
        assert np.allclose(found[..., lower], wanted[..., lower])
        assert dtype == np.float64 or not np.diagonal(found, axis1=-2, axis2=-1).imag.any()
        assert (found[..., ~lower] == CANARY).all()
