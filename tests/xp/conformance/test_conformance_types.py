"""Dtypes and shapes of results, and what is refused, as NumPy and the array API standard have it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda, xp
from portagpu.errors import ArgumentTypeError, DTypeError, OutOfBoundsError, PortaGPUError, ShapeError

_DTYPES = [*xp.__array_namespace_info__().dtypes()]
_FUNCTIONS = ["add", "divide", "floor_divide", "less", "bitwise_and", "logical_and", "pow", "atan2", "where", "maximum"]


def _expected(function, *operands):
    try:
        with np.errstate(all="ignore"):
            return function(*operands).dtype
    except TypeError:
        return None


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_dtypes_of_all_pairs(device, name):
    names = [n for n in _DTYPES if device.capabilities.fp64 or n not in ("float64", "complex128")]
    arrays = {n: cuda.to_device(np.ones(2, n)) for n in names}
    for left, right in itertools.product(names, names):
        a, b = np.ones(2, left), np.ones(2, right)
        if name == "where":
            expected, found = np.result_type(a, b), xp.where(arrays["bool"], arrays[left], arrays[right]).dtype
        else:
            expected = _expected(getattr(np, name), a, b)
            if expected is None:
                with pytest.raises(DTypeError):
                    getattr(xp, name)(arrays[left], arrays[right])
                continue
            found = getattr(xp, name)(arrays[left], arrays[right]).dtype
        assert found == expected, (left, right)
        assert xp.result_type(arrays[left], right) == np.result_type(left, right)
        assert xp.can_cast(left, right) == np.can_cast(left, right)


@pytest.mark.one_device(fast=True)
def test_dtypes_with_numbers_of_python(device):
    for name, number in itertools.product(_DTYPES, (True, 1, 1.5, 1j)):
        if not device.capabilities.fp64 and name in ("float64", "complex128"):
            continue
        x, d = np.ones(2, name), cuda.to_device(np.ones(2, name))
        for function in (np.add, np.multiply, np.subtract, np.equal, np.bitwise_or):
            expected = _expected(function, x, number)
            if expected is None:
                with pytest.raises(DTypeError):
                    function(d, number)
                continue
            assert function(d, number).dtype == expected, (name, number)
            assert function(number, d).dtype == expected, (name, number)
        assert xp.result_type(d, number) == np.result_type(x, number)


@pytest.mark.one_device(fast=True)
def test_dtypes_of_reductions(device):
    for name in ("bool", "int8", "uint32", "float32", "complex64"):
        x, d = np.ones((2, 3), name), cuda.to_device(np.ones((2, 3), name))
        for function in (np.sum, np.prod, np.max, np.any, np.argmax, np.cumsum, np.mean):
            if function in (np.max, np.argmax) and x.dtype.kind == "c":
                continue
            assert function(d, axis=0).dtype == function(x, axis=0).dtype, (name, function)


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize(
    "shapes",
    [((), (3,)), ((3,), (1,)), ((2, 1), (3,)), ((0,), (1,)), ((4, 1, 3), (2, 1)), ((1, 1), ()), ((0, 3), (1, 1))],
)
def test_shapes_broadcast(device, shapes):
    arrays = [cuda.to_device(np.ones(shape)) if shape else xp.asarray(1.0) for shape in shapes]
    wanted = np.broadcast_shapes(*shapes)
    assert (arrays[0] + arrays[1]).shape == (arrays[1] * arrays[0]).shape == wanted
    assert xp.broadcast_shapes(*shapes) == wanted
    assert [x.shape for x in xp.broadcast_arrays(*arrays)] == [wanted] * 2
    assert xp.where(arrays[0] > 0, arrays[1], 1.0).shape == wanted


@pytest.mark.one_device(fast=True)
def test_what_is_refused(device):
    x, whole = xp.ones((2, 3), dtype=xp.float32), xp.ones(3, dtype=xp.int32)
    flags, numbers = xp.ones(3, dtype=xp.bool), xp.ones(3, dtype=xp.complex64)
    refused = {
        ShapeError: [
            lambda: x + xp.ones(2),
            lambda: xp.broadcast_to(x, (3, 2)),
            lambda: xp.reshape(x, (4, 2)),
            lambda: xp.concat([x, whole]),
            lambda: xp.stack([x, whole]),
            lambda: xp.squeeze(x, 0),
            lambda: xp.expand_dims(x, axis=4),
            lambda: xp.permute_dims(x, (0,)),
            lambda: xp.sum(x, axis=2),
            lambda: xp.max(xp.ones((0,))),
            lambda: xp.matmul(x, x),
            lambda: xp.nonzero(xp.asarray(1)),
            lambda: xp.cumulative_sum(x),
            lambda: xp.matrix_transpose(whole),
            lambda: bool(x),
            lambda: float(whole),
        ],
        DTypeError: [
            lambda: whole & 1.5,
            lambda: ~x,
            lambda: x << 1,
            lambda: xp.subtract(flags, flags),
            lambda: xp.less(xp.ones(3), "a"),
            lambda: xp.finfo(xp.int32),
            lambda: xp.iinfo(xp.float32),
            lambda: xp.clip(numbers, 0, 1),
            lambda: xp.floor(numbers),
            lambda: xp.isdtype(xp.float32, "floating"),
            lambda: whole.__iadd__(1.5),
        ],
        OutOfBoundsError: [lambda: x[2], lambda: x[0, -4]],
        ArgumentTypeError: [
            lambda: len(xp.asarray(1)),
            lambda: iter(xp.asarray(1)),
            lambda: [1, 2][x],
            lambda: hash(xp.ones(1).__array_namespace__(api_version="3")),
        ],
    }
    for kind, calls in refused.items():
        for number, call in enumerate(calls):
            with pytest.raises((kind, TypeError) if kind is DTypeError else kind) as caught:
                call()
            assert isinstance(caught.value, PortaGPUError), (kind, number, caught.value)
