"""Reductions with ``where=``, ``initial=``, ``dtype=``, ``keepdims=`` and ``out=``, of every dtype, against NumPy's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import DTypeError, PortaGPUError

_DTYPES = "bool int8 uint8 int16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128".split()
_MASKS = (True, False, "whole", "row", "column")
_WITH_INITIAL = frozenset({"sum", "prod", "max", "min", "nansum", "nanprod", "nanmax", "nanmin"})
_FUNCTIONS = (*sorted(_WITH_INITIAL), "all", "any", "mean", "nanmean")


def _masked(mask, shape, random):
    if isinstance(mask, bool):
        return mask
    extents = {"whole": shape, "row": shape[-1:], "column": (*shape[:-1], 1)}[mask]
    return random.integers(0, 2, extents).astype(bool)


def _reduced(function, x, put, options):
    """The result of a call whose arrays are where ``put`` puts them."""
    options = {name: put(value) if isinstance(value, np.ndarray) else value for name, value in options.items()}
    with np.errstate(all="ignore"):
        return getattr(np, function)(put(x), **options)


@pytest.mark.one_device
@pytest.mark.in_turn(14)
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:All-NaN slice encountered")
@pytest.mark.parametrize(("function", "dtype"), list(itertools.product(_FUNCTIONS, _DTYPES)))
def test_options_are_numpys(device, function, dtype):
    if not device.capabilities.fp64:
        pytest.skip("without float64, dtypes of results are not NumPy's")
    random = np.random.default_rng(_DTYPES.index(dtype))
    shape = (3, 4)
    x = random.integers(0, 3, shape).astype(dtype)
    needs_initial = function in ("max", "min", "nanmax", "nanmin")
    for n, mask in enumerate(_MASKS):
        options = {"where": _masked(mask, shape, random), "axis": (None, 0, -1)[n % 3], "keepdims": n % 2 == 1}
        if function in _WITH_INITIAL and (needs_initial or n % 2):
            options["initial"] = True if dtype == "bool" else n
        if n == 4 and not needs_initial:
            expected = np.asarray(_reduced(function, x, np.copy, options))
            options["out"] = np.zeros(expected.shape, expected.dtype)
        expected = np.asarray(_reduced(function, x, np.copy, options))
        found = _reduced(function, x, cuda.to_device, options)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-3)


@pytest.mark.parametrize("function", ["any", "all", "max", "min", "sum"])
def test_of_bools(device, function):
    host = np.array([[True, False], [False, True]])
    x = cuda.to_device(host)
    options = {"initial": False} if function in ("max", "min") else {}
    for axis in (None, 0):
        found = getattr(np, function)(x, axis=axis, where=x, **options)
        np.testing.assert_array_equal(
            found.copy_to_host(), getattr(np, function)(host, axis=axis, where=host, **options)
        )


@pytest.mark.one_device
@pytest.mark.parametrize(("function", "options"), [("max", {"initial": 0}), ("prod", {}), ("any", {}), ("mean", {})])
def test_masks_that_are_larger(device, function, options):
    """A mask that broadcasts the operand is a mistake, as in NumPy."""
    x = np.arange(6.0)
    for mask in (np.ones((2, 6), bool), np.ones((33, 1), bool)):
        with pytest.raises(ValueError):
            getattr(np, function)(x, axis=-1, where=mask, **options)
        with pytest.raises(PortaGPUError, match="where=") as raised:
            getattr(np, function)(cuda.to_device(x), axis=-1, where=cuda.to_device(mask), **options)
        assert isinstance(raised.value, ValueError)


@pytest.mark.one_device
@pytest.mark.parametrize("function", ["sum", "std"])
def test_dtypes_of_complex_numbers(device, function):
    """Complex elements lose their imaginary parts where the dtype is real; one that is complex is the result's."""
    host, dtype = (np.arange(4) + 2j, np.float32) if function == "sum" else (np.arange(4.0), np.complex64)
    expected = getattr(np, function)(host.real, dtype=dtype)
    found = getattr(np, function)(
        cuda.to_device(host.astype(np.complex64 if dtype is np.float32 else np.float32)), dtype=dtype
    )
    assert found.dtype == dtype
    np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-6)


@pytest.mark.one_device
@pytest.mark.in_turn(12)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("function", ["mean", "nanmean", "var", "std", "nanvar", "nanstd"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64"])
def test_dtypes_of_means(device, function, dtype):
    """Dtypes of results are NumPy's; ours compute no variance in integers, whose means NumPy truncates, and none of
    complex numbers in reals, where NumPy drops imaginary parts half way.
    """
    if not device.capabilities.fp64:
        pytest.skip("without float64, dtypes of results are not NumPy's")
    host = np.array([[1, 0, 1], [1, 1, 50]], dtype)
    where = np.array([[True, True, False], [False, True, True]])
    call = getattr(np, function)
    for wanted in ("float32", "complex128", "int32"):
        is_refused = wanted == "int32" and function != "mean" and (dtype != "int32" or function != "nanmean")
        is_refused |= wanted == "float32" and dtype == "complex64" and "mean" not in function
        for options in ({"dtype": np.dtype(wanted)}, {"dtype": np.dtype(wanted), "axis": 1, "where": where}):
            there = {**options, "where": cuda.to_device(where)} if "where" in options else options
            if is_refused:
                with pytest.raises(DTypeError):
                    call(cuda.to_device(host), **there)
                continue
            with np.errstate(all="ignore"):
                expected = np.asarray(call(host, **options))
            found = call(cuda.to_device(host), **there)
            assert found.dtype == expected.dtype, options
            np.testing.assert_allclose(found.copy_to_host(), expected, rtol=1e-2, err_msg=str(options))
