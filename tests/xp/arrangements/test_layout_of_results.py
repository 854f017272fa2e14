"""Layouts of results: strides, and views or copies, of NumPy's functions of operands in every layout."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest

from portagpu import cuda, xp

_SHAPE = (3, 4, 2)
LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.T,
    "permuted": lambda x: x.transpose(1, 2, 0),
    "swapped": lambda x: x.swapaxes(0, 1),
    "negative": lambda x: x.T[::-1],
    "negative inside": lambda x: x[:, ::-1],
    "sliced": lambda x: x.T[::2],
    "sliced inside": lambda x: x.transpose(2, 0, 1)[..., 1:],
    "broadcast": lambda x: np.broadcast_to(x.T[:, :1], x.T.shape),
    "broadcast outside": lambda x: np.broadcast_to(x.T[:1], x.T.shape),
    "one element in an axis": lambda x: x.T[:, 1:2],
}
"""Views of memory in C order."""

ONE = {
    "negative": lambda x: -x,
    "isnan": np.isnan,
    "chained": lambda x: np.sqrt(x * 2 + x) > 3,
    "frexp": lambda x: np.frexp(x),
    "astype": lambda x: x.astype(np.float32),
    "astype C": lambda x: x.astype(np.float32, order="C"),
    "astype F": lambda x: x.astype(x.dtype, order="F", copy=False),
    "astype A": lambda x: x.astype(np.complex128, order="A"),
    "copy method": lambda x: x.copy(),
    "copy": lambda x: np.copy(x),
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    **{f"copy {order}": lambda x, order=order: x.copy(order) for order in "CFAK"},
    **{f"array {order}": lambda x, order=order: np.array(x, order=order, like=x) for order in "CFAK"},
    **{f"asarray {order}": lambda x, order=order: np.asarray(x, order=order, like=x) for order in "CFAK"},
    **{f"zeros_like {order}": lambda x, order=order: np.zeros_like(x, order=order) for order in "CFAK"},
    "full_like": lambda x: np.full_like(x, 3, dtype=np.int8),
    "empty_like": lambda x: np.empty_like(x, dtype=np.int8),
    "where": lambda x: np.where(x > 3, x, 0),
    "clip": lambda x: np.clip(x, 1, 2),
    "select": lambda x: np.select([x > 9, x < 2], [x, -x], 3),
    "choose": lambda x: np.choose((x > 3).astype(np.int8), [x, -x], mode="clip"),
    "rint": lambda x: np.round(x),
    "rint of integers": lambda x: np.round(x.astype(np.int32)),
    "nan_to_num of integers": lambda x: np.nan_to_num(x.astype(np.int32)),
    "conj": lambda x: np.conj(x + 1j),
    "real": lambda x: np.real(x * 1j + 0),
    "imag": lambda x: [np.imag(x), np.imag(x * 1j)],
    "isreal": lambda x: [np.isreal(x), np.isreal(x * 1j), np.iscomplex(x), np.iscomplex(x * 1j)],
    "argwhere": lambda x: np.argwhere(x > 3),
    "nansum": lambda x: np.nansum(x, 1),
    "tril": np.tril,
    "flip": lambda x: np.flip(x, 1),
    "roll": lambda x: np.roll(x, 1, 1),
    "diff": lambda x: np.diff(x, axis=1),
    "gradient": lambda x: np.gradient(x, axis=2),
    "pad": lambda x: np.pad(x, 1),
    **{
        f"pad {mode} {width}": lambda x, mode=mode, width=width: np.pad(x, width, mode=mode)
        for mode in ("edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "median", "minimum")
        for width in (((1, 2), (0, 0), (0, 0)), 0)
    },
    "pad odd": lambda x: np.pad(x, ((1, 1), (0, 0), (0, 0)), mode="symmetric", reflect_type="odd"),
    "piecewise": lambda x: np.piecewise(x, [x > 3], [1, 2]),
    "tile once": lambda x: np.tile(x, 1),
    "vander": lambda x: np.vander(x.ravel(), 4),
    "delete": lambda x: np.delete(x, 1, 1),
    "delete several": lambda x: [np.delete(x, [0, 1], axis) for axis in range(3)],
    "insert": lambda x: np.insert(x, 1, 7, 1),
    "sort": lambda x: np.sort(x, 1),
    "argsort": lambda x: np.argsort(x, 1),
    "cumsum": lambda x: np.cumsum(x, 1),
    "cumprod": lambda x: x.cumprod(0),
    "concatenate": lambda x: np.concatenate([x, x], 1),
    "stack": lambda x: np.stack([x, x], 1),
    "stack first": lambda x: np.stack([x, x]),
    "take": lambda x: np.take(x, [0, 0], 1),
    "take_along_axis": lambda x: np.take_along_axis(x, np.argsort(x, 1), 1),
    "repeat": lambda x: np.repeat(x, 2, 1),
    "tile": lambda x: np.tile(x, (1, 2, 1)),
    "argmax": lambda x: x.argmax(1),
    "count_nonzero": lambda x: [np.count_nonzero(x, axis=1), np.count_nonzero(x > 3, axis=0)],
    "count_nonzero of broadcast": lambda x: np.count_nonzero(np.broadcast_to(x, (2, *x.shape)), axis=-2),
    **{
        f"{name} {axis} {keepdims}": lambda x, name=name, axis=axis, keepdims=keepdims: getattr(np, name)(
            x, axis=axis, keepdims=keepdims
        )
        for name, axis, keepdims in itertools.product(
            ("sum", "max", "mean", "any", "std"), (0, 1, 2, (0, 2)), (False, True)
        )
        if name == "sum" or axis == 1
    },
    "in place": lambda x: np.add(y := x.copy("K"), 1, out=y),
}
"""Functions of one array."""
_LAUNCHED = frozenset(
    name
    for name in ONE
    if name.split()[0]
    in "tril gradient pad delete insert sort argsort cumsum cumprod concatenate stack take take_along_axis repeat tile"
    " argmax argwhere count_nonzero sum max mean any std nansum in copy array piecewise vander".split()
)
"""Those whose kernels are compiled by the call: for one layout only, and some of them in a run."""

TWO = {
    "add": np.add,
    "less": np.less,
    "where": lambda x, y: np.where(x > 1, x, y),
    "where of two": lambda x, y: np.where(x > y, 1.0, y),
    "divmod": np.divmod,
    "chained": lambda x, y: (x * 2) + (y - x),
    "concatenate": lambda x, y: np.concatenate([x, y], 0),
}
"""Functions of two arrays of one shape, or that broadcast."""

VIEWS = {
    **{f"ravel {order}": lambda x, order=order: x.ravel(order) for order in "CFAK"},
    **{f"flatten {order}": lambda x, order=order: x.flatten(order) for order in "CFAK"},
    **{f"reshape {order}": lambda x, order=order: x.reshape((-1, 2), order=order) for order in "CFA"},
    "T": lambda x: x.T,
    "squeeze": lambda x: x.squeeze(),
    "swapaxes": lambda x: np.swapaxes(x, 0, 2),
    "diagonal": lambda x: np.diagonal(x),
    "all": lambda x: x[...],
    "broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "real": lambda x: x.real,
    "asarray K": lambda x: np.asarray(x, order="K", like=x),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x, like=x),
    "asfortranarray": lambda x: np.asfortranarray(x, like=x),
}
"""Functions that give views where there are any."""


def _both(layout, dtype=np.float64):
    host = np.arange(24, dtype=dtype).reshape(_SHAPE)[::-1].copy()
    return LAYOUTS[layout](host), LAYOUTS[layout](cuda.to_device(host))


def _lies(x):
    """Strides along axes of more than one element: others mean nothing."""
    return tuple(step for step, extent in zip(x.strides, x.shape, strict=True) if extent > 1 and x.size)


def _check(name, function, expected, found, *, values):
    with np.errstate(all="ignore"):
        want = function(*expected)
    got = function(*found)
    several = zip(want, got, strict=True) if isinstance(want, tuple | list) else [(want, got)]
    for theirs, ours in several:
        assert ours.shape == theirs.shape, name
        assert _lies(ours) == _lies(theirs), f"{name}: strides {ours.strides}, NumPy's {theirs.strides}"
        if values:
            np.testing.assert_array_equal(ours.copy_to_host(), theirs)
            assert _lies(ours) == _lies(theirs), "other strides once it is computed"


@pytest.mark.one_device
@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_one_array(device, layout):
    host, mine = _both(layout)
    for name, function in ONE.items():
        if name not in _LAUNCHED:
            _check(name, function, [host], [mine], values=False)


@pytest.mark.one_device
@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_on_the_host(device, layout):
    host, mine = _both(layout)
    want = np.array(host)
    for got in (np.array(mine), mine.copy_to_host()):
        assert isinstance(got, np.ndarray)
        assert _lies(got) == _lies(want)
        np.testing.assert_array_equal(got, want)


@pytest.mark.one_device
@pytest.mark.in_turn(6)
@pytest.mark.parametrize("name", sorted(_LAUNCHED))
def test_of_one_array_that_are_launched(device, name):
    host, mine = _both("permuted")
    _check(name, ONE[name], [host], [mine], values=False)


@pytest.mark.one_device
@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_two_arrays(device, layout):
    host, mine = _both(layout)
    for other in LAYOUTS:
        one, two = _both(other)
        if one.shape == host.shape:
            for name, function in TWO.items():
                _check(name, function, [host, one], [mine, two], values=(layout, other) == ("F", "permuted"))


@pytest.mark.one_device
@pytest.mark.parametrize("layout", LAYOUTS)
def test_views_and_copies(device, layout):
    host, mine = _both(layout)
    for name, function in VIEWS.items():
        want, got = function(host), function(mine)
        assert _lies(got) == _lies(want), name
        np.testing.assert_array_equal(got.copy_to_host(), want, name)
        shares = got.allocation_key == mine.allocation_key
        assert shares == np.shares_memory(want, host), f"{name}: {'a view' if shares else 'a copy'}"


@pytest.mark.one_device
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_without_elements_are_in_both_orders(device, layout, axis):
    views = {
        "sliced": lambda x: x[(slice(None),) * axis + (slice(0),)],
        "computed": lambda x: x[(slice(None),) * axis + (slice(2, 2),)] + 1,
        "new": lambda x: np.zeros_like(x, shape=(*x.shape[:axis], 0, *x.shape[axis + 1 :])),
        "more axes": lambda x: x[:, None][(slice(None),) * axis + (slice(0),)],
    }
    for name, view in views.items():
        for x in _both(layout):
            found = view(x)
            assert found.size == 0
            assert found.flags["C_CONTIGUOUS"] and found.flags["F_CONTIGUOUS"], name


@pytest.mark.one_device
@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    "name", ["chained", "frexp", "where", "roll", "cumsum", "sort", "concatenate", "stack", "sum 1 True"]
)
def test_numbers_in_other_orders(device, name):
    host, mine = _both("permuted")
    _check(name, ONE[name], [host], [mine], values=True)


@pytest.mark.one_device
def test_broadcast_operands(device):
    """Axes of one element in one operand, in every order of both."""
    for left, right in itertools.product(((3, 4), (3, 1), (1, 4), (4,)), repeat=2):
        for turned in itertools.product((False, True), repeat=2):
            hosts = [
                np.ones(s[::-1] if t else s).T if t else np.ones(s) for s, t in zip((left, right), turned, strict=True)
            ]
            mine = [
                cuda.to_device(np.ones(s[::-1])).T if t else cuda.to_device(np.ones(s))
                for s, t in zip((left, right), turned, strict=True)
            ]
            _check("add", np.add, hosts, mine, values=False)


def test_elements_of_results_in_memory_order(device):
    """Operands in one order that is not C are walked in memory order: as many steps as in C order, one."""
    host = np.arange(24.0).reshape(_SHAPE)
    for view in (lambda x: x.T, lambda x: x.transpose(1, 2, 0)):
        x = view(cuda.to_device(host))
        total = x * 3 + x
        kept = np.ravel(total, "K")
        np.negative(total, out=total)
        np.testing.assert_array_equal(total.copy_to_host(), view(-4 * host))
        np.testing.assert_array_equal(kept.copy_to_host(), -4 * host.ravel())


def test_stored_on_the_way_in_another_order(device):
    """A kernel writes arrays of different layouts: a result in C order, and one on the way to it in F order."""
    host = np.arange(12.0).reshape(3, 4)
    c, f = cuda.to_device(host), cuda.to_device(np.asfortranarray(host))
    for _ in range(3):
        on_the_way = f * 2
        total = c + on_the_way
        np.testing.assert_array_equal(total.copy_to_host(), 3 * host)
        np.testing.assert_array_equal(on_the_way.copy_to_host(), 2 * host)
        assert (total.strides, on_the_way.strides) == ((32, 8), (8, 24))


def test_reductions_of_expressions_in_other_orders(device):
    host = np.arange(60.0).reshape(3, 4, 5)
    for _ in range(3):
        x = cuda.to_device(host).transpose(2, 0, 1)
        found, expected = (x * 2).sum(axis=1), (host.transpose(2, 0, 1) * 2).sum(axis=1)
        np.testing.assert_array_equal(found.copy_to_host(), expected)
        assert found.strides == expected.strides
        plain = cuda.to_device(host)
        np.testing.assert_array_equal((plain * 2).sum(axis=1).copy_to_host(), (host * 2).sum(axis=1))
        assert xp.sum(plain, axis=1).strides == host.sum(axis=1).strides


@pytest.mark.one_device
def test_real_arrays_are_their_conjugates(device):
    for dtype in (bool, np.int32, np.float32):
        x = cuda.to_device(np.ones((2, 2), dtype))
        assert x.conj() is x and x.conjugate() is x
        assert np.linalg.matrix_power(x, 1) is x


@pytest.mark.one_device
@pytest.mark.parametrize(
    "function",
    [lambda x: x.view(), np.diag, lambda x: np.meshgrid(x[0], x[1], copy=False)[0], lambda x: np.diag(x, -1)],
    ids=["view", "diag", "meshgrid", "diag below"],
)
def test_views_of_matrices(device, function):
    host = np.asfortranarray(np.arange(9.0).reshape(3, 3))
    x = cuda.to_device(host)
    found, expected = function(x), function(host)
    assert found.allocation_key == x.allocation_key or not np.shares_memory(expected, host)
    assert _lies(found) == _lies(expected)
    np.testing.assert_array_equal(found.copy_to_host(), expected)


@pytest.mark.one_device
def test_bools_have_no_mixed_quantiles(device):
    x = cuda.to_device(np.array([True, False, True]))
    with pytest.raises(TypeError):
        np.quantile(x, 0.5)
    assert float(np.median(x)) == 1


@pytest.mark.one_device
def test_orders_of_uploads(device):
    """C and Fortran order stay; all other orders of axes become C order."""
    host = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for axes in itertools.permutations(range(3)):
        x = host.transpose(axes)
        found = cuda.to_device(x)
        np.testing.assert_array_equal(found.copy_to_host(), x)
        expected = x if x.flags.c_contiguous or x.flags.f_contiguous else x.copy("C")
        assert found.strides == expected.strides, axes
    gaps = cuda.to_device(host[:, ::2])
    assert gaps.strides == host[:, ::2].copy("C").strides


@pytest.mark.one_device
@pytest.mark.parametrize("layout", ["C", "F", "permuted", "swapped"])
def test_sums_that_begin_with_an_initial_number(device, layout):
    host, mine = _both(layout)
    for axis in range(host.ndim):
        for function in (np.cumulative_sum, np.cumulative_prod):
            wanted = function(host, axis=axis, include_initial=True)
            found = function(mine, axis=axis, include_initial=True)
            assert found.strides == wanted.strides
            np.testing.assert_array_equal(found.copy_to_host(), wanted)
