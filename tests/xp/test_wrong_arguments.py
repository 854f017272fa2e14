"""Wrong and unusual arguments of NumPy's functions: errors of NumPy's kinds, all of them ours, and NumPy's results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda, errors

_KINDS = (TypeError, ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError)
_ARRAYS = {
    "matrix": np.arange(6.0, dtype=np.float32).reshape(2, 3),
    "vector": np.asarray([3, 1, 2]),
    "nothing": np.zeros((0, 3), np.float32),
    "number": np.asarray(2.0, np.float32),
}
_ALONG_SOME = "sum prod max min any all ptp nansum nanmax count_nonzero mean std median nanmedian flip".split()
_ALONG_ONE = "argmax argmin cumsum cumprod diff sort argsort cumulative_sum nancumsum nanargmax unstack".split()
_AXES = [None, 0, 1, -1, 5, -4, (0, 1), (0, 0), (0, 5), (), 1.0, (1.0,), "a", [0], np.int64(0)]


def _outcome(call):
    try:
        found = call()
    except Exception as error:
        return error
    return found


def _check(what, call, host):
    with np.errstate(all="ignore"):
        wanted = _outcome(lambda: call(host))
    found = _outcome(lambda: call(cuda.to_device(host)))
    if not isinstance(wanted, Exception):
        assert not isinstance(found, Exception), f"{what}: {found!r}"
        for x, y in zip(*(x if isinstance(x, tuple | list) else [x] for x in (found, wanted)), strict=True):
            assert x.shape == np.shape(y), what
            np.testing.assert_allclose(x.copy_to_host(), y, rtol=1e-5, err_msg=what)
        return
    assert isinstance(found, errors.PortaGPUError), f"{what}: {found!r} for {wanted!r}"
    kinds = [kind for kind in _KINDS if isinstance(wanted, kind)]
    assert all(isinstance(found, kind) for kind in kinds), f"{what}: {found!r} for {wanted!r}"


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*_ALONG_SOME, *_ALONG_ONE])
def test_axes(device, name):
    function = getattr(np, name)
    for array, axis in itertools.product(_ARRAYS, _AXES):
        host = _ARRAYS[array]
        if not host.size and name in ("max", "min", "ptp", "nanmax", "argmax", "argmin", "nanargmax", "std", "median"):
            continue  # of nothing, the order of NumPy's checks decides
        if not host.ndim and (axis is None or name in ("unstack", "nanargmax", "mean", "std", "median", "nanmedian")):
            continue
        if isinstance(axis, tuple) and name in ("unstack", "cumulative_sum"):
            continue  # NumPy sees first which of them there are
        if isinstance(axis, list) or (repr(axis) == "()" and name in ("std", "nanmedian")):
            continue  # lists are axes here
        _check(f"{name}({array}, axis={axis!r})", lambda x, axis=axis: function(x, axis=axis), host)


_CALLS = {
    "float32 matrix": {
        "average without a sum": lambda x: np.average(x, axis=1, weights=[1, -1, 0]),
        "average of no weight": lambda x: np.average(x, weights=np.zeros((2, 3))),
        "average of others": lambda x: np.average(x, weights=[1, 2, 3]),
        "average along others": lambda x: np.average(x, axis=0, weights=[1, 2, 3]),
        "lstsq of many": lambda x: np.linalg.lstsq(x[None], x[0]),
        "lstsq of many sides": lambda x: np.linalg.lstsq(x, x[None]),
        "lstsq of a vector": lambda x: np.linalg.lstsq(x[0], x[0]),
        "lstsq of other rows": lambda x: np.linalg.lstsq(x, x[0]),
        "inv": np.linalg.inv,
        "inv of a vector": lambda x: np.linalg.inv(x[0]),
        "svd of a vector": lambda x: np.linalg.svd(x[0]),
        "tensorinv": lambda x: np.linalg.tensorinv(x, ind=1),
        "digitize": lambda x: np.digitize(x, np.asarray([1.0, 3.0, 2.0])),
        "digitize falling": lambda x: np.digitize(x, np.asarray([4.0, 4.0, 2.0])),
        "digitize level": lambda x: np.digitize(x, np.asarray([2.0, 2.0])),
        "compress": lambda x: np.compress(x > 1, x),
        "extract": lambda x: np.extract([0, 1, 1], x),
        "extract beyond": lambda x: np.extract([0] * 6 + [1], x),
        "take bools": lambda x: np.take(x, x[0] > 1),
        "take at floats": lambda x: np.take(x, x[0]),
        "take along axes at floats": lambda x: np.take_along_axis(x, x, 0),
        "subscripts that are floats": lambda x: x[x],
        "a float as a subscript": lambda x: x[1.5],
        "a name": lambda x: x["a"],
        "tile": lambda x: np.tile(x, [0.5]),
        "tile by text": lambda x: np.tile(x, "a"),
        "roll": lambda x: np.roll(x, (1, 2)),
        "roll along one": lambda x: np.roll(x, (1, 1), axis=1),
        "roll along three": lambda x: np.roll(x, (1, 1, 2), axis=(0, 1)),
        "roll by text": lambda x: np.roll(x, "a"),
        "split": lambda x: np.split(x, 4),
        "split at a float": lambda x: np.split(x, [0.5]),
        "split into none": lambda x: np.array_split(x, 0),
        "split by text": lambda x: np.array_split(x, "ab"),
        "round": lambda x: np.round(x, 1.5),
        "partition": lambda x: np.partition(x, 1.5),
        "partition beyond": lambda x: np.partition(x, 7),
        "insert": lambda x: np.insert(x, 1.5, 0),
        "insert beyond": lambda x: np.insert(x, 9, 0),
        "tensordot": lambda x: np.tensordot(x, x, 3),
        "tensordot of a float": lambda x: np.tensordot(x, x, 1.5),
        "tensordot of one": lambda x: np.tensordot(x, x, (0,)),
        "fftn": lambda x: np.fft.fftn(x[0], s=(2, 2)),
        "reshape": lambda x: np.reshape(x, (3.0, 2)),
        "reshape to others": lambda x: np.reshape(x, (4, 2)),
        "transpose": lambda x: np.transpose(x, (0, "a")),
        "transpose of others": lambda x: np.transpose(x, (0, 5)),
        "squeeze": lambda x: np.squeeze(x, axis=1.0),
        "expand_dims": lambda x: np.expand_dims(x, 1.5),
        "swapaxes": lambda x: np.swapaxes(x, 0, "a"),
        "stack": lambda x: np.stack([x, x], axis=1.0),
        "concatenate": lambda x: np.concatenate([x, x], axis=5),
        "correlate": lambda x: np.correlate(x[0], x[0, 0:1].reshape(())),
        "interp": lambda x: np.interp(x, x[0] + 1j, x[0]),
        "pad": lambda x: np.pad(x, -1),
        "pad by floats": lambda x: np.pad(x, 1.5),
        "diff": lambda x: np.diff(x, n=1.5),
        "diff less than once": lambda x: np.diff(x, n=-1),
        "polyfit": lambda x: np.polyfit(x[0], x[0], "a"),
        "quantile": lambda x: np.quantile(x, 1.5),
        "quantile by none": lambda x: np.quantile(x, None),
        "tril": lambda x: np.tril(x[1]),
        "triu": lambda x: np.triu(x[1], 1),
        "median of none": lambda x: np.median(x[:0], axis=0),
        "median of nothing": lambda x: np.nanmedian(x[:0]),
        "einsum": lambda x: np.einsum("ij,k->k", x, x),
        "histogram": lambda x: np.histogram(x, -1),
        "vander": lambda x: np.vander(x[0], 1.5),
        "norm": lambda x: np.linalg.norm(x, "x"),
        "repeat by floats": lambda x: np.repeat(x[0], x[0]),
        "trim_zeros along an array of axes": lambda x: np.trim_zeros(x, axis=np.array([0, 1])),
        "isin by a table of a list": lambda x: np.isin(x.astype(int), [1.5], kind="table"),
        "isin by a table of floats": lambda x: np.isin(x, x, kind="table"),
        "std of whole numbers": lambda x: np.std(x, 0, out=np.zeros_like(x[0], dtype=np.int32)),
        "repeat by uint64": lambda x: np.repeat(x, np.array([1, 2, 0], np.uint64), axis=1),
        "trim_zeros along axes": lambda x: np.trim_zeros(x, axis=(0, 0)),
        "trim_zeros along an axis": lambda x: np.trim_zeros(x, axis=1),
        "digitize among complex numbers": lambda x: np.digitize(x, [1j, 2]),
        "cov of no weights": lambda x: np.cov(x, fweights=[0, 0, 0]),
        "cov of weights that are nothing together": lambda x: np.cov(x, aweights=[0.0, 0, 0]),
        "cov of columns": lambda x: np.cov(x, x[:, 0:1], rowvar=False),
        "cov with a row": lambda x: np.cov(x[0], x[1:2], rowvar=False),
        "cov with a vector": lambda x: np.cov(x[0], x[1], rowvar=False),
    },
    "int64 vector": {
        "bincount": lambda x: np.bincount(x[:0], weights=x[:0] * 1.5),
        "bincount to a length": lambda x: np.bincount(x[:0], weights=x[:0] * 1.5, minlength=4),
        "intersect1d": lambda x: np.intersect1d(x, x * 1.0),
        "intersect1d at places": lambda x: np.intersect1d(x, x * 1.0, return_indices=True),
        "gradient of bools": lambda x: np.gradient(x > 1),
        "ediff1d of bools": lambda x: np.ediff1d(x > 1),
        "split by 2": lambda x: np.split(x, 2),
        "geomspace": lambda x: np.geomspace(x, 2, 4),
        "geomspace to zero": lambda x: np.geomspace(2, x - 1, 4),
        "geomspace from zero": lambda x: np.geomspace(x - 1, x, 4),
        "trim_zeros": lambda x: np.trim_zeros(x, "x"),
        "packbits": lambda x: np.packbits(x > 1, bitorder="x"),
        "unpackbits": lambda x: np.unpackbits(x.astype(np.uint8), bitorder="x"),
        "convolve": lambda x: np.convolve(x, x, "x"),
        "repeat by bools": lambda x: np.repeat(x, [True, False, True]),
        "repeat by bools on the device": lambda x: np.repeat(x, x > 1),
        "round bools to tens": lambda x: np.round(x > 1, -1),
        "unravel_index in another order": lambda x: np.unravel_index(x, (2, 3), order="K"),
        "unpackbits to less than nothing": lambda x: np.unpackbits(x.astype(np.uint8), count=-30),
        "unpackbits to less": lambda x: np.unpackbits(x.astype(np.uint8), count=-24),
        "trim_zeros twice at the front": lambda x: np.trim_zeros(x, "ff"),
        "meshgrid": lambda x: np.meshgrid(x, x, indexing="x", sparse=True),
        "isin": lambda x: np.isin(x, x, kind="x"),
        "isin by a table": lambda x: np.isin(x, x, kind="table"),
        "tile by an array": lambda x: np.tile(x, np.array([2, 1])),
        "split at an array": lambda x: np.split(x, np.array([1, 2])),
        "roll by an array": lambda x: np.roll(x, np.array([1]), np.array([0])),
    },
}


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, calls in _CALLS.items() for name in calls])
def test_calls(device, kind, name):
    host = _ARRAYS["matrix" if kind == "float32 matrix" else "vector"]
    _check(name, _CALLS[kind][name], host)


@pytest.mark.one_device
def test_dtypes_of_what_is_nothing(device):
    x, floats = cuda.to_device(np.zeros(0, np.int64)), cuda.to_device(np.zeros(0, np.float32))
    assert np.bincount(x, weights=floats, minlength=3).dtype == np.int64
    assert np.intersect1d(cuda.to_device(np.arange(3)), floats).dtype == np.float64


@pytest.mark.one_device
def test_errors_of_a_programs_functions_are_its_own(device):
    def wrong(*_):
        raise ValueError("mine")

    x = cuda.to_device(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    for call in (
        lambda: np.apply_along_axis(wrong, 0, x),
        lambda: np.piecewise(x, [x > 1], [wrong]),
        lambda: np.pad(x, 1, wrong),
    ):
        with pytest.raises(ValueError, match="mine") as caught:
            call()
        assert type(caught.value) is ValueError


@pytest.mark.one_device
def test_places_of_splits_on_the_device(device):
    host = np.arange(12).reshape(3, 4)
    x, at = cuda.to_device(host), np.array([1, 2])
    for split in (np.vsplit, np.hsplit, np.array_split):
        for found, wanted in zip(split(x, cuda.to_device(at)), split(host, at), strict=True):
            np.testing.assert_array_equal(found.copy_to_host(), wanted)


@pytest.mark.one_device
def test_orders_of_empty(device):
    x = cuda.to_device(np.arange(3))
    for order, kind in itertools.product("CF", (np.float32, "i2", bool)):
        found, wanted = np.empty((2, 3), kind, order=order, like=x), np.empty((2, 3), kind, order=order)
        assert (found.strides, found.dtype) == (wanted.strides, wanted.dtype)
    with pytest.raises(errors.ShapeError, match="order"):
        np.empty(3, order="K", like=x)
