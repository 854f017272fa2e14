"""Operands on another device: whatever names them, the call raises `ArgumentTypeError`, or its result is NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, primitives, random, xp

_H = np.array([3.0, 1.0, 2.0, 5.0], np.float32)
_MASK, _PLACES = np.array([True, False, True, False]), np.array([2, 0, 1, 3])


def _written(function):
    """The elements that a function leaves in its first argument, which it writes."""

    def call(x, y):
        target = x + 0
        function(target, y)
        return target

    return call


def _into(function):
    """A function with ``out=``, which is never written from another device."""

    def call(x, y):
        function(x, y)
        return y

    return call


def _setitem(x, i, value):
    x[i] = value


_BY_MASK = {
    **{
        f"{name}(where=)": lambda x, m, name=name: getattr(np, name)(x, where=m)
        for name in "sum prod all any mean var std nansum nanprod nanmean nanvar nanstd".split()
    },
    **{
        f"{name}(where=, initial=)": lambda x, m, name=name: getattr(np, name)(x, where=m, initial=2)
        for name in "sum prod max min nanmax nanmin".split()
    },
    "add(where=)": _written(lambda x, m: np.add(x, x, out=x, where=m)),
    "divmod(where=)": lambda x, m: np.divmod(x, 2, out=(x * 0, x + 1), where=m)[0],
    "add.reduce(where=)": lambda x, m: np.add.reduce(x, where=m),
    "x.sum(where=)": lambda x, m: x.sum(where=m),
    "copyto": _written(lambda x, m: np.copyto(x, 1.0, where=m)),
    "copyto of an array": _written(lambda x, m: np.copyto(x, x * 2, where=m)),
    "putmask": _written(lambda x, m: np.putmask(x, m, 1.0)),
    "putmask of an array": _written(lambda x, m: np.putmask(x, m, [7.0, 8.0])),
    "place": _written(lambda x, m: np.place(x, m, [7.0, 8.0])),
    "piecewise": lambda x, m: np.piecewise(x, [m], [1.0, 2.0]),
    "select": lambda x, m: np.select([m], [x], 0),
    "where": lambda x, m: np.where(m, x, 0),
    "xp.where": lambda x, m: xp.where(m, x, x) if isinstance(x, cuda.devicearray.DeviceNDArray) else x,
    "extract": lambda x, m: np.extract(m, x),
    "compress": lambda x, m: np.compress(m, x),
    "x.compress": lambda x, m: x.compress(m),
    "delete": lambda x, m: np.delete(x, m),
    "x[m]": lambda x, m: x[m],
    "x[m] of rows": lambda x, m: x.reshape(4, 1)[m],
    "x[m] = number": _written(lambda x, m: _setitem(x, m, 7)),
    "x[m] = array": _written(lambda x, m: _setitem(x, m, [7.0, 8.0])),
    "rows[m] = array": _written(lambda x, m: _setitem(x.reshape(4, 1), m, [7.0])),
    "count_nonzero": lambda x, m: np.count_nonzero(np.logical_and(m, x)),
}
_BY_PLACES = {
    "take": np.take,
    "take(mode=)": lambda x, i: np.take(x, i, mode="wrap"),
    "take(mode=) clipped": lambda x, i: np.take(x, i, mode="clip"),
    "take_along_axis": np.take_along_axis,
    "put_along_axis": _written(lambda x, i: np.put_along_axis(x, i, 7, 0)),
    "put": _written(lambda x, i: np.put(x, i, x * 2)),
    "x[i]": lambda x, i: x[i],
    "x[i, i]": lambda x, i: (x.reshape(4, 1) * x)[i, i],
    "x[:, i]": lambda x, i: (x.reshape(4, 1) * x)[:, i],
    "x[i] = number": _written(lambda x, i: _setitem(x, i, 7)),
    "x[i] = array": _written(lambda x, i: _setitem(x, i, x * 2)),
    "x[i] += 1": _written(lambda x, i: x.__setitem__(i, x[i] + 1)),
    "add.at": _written(lambda x, i: np.add.at(x, i, 1)),
    "multiply.at": _written(lambda x, i: np.multiply.at(x, i, x + 0)),
    "add.reduceat": np.add.reduceat,
    "choose": lambda x, i: np.choose(i, [x, x + 1, x + 2, x + 3]),
    "repeat": np.repeat,
    "x.repeat": lambda x, i: x.repeat(i),
    "delete at": np.delete,
    "insert at": lambda x, i: np.insert(x, i, 7.0),
    "searchsorted(sorter=)": lambda x, i: np.searchsorted(x[:3], x, sorter=i[:3] % 3),
    "split": lambda x, i: np.concatenate(np.split(x, [int(i[1]) + 1])),
    "roll": lambda x, i: np.roll(x, int(i[0])),
    "cov(fweights=)": lambda x, i: np.cov(x, fweights=i + 1),
    "unravel_index": lambda x, i: np.unravel_index(i, (2, 2))[0] + x * 0,
    "ravel_multi_index": lambda x, i: np.ravel_multi_index((i, i), (4, 4)) + x * 0,
    "bincount": lambda x, i: np.bincount(i, x),
    "lexsort": lambda x, i: np.lexsort((x, i)),
    "ldexp": lambda x, i: np.ldexp(x, i.astype(np.int32)),
}
_BY_VALUES = {
    **{
        f"{name}(out=)": _into(lambda x, y, name=name: getattr(np, name)(x, out=y))
        for name in "sin cumsum cumprod nancumsum round conjugate".split()
    },
    **{
        f"{name}(out=) of one": _into(lambda x, y, name=name: getattr(np, name)(x, out=y[:1].reshape(())))
        for name in "sum prod max min mean var std nansum nanmean ptp median nanmedian".split()
    },
    **{
        f"{name}(weights=)": lambda x, y, name=name: getattr(np, name)(x, weights=y)
        for name in ("average", "histogram", "histogram_bin_edges")
    },
    **{
        name: getattr(np, name)
        for name in (
            "add subtract power arctan2 copysign maximum equal less logical_and outer inner dot vdot kron convolve "
            "correlate isin union1d intersect1d setdiff1d setxor1d append polyadd polysub polymul polyval isclose "
            "allclose array_equal array_equiv searchsorted cov corrcoef hypot"
        ).split()
    },
    "tensordot": lambda x, y: np.tensordot(x, y, 1),
    "digitize": lambda x, y: np.digitize(x, np.sort(y)),
    "add(out=)": _into(lambda x, y: np.add(x, 1, out=y)),
    "add(out=, where=)": _into(lambda x, y: np.add(x, 1, out=y, where=_MASK)),
    "clip(out=)": _into(lambda x, y: np.clip(x, 1, 2, out=y)),
    "take(out=)": _into(lambda x, y: np.take(x, _PLACES, out=y)),
    "choose(out=)": _into(lambda x, y: np.choose(_PLACES, [x, x, x, x], out=y)),
    "compress(out=)": _into(lambda x, y: np.compress(_MASK, x, out=y[:2])),
    "concatenate(out=)": _into(lambda x, y: np.concatenate([x[:2], x[2:]], out=y)),
    "stack(out=)": _into(lambda x, y: np.stack([x[:2], x[2:]], out=y.reshape(2, 2))),
    "matmul(out=)": _into(lambda x, y: np.matmul(x.reshape(2, 2), x.reshape(2, 2), out=y.reshape(2, 2))),
    "dot(out=)": _into(lambda x, y: np.dot(x.reshape(2, 2), x.reshape(2, 2), out=y.reshape(2, 2))),
    "outer(out=)": _into(lambda x, y: np.outer(x[:2], x[:2], out=y.reshape(2, 2))),
    "einsum(out=)": _into(lambda x, y: np.einsum("i->i", x, out=y)),
    "quantile(out=)": _into(lambda x, y: np.quantile(x, [0, 0.25, 0.5, 1], out=y)),
    "nan_to_num": lambda x, y: np.nan_to_num(x, nan=y[0]),
    "add.accumulate(out=)": _into(lambda x, y: np.add.accumulate(x, out=y)),
    "add.reduceat(out=)": _into(lambda x, y: np.add.reduceat(x, _PLACES, out=y)),
    "divmod(out=)": _into(lambda x, y: np.divmod(x, 2, out=(x + 0, y))),
    "+=": _written(lambda x, y: x.__iadd__(y)),
    "divide.outer": np.divide.outer,
    "add.at": _written(lambda x, y: np.add.at(x, _PLACES, y)),
    "clip": lambda x, y: np.clip(x, y - 1, y),
    "clip from": lambda x, y: np.clip(x, 1, y),
    "sum(initial=)": lambda x, y: np.sum(x, initial=y[0]),
    "var(mean=)": lambda x, y: np.var(x, mean=y[:1]),
    "std(mean=)": lambda x, y: np.std(x, mean=y[:1], where=_MASK),
    "quantile(weights=)": lambda x, y: np.quantile(x, 0.5, weights=y, method="inverted_cdf"),
    "nanquantile(weights=)": lambda x, y: np.nanquantile(x, 0.5, weights=y, method="inverted_cdf"),
    "percentile(weights=)": lambda x, y: np.percentile(x, 50, weights=y, method="inverted_cdf"),
    "quantile(q)": lambda x, y: np.quantile(x, y / 8),
    "nanpercentile(q)": lambda x, y: np.nanpercentile(x, y),
    "bincount(weights=)": lambda x, y: np.bincount(x.astype(np.int64), weights=y),
    "histogram(bins=)": lambda x, y: np.histogram(x, np.sort(y))[0],
    "histogram(weights=, bins=)": lambda x, y: np.histogram(x, [0, 2, 6], weights=y)[0],
    "histogram2d": lambda x, y: np.histogram2d(x, y, 2)[0],
    "histogram2d(weights=)": lambda x, y: np.histogram2d(x, x, 2, weights=y)[0],
    "histogramdd": lambda x, y: np.histogramdd((x, y), 2)[0],
    "histogramdd(weights=)": lambda x, y: np.histogramdd((x, x), 2, weights=y)[0],
    "cov(aweights=)": lambda x, y: np.cov(x, aweights=y),
    "polyfit": lambda x, y: np.polyfit(x, y, 1),
    "polyfit(w=)": lambda x, y: np.polyfit(x, x, 1, w=y),
    "polydiv": lambda x, y: np.polydiv(x, y)[0],
    "polyint(k=)": lambda x, y: np.polyint(x, k=y[:1]),
    "interp": lambda x, y: np.interp(x, np.sort(y), y),
    "interp(xp)": lambda x, y: np.interp(x, np.sort(x), y),
    "interp(left=)": lambda x, y: np.interp(x + 9, np.sort(x), x, left=y[0], right=y[1]),
    "trapezoid": np.trapezoid,
    "trapezoid(dx=)": lambda x, y: np.trapezoid(x, dx=y[:3]),
    "gradient": np.gradient,
    "ediff1d": lambda x, y: np.ediff1d(x, to_end=y, to_begin=y),
    "diff": lambda x, y: np.diff(x, prepend=y, append=y),
    "unwrap": lambda x, y: np.unwrap(x, period=y[0]),
    "insert": lambda x, y: np.insert(x, 1, y),
    "insert at places": lambda x, y: np.insert(x, [0, 1, 2, 3], y),
    "put values": _written(lambda x, y: np.put(x, _PLACES, y)),
    "put_along_axis values": _written(lambda x, y: np.put_along_axis(x, _PLACES, y, 0)),
    "putmask values": _written(lambda x, y: np.putmask(x, _MASK, y)),
    "place values": _written(lambda x, y: np.place(x, _MASK, y)),
    "copyto values": _written(lambda x, y: np.copyto(x, y)),
    "copyto values(where=)": _written(lambda x, y: np.copyto(x, y, where=_MASK)),
    "x[...] = y": _written(lambda x, y: _setitem(x, ..., y)),
    "x[m] = y": _written(lambda x, y: _setitem(x, _MASK, y[:2])),
    "x[i] = y": _written(lambda x, y: _setitem(x, _PLACES, y)),
    "x[::2] = y": _written(lambda x, y: _setitem(x, slice(None, None, 2), y[::2])),
    "x[0] = y": _written(lambda x, y: _setitem(x, 0, y[1])),
    "fill": _written(lambda x, y: x.fill(y[1])),
    "fill_diagonal": _written(lambda x, y: np.fill_diagonal(x.reshape(2, 2), y[:2])),
    "full_like": lambda x, y: np.full_like(x, y),
    "pad": lambda x, y: np.pad(x, 1, constant_values=y[:2].sum()),
    "select": lambda x, y: np.select([_MASK], [x], y),
    "choose": lambda x, y: np.choose(_PLACES, [x, y, x, y]),
    "where": lambda x, y: np.where(_MASK, x, y),
    "piecewise": lambda x, y: np.piecewise(x, [_MASK], [lambda part: part + 1, y[0]]),
    "apply_along_axis": lambda x, y: np.apply_along_axis(lambda row: row + y, 0, x),
    "linspace": lambda x, y: np.linspace(x, y, 3),
    "logspace": lambda x, y: np.logspace(x, y, 3),
    "logspace(base=)": lambda x, y: np.logspace(x, 2, 3, base=y),
    "geomspace": lambda x, y: np.geomspace(x, y, 3),
    "isclose(rtol=)": lambda x, y: np.isclose(x, x, rtol=y),
    "nan_to_num(nan=)": lambda x, y: np.nan_to_num(x, nan=y, posinf=y),
    "meshgrid": lambda x, y: np.concatenate([g.ravel() for g in np.meshgrid(x, y)]),
    "broadcast_arrays": lambda x, y: np.add(*np.broadcast_arrays(x, y)),
    "ix_": lambda x, y: np.ix_(x.astype(int) % 2, y.astype(int) % 2)[1],
    "block": lambda x, y: np.block([[x], [y]]),
    "einsum": lambda x, y: np.einsum("i,i->", x, y),
    "einsum of three": lambda x, y: np.einsum("i,i,i->", x, y, x),
    "multi_dot": lambda x, y: np.linalg.multi_dot([x, np.outer(_H, _H), y]),
    "multi_dot of three": lambda x, y: np.linalg.multi_dot([x.reshape(2, 2), y.reshape(2, 2), x.reshape(2, 2)]),
    "solve": lambda x, y: np.linalg.solve(x.reshape(2, 2), y.reshape(2, 2)),
    "lstsq": lambda x, y: np.linalg.lstsq(x.reshape(2, 2), y.reshape(2, 2))[0],
    "tensorsolve": lambda x, y: np.linalg.tensorsolve(x.reshape(2, 2), y[:2]),
    "pinv(rcond=)": lambda x, y: np.linalg.pinv(x.reshape(2, 2), rcond=y[:1].sum() * 1e-7),
    "pinv(rcond=) of each": lambda x, y: np.linalg.pinv(x.reshape(1, 2, 2), rcond=y[:1] * 1e-7),
    "matrix_rank(tol=)": lambda x, y: np.linalg.matrix_rank(x.reshape(1, 2, 2), tol=y[:1] * 1e-7),
    "matmul": lambda x, y: x.reshape(2, 2) @ y.reshape(2, 2),
    "vecdot": np.linalg.vecdot,
    "cross of vectors": lambda x, y: np.cross(x[:3], y[:3]),
    "linalg.cross": lambda x, y: np.linalg.cross(x[:3], y[:3]),
    "norms": lambda x, y: np.linalg.norm(x - y),
    **{
        f"{name} of both": lambda x, y, name=name: getattr(np, name)([x, y])
        for name in "concatenate stack vstack hstack dstack column_stack".split()
    },
}
_ALONE = {  # functions that NumPy does not have: of an array, and of the operand on the other device
    "select": lambda x, y: primitives.select(x, y > 2),
    "partition": lambda x, y: primitives.partition(x, y > 2)[0],
    "sort_by_key": lambda x, y: primitives.sort_by_key(x, y)[1],
    "reduce_by_key": lambda x, y: primitives.reduce_by_key(x, y)[1],
    "inclusive_scan(keys=)": lambda x, y: primitives.inclusive_scan(x, keys=y),
    "inclusive_scan(flags=)": lambda x, y: primitives.inclusive_scan(x, flags=y > 2),
    "exclusive_scan(keys=)": lambda x, y: primitives.exclusive_scan(x, keys=y),
    "exclusive_scan(flags=)": lambda x, y: primitives.exclusive_scan(x, flags=y > 2),
    "searchsorted": lambda x, y: primitives.searchsorted(x, y),
    "searchsorted(sorter=)": lambda x, y: primitives.searchsorted(x, x, sorter=y.astype(int)),
    "normal": lambda x, y: _drawn("normal", x, x, y),
    "gamma": lambda x, y: _drawn("gamma", x, x, y),
    "poisson": lambda x, y: _drawn("poisson", x, y, 4),
}


def _drawn(name, x, *args):
    with x.context:
        return getattr(random.default_rng(1), name)(*args)


def _other(device):
    """A device beside the current one."""
    found = [each for each in xp.__array_namespace_info__().devices() if each is not device]
    if not found:
        pytest.skip("there is one device")
    return found[0]


def _outcome(call, *operands):
    try:
        return call(*operands)
    except Exception as error:
        return error


def _check(found, wanted, name):
    if isinstance(found, tuple | list):
        for one, other in zip(found, wanted, strict=True):
            _check(one, other, name)
    else:
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-5, err_msg=name)


def _copied(x, device):
    return xp.asarray(x, device=device)


_TABLE = {
    **{f"mask: {name}": (call, _MASK) for name, call in _BY_MASK.items()},
    **{f"places: {name}": (call, _PLACES) for name, call in _BY_PLACES.items()},
    **{f"values: {name}": (call, _H[::-1].copy()) for name, call in _BY_VALUES.items()},
}


@pytest.mark.one_device
@pytest.mark.parametrize("part", ("mask", "places", "values"))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_operand_on_another_device_is_refused_or_right(device, part):
    other = _other(device)
    for here, there in ((device, other), (other, device)):
        for name, (call, operand) in _TABLE.items():
            if not name.startswith(part):
                continue
            found = _outcome(call, _copied(_H, here), _copied(operand, there))
            if isinstance(found, Exception):
                assert isinstance(found, errors.ArgumentTypeError), (name, found)
                continue
            _check(found, call(_H.copy(), operand.copy()), name)


@pytest.mark.one_device
@pytest.mark.parametrize("name", _ALONE)
def test_primitives_refuse_an_operand_on_another_device(device, name):
    other = _other(device)
    for here, there in ((device, other), (other, device)):
        x, y = _copied(_H, here), _copied(_H, there)
        _ALONE[name](x, _copied(_H, here)).copy_to_host()  # what is kept of it is not launched with the other memory
        with pytest.raises(errors.PortaGPUError) as caught:
            _ALONE[name](x, y).copy_to_host()
        assert isinstance(caught.value, errors.ArgumentTypeError), caught.value


def _seen(found):
    """A result's place and elements, or what an error says."""
    if isinstance(found, Exception):
        return type(found), str(found)
    if isinstance(found, tuple | list):
        return [_seen(part) for part in found]
    place = found.device if isinstance(found, cuda.devicearray.DeviceNDArray) else None
    return place, np.asarray(found).tobytes()


def _operands(operand, device, *, first):
    """An array on a device and one on the host: ``first`` of two, or second."""
    return (_copied(_H, device), operand.copy()) if first else (_H.copy(), _copied(operand, device))


@pytest.mark.one_device
@pytest.mark.parametrize("first", (True, False))
@pytest.mark.parametrize("part", ("mask", "places", "values"))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operands_of_the_host_go_to_the_device_of_others(device, part, first):
    other = _other(device)
    for name, (call, operand) in _TABLE.items():
        if not name.startswith(part):
            continue
        with cuda.Device(other):
            wanted = _seen(_outcome(call, *_operands(operand, other, first=first)))
        found = _seen(_outcome(call, *_operands(operand, other, first=first)))
        assert found == wanted, (name, found, wanted)
        assert found[0] is not AttributeError, (name, found)
        if first and "out=" not in name:
            _check(call(_copied(_H, other), operand), call(_H.copy(), operand), name)


@pytest.mark.one_device
@pytest.mark.parametrize("name", [name for name in _ALONE if name not in ("select", "partition")])
def test_primitives_take_operands_of_the_host_to_the_device_of_others(device, name):
    other = _other(device)
    with cuda.Device(other):
        wanted = _seen(_ALONE[name](_copied(_H, other), _H))
    assert wanted[0] is other
    assert _seen(_ALONE[name](_copied(_H, other), _H)) == wanted


@pytest.mark.one_device
def test_functions_of_a_program_run_where_the_array_is(device):
    x = _copied(_H, _other(device))
    places = []

    def noted(part):
        places.append(cuda.get_current_device().record)
        return part + cuda.to_device(np.ones(part.shape, np.float32))

    np.testing.assert_array_equal(np.apply_along_axis(noted, 0, x).copy_to_host(), _H + 1)
    assert set(places) == {x.device}
    assert cuda.get_current_device().record is device
