"""NumPy's functions that arrange, choose, pad and interpolate, of device arrays, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from against_numpy import changed, same

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, ArgumentValueError, DTypeError, OutOfBoundsError, ShapeError

_RNG = np.random.default_rng(11)
WHOLE = np.arange(24, dtype=np.float64).reshape(4, 6)
REAL = _RNG.normal(size=(4, 6))
ROW = _RNG.normal(size=9)
INTS = _RNG.integers(0, 5, 12)
BITS = _RNG.integers(0, 2, (3, 19)).astype(np.uint8)


@pytest.mark.one_device
@pytest.mark.parametrize(
    "use",
    [
        lambda x, r: [np.diag(x, k) for k in (-1, 0, 2)],
        lambda x, r: [np.diag(r, k) for k in (-1, 0, 2)],
        lambda x, r: np.diagflat(x, 1),
        lambda x, r: [np.vander(r), np.vander(r, 3, increasing=True), np.vander(np.arange(4, like=r), 3)],
        lambda x, r: [*np.tril_indices_from(x, 1), *np.triu_indices_from(x, -1), *np.diag_indices_from(x[:, :4])],
        lambda x, r: [np.resize(x, (5, 7)), np.resize(x, 3), np.resize(r, (0, 2))],
        lambda x, r: [np.trim_zeros(np.concatenate([r[:2] * 0, r, r[:3] * 0]), t) for t in ("fb", "f", "b")],
        lambda x, r: [np.delete(x, 1), np.delete(x, [0, -1], axis=1), np.delete(x, slice(1, 3), 0)],
        lambda x, r: np.delete(r, np.array([True, False] * 4 + [True])),
        lambda x, r: np.delete(r, np.argsort(r)[:3]),
        lambda x, r: [np.insert(r, 2, 7.0), np.insert(r, [1, 1, -2], [7.0, 8.0, 9.0]), np.insert(x, 9, 5.0)],
        lambda x, r: [np.insert(x, 1, r[:6], axis=0), np.insert(x, 1, r[:4], axis=1), np.insert(x, [1, 3], 2.0, 1)],
        lambda x, r: np.block([[x, x[:, :1]], [r[:7][None, :]]]),
        lambda x, r: [np.block([r, r]), np.block([[r[:6]], [x]]), np.block(r)],
        lambda x, r: [*np.vsplit(x, 2), *np.hsplit(x, [1, 4]), *np.hsplit(r, 3), *np.dsplit(x[None], 2)],
        lambda x, r: x[np.ix_(np.argsort(r)[:3] % 4, np.array([0, 2]))],
        lambda x, r: np.ravel_multi_index((np.argsort(r) % 4, np.argsort(r) % 6), (4, 6), order="F"),
        lambda x, r: np.ravel_multi_index((np.argsort(r) - 2, np.argsort(r)), (4, 6), mode=("wrap", "clip")),
        lambda x, r: [
            *np.unravel_index(np.argsort(x.ravel()), (2, 3, 4)),
            *np.unravel_index(np.argsort(r), (3, 4), "F"),
        ],
    ],
)
def test_arrangements(device, use):
    same(use, WHOLE, ROW)


@pytest.mark.one_device
def test_bits(device):
    for axis in (None, 0, 1):
        same(lambda b, axis=axis: np.packbits(b, axis), BITS)
        same(lambda b, axis=axis: np.unpackbits(b, axis, bitorder="little"), BITS)
    same(lambda b: np.packbits(b > 0, bitorder="little"), BITS)
    same(lambda b: [np.unpackbits(b, count=11), np.unpackbits(b, 1, count=200), np.unpackbits(b, count=-3)], BITS)


@pytest.mark.one_device
def test_written_elements(device):
    changed(lambda x: np.fill_diagonal(x, 7), WHOLE)
    changed(lambda x, r: np.fill_diagonal(x, r[:2]), WHOLE, ROW)
    changed(lambda x: np.fill_diagonal(x, 7, wrap=True), np.zeros((9, 2)))
    changed(lambda x: np.fill_diagonal(x, 7), np.zeros((3, 3, 3)))
    changed(lambda x: np.fill_diagonal(x.T, 7), WHOLE)
    changed(lambda x, r: np.place(x, x > 3, r[:5]), WHOLE, ROW)
    changed(lambda x, r: np.putmask(x, x > 3, r[:5]), WHOLE, ROW)
    changed(lambda x: np.putmask(x, x > 3, -1), WHOLE)
    for function in (np.putmask, np.place):
        for kind, values in ((np.int8, np.int16), (np.uint8, np.int8), (np.int32, np.float32), (bool, np.uint8)):
            x, wide = cuda.to_device(np.arange(3).astype(kind)), np.arange(3).astype(values)
            for given in (wide, cuda.to_device(wide)):
                with pytest.raises(DTypeError, match="may not fit"):
                    function(x, np.ones(3, bool), given)
    changed(lambda x: np.put(x, [0, 25], -1, mode="wrap"), WHOLE)


@pytest.mark.one_device
@pytest.mark.parametrize(
    "use",
    [
        lambda x, r: np.select([x < 3, x > 9], [x, x * 2]),
        lambda x, r: np.select([x < 3, x > 9], [x, 5], default=-1.5),
        lambda x, r: np.choose(np.argsort(r) % 3, [r, r * 2, 7]),
        lambda x, r: [np.choose(np.argsort(r) - 2, [r, -r], mode=m) for m in ("wrap", "clip")],
        lambda x, r: np.piecewise(r, [r < 0, r >= 1], [lambda v: -v, 2, lambda v: v * 10]),
        lambda x, r: np.piecewise(r, r < 0, [lambda v, k: v * k, 0.5], 3.0),
        lambda x, r: [np.apply_along_axis(np.sum, n, x) for n in (0, 1)],
        lambda x, r: np.apply_along_axis(lambda v: v[:2] - v[-1:], 0, x),
        lambda x, r: np.apply_over_axes(np.sum, x, [0, 1]),
    ],
)
def test_choices(device, use):
    same(use, WHOLE, ROW)


@pytest.mark.one_device
@pytest.mark.parametrize(
    "use",
    [
        lambda x, r: [np.ediff1d(x), np.ediff1d(r, to_end=[1.0, 2.0], to_begin=0.5)],
        lambda x, r: [np.trapezoid(x), np.trapezoid(x, dx=0.5, axis=0), np.trapezoid(x, r[:6]), np.trapezoid(x, x * 2)],
        lambda x, r: [*np.gradient(x), np.gradient(r, 0.5, edge_order=2), *np.gradient(x, 2.0, np.cumsum(r[:6] ** 2))],
        lambda x, r: [
            np.gradient(x, np.cumsum(r[:6] ** 2), axis=1, edge_order=2),
            np.gradient(x, axis=0, edge_order=2),
        ],
        lambda x, r: [
            np.unwrap(x * 2),
            np.unwrap(r * 4, axis=0),
            np.unwrap(r * 9, discont=4),
            np.unwrap(r, period=0.5),
        ],
        lambda x, r: np.unwrap(np.argsort(r), period=5),
        lambda x, r: np.interp(x, np.sort(r), np.argsort(r)),
        lambda x, r: np.interp(x, np.sort(r), r, left=-5, right=7.5),
        lambda x, r: np.interp(x, r, r * 2, period=1.5),
        lambda x, r: np.interp(x, np.sort(r), r + 1j * r),
        lambda x, r: np.interp([0.5, np.nan, np.inf], np.sort(r), r),
    ],
)
def test_neighbours(device, use):
    same(use, REAL, ROW, rtol=1e-11)


@pytest.mark.one_device
@pytest.mark.parametrize("values", [(0.0, -0.0), (-0.0, 0.0), ((0.0, 0.0), (-0.0, -0.0)), -0.0])
def test_padding_with_signed_zeros(device, values):
    host = np.ones((2, 3))
    found = np.pad(cuda.to_device(host), 1, constant_values=values)
    assert found.copy_to_host().tobytes() == np.pad(host, 1, constant_values=values).tobytes()


@pytest.mark.one_device
@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("constant", {}),
        ("constant", {"constant_values": ((1, 2), (3, 4))}),
        ("edge", {}),
        ("reflect", {}),
        ("reflect", {"reflect_type": "odd"}),
        ("symmetric", {}),
        ("symmetric", {"reflect_type": "odd"}),
        ("wrap", {}),
        ("linear_ramp", {"end_values": 3}),
        ("maximum", {}),
        ("minimum", {"stat_length": 2}),
        ("mean", {"stat_length": ((1, 2), (3, 9))}),
        ("median", {}),
    ],
)
def test_padding(device, mode, options):
    for widths in (2, ((0, 3), (5, 1)), (9, 9)):
        same(lambda x, w=widths: np.pad(x, w, mode, **options), WHOLE)
    same(lambda x: np.pad(x, {1: 3}, mode, **options), WHOLE.astype(np.int32))
    if mode != "mean" and mode != "median" and "reflect_type" not in options:
        same(lambda x: np.pad(x, 5, mode, **options), WHOLE % 2 == 1)


def test_padding_by_a_function(device):
    def write(row, width, axis, options):
        row[: width[0]] = options["value"]
        row[len(row) - width[1] :] = axis

    same(lambda x: np.pad(x, ((1, 2), (0, 1)), write, value=9), WHOLE)
    assert np.pad(cuda.to_device(WHOLE), 1, "empty").shape == (6, 8)


@pytest.mark.one_device(fast=True)
def test_refused(device):
    d = cuda.to_device(WHOLE)
    for call, error in (
        (lambda: np.pad(d, 1, "around"), ArgumentTypeError),
        (lambda: np.pad(d, -1), ArgumentValueError),
        (lambda: np.pad(d, 1, "edge", stat_length=2), ArgumentTypeError),
        (lambda: np.delete(d, 7, axis=0), OutOfBoundsError),
        (lambda: np.insert(d, 7, 1.0, axis=0), OutOfBoundsError),
        (lambda: np.choose(d[0].astype(int), [d[0], d[1]]), OutOfBoundsError),
        (lambda: np.select([d > 1], [d, d]), ShapeError),
        (lambda: np.gradient(d[:1], axis=0), ShapeError),
        (lambda: np.fill_diagonal(d[0], 1), ShapeError),
        (lambda: np.unravel_index(d.astype(int), (2, 3)), OutOfBoundsError),
        (lambda: np.block([d, [d]]), ShapeError),
        (lambda: np.diag(d[None]), ShapeError),
    ):
        with pytest.raises(error):
            call()
