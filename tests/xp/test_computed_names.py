"""einsum, convolutions, polynomials, quantiles and histograms of device arrays, against NumPy."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from against_numpy import alike, same
from gpu_forms import gpu_forms
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, ArgumentValueError, SettingsError, ShapeError

_RNG = np.random.default_rng(12)
A = _RNG.normal(size=(3, 4, 5))
B = _RNG.normal(size=(5, 4))
ROW = _RNG.normal(size=9)
HOLES = np.where(_RNG.random((6, 7)) < 0.3, np.nan, _RNG.normal(size=(6, 7)))
HOLES[2] = np.nan
INTS = _RNG.integers(-4, 9, (5, 6))
METHODS = (
    "inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear"
    " median_unbiased normal_unbiased lower higher midpoint nearest"
).split()


@pytest.mark.one_device
@pytest.mark.parametrize(
    "use",
    [
        lambda a, b: [np.einsum("ijk,kl->ijl", a, b), np.einsum("ijk,kj", a, b), np.einsum("ijk->kji", a)],
        lambda a, b: [np.einsum("ijk,ijl->ikl", a, a), np.einsum("ijk,ijk->i", a, a), np.einsum("...k,kj->...j", a, b)],
        lambda a, b: [
            np.einsum("ii->i", b[:4]),
            np.einsum("ii", b[:4]),
            np.einsum("kl->", b),
            np.einsum("kj,kj->kj", b, b),
        ],
        lambda a, b: [np.einsum("ijk,kj,i->", a, b, a[:, 0, 0]), np.einsum("ij,jk,kl,lm->im", b, b.T, b, b.T)],
        lambda a, b: [np.einsum(a, [0, 1, 2], b, [2, 3], [0, 3]), np.einsum(a, [..., 1], b, [1, 2])],
        lambda a, b: [
            np.einsum("ij,j->ij", b, b[0]),
            np.einsum("i,j->ji", b[0], b[:, 1]),
            np.einsum("...,...", b, 2.0),
        ],
        lambda a, b: [np.einsum("ijk,kj->i", a + 1j * a, b), np.einsum("ij,kj", b[:1], b, optimize=True)],
        lambda a, b: [np.einsum("ij,ij->", b > 0, b < 0.5), np.einsum("ij,kj->ik", b > 0, b > 0)],
        lambda a, b: np.einsum("ij,jk->ik", b, b.T, dtype=np.complex128),
    ],
)
def test_einsum(device, use):
    same(use, A, B)


@pytest.mark.one_device
def test_einsum_of_integers_and_into_arrays(device):
    same(lambda x: np.einsum("ij,kj->ik", x, x), INTS.astype(np.int8))
    x, out = cuda.to_device(B), cuda.device_array((5, 5))
    assert np.einsum("ij,kj->ik", x, x, out=out) is out
    alike(out, B @ B.T)
    assert np.einsum_path("ij,jk,kl->il", x, x.T, x) == np.einsum_path("ij,jk,kl->il", B, B.T, B)
    for wrong in ("ij,jk", "i->i", "ij->ii", "ij->k", "i1->i", "ij....->i"):
        with pytest.raises(ShapeError):
            np.einsum(wrong, x)


@given(st.data())
def test_any_einsum(device, data):
    extents = dict(zip("abcd", (2, 3, 1, 4), strict=True))
    names = st.text("abcd", min_size=1, max_size=3)
    inputs = data.draw(st.lists(names, min_size=1, max_size=3))
    there = sorted(set("".join(inputs)))
    output = "".join(data.draw(st.lists(st.sampled_from(there), unique=True)))
    arrays = [np.arange(1.0, 1 + np.prod([extents[c] for c in n])).reshape([extents[c] for c in n]) for n in inputs]
    same(lambda *x: np.einsum(f"{','.join(inputs)}->{output}", *x), *arrays)


@pytest.mark.one_device
@pytest.mark.parametrize("names", ["iii", "iiii", "iiij", "ijii", "jiiki", "ijijj", "iiijjj"])
def test_diagonals_of_many_axes(device, names):
    x = np.arange(2.0 ** len(names)).reshape((2,) * len(names))
    there = sorted(set(names))
    for output in ("", "".join(there), "".join(there[::-1]), there[-1]):
        same(lambda x, o=output: np.einsum(f"{names}->{o}", x), x)
    same(lambda x: np.einsum(names, x), x)
    same(lambda x, y: np.einsum(f"{names},ii->i", x.T, y), x, B[:2, :2])
    for axis in (n for n in range(len(names)) if names.count(names[n]) > 1):
        with pytest.raises(ShapeError, match="elements"):
            np.einsum(names, cuda.to_device(x.take([0, 1, 0], axis)))


_SHAPES = ((), (1,), (3,), (0,), (1, 1), (1, 3), (2, 3), (3, 1), (2, 1, 3))


@pytest.mark.one_device
@pytest.mark.parametrize("shape", _SHAPES, ids=str)
def test_polynomials_of_several_axes(device, shape):
    """NumPy adds arrays whose first axis has as many elements, and pads none of more axes than one."""
    calls = {(f, other): lambda x, y, f=f: f(x, y) for f in (np.polyadd, np.polysub) for other in _SHAPES}
    calls |= {np.polyint: lambda x, y: np.polyint(x)} if shape else {}
    for key, function in calls.items():
        x = np.arange(np.prod(shape)).reshape(shape) + 1.0
        y = np.ones(key[1]) / 2 if isinstance(key, tuple) else x
        try:
            wanted = function(x, y)
        except ValueError:
            with pytest.raises(ValueError):
                function(cuda.to_device(x), cuda.to_device(y))
        else:
            alike(function(cuda.to_device(x), cuda.to_device(y)), wanted)


@pytest.mark.one_device
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(device, mode):
    for x in (ROW, ROW + 1j * ROW[::-1], np.arange(9), np.arange(9) % 2 > 0, ROW.astype(np.float32)):
        for function in (np.convolve, np.correlate):
            same(lambda a, f=function: [f(a, a[:4], mode), f(a[:3], a, mode), f(a, a, mode)], x, rtol=1e-5, atol=1e-6)


@pytest.mark.one_device
def test_long_convolutions(device, monkeypatch):
    from portagpu.xp.beyond import polynomials

    monkeypatch.setattr(polynomials, "_MOST_PRODUCTS", 0)
    for mode in ("full", "same", "valid"):
        same(lambda a, m=mode: [np.convolve(a, a[:4], m), np.correlate(a, a[:5], m)], ROW, atol=1e-12)
        same(lambda a, m=mode: np.convolve(a, 1j * a[:3], m), ROW, atol=1e-12)


@pytest.mark.one_device
def test_polynomials(device):
    same(lambda p, x: [np.polyval(p, x), np.polyval([2, 0, 1], x), np.polyval(p, 2.5)], ROW[:4], B)
    same(lambda p, q: [np.polyadd(p, q), np.polysub(q, p), np.polymul(p, q)], ROW[:4], ROW[:2])
    same(
        lambda p, q: [*np.polydiv(p, q), *np.polydiv(q, p), *np.polydiv(p, q[:1]), *np.polydiv(p, [4, 1])], ROW, ROW[:3]
    )
    same(lambda p: [*np.polydiv(p, p), *np.polydiv(p * 0, [1, 2, 3])], INTS[0])
    same(lambda p: [np.polyder(p), np.polyder(p, 2), np.polyint(p), np.polyint(p, 2, [3, 4])], ROW[:5])
    same(lambda x, y: np.polyfit(x, y, 2), np.arange(9.0), ROW, rtol=1e-9, atol=1e-10)
    same(lambda x, y: np.polyfit(x, y, 1, w=np.abs(y)), np.arange(9.0), ROW, rtol=1e-9, atol=1e-10)
    same(lambda x, y: np.polyfit(x, y, 2, cov=True), np.arange(9.0), ROW, rtol=1e-8, atol=1e-9)
    same(lambda x, y: np.polyfit(x, y, 3, cov="unscaled"), np.arange(9), np.stack([ROW, ROW * 2], 1), rtol=1e-7)


@pytest.mark.in_turn(2)
@pytest.mark.one_device
@pytest.mark.parametrize("method", METHODS)
def test_quantiles_by_all_methods(device, method):
    q = [0.0, 0.17, 0.5, 0.75, 1.0]
    for axis in (None, 0, (0, 1)):
        same(lambda x, a=axis: np.quantile(x, q, axis=a, method=method), INTS)
    same(lambda x: np.percentile(x, [10, 99], axis=1, method=method, keepdims=True), HOLES)
    same(lambda x: np.nanquantile(x, q, axis=1, method=method), HOLES[[0, 1, 3, 4, 5]])


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("kind", ["float32", "float64", "int16"])
@pytest.mark.parametrize("form", [nullcontext, gpu_forms])
def test_quotients_of_long_polynomials(device, kind, form):
    """Of more coefficients than a block has threads: with NumPy's bits, as no product is joined with a difference."""
    rng = np.random.default_rng(3)
    u, v = (rng.integers(-1, 2, n).astype(kind) for n in (1100, 520))
    v[0] = 3
    with form():
        same(lambda p, q: [*np.polydiv(p, q), *np.polydiv(q, p)], u, v, rtol=0, atol=0)


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore:All-NaN")
def test_quantiles_of_weighted_elements(device):
    weights = np.random.default_rng(4).integers(0, 4, HOLES.shape)
    options = {"method": "inverted_cdf", "keepdims": True}
    for axis in (None, 0, 1):
        same(lambda x, w, a=axis: np.nanpercentile(x, 40, a, weights=w + 1, **options), HOLES, weights)
        same(lambda x, w, a=axis: np.quantile(x, [0, 0.3, 1], a, weights=w, **options), INTS, weights[:5, :6])
    same(lambda x, w: np.quantile(x, 0.4, (1, 0), weights=w.T, **options), HOLES[3:], weights[3:])
    same(lambda x, w: np.quantile(x, 0.4, 1, weights=w[0], method="inverted_cdf"), HOLES, weights)
    same(lambda x, w: np.average(x, (1, 0), weights=w.T), INTS, INTS + 4.5)
    x = cuda.to_device(ROW)
    for wrong, text in ((ROW * 0, "sum"), (ROW * 0 - 1, "below"), (ROW**2 * np.inf, "finite")):
        with pytest.raises(ArgumentValueError, match=text):
            np.quantile(x, 0.5, weights=wrong, method="inverted_cdf")
    with pytest.raises(ArgumentValueError, match="inverted_cdf"):
        np.quantile(x, 0.5, weights=x * x)
    with pytest.raises(ShapeError, match="weights of shape"):
        np.quantile(x, 0.5, weights=ROW[:2], method="inverted_cdf")
    with pytest.raises(ShapeError, match="one axis"):
        np.polydiv(x, cuda.to_device(A))


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore:All-NaN", "ignore:invalid value")
def test_without_nan(device):
    same(lambda x: [np.nanmedian(x, axis=1), np.nanpercentile(x, 30, axis=0), np.nanmedian(x)], HOLES)
    same(lambda x: [np.nancumsum(x, axis=0), np.nancumprod(x)], HOLES)
    rest = HOLES[[0, 1, 3]]
    same(lambda x: [np.nanargmax(x, axis=1), np.nanargmin(x, axis=1, keepdims=True), np.nanargmax(x)], rest)
    with pytest.raises(ShapeError, match="NaN"):
        np.nanargmax(cuda.to_device(HOLES), axis=1)
    parts = [complex(1, 1), complex(np.nan, 1), complex(1, np.nan), complex(-np.inf, 2), complex(2, -3)]
    pairs = np.array([(a, b, 1j) for a in parts for b in parts])
    same(lambda x: [np.nanargmax(x, axis=1), np.nanargmin(x, axis=1), np.nanmax(x, axis=1)], pairs)


_PARTS = [-3.0, 0.0, 2.0, np.inf, np.nan]
_PAIRS = np.array([complex(a, b) for a in _PARTS for b in _PARTS])


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_medians_of_complex_numbers(device, dtype):
    """In the order of real parts, then imaginary ones; NaN where a part is NaN, and of what NumPy divides to NaN."""
    rng = np.random.default_rng(9)
    numbers = {
        "normal": rng.normal(size=(5, 4)) + 1j * rng.normal(size=(5, 4)),
        "equal real parts": rng.integers(0, 2, (5, 4)) + 1j * rng.normal(size=(5, 4)),
        "any": rng.choice(_PAIRS, (40, 4)),
        "mostly finite": rng.choice(_PAIRS[[0, 1, 2, 5, 6, 7, 3, 15]], (40, 5)),
        "none": np.zeros((0, 3)),
    }
    for name, host in numbers.items():
        for axis in (None, 0, 1, (0, 1)):
            same(lambda x, a=axis: np.median(x, axis=a, keepdims=True), host.astype(dtype), rtol=1e-6)
            if name != "any":  # of an infinite one beside NaN NumPy takes other sums in small arrays
                same(lambda x, a=axis: np.nanmedian(x, axis=a), host.astype(dtype), rtol=1e-6)
    holes = np.where(rng.random((6, 5)) < 0.4, complex(1, np.nan), rng.normal(size=(6, 5)) * (1 + 2j)).astype(dtype)
    holes[0] = np.nan
    same(lambda x: [np.nanmedian(x, axis=1), np.nanmedian(x), np.nanmedian(x.T, axis=1)], holes, rtol=1e-6)
    same(lambda x: np.pad(x, 1, mode="median"), numbers["normal"].astype(dtype), rtol=1e-6)
    with pytest.raises(ArgumentTypeError, match="no quantiles"):
        np.quantile(cuda.to_device(holes), 0.5)


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.float16, np.float32, np.float64])
def test_edges_of_histograms_of_several_axes(device, dtype):
    """Those that are given keep their dtype; others have that of all samples, or float64 where a range is given."""
    x = np.array([0, 1, 2, 3, 1.5])
    first = x.astype(dtype)
    for other in (np.int32, np.float16, np.float32, np.float64):
        pair = first, x.astype(other)
        same(lambda a, b: np.histogram2d(a, b, 3), *pair, rtol=1e-3)
        same(lambda a, b: np.histogram2d(a, b, 3, range=[[0, 2], [0, 3]]), *pair, rtol=1e-3)
        same(lambda a, b: np.histogramdd((a, b), [2, [0, 1, 3]])[1], *pair, rtol=1e-3)
        same(lambda a, b: np.histogram2d(a, b, [[0, 1, 3], [0.0, 2, 3]]), *pair)
        for kind in (np.int32, np.float32, np.float64):
            edges = np.array([0, 1, 3], kind)
            same(lambda a, b, e: np.histogram2d(a, b, e), *pair, edges)
            same(lambda a, b, e: np.histogram2d(a, b, [e, 3]), *pair, edges, rtol=1e-3)


@pytest.mark.one_device
def test_covariances(device):
    weights, counts = np.abs(B[0]) + 1, np.array([1, 3, 2, 1])
    same(lambda x: [np.cov(x), np.cov(x, x * 2 + 1), np.cov(x, rowvar=False, bias=True), np.corrcoef(x, -x)], B)
    same(lambda x, w, c: [np.cov(x, aweights=w), np.cov(x, fweights=c, aweights=w, ddof=0)], B, weights, counts)
    same(lambda x: np.cov(x), B.astype(np.float32), rtol=1e-6)


@pytest.mark.one_device
def test_histograms(device):
    same(lambda x: np.histogram(x, 5, weights=x + 1j * x[::-1]), ROW)
    same(lambda x: np.histogram(x, 5, weights=x + 1j * x, density=True), ROW)
    parts = np.array([-3.0, 0.0, np.inf, -np.inf, np.nan])
    pairs = np.stack(np.broadcast_arrays(parts, parts[:, None]), -1).view(complex).ravel()
    same(lambda x, w: np.histogram(x, x.size, weights=w), np.arange(25.0), pairs)
    for rule in ("auto", "doane", "fd", "rice", "scott", "sqrt", "sturges"):
        same(lambda x, r=rule: [np.histogram_bin_edges(x, r), *np.histogram(x, r, range=(-1, 1))], ROW)
        same(lambda x, r=rule: np.histogram(x, r), INTS)
    same(lambda x: [np.histogram_bin_edges(x, 3, (0, 2)), np.histogram_bin_edges(x, [0, 1, 5])], ROW, dtypes=False)
    same(lambda x: np.histogram2d(x, x[::-1], [3, [-2.0, 0.0, 0.5, 2.0]]), ROW)
    same(lambda x: np.histogram2d(x, x * 2, 4, range=[[-1, 1], [-2, 1]], weights=x), ROW)
    found, edges = np.histogramdd(cuda.to_device(A.reshape(-1, 3)), (2, 3, 4), density=True)
    wanted, borders = np.histogramdd(A.reshape(-1, 3), (2, 3, 4), density=True)
    alike((found, *edges), (wanted, *borders))
    with pytest.raises(SettingsError, match="stone"):
        np.histogram(cuda.to_device(ROW), "stone")
    with pytest.raises(ArgumentTypeError, match="method"):
        np.quantile(cuda.to_device(ROW), 0.5, method="middle")


@pytest.mark.one_device
def test_imaginary_parts_of_real_arrays_are_not_written(device):
    for kind, shape in itertools.product("?bHiLefd", ((), (0,), (3,), (2, 3))):
        host = np.ones(shape, kind)
        for x in (cuda.to_device(host), cuda.to_device(host) + cuda.to_device(host)):
            for found in (np.imag(x), x.imag):
                assert found.readonly
                alike(found, x.copy_to_host().imag)
                with pytest.raises(ArgumentTypeError, match="read-only"):
                    found[...] = 1
    z = cuda.to_device(np.zeros(3, complex))
    z.imag[...] = 2
    np.testing.assert_array_equal(z.copy_to_host(), np.full(3, 2j))


@pytest.mark.one_device
@pytest.mark.parametrize("period", [None, 30.0])
def test_interpolation_of_complex_heights_part_by_part(device, period):
    parts = (0.5, -2.0, np.inf, -np.inf, np.nan)
    heights = np.array([complex(a, b) for a, b in itertools.product(parts, repeat=2)] * 2)
    heights = np.random.default_rng(2).permutation(heights)
    places = np.arange(heights.size) * 0.5
    x = np.concatenate([places, places + 0.125, [-1.0, 99.0, np.nan]])
    for left, right in ((None, None), (complex(np.inf, 1), complex(2, np.nan))):
        with np.errstate(all="ignore"):
            wanted = np.interp(x, places, heights, left, right, period)
        found = np.interp(*map(cuda.to_device, (x, places, heights)), left, right, period).copy_to_host()
        for one, two in ((found.real, wanted.real), (found.imag, wanted.imag)):
            np.testing.assert_allclose(one, two, rtol=1e-13)
