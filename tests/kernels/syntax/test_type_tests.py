"""`isinstance` and `type` in kernels."""

from __future__ import annotations

import numbers
from typing import NamedTuple

import numpy as np
import pytest

from portagpu import cuda, errors

pytestmark = pytest.mark.one_device


class Pair(NamedTuple):
    left: float
    right: float


@cuda.jit
def classify(out, x):
    if isinstance(x, (bool, np.bool_)):
        out[0] = 1
    elif isinstance(x, int):
        out[0] = 2
    elif isinstance(x, float | np.float16):
        out[0] = 3
    elif isinstance(x, numbers.Complex):
        out[0] = 4
    elif isinstance(x, Pair):
        out[0] = x.right
    elif isinstance(x, tuple):
        out[0] = len(x) + 100
    elif isinstance(x, np.ndarray):
        out[0] = x.shape[0] + 200
    elif x is None or isinstance(x, str):
        out[0] = 300


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, 1),
        (7, 2),
        (np.uint8(7), 2),
        (7.5, 3),
        (np.float32(7.5), 3),
        (np.float16(7.5), 3),
        (1j, 4),
        (np.complex64(1j), 4),
        (Pair(1.0, 50.0), 50),
        ((1, 2, 3), 103),
        (np.zeros(5), 205),
        (None, 300),
    ],
)
def test_each_kind_is_told_apart(device, value, expected):
    out = np.zeros(1)
    classify[1, 1](out, value)
    assert out[0] == expected


def test_numpy_classes_are_exact(device):
    @cuda.jit
    def kernel(x, n, out):
        out[0] = isinstance(x[0], np.float32)
        out[1] = isinstance(x[0], np.float64)
        out[2] = isinstance(x[0], np.floating) and not isinstance(x[0], (np.integer, complex))
        out[3] = isinstance(n, np.int64)
        out[4] = isinstance(cuda.float32x2(1), cuda.float32x2) and not isinstance(x[0], cuda.float32x2)

    out = np.zeros(5, np.int32)
    kernel[1, 1](np.zeros(1, np.float32), 3, out)
    assert out.tolist() == [1, 0, 1, 1, 1]


def test_types_convert_and_compare(device):
    @cuda.jit
    def kernel(x, out, n):
        out[0] = type(out[0])(x)
        out[1] = type(x)(n) / 2
        out[2] = type(x) is type(n)
        out[3] = type(n) is int
        out[4] = type((n, n)) is tuple

    for x, wanted in ((2.75, [2, 2, 0, 1, 1]), (2, [2, 2, 1, 1, 1])):
        out = np.zeros(5, np.int32)
        kernel[1, 1](x, out, 5)
        assert out.tolist() == wanted


def test_what_is_no_class_is_an_error(device):
    @cuda.jit
    def kernel(out):
        out[0] = isinstance(out, "ndarray")

    with pytest.raises(errors.KernelTypeError, match="isinstance takes a class or a tuple of classes"):
        kernel[1, 1](np.zeros(1))
