"""Results are on the device of the operands that are on one, whichever device is the current one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda, errors, xp

_HOST, _PLACES = np.asarray([1.0, 2.0, 3.0], np.float32), np.asarray([2, 0])
_ON_BOTH = {  # of an array, and of one on the host, in either order
    "add": lambda x, y: xp.add(x, y),
    "less": lambda x, y: np.less(x, y),
    "clip": lambda x, y: xp.clip(x, y, None),
    "where": lambda x, y: xp.where(x > 1, x, y),
    "concat": lambda x, y: xp.concat([x, y]),
    "stack": lambda x, y: xp.stack([x, y]),
    "broadcast_arrays": lambda x, y: xp.broadcast_arrays(x, y),
    "meshgrid": lambda x, y: xp.meshgrid(x, y),
    "isin": lambda x, y: xp.isin(x, y),
    "searchsorted": lambda x, y: xp.searchsorted(x, y),
    "diff": lambda x, y: [xp.diff(x, append=y), xp.diff(x, prepend=y), xp.diff(x, prepend=y, append=y)],
    "vecdot": lambda x, y: xp.vecdot(x, y),
    "matmul": lambda x, y: xp.matmul(x, y),
    "tensordot": lambda x, y: xp.tensordot(x, y, axes=0),
    "outer": lambda x, y: xp.linalg.outer(x, y),
    "cross": lambda x, y: xp.linalg.cross(x, y),
}
_OF_PLACES = {
    "take": lambda x, i: xp.take(x, i),
    "take_along_axis": lambda x, i: xp.take_along_axis(x, i),
    "repeat": lambda x, i: xp.repeat(x[:2], i),
}
_OF_ONE = {
    "numbers": lambda x: [x + 1, 2 * x, xp.maximum(x, 2), xp.where(x > 1, 1.0, 2.0), xp.clip(x, 1, 2)],
    "sought": lambda x: [xp.searchsorted(x, 2), xp.searchsorted(x, 2.5, sorter=np.arange(3))],
    "sets": lambda x: [xp.isin(x, 2), xp.isin(2, x), xp.isin(x, []), xp.isin([], x)],
    "like": lambda x: [xp.zeros_like(x), xp.full_like(x, 2), xp.empty_like(x), xp.asarray(x), xp.astype(x, xp.int32)],
    "lists": lambda x: [xp.asarray([x[:1], x[1:2]]), xp.asarray(([x], [x]), dtype=xp.int32)],
    "reduced": lambda x: [xp.sum(x), xp.sum(x[:0]), xp.argmax(x), xp.any(x), xp.unique_values(x), *xp.nonzero(x)],
    "solved": lambda x: [xp.linalg.solve(np.diag(_HOST), x), xp.linalg.solve(x * np.eye(3, dtype=np.float32), _HOST)],
    "subscripts": lambda x: [x[_PLACES], x[_HOST > 1], x[1:]],
}


@pytest.fixture
def other(device):
    """A device that is not the current one."""
    found = [each for each in xp.__array_namespace_info__().devices() if each is not device]
    if not found:
        pytest.skip("there is one device")
    assert xp.__array_namespace_info__().default_device() is device
    return found[0]


def _check(found, device, wanted):
    ours, theirs = ((x,) if not isinstance(x, tuple | list) else x for x in (found, wanted))
    for x, y in itertools.zip_longest(ours, theirs):
        assert x.device is device
        np.testing.assert_allclose(x.copy_to_host(), y, rtol=1e-6)


@pytest.mark.one_device
@pytest.mark.parametrize("name", [*_ON_BOTH, *_OF_PLACES])
def test_results_with_operands_of_the_host(other, name):
    host = _HOST if name in _ON_BOTH else _PLACES
    call = {**_ON_BOTH, **_OF_PLACES}[name]
    x, y = xp.asarray(_HOST, device=other), xp.asarray(host, device=other)
    wanted = call(x, y)
    wanted = [x.copy_to_host() for x in (wanted if isinstance(wanted, tuple | list) else [wanted])]
    _check(call(x, host), other, wanted)
    _check(call(_HOST, y), other, wanted)


@pytest.mark.one_device
@pytest.mark.parametrize("name", _OF_ONE)
def test_results_of_an_array(other, name):
    for found in _OF_ONE[name](xp.asarray(_HOST, device=other)):
        assert found.device is other


@pytest.mark.one_device
def test_operands_on_two_devices(device, other):
    here, there = cuda.to_device(_HOST), xp.asarray(_HOST, device=other)
    for name, call in _ON_BOTH.items():
        if name in ("broadcast_arrays", "meshgrid"):  # each of their results is of one operand
            continue
        with pytest.raises(errors.ArgumentTypeError):
            call(here, there)
            pytest.fail(name)


@pytest.mark.one_device
def test_results_are_not_written_to_another_device(device, other):
    here, there = cuda.to_device(_HOST), xp.asarray(_HOST, device=other)
    one = xp.zeros((), device=other, dtype=xp.float32)
    for name, call in {
        "add": lambda: np.add(here, 1, out=there),
        "sum": lambda: np.sum(here, out=one),
        "cumsum": lambda: np.cumsum(here, out=there),
        "max": lambda: np.max(here, out=one),
        "+=": lambda: there.__iadd__(here),
        "sin": lambda: xp.sin(here, out=there),
    }.items():
        with pytest.raises(errors.ArgumentTypeError):
            call()
            pytest.fail(name)
    there[...] = here * 2
    np.testing.assert_array_equal(there.copy_to_host(), _HOST * 2)


@pytest.mark.one_device
def test_devices_are_named_by_records_selectors_and_gpus(device, other):
    x = cuda.to_device(_HOST)
    gpus = [each for each in cuda.gpus if each.record is other]  # those of the back end in use
    for named in (*gpus, other, cuda.Device(other), other.selector):
        for made in (
            x.to_device(named),
            xp.asarray(x, device=named),
            xp.zeros(2, device=named),
            xp.empty_like(x, device=named),
            np.empty_like(x, device=named),
            np.zeros_like(x, device=named),
        ):
            assert made.device is other
    assert x.to_device(cuda.get_current_device()) is x
    for wrong in (1.5, None.__class__, [other]):
        with pytest.raises(errors.ArgumentTypeError, match="device= is a device"):
            x.to_device(wrong)
