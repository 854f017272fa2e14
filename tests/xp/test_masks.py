"""Masks of ``where=`` of every kind and shape: NumPy's results, and errors of NumPy's kinds."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import PortaGPUError

_X = np.array([1.0, 2.0, 3.0])
_DTYPES = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split()
_MASKS = {
    **{f"array of {dtype}": np.array([1, 0, 1], dtype) for dtype in _DTYPES},
    **{f"0-d array of {dtype}": np.array(1, dtype) for dtype in ("?", "i8", "f4")},
    **{f"scalar {dtype}": np.dtype(dtype).type(1) for dtype in _DTYPES},
    **{repr(x): x for x in (True, False, 1, 0, 1.0, [1, 0, 1], [True, False, True], (0.0, 1.0, 0.0), [])},
    **{f"bools of shape {shape}": np.zeros(shape, bool) for shape in ((1,), (2,), (0,), (2, 3), (1, 3))},
}


def _copied(x, where, put):
    target = put(np.zeros(3))
    np.copyto(target, x, where=where)
    return target


def _put(function):
    def call(x, mask, put):
        target = put(np.zeros(3))
        function(target, mask, x)
        return target

    return call


_CALLS = {
    "add": lambda x, mask, put: np.add(x, x, out=put(np.zeros(3)), where=mask),
    "divmod": lambda x, mask, put: np.divmod(x, x, out=(put(np.zeros(3)), put(np.zeros(3))), where=mask)[0],
    "copyto": _copied,
    "putmask": _put(np.putmask),
    "place": _put(np.place),
    "add.reduce": lambda x, mask, put: np.add.reduce(x, where=mask),
    "max": lambda x, mask, put: np.max(x, initial=0, where=mask),
    "rows": lambda x, mask, put: np.sum(x[None], axis=1, where=mask),
    **{
        name: lambda x, mask, put, name=name: getattr(np, name)(x, where=mask)
        for name in "sum prod all any mean var std nansum nanprod nanmean nanvar nanstd".split()
    },
    **{
        f"{name} of integers": lambda x, mask, put, name=name: getattr(np, name)(put(np.array([1, 2, 3])), where=mask)
        for name in "sum mean var nanmean nanvar".split()
    },
}


def _outcome(call, mask, put):
    try:
        return np.asarray(call(put(_X), put(mask) if isinstance(mask, np.ndarray) else mask, put))
    except (TypeError, ValueError) as error:
        return error


@pytest.mark.one_device
@pytest.mark.in_turn(8)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", _CALLS)
def test_masks_are_numpys(device, name):
    if not device.capabilities.fp64:
        pytest.skip("without float64, dtypes of results are not NumPy's")
    for kind, mask in _MASKS.items():
        expected, found = (_outcome(_CALLS[name], mask, put) for put in (np.copy, cuda.to_device))
        if isinstance(expected, Exception):
            assert isinstance(found, PortaGPUError), (kind, expected, found)
            assert isinstance(found, TypeError if isinstance(expected, TypeError) else ValueError), (kind, found)
        else:
            assert not isinstance(found, Exception), (kind, found)
            np.testing.assert_allclose(found, expected, err_msg=kind)
