"""NumPy's functions take device arrays with NumPy's keywords, required ones included, and no others are missing."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from against_numpy import alike, same

from portagpu import cuda
from portagpu.errors import DTypeError
from portagpu.runtime.arrays import numpy_dispatch
from tools.numpy_names_table import _functions

A = np.random.default_rng(15).normal(size=(4, 5))
INTS = np.random.default_rng(16).integers(0, 6, (3, 4))
HOLES = np.where(A > 1, np.nan, A)
_ABSENT = {"einsum_path": {"einsum_call"}}  # of NumPy's own code


def test_every_keyword_is_taken():
    numpy_dispatch.registered("a name that nobody has")  # so that all are registered
    for name, own, function in _functions():
        if own not in numpy_dispatch._functions or isinstance(function, np.ufunc):
            continue
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # in C, without names
            continue
        wanted = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY and p.default is not p.empty}
        wanted -= {p.name for p in parameters if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
        missing = wanted - {k for k in wanted if k in numpy_dispatch._keywords[own]} - _ABSENT.get(name, set())
        assert not missing, f"numpy.{name}: {missing}"


@pytest.mark.one_device
@pytest.mark.parametrize(
    "use",
    [
        lambda a, i: [np.quantile(a, q=0.3), np.percentile(a=a, q=30, axis=1), np.partition(a, kth=2)[:, 2]],
        lambda a, i: [np.take(a, indices=[0, 1], axis=1), np.repeat(a, repeats=2), np.tile(a, reps=(1, 2))],
        lambda a, i: [np.roll(a, shift=2, axis=0), *np.split(a, indices_or_sections=2), np.reshape(a, shape=(2, 10))],
        lambda a, i: [np.isin(element=i, test_elements=[1, 2]), np.searchsorted(np.sort(a[0]), v=[0.5]), np.sum(a=a)],
        lambda a, i: [np.insert(a, obj=1, values=0.0, axis=0), np.linalg.matrix_power(a[:, :4], n=2), np.clip(a, 0, 1)],
        lambda a, i: [*np.meshgrid(a[0], a[1, :3], sparse=True), *np.meshgrid(a[0], i[0], sparse=True, indexing="ij")],
        lambda a, i: [*np.intersect1d(i, np.array([1, 4, 9]), return_indices=True)],
        lambda a, i: [np.concatenate([i, i], dtype=np.float32, casting="same_kind"), np.hstack([a, a], dtype="f4")],
        lambda a, i: [np.var(a, where=a > 0), np.std(a, 0, where=a > -2, ddof=1), np.var(i, axis=1, where=i > 0)],
        lambda a, i: [np.var(a, axis=1, mean=np.mean(a, axis=1, keepdims=True)), np.std(a, correction=1)],
        lambda a, i: [np.broadcast_arrays(a, a[:1], subok=True)[1], np.zeros_like(a, subok=False)],
    ],
)
def test_keywords(device, use):
    same(use, A, INTS, rtol=1e-6)


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty")
def test_keywords_beside_nan(device):
    same(lambda x: [np.nansum(x, where=x > 0), np.nansum(x, initial=3, axis=0), np.nanmean(x, 1, where=x > 0)], HOLES)
    same(lambda x: [np.nanvar(x, 0, ddof=1), np.nanstd(x, where=x < 0.5), np.nanvar(x, correction=1)], HOLES)
    device_of = cuda.to_device(A)
    assert np.empty_like(device_of, order="F").is_f_contiguous()
    assert np.empty_like(device_of, device=device_of.device, shape=3).shape == (3,)
    out = cuda.device_array(())
    assert np.trace(cuda.to_device(A), out=out) is out
    alike(out, np.trace(A))
    with pytest.raises(DTypeError, match="casting='safe'"):
        np.concatenate([cuda.to_device(A)], dtype=np.float32, casting="safe")
    with pytest.raises(DTypeError, match="takes no nonsense="):
        numpy_dispatch.call("sum", cuda.to_device(A), nonsense=1)


@pytest.mark.one_device
@pytest.mark.parametrize(
    "text",
    [
        *(
            "np.round(x, out=whole)",
            "np.clip(x, 0, 1, out=whole)",
            "np.clip(whole, 0.5, 1, out=whole)",
            "np.round(x, 1, out=whole)",
        ),
        *("np.quantile(x, 0.5, axis=0, out=whole[0])", "np.nanstd(x, axis=0, out=whole[0])"),
        "np.einsum('ij,j->ij', x, row, out=whole)",
    ],
)
def test_out_that_cannot_hold_results_is_refused(text):
    for move in (np.copy, cuda.to_device):
        scope = {"np": np, "x": move(np.ones((2, 3))), "whole": move(np.zeros((2, 3), int)), "row": move(np.ones(3))}
        with pytest.raises(TypeError):
            eval(text, scope)
        assert not np.asarray(scope["whole"]).any()


@pytest.mark.one_device
@pytest.mark.parametrize(
    "text",
    [
        *("whole *= other", "whole & other", "np.add(x, other, out=whole)", "np.divmod(whole, imaginary)"),
        *(
            "np.add(x, x, out=whole[:1])",
            "np.add(x, other, out=whole, where=other)",
            "np.clip(x, 0, 1, out=whole[:, :2])",
        ),
    ],
)
def test_dtypes_are_checked_before_shapes(text):
    for move in (np.copy, cuda.to_device):
        scope = {"np": np, "x": move(np.ones((2, 3))), "whole": move(np.zeros((2, 3), int))}
        scope |= {"other": move(np.ones(4)), "imaginary": move(np.ones(4, complex))}
        with pytest.raises(TypeError):
            exec(text, scope)


_METHODS = {
    **dict.fromkeys("all any argmax argmin cumprod cumsum max min mean prod ptp round std sum trace var".split(), ()),
    "clip": (0, 1),
    "compress": ([True, False, True],),
    "take": ([1, 2],),
}


@pytest.mark.one_device
@pytest.mark.parametrize("name", _METHODS)
def test_methods_take_out(device, name):
    if not device.capabilities.fp64:
        pytest.skip("without float64, dtypes of results are not NumPy's")
    given = (*_METHODS[name], A) if name == "compress" else (A, *_METHODS[name])
    expected = np.asarray(getattr(np, name)(*given))
    out = cuda.to_device(np.zeros(expected.shape, expected.dtype))
    assert getattr(cuda.to_device(A), name)(*_METHODS[name], out=out) is out
    np.testing.assert_allclose(out.copy_to_host(), expected)


_ACCUMULATIONS = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "nancumsum": np.nancumsum,
    "accumulate": np.add.accumulate,
    "reduceat": lambda x, **options: np.add.reduceat(x, [0, 2, 1], **options),
    "sum": np.sum,
    "trace": np.trace,
}


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", _ACCUMULATIONS)
def test_complex_numbers_in_other_dtypes(device, name):
    use = _ACCUMULATIONS[name]
    x = np.array([[1 + 2j, 2 - 1j], [3j, 1], [2, -1j]])
    for dtype in ("f2", "f4", "f8", "i4", "u1", "c8", None):
        same(lambda x, dtype=dtype: use(x, dtype=dtype), x)
    results = cuda.to_device(np.zeros(np.shape(use(x)), "f4"))
    with pytest.raises(DTypeError):
        use(cuda.to_device(x), out=results)
    assert not results.copy_to_host().any()


@pytest.mark.one_device
@pytest.mark.parametrize("function", [np.var, np.std, np.nanvar, np.nanstd])
@pytest.mark.parametrize(("of", "wanted"), [("f4", "i4"), ("i4", "bool"), ("c8", "f4"), ("c16", "f8"), ("c8", "i8")])
def test_variances_in_dtypes_that_lose_a_part(device, function, of, wanted):
    with pytest.raises(DTypeError, match=f"numpy.{function.__name__} is not computed in {np.dtype(wanted)}"):
        function(cuda.to_device(np.ones(3, of)), dtype=wanted)


_BOUNDS = ((1, 2), (None, 2), (1, None), (None, None), (1.5, 2.5), (1 + 1j, 2 - 1j), (np.int8(1), np.float32(3)))
_PARTS = [-3.0, 0.0, 1.5, np.inf, np.nan]


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", "i1 u1 i4 i8 e f d F D".split())
def test_clip_in_a_dtype(device, dtype):
    """``dtype=`` and ``casting=`` are those of NumPy's clip; complex numbers have the order of real parts first."""
    if np.dtype(dtype).kind == "c":
        host = np.array([complex(a, b) for a in _PARTS for b in _PARTS], dtype)
    else:
        host = np.array([0, 1, 2, 3, 100, 7]).astype(dtype)
    for low, high in _BOUNDS:
        for options in ({}, {"dtype": "f4"}, {"dtype": "f8", "casting": "safe"}, {"dtype": "i2"}, {"dtype": "F"}):
            for casting in (None, "no", "unsafe"):
                given = options if casting is None else {**options, "casting": casting}
                kinds = np.result_type(host, *(x for x in (low, high) if x is not None)).kind
                if casting == "unsafe" and kinds == "c" and np.dtype(given.get("dtype", "D")).kind != "c":
                    continue  # complex numbers become no real ones here
                try:
                    wanted = np.clip(host, low, high, **given)
                except TypeError:
                    with pytest.raises(TypeError):
                        np.clip(cuda.to_device(host), low, high, **given)
                else:
                    alike(cuda.to_device(host).clip(low, high, **given), wanted)


@pytest.mark.one_device
@pytest.mark.parametrize("casting", ["same_kind", "unsafe", "safe"])
def test_clip_into_an_array(device, casting):
    for dtype, other in ((a, b) for a in "ifd" for b in "?ifdF"):
        host, out = np.arange(5).astype(dtype), np.zeros(5, other)
        found = cuda.to_device(out)
        try:
            np.clip(host, 1, 3, out=out, casting=casting)
        except TypeError:
            with pytest.raises(TypeError):
                np.clip(cuda.to_device(host), 1, 3, out=found, casting=casting)
        else:
            assert np.clip(cuda.to_device(host), 1, 3, out=found, casting=casting) is found
        np.testing.assert_array_equal(found.copy_to_host(), out)


@pytest.mark.one_device
@pytest.mark.parametrize("x", [np.array(3), np.arange(3), np.zeros((0, 2)), np.array([True, False])], ids=str)
def test_no_differences(device, x):
    """Taken no times, they are the array, also of no axes, and beside axes that it has not."""
    for options in ({}, {"axis": 5}, {"prepend": 1}):
        same(lambda x, o=options: np.diff(x, n=0, **o), x)


@pytest.mark.one_device
@pytest.mark.parametrize("x", [np.array([True, False]), np.array(True), np.zeros(0, bool)], ids=str)
def test_bools_as_places(device, x):
    for shape in ((2, 2), (4,), 4):
        same(lambda x, s=shape: np.unravel_index(x, s), x)
    same(lambda x: np.ravel_multi_index((x, x), (2, 3)), x)
