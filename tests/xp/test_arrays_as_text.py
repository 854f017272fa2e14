"""Texts of device arrays: elements as NumPy shows them, and numbers in formats."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import ArgumentTypeError

_SPECS = ("", ".3f", ">12", "e", "+.1e", "g", "d", "x", ",", "010.2f")
_NUMBERS = (2.5, True, 3 - 1j, np.float32(-1e30), np.float16(0.1), np.int8(-7), np.uint64(2**64 - 1), float("nan"))


def _outcome(call, *args):
    try:
        return call(*args)
    except (TypeError, ValueError) as error:
        return ValueError if isinstance(error, ValueError) else TypeError


@pytest.mark.one_device
@pytest.mark.parametrize("number", _NUMBERS, ids=str)
def test_formats_of_arrays_without_axes_are_numpys(device, number):
    host = np.array(number)
    for spec in _SPECS:
        assert _outcome(format, cuda.to_device(host), spec) == _outcome(format, host, spec), spec


def test_formats_of_reductions(device):
    x = cuda.to_device(np.arange(6.0, dtype=np.float32))
    assert f"{np.mean(x):.3f} {np.sum(x) * 2:>7}" == "2.500    30.0"
    assert f"{x}" == "[0. 1. 2. 3. 4. 5.]"
    for spec in ("d", ".3f"):
        with pytest.raises(ArgumentTypeError, match="not for an array of shape"):
            format(x, spec)
    with pytest.raises(ArgumentTypeError):
        format(x[:1], ".3f")


@pytest.mark.one_device
def test_texts_are_numpys(device):
    record = np.array([(1, 2.5)], [("a", "i4"), ("b", "f4")])
    for host in (
        *(np.arange(6).astype(dtype).reshape(2, 3)[:, ::-1] for dtype in ("?", "i1", "u8", "f2", "f4", "c8")),
        np.arange(2000),
        np.zeros((0, 3)),
        np.array(3.5),
        np.array(["2020-01-01", "NaT"], "M8[D]"),
        record,
    ):
        x = cuda.to_device(host)
        assert str(x) == f"{x}" == str(host)
        assert repr(x) == f"<DeviceNDArray {x.shape} {x.dtype} on {device.name}>"
    assert str(cuda.to_device(record)[0]) == str(record[0])
    with np.printoptions(precision=2):
        assert str(cuda.to_device(np.array([1 / 3]))) == "[0.33]"
    bound = cuda.to_device(np.arange(3)).bind(cuda.stream())
    bound[1] = 7
    assert str(bound) == "[0 7 2]"
