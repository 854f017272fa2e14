"""Expressions of views: rows of strided, reversed, transposed and broadcast operands, and arrays that are rolled."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from portagpu import cuda, xp
from portagpu.device import DeviceType
from portagpu.errors import ShapeError
from portagpu.expressions import evaluation

VIEWS = {
    "middle": lambda a: a[1:-1, 1:-1],
    "columns": lambda a: a[:, 3:],
    "every other": lambda a: a[::2, ::3],
    "reversed": lambda a: a[::-1],
    "mirrored": lambda a: a[2:, ::-1],
    "transposed": lambda a: a.T,
    "column": lambda a: a[:, 2],
    "new axes": lambda a: a[:, None, 1:, None],
}


@pytest.fixture(params=["loops", "threads"])
def kind(request, device, monkeypatch):
    """The two forms of kernels: that of CPUs, and that of GPUs, which computes the same wherever it runs."""
    real = evaluation.rows_of

    def rows_of(targets, arrays, shifts, caps):
        wanted = DeviceType.GPU if request.param == "threads" else DeviceType.CPU
        return real(targets, arrays, shifts, dataclasses.replace(caps, device_type=wanted, max_work_group_size=64))

    monkeypatch.setattr(evaluation, "rows_of", rows_of)
    monkeypatch.setattr(cuda.current_context(), "expression_launches", {})
    return request.param


def values(shape, dtype=np.float32):
    return (np.arange(np.prod(shape)).reshape(shape) % 251 - 100).astype(dtype)


@pytest.mark.one_device
@pytest.mark.parametrize("name", VIEWS)
def test_views_as_numpys(kind, name):
    view = VIEWS[name]
    host = values((37, 300))
    x = cuda.to_device(host)
    found = view(x) * 2 + view(x)
    assert found.layout in ("C", "F")
    np.testing.assert_array_equal(np.asarray(found), view(host) * 2 + view(host))
    target, wanted = cuda.to_device(host), host.copy()
    view(target)[...] = view(x) - 1
    view(target)[...] *= 3
    view(wanted)[...] = (view(host) - 1) * 3
    np.testing.assert_array_equal(np.asarray(target), wanted)


@pytest.mark.one_device
@pytest.mark.parametrize("shape", [(5000,), (3, 5000), (700, 3), (2, 3, 4, 5), (1, 1), ()])
def test_operands_broadcast(kind, shape):
    """Long rows, which have parts, and short ones, of which a thread has several."""
    host = values(shape, np.float64)
    x = cuda.to_device(host)
    for axis in range(len(shape)):
        thin = tuple(slice(0, 1) if n == axis else slice(None) for n in range(len(shape)))
        np.testing.assert_array_equal(np.asarray(x - x[thin]), host - host[thin])
    np.testing.assert_array_equal(np.asarray(x + x.T.reshape(shape)), host + host.T.reshape(shape))


@pytest.mark.each_value
@pytest.mark.in_turn(1)
@pytest.mark.one_device
@pytest.mark.parametrize("shift", [0, 1, -1, 7, -303, 1000])
@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
def test_rolled_arrays_are_read_where_they_are(kind, shift, axis):
    host = values((11, 300), np.int32)
    x = cuda.to_device(host)
    rolled = xp.roll(x, shift, axis=axis)
    assert axis is None or rolled.deferred is not None
    found = x * 1000 + rolled - xp.roll(rolled, 2 * shift, axis=axis)
    wanted = np.roll(host, shift, axis)
    np.testing.assert_array_equal(np.asarray(found), host * 1000 + wanted - np.roll(wanted, 2 * shift, axis))
    np.testing.assert_array_equal(np.asarray(rolled), wanted)


@pytest.mark.one_device
def test_rolled_views_and_rows(kind):
    host = values((11, 300))
    x = cuda.to_device(host)
    for view in (lambda a: a[2:, ::-1], lambda a: a.T, lambda a: a[:, 5:9], lambda a: a[:, :1]):
        moved, wanted = xp.roll(view(x), (3, -1), axis=(0, 1)), np.roll(view(host), (3, -1), axis=(0, 1))
        np.testing.assert_array_equal(np.asarray(moved + view(x)), wanted + view(host))
    row, wanted = xp.roll(x[0], 5), np.roll(host[0], 5)
    np.testing.assert_array_equal(np.asarray(x - row), host - wanted)
    np.testing.assert_array_equal(np.asarray(xp.roll(x[:, :1], 4, axis=0) - x), np.roll(host[:, :1], 4, 0) - host)


@pytest.mark.one_device
def test_what_was_rolled_may_change_then(device):
    host = values((40, 30), np.int64)
    x = cuda.to_device(host)
    rolled = xp.roll(x, 1, axis=1)
    x[:, 3] = 7
    np.testing.assert_array_equal(np.asarray(rolled), np.roll(host, 1, 1))
    wanted = np.asarray(x)
    x += xp.roll(x, 1, axis=0)  # elements of the target are read elsewhere
    wanted += np.roll(wanted, 1, 0)
    np.testing.assert_array_equal(np.asarray(x), wanted)
    assert int(xp.sum(xp.roll(x, 1, axis=0) * x)) == int((np.roll(wanted, 1, 0) * wanted).sum())
    assert xp.roll(x[:, :0], 1, axis=1).shape == (40, 0)


@pytest.mark.one_device
def test_rolled_many_times_without_a_look(device):
    """Expressions do not grow without end."""
    x, wanted = cuda.to_device(values(500)), values(500)
    for _ in range(300):
        x, wanted = (xp.roll(x, 1) + x) / 2, (np.roll(wanted, 1) + wanted) / 2
    np.testing.assert_allclose(np.asarray(x), wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.one_device
def test_parts_of_an_array_are_assigned_to_others(device):
    host = values((50, 60))
    x = cuda.to_device(host)
    for key, source in [(np.s_[0, :], np.s_[-2, :]), (np.s_[:, -1], np.s_[:, 1]), (np.s_[1:], np.s_[:-1])]:
        x[key] = x[source]
        host[key] = host[source]
    x[:, 2:] -= x[:, :-2]
    host[:, 2:] -= host[:, :-2]
    np.testing.assert_array_equal(np.asarray(x), host)
    with pytest.raises(ShapeError):
        x[1:] = x[:, 1:]


@pytest.mark.one_device
def test_numbers_are_assigned_without_waiting(device, monkeypatch):
    host = values((50, 60))
    x = cuda.to_device(host)
    calls = []
    with monkeypatch.context() as patch:
        patch.setattr(type(x.context.default_stream), "synchronize", lambda self: calls.append(1))
        x[3, 4] = 2
        x[:, 5] = np.float32(1.5)
        x[1:3] += 1
    assert not calls
    host[3, 4], host[:, 5] = 2, 1.5
    host[1:3] += 1
    np.testing.assert_array_equal(np.asarray(x), host)


@pytest.mark.one_device
def test_what_is_read_has_nothing_else_computed(device):
    x = cuda.to_device(values((30, 40)))
    other, row = x * 2 + 1, x[3] * 2
    assert float(xp.sum(x - x)) == 0
    assert x[3, 4] == values((30, 40))[3, 4] and row[5] == 2 * values((30, 40))[3, 5]
    assert other.deferred is not None
    x[3, 4] = 1000  # which the other does not see
    np.testing.assert_array_equal(np.asarray(other), values((30, 40)) * 2 + 1)


@pytest.mark.one_device
def test_slices_in_place_are_one_launch(device, monkeypatch):
    x = cuda.to_device(values((30, 40)))
    launches = []
    real = evaluation.ReadyLaunch.again

    def again(self, stream, args):
        launches.append(args)
        return real(self, stream, args)

    monkeypatch.setattr(evaluation.ReadyLaunch, "again", again)
    x[1:, 2:] += 3
    x[:, 1:] *= 2
    assert len(launches) == 2
