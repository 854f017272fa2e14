"""Namedtuples as arguments of kernels."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from portagpu import cuda, errors, types

pytestmark = pytest.mark.one_device

Point = namedtuple("Point", "x y")
Pair = namedtuple("Pair", "first second")
ORIGIN = Point(3, 4.5)


@cuda.jit(device=True)
def total(point):
    return point.x + point.y


@cuda.jit
def fields(out, point):
    out[0], out[1], out[2] = point.x, point.y, total(point)
    out[3] = point[0] + len(point)


@pytest.mark.parametrize("point", [Point(1, 2), Point(1, 2.5), Point(x=np.float32(0.5), y=np.int8(3))])
def test_fields_of_a_namedtuple(device, point):
    out = np.zeros(4)
    fields[1, 1](out, point)
    np.testing.assert_array_equal(out, [point.x, point.y, point.x + point.y, point.x + 2])


def test_names_are_part_of_the_type(device):
    out = np.zeros(4)
    fields[1, 1](out, Point(1, 2))
    with pytest.raises(errors.KernelNameError, match="x"):
        fields[1, 1](out, (1, 2))
    with pytest.raises(errors.KernelNameError, match="x"):
        fields[1, 1](out, Pair(1, 2))
    assert "x: int" in str(types.NamedUniTuple(types.int32, 2, Point))


def test_fields_are_named_in_the_generated_code(device):
    fields[1, 1](np.zeros(4), Point(1, 2.5))
    texts = fields.inspect_opencl().values()
    assert texts and all("point_x_" in text and "point_0_" not in text for text in texts)


def test_arrays_and_tuples_inside(device):
    @cuda.jit
    def swap(pair):
        i = cuda.grid(1)
        a, b = pair.first[i], pair.second.x[i]
        pair.first[i], pair.second.x[i] = b, a + pair.second.y

    a, b = np.arange(4.0), np.arange(4.0) + 10
    swap[1, 4](Pair(a, Point(b, 100)))
    np.testing.assert_array_equal(a, np.arange(4.0) + 10)
    np.testing.assert_array_equal(b, np.arange(4.0) + 100)


def test_branches_keep_the_names(device):
    @cuda.jit
    def pick(out, a, b, flag):
        point = a if flag else b
        out[0] = point.x
        if flag:
            point = b
        else:
            point = a
        out[1] = point.y + ORIGIN.y

    out = np.zeros(2)
    pick[1, 1](out, Point(1.0, 2.0), Point(3.0, 4.0), True)
    np.testing.assert_array_equal(out, [1, 8.5])


def test_specialised_and_declared(device):
    out = np.zeros(4)
    fields.specialize(out, Point(1, 2))[1, 1](out, Point(5, 6))
    np.testing.assert_array_equal(out[:2], [5, 6])
    declared = cuda.jit((types.float64[:], types.NamedTuple((types.float64, types.int32), Point)))(fields.py_func)
    declared[1, 1](out, Point(1, 2.75))
    np.testing.assert_array_equal(out[:2], [1, 2])


Shifted = namedtuple("Shifted", "x y by", defaults=(10,))


def test_namedtuples_are_made_in_kernels(device):
    @cuda.jit(device=True)
    def swapped(point):
        return Point(y=point.x, x=point.y)

    @cuda.jit
    def make(out, point):
        turned = swapped(point)
        out[0], out[1] = turned.x, turned.y
        shifted = Shifted(out[0], 1)
        out[2] = shifted.x + shifted.by
        constant = Point(7, 8)
        out[3] = constant.x + constant[1]

    out = np.zeros(4)
    make[1, 1](out, Point(1, 2.5))
    np.testing.assert_array_equal(out, [2.5, 1, 12.5, 15])
    with pytest.raises(errors.KernelError):

        @cuda.jit
        def wrong(out):
            out[0] = Point(1).x

        wrong[1, 1](out)
