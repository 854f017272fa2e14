"""``out=`` of NumPy's functions: it has the shape of the result, and is on the device; operands may be on the host."""

from __future__ import annotations

import dataclasses
import itertools

import ml_dtypes
import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import DTypeError

FUNCTIONS = {
    "take": lambda x, out: np.take(x, [0], 0, out=out),
    "take clip": lambda x, out: np.take(x, [0], 0, out=out, mode="clip"),
    "compress": lambda x, out: np.compress([True], x, 0, out=out),
    "compress flat": lambda x, out: np.compress([False, True], x, out=out),
    "choose": lambda x, out: np.choose((x > 3).astype(int), (x, -x), out=out),
    "concatenate": lambda x, out: np.concatenate((x, x), out=out),
    "stack": lambda x, out: np.stack((x, x), out=out),
    "trace": lambda x, out: np.trace(x, out=out),
    "round": lambda x, out: np.round(x, 1, out=out),
    "round to whole numbers": lambda x, out: np.round(x, out=out),
    "median": lambda x, out: np.median(x, 0, out=out),
    "quantile": lambda x, out: np.quantile(x, 0.5, 0, out=out),
    "nanpercentile": lambda x, out: np.nanpercentile(x, [30, 40], 0, out=out),
    "sum": lambda x, out: np.sum(x, 0, out=out),
    "nanmean": lambda x, out: np.nanmean(x, 0, out=out),
    "var": lambda x, out: np.var(x, 0, out=out),
    "nanvar": lambda x, out: np.nanvar(x, 0, out=out),
    "nanstd": lambda x, out: np.nanstd(x, 0, out=out),
    "cumsum": lambda x, out: np.cumsum(x, 1, out=out),
    "cumulative_sum": lambda x, out: np.cumulative_sum(x, axis=1, out=out),
    "einsum": lambda x, out: np.einsum("ij,ij->j", x, x, out=out),
    "fft": lambda x, out: np.fft.rfft(x, out=out),
    "argmax": lambda x, out: np.argmax(x, 0, out=out),
    "nanargmax": lambda x, out: np.nanargmax(x, 0, out=out),
    "fix": lambda x, out: np.fix(x, out=out),
    "isposinf": lambda x, out: np.isposinf(x, out=out),
    "clip": lambda x, out: np.clip(x, 2, 3, out=out),
    "add": lambda x, out: np.add(x, x, out=out),
}
BROADCASTS = ("clip", "add", "fix", "isposinf")
"""Functions of elements, whose operands NumPy broadcasts to the shape of ``out=``."""
HOST = np.arange(5.0)[None]


@pytest.mark.one_device
@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_and_memory(device, name):
    function = FUNCTIONS[name]
    expected = np.trunc(HOST) if name == "fix" else np.asarray(function(HOST, None))  # NumPy 2.5 warns of np.fix
    for x in (HOST, cuda.to_device(HOST)):
        out = cuda.to_device(np.zeros_like(expected))
        assert function(x, out) is out
        np.testing.assert_allclose(out.copy_to_host(), expected, rtol=1e-14)
    others = [(2, *expected.shape), (1, *expected.shape), tuple(3 if n == 1 else n for n in expected.shape)]
    for shape in others if name not in BROADCASTS else ():
        if shape != expected.shape:
            out = cuda.to_device(np.full(shape, 7, expected.dtype))
            with pytest.raises(ValueError, match="out= has"):
                function(cuda.to_device(HOST), out)
            np.testing.assert_array_equal(out.copy_to_host(), np.full(shape, 7, expected.dtype))
    on_host = np.full_like(expected, 7)
    with pytest.raises(TypeError, match="is a device array"):
        function(cuda.to_device(HOST), on_host)
    np.testing.assert_array_equal(on_host, np.full_like(expected, 7))


@pytest.mark.one_device
def test_operands_on_the_host(device):
    """Conditions on the device and elements on the host, and the other way round."""
    on_device, on_host = cuda.to_device, lambda x: x
    for function in (
        lambda there: np.extract(there(HOST[0] > 2), HOST[0]),
        lambda there: np.extract(HOST > 2, there(HOST)),
        lambda there: np.compress(there(HOST[0] > 2), HOST, axis=1),
    ):
        found = function(on_device)
        assert found.device == on_device(HOST).device
        np.testing.assert_array_equal(found.copy_to_host(), function(on_host))


@pytest.mark.one_device
@pytest.mark.parametrize("name", ["median", "nanmedian", "nanquantile", "nanpercentile"])
def test_of_no_elements(device, name):
    """NaN of rows without elements, and nothing of no rows, along any axes."""
    function, shares = getattr(np, name), () if "median" in name else (0.5,)
    for shape in ((0, 3, 2), (3, 0, 2), (3, 2, 0)):
        for axis in (None, 0, 1, -1, (0, 1), (2, 0), ()):
            for keepdims in (False, True):
                found = function(cuda.to_device(np.zeros(shape)), *shares, axis=axis, keepdims=keepdims)
                expected = np.sum(np.zeros(shape), axis=axis, keepdims=keepdims)
                assert found.shape == expected.shape
                assert np.isnan(found.copy_to_host()).all()


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", "? b B i q e f d F D".split())
def test_products_into_arrays_of_other_dtypes(device, dtype):
    """The product in the operands' dtype, in which integers wrap around, is cast where casts are of the same kind."""
    a = np.array([[100, 3], [2, 1]]).astype(dtype)
    x = cuda.to_device(a)
    for other in "? b B i q e f d F D".split():
        expected, out = np.zeros((2, 2), other), cuda.to_device(np.zeros((2, 2), other))
        try:
            np.matmul(a, a, out=expected)
        except TypeError:
            with pytest.raises(TypeError):
                np.matmul(x, x, out=out)
        else:
            assert np.matmul(x, x, out=out) is out
        np.testing.assert_array_equal(out.copy_to_host(), expected)
        with pytest.raises(ValueError, match="shape"):
            np.matmul(x, x, out=cuda.to_device(np.zeros((1, 2, 2), dtype)))
        with pytest.raises(TypeError):
            np.matmul(x, x, out=expected)
        same = cuda.to_device(a)
        np.testing.assert_array_equal(np.matmul(same, same, out=same).copy_to_host(), a @ a)
    swapped = cuda.to_device(a)
    swapped @= cuda.to_device(np.array([[0, 1], [1, 0]], bool))
    np.testing.assert_array_equal(swapped.copy_to_host(), a[:, ::-1])


_SUMS = {
    "sum": lambda x, **out: np.sum(x, 0, **out),
    "prod": lambda x, **out: np.prod(x, 0, **out),
    "max": lambda x, **out: np.max(x, 0, **out),
    "min": lambda x, **out: x.min(0, **out),
    "mean": lambda x, **out: np.mean(x, 0, **out),
    "nansum": lambda x, **out: np.nansum(x, 0, **out),
    "trace": lambda x, **out: np.trace(x[:, :, None], **out),
    "cumsum": lambda x, **out: x.cumsum(0, **out),
    "cumprod": lambda x, **out: np.cumprod(x, 0, **out),
    "nancumsum": lambda x, **out: np.nancumsum(x, 0, **out),
    "cumulative_sum": lambda x, **out: np.cumulative_sum(x, axis=0, **out),
    "add.reduce": lambda x, **out: np.add.reduce(x, **out),
    "maximum.reduce": lambda x, **out: np.maximum.reduce(x, **out),
    "add.accumulate": lambda x, **out: np.add.accumulate(x, **out),
    "maximum.accumulate": lambda x, **out: np.maximum.accumulate(x, **out),
    "add.reduceat": lambda x, **out: np.add.reduceat(x, [0, 1], **out),
}
_DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64")


_WHOLE, _PARTS = np.array([[3], [-2]]), np.array([[1.75], [2.75]])


def _samples(kind):
    """Numbers whose sums and products do not fit their dtype, fractions, and one below zero."""
    info = np.iinfo(kind) if kind.kind in "iu" else np.finfo(kind) if kind.kind in "fc" else None
    large = [[True], [True]] if info is None else [[info.max], [info.max // 3 if kind.kind in "iu" else info.max / 3]]
    return np.array(large, kind), _PARTS.astype(kind), _WHOLE.astype(kind)


def _pairs():
    kinds = [np.dtype(name) for name in _DTYPES]
    return [(kind, other) for kind in kinds for other in kinds if kind.kind != "c" or other.kind == "c"]


def _eps(kind):
    return np.finfo(kind).eps if kind.kind in "fc" else 0


def _computed(name, host, common):
    if "max" in name or "min" in name:
        return _SUMS[name](host.astype(common))
    if name == "mean":  # here sums of 16-bit floats do not overflow
        return np.mean(host, 0, dtype=np.result_type(common, "float32") if host.dtype.kind in "fc" else None)
    return _SUMS[name](host, dtype=common)


def assert_same(found, expected, tolerance, text=""):
    finite = np.isfinite(expected)
    np.testing.assert_allclose(np.asarray(found)[finite], expected[finite], rtol=tolerance, err_msg=text)
    others = np.asarray(found)[~finite], expected[~finite]
    np.testing.assert_array_equal(*((others[0].real, others[1].real) if expected.dtype.kind == "c" else others), text)


@pytest.mark.one_device
@pytest.mark.parametrize("name", _SUMS)
def test_dtypes_of_reductions(device, name):
    """The common dtype of elements and ``out=``, in which NumPy computes before it casts, however it must."""
    for kind, other in _pairs():
        common = np.result_type(kind, other)
        for host in _samples(kind):
            with np.errstate(all="ignore"):
                found = np.asarray(_computed(name, host, common))
                expected = found.astype(other)
                if np.can_cast(common, other, "safe") and name != "mean":
                    assert_same(_SUMS[name](host, out=np.zeros_like(expected)), expected, 4 * _eps(other))
            out = cuda.to_device(np.zeros(expected.shape, other))
            _SUMS[name](cuda.to_device(host), out=out)
            fits = np.isfinite(found) | (found.dtype.kind != "c")  # products of infinities differ
            if other.kind in "iu" and found.dtype.kind == "f":  # what does not fit is undefined
                fits = (found > float(np.iinfo(other).min)) & (found < float(np.iinfo(other).max))
            assert_same(out.copy_to_host()[fits], expected[fits], 4 * _eps(other), f"{kind} {other}")


@pytest.mark.one_device
@pytest.mark.parametrize("name", ["sum", "max", "cumsum", "mean", "nansum", "add.reduce"])
def test_bfloat16_beside_other_dtypes(device, name):
    for kind, other in itertools.product(("int8", "int32", "int64", "float16", "float32", "bfloat16"), repeat=2):
        if "bfloat16" not in (kind, other):
            continue
        host = np.array([[3], [2], [-1]], ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
        out = np.zeros(np.shape(_SUMS[name](host)), ml_dtypes.bfloat16 if other == "bfloat16" else other)
        found = cuda.to_device(out)
        _SUMS[name](cuda.to_device(host), out=found)
        expected = _SUMS[name](host, out=out).astype(float)
        np.testing.assert_allclose(found.copy_to_host().astype(float), expected, rtol=2**-8, err_msg=f"{kind} {other}")


@pytest.mark.one_device
def test_what_has_no_dtype_in_common_or_does_not_fit_is_refused(device):
    x = cuda.to_device(np.array([[1.5], [2.5]], np.float32))
    for call in (np.std, np.nanstd, np.nanvar):
        with pytest.raises(TypeError, match="cannot become"):
            call(x, 0, out=cuda.to_device(np.zeros(1, np.int32)))
    np.testing.assert_array_equal(np.var(x * 4, 0, out=cuda.to_device(np.zeros(1, np.int32))).copy_to_host(), [4])
    with pytest.raises(DTypeError, match="into bool"):
        np.bitwise_or.reduce(x, out=cuda.to_device(np.zeros(1, bool)))
    large = cuda.to_device(np.array([[3e38], [3e38], [np.nan]], np.float32))
    found = np.nanmean(large, 0, out=cuda.to_device(np.zeros(1))).copy_to_host()
    np.testing.assert_allclose(found, [3e38], rtol=1e-6)


@pytest.mark.one_device
def test_devices_without_float64_reduce_in_the_dtype_of_out(device, monkeypatch):
    x = cuda.to_device(np.array([[5], [-1]], np.int32))
    out = cuda.to_device(np.zeros(1, np.float32))
    monkeypatch.setattr(x.context, "capabilities", dataclasses.replace(x.context.capabilities, fp64=False))
    for name, expected in (("sum", [4]), ("max", [5]), ("min", [-1]), ("add.reduce", [4])):
        _SUMS[name](x, out=out)
        np.testing.assert_array_equal(out.copy_to_host(), expected)
