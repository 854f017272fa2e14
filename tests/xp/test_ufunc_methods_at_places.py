"""`at` and `reduceat` of ufuncs, and `numpy.unique` along an axis, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from against_numpy import alike, changed, same
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, DTypeError, OutOfBoundsError, ShapeError

_RNG = np.random.default_rng(13)
PLACES = _RNG.integers(-6, 6, 40)
REAL = _RNG.normal(size=6)
MORE = _RNG.normal(size=40)
TABLE = _RNG.integers(0, 3, (12, 2))


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float32, np.float64])
def test_at(device, dtype):
    start, values = (REAL * 3).astype(dtype), (MORE * 3).astype(dtype)
    for ufunc in (np.add, np.subtract, np.maximum):
        changed(lambda x, i, v, f=ufunc: f.at(x, i, v), start, PLACES, values)
    changed(lambda x, i: np.add.at(x, i, 1), start, PLACES)


@pytest.mark.one_device
def test_at_of_other_functions_and_subscripts(device):
    changed(lambda x, i, v: np.divide.at(x, i, v), REAL, PLACES, MORE)
    changed(lambda x, i: np.power.at(x, i, 2), np.arange(6), np.array([1, 2, 2]))
    changed(lambda x, i: np.negative.at(x, i), REAL, np.array([1, 2, 2]))
    changed(lambda x, i: np.bitwise_xor.at(x, i, 5), np.arange(6), PLACES)
    changed(lambda x: np.add.at(x, (slice(None), [1, 1, 0]), 1.5), np.zeros((3, 2)))
    changed(lambda x: np.add.at(x.T, ([0, 1, 1], [2, 2, 2]), [1.0, 2.0, 4.0]), np.zeros((3, 2)))
    changed(lambda x: np.add.at(x, x < 0, 10), REAL)
    changed(lambda x: np.add.at(x, 2, 10), REAL)
    changed(lambda x, v: np.add.at(x, [[0, 1], [1, 1]], v), REAL, np.stack([REAL[:2]] * 2))  # NumPy errs without
    changed(lambda x, i, v: np.add.at(x, i, v), REAL.astype(np.float32), PLACES, MORE.astype(np.float32))
    with pytest.raises(DTypeError, match="cannot become int64"):
        np.add.at(cuda.to_device(np.arange(3)), [0], 0.5j)
    with pytest.raises(OutOfBoundsError):
        np.add.at(cuda.to_device(REAL), [6], 0.5)
    with pytest.raises(ShapeError):
        np.add.at(cuda.to_device(REAL), [1, 2], cuda.to_device(REAL))
    with pytest.raises(ArgumentTypeError, match="does not write"):
        np.add.at(REAL, [0], cuda.to_device(REAL[:1]))


_CAST = "? i1 u1 i4 u4 i8 u8 e f d F".split()


@pytest.mark.one_device
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("target", _CAST)
@pytest.mark.parametrize("values", ["?", "i1", "u2", "i8", "f", "d"])
def test_results_are_cast_to_the_dtype_of_the_array(device, target, values):
    """After each step, whatever is lost: sums of halves stay what they are in integers, maxima wrap."""
    start = np.arange(4).astype(target)
    places = np.repeat([0, 1, 3, 0, 1], 50)  # few, so that steps are joined where they may be
    is_float = values in "fd"
    steps = np.resize([1.5, 0.25, 0.5, 0, 1, 0.75] if is_float else [1, 300, 2, 3, 0, 70000, -1], 250)
    given = steps.astype(values if is_float else np.int64).astype(values)
    for ufunc in (np.add, np.maximum, np.minimum, np.multiply, np.logical_or, np.less, np.bitwise_xor, np.hypot):
        for few in (slice(None), slice(7)):
            where, by = places[few], given[few]
            host, found = start.copy(), cuda.to_device(start)
            try:
                with np.errstate(all="ignore"):
                    kind = ufunc(host[:1], by[:1]).dtype
                    if (kind.kind == "f" and not is_float) or ufunc is np.multiply:
                        by = by % by.dtype.type(2) if values != "?" else by  # floats beyond integers are anything
                    ufunc.at(host, where, by)
            except TypeError:
                with pytest.raises(TypeError):
                    ufunc.at(found, where, cuda.to_device(by))
                continue
            ufunc.at(found, where, cuda.to_device(by))
            np.testing.assert_allclose(found.copy_to_host(), host, rtol=5e-3 if target == "e" else 1e-5, err_msg=ufunc)


@pytest.mark.one_device
@pytest.mark.parametrize("target", _CAST)
def test_results_of_one_operand_are_cast(device, target):
    for ufunc in (np.sqrt, np.isnan, np.absolute, np.square, np.logical_not, np.exp):
        host = np.arange(2, 5).astype(target)
        found = cuda.to_device(host)
        ufunc.at(host, [0, 0, 1])
        ufunc.at(found, [0, 0, 1])
        np.testing.assert_allclose(found.copy_to_host(), host, rtol=2e-3 if target == "e" else 2e-6)


PLAIN = (
    (),
    ...,
    None,
    1,
    np.int64(-1),
    np.array(1),
    slice(1, 3),
    slice(None, None, -2),
    slice(0),
    (slice(None), 1),
    (0, ...),
)
SUBSCRIPTS = (*PLAIN, (1, 2), (None, 0), [], [1, 1], True, (slice(None), [0, 0]), (1, [0, 2, 0]), (True, 0))


@pytest.mark.one_device
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("subscript", SUBSCRIPTS, ids=repr)
def test_at_of_each_kind_of_subscript(device, subscript, order):
    start = np.arange(9.0).reshape(3, 3)
    changed(lambda x: np.add.at(x.transpose(order), subscript, 1.5), start)
    changed(lambda x: np.negative.at(x.transpose(order), subscript), start)
    changed(lambda x: np.subtract.at(x.transpose(order), subscript, x[-1, -1]), start)


@pytest.mark.one_device
@pytest.mark.parametrize("subscript", [(), ..., None, True, False], ids=repr)
def test_at_of_an_array_without_axes(device, subscript):
    changed(lambda x: np.add.at(x, subscript, 1.5), np.array(3.0))
    with pytest.raises(OutOfBoundsError):
        np.add.at(cuda.to_device(np.array(3.0)), 0, 1.5)


@pytest.mark.one_device
def test_many_at_few_places(device):
    x, places, values = np.zeros(3), _RNG.integers(0, 3, 5000), _RNG.normal(size=5000)
    found = [cuda.to_device(x), cuda.to_device(x)]
    for each in found:
        np.add.at(each, cuda.to_device(places), cuda.to_device(values))
    np.testing.assert_array_equal(*(each.copy_to_host() for each in found))  # not an order of chance
    np.add.at(x, places, values)
    alike(found[0], x, rtol=1e-10)
    for ufunc in (np.maximum, np.fmax):
        wanted, each = np.ones(3), cuda.to_device(np.ones(3))
        ufunc.at(wanted, places, values)
        ufunc.at(each, cuda.to_device(places), cuda.to_device(values))
        alike(each, wanted, rtol=1e-10)


@pytest.mark.one_device
def test_reduceat(device):
    x = _RNG.normal(size=(4, 6, 3))
    for ufunc in (np.add, np.maximum, np.subtract):
        same(lambda a, f=ufunc: [f.reduceat(a, [0, 3, 1, 5], axis=1), f.reduceat(a[0, :, 0], [2, 2, 4])], x)
    same(lambda a: [np.add.reduceat(a, [0, 2]), np.add.reduceat(a > 0, [1, 3]), np.add.reduceat(a, [])], x)
    same(lambda a: np.logical_and.reduceat(a.transpose(2, 0, 1), [0, 1], axis=-1), x)
    same(lambda a: np.add.reduceat(a, [0, 3], dtype=np.float32), x, rtol=1e-5, atol=1e-6)
    out = cuda.device_array((2, 6, 3))
    assert np.add.reduceat(cuda.to_device(x), cuda.to_device(np.array([0, 2])), out=out) is out
    alike(out, np.add.reduceat(x, [0, 2]))
    with pytest.raises(OutOfBoundsError):
        np.add.reduceat(cuda.to_device(x), [4])


@given(st.lists(st.integers(0, 8), max_size=6))
@pytest.mark.one_device
def test_any_reduceat(device, begins):
    same(lambda a: np.add.reduceat(a, np.asarray(begins, np.int64) if begins else []), np.arange(9.0))


@pytest.mark.one_device
def test_unique_along_an_axis(device):
    everything = {"return_index": True, "return_inverse": True, "return_counts": True}
    for axis in (0, 1, -1):
        same(lambda x, a=axis: np.unique(x, axis=a), TABLE)
    same(lambda x: np.unique(x, axis=0, **everything), TABLE)
    same(lambda x: np.unique(x, axis=1, **everything), _RNG.integers(0, 2, (2, 9, 2)).astype(np.int8))
    signed = np.array([[0.0, 1.0], [-0.0, 1.0], [-1.0, 2.0], [np.inf, 0.0]])
    same(lambda x: np.unique(x, axis=0, **everything), signed)
    same(lambda x: np.unique(x, axis=0), TABLE[:1])
    same(lambda x: np.unique(x, axis=0), TABLE[:, 0])


@pytest.mark.one_device
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,), (0, 0), (2, 0, 3), (0, 2, 2)], ids=str)
def test_unique_parts_of_arrays_without_elements(device, shape):
    everything = {"return_index": True, "return_inverse": True, "return_counts": True}
    for dtype in (np.int64, np.bool_, np.float32, np.complex64):
        for axis in range(-1, len(shape)):
            same(lambda x, a=axis: np.unique(x, axis=a), np.zeros(shape, dtype))
            same(lambda x, a=axis: np.unique(x, axis=a, **everything), np.zeros(shape, dtype))
            same(lambda x, a=axis: np.unique(x, axis=a, return_counts=True), np.zeros(shape, dtype))


@pytest.mark.parametrize("method", ["accumulate", "reduceat"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
@pytest.mark.parametrize("axis", [0, -1, 1, None, (), (0,), (0, 1), [0], 1.0])
def test_axes_of_methods_along_one(device, method, shape, axis):
    host = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    places = ([0],) if method == "reduceat" else ()
    for ufunc in (np.add, np.maximum, np.logical_or):
        function = getattr(ufunc, method)
        try:
            expected = function(host, *places, axis=axis)
        except (TypeError, ValueError) as error:
            kind = ValueError if isinstance(error, ValueError) else TypeError
            with pytest.raises(kind):
                function(cuda.to_device(host), *places, axis=axis)
        else:
            alike(function(cuda.to_device(host), *places, axis=axis), expected)


_LAYOUTS = {
    "rows": lambda x: x,
    "turned": lambda x: x.transpose(2, 0, 1),
    "backwards": lambda x: x[::-1, :, ::-1],
    "with gaps": lambda x: x[1:, ::2, 1:4:2],
    "turned backwards": lambda x: x[:, ::-1, ::3].T,
    "one row": lambda x: x[1],
    "a column": lambda x: x[:, 1, -1],
}
_KEYS = (
    [0, -1, 0],
    ([0, -1], [1, 1]),
    (slice(None), [-1, 0, -1]),
    ([[0], [-1]], slice(None), [0, 1, -1, 1]),
    (0, slice(None, None, -1)),
    (..., [0, 0]),
    (None, [1, 1, 0], ...),
    ([1, 0, 1], None, 0),
)


def _on_device(key):
    """The same key with device arrays for lists and host arrays."""
    if isinstance(key, tuple):
        return tuple(map(_on_device, key))
    return cuda.to_device(np.asarray(key)) if isinstance(key, list | np.ndarray) else key


@pytest.mark.one_device
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.float32, np.complex64])
def test_at_of_views_and_places_that_repeat(device, layout, dtype):
    view = _LAYOUTS[layout]
    start = np.arange(4 * 3 * 5).astype(dtype).reshape(4, 3, 5)
    for key in (*_KEYS, view(start) > 20, _RNG.integers(-1, 2, (2, 3))):
        try:
            shape = view(start)[key].shape
        except IndexError:
            continue  # too many subscripts
        values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        changed(lambda x, v, key=key: np.add.at(view(x), key, v), start, values)
        expected, found = start.copy(), cuda.to_device(start)
        np.multiply.at(view(expected), key, 2)
        np.multiply.at(view(found), _on_device(key), 2)
        alike(found, expected)
    with pytest.raises(OutOfBoundsError):
        np.add.at(view(cuda.to_device(start)), cuda.to_device(np.array([0, 5])), 1)


@pytest.mark.parametrize("key", [[5, 5], (slice(2**16, 2**16 + 2),)], ids=str)
def test_at_takes_no_memory_for_elements_that_are_not_selected(device, key, monkeypatch):
    x = cuda.to_device(np.zeros(2**20, np.int8))
    taken = []
    allocate = type(x.context).allocate
    monkeypatch.setattr(type(x.context), "allocate", lambda self, n, *more: taken.append(n) or allocate(self, n, *more))
    np.add.at(x, key, np.int8(3))
    assert sum(taken) < 2**14
    assert x[key[0]].copy_to_host().sum() == 6 if isinstance(key, tuple) else x[5] == 6
