"""Rows of indexing, sorting, searching and sets: results are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from falling_orders import HAS_DESCENDING, falling, falling_order
from function_table import Case, row, rows
from operand_drawing import ALL, INTEGERS, REAL, WITH_HALVES, Drawing, Operand, finite, laid_out, number, ordered, whole

_SORTED = (*REAL, "bool", "float16")


def _places(d: Drawing, extent: int, shape: tuple[int, ...], dtypes: Any = ("int64", "int32")) -> Operand:
    low, high = (-extent, extent) if extent else (0, 1)
    return d.array(dtypes, shape, lambda r, s, t: r.integers(0 if t.kind == "u" else low, high, s).astype(t))


@rows(["xp.take", "numpy.take", "x.take"])
def _take(d: Drawing, name: str) -> Case:
    x = d.array(WITH_HALVES, least=1, empty=False)
    axis = d.axis(x.host.ndim, none=not name.startswith("xp") or x.host.ndim == 1)
    extent = x.host.size if axis is None else x.host.shape[axis]
    where = _places(d, extent, d.one((3,), (0,), (7,)) if name.startswith("xp") else d.one((), (3,), (2, 2), (0,)))
    if name == "x.take":
        return Case(call=lambda n, a, i: a.take(i, axis=axis), operands=(x, where))
    return Case(call=lambda n, a, i: n.take(a, i, axis=axis), operands=(x, where))


@rows(["xp.take_along_axis", "numpy.take_along_axis"])
def _take_along_axis(d: Drawing, _name: str) -> Case:
    x = d.array(WITH_HALVES, least=1, empty=False)
    axis = d.axis(x.host.ndim, none=False)
    shape = list(x.host.shape)
    shape[axis] = d.integer(0, 4)
    where = _places(d, x.host.shape[axis], tuple(shape))
    return Case(call=lambda n, a, i: n.take_along_axis(a, i, axis=axis), operands=(x, where))


@row("numpy.put numpy.put_along_axis numpy.putmask numpy.copyto x.put x.fill")
def _written(d: Drawing) -> Case:
    x = d.array(ALL, d.one((7,), (3, 4), (2, 3, 5)), finite, plain=True)
    kind = x.host.dtype.name
    where = laid_out(d.random.permutation(x.host.size)[:5], (5,), lambda a: a)
    values, mask = d.array([kind], (d.one(1, 3, 5),), finite), d.array(["bool"], x.host.shape)
    along = laid_out(np.zeros_like(x.host[..., :1], np.int64), (), lambda a: a)
    mode = d.integer(0, 4)

    def call(n: Any, a: Any, i: Any, v: Any, m: Any, j: Any) -> Any:
        if mode == 0:
            np.put(a, i, v)
        elif mode == 1:
            np.put_along_axis(a, j, v[0], axis=-1)
        elif mode == 2:
            np.copyto(a, v[:1], where=m)
        elif mode == 3:
            np.putmask(a, m, v[:1])
            a.put(i[:2], v[:1])
        else:
            a.fill(v[0])
        return a

    return Case(call=call, operands=(x, where, values, mask, along))


_HERE = object()  # where an array stands in a subscript


@row("x.__getitem__ x.__setitem__")
def _subscripts(d: Drawing) -> Case:
    x = d.array(ALL, least=1, values=finite)
    key, arrays = _subscript(d, x.host.shape)
    writes = d.boolean()
    if writes:
        x = d.array([x.host.dtype.name], x.host.shape, finite, plain=True)
    value: Operand = number(d.one(0, 1, 2))
    if writes and d.boolean():
        try:
            shape = x.host[_filled(key, [y.host for y in arrays])].shape
        except IndexError:
            shape = ()
        value = d.array([x.host.dtype.name], tuple(1 if d.boolean() else n for n in shape), finite)

    def call(n: Any, a: Any, v: Any, *more: Any) -> Any:
        subscript = _filled(key, list(more))
        if not writes:
            return a[subscript]
        a[subscript] = v
        return a

    return Case(call=call, operands=(x, value, *arrays))


def _filled(key: list[Any], arrays: list[Any]) -> Any:
    rest = list(arrays)
    return tuple(rest.pop(0) if part is _HERE else part for part in key)


def _subscript(d: Drawing, shape: tuple[int, ...]) -> tuple[list[Any], list[Operand]]:
    kind = d.one("basic", "basic", "mask", "integers")
    if kind == "mask":
        return [_HERE], [d.array(["bool"], shape[: d.integer(1, len(shape))])]
    parts: list[Any] = []
    arrays: list[Operand] = []
    for extent in shape[: d.integer(0, len(shape))]:
        what = d.one("slice", "slice", "integer", "array" if kind == "integers" else "slice")
        if what == "array" and extent:
            dtypes = ("int64", "int32", "uint8") if extent < 200 else ("int64",)
            arrays.append(_places(d, extent, d.one((3,), (2, 1), ()), dtypes))
            parts.append(_HERE)
        elif what == "integer" and extent:
            parts.append(d.integer(-extent, extent - 1))
        else:
            ends = [d.one(None, 0, 1, -1, 2, -3, extent, extent + 3) for _ in range(2)]
            parts.append(slice(*ends, d.one(None, 1, 2, -1, -2)))
        if d.integer(0, 6) == 6:
            parts.append(None)
    if d.integer(0, 3) == 3:
        parts.append(Ellipsis)
    return parts, arrays


@row("x.item x.tolist x.__len__ x.__iter__ x.__bool__ x.__float__ x.__int__ x.__complex__ x.__index__ x.__contains__")
def _conversions(d: Drawing) -> Case:
    x = d.array(ALL, values=whole)

    def call(n: Any, a: Any) -> Any:
        found: list[Any] = [a.tolist(), 3 in a]
        if a.ndim:
            found += [len(a), [np.asarray(part) for part in a][:3]]
        if a.size:
            found += [a.item(0), a.item(-1), a.item(*(0,) * a.ndim)]
        if a.size == 1:
            found += [bool(a), complex(a.item())]
        if a.ndim == 0:
            found += [complex(a), *([float(a), int(a)] if a.dtype.kind != "c" else [])]
            found += [range(20)[a]] if a.dtype.kind in "iu" and a.item() >= 0 else []
        return found

    return Case(call=call, operands=(x,), dtypes=False)


@row("x.__array__ x.__copy__ x.__deepcopy__ x.__round__ x.__dlpack__ x.view")
def _protocols(d: Drawing) -> Case:
    import copy

    x = d.array(("float32", "int32", "float64", "int64"), d.one((7,), (3, 4), (2, 3, 5)), finite)
    target = {"float32": "int32", "int32": "float32", "float64": "int64", "int64": "float64"}[x.host.dtype.name]

    def call(n: Any, a: Any) -> Any:
        one = a[(0,) * (a.ndim - 1)][:1].reshape(())
        seen = a.copy().view(target)
        return np.asarray(a), copy.copy(a), copy.deepcopy(a), round(float(one)), seen

    return Case(call=call, operands=(x,))


@rows(["xp.nonzero", "numpy.nonzero", "x.nonzero"])
def _nonzero(d: Drawing, name: str) -> Case:
    x = d.array(WITH_HALVES, values=whole)
    call = lambda n, a: a.nonzero() if name == "x.nonzero" else n.nonzero(a)  # noqa: E731
    return Case(call=call, operands=(x,))


@row("numpy.flatnonzero numpy.argwhere numpy.extract numpy.compress")
def _selected(d: Drawing) -> Case:
    x = d.array(WITH_HALVES, values=whole, least=1)
    axis = d.axis(x.host.ndim)
    extent = x.host.size if axis is None else x.host.shape[axis]
    mask, along = d.array(["bool"], x.host.shape), d.array(["bool"], (extent,))

    def call(n: Any, a: Any, m: Any, k: Any) -> Any:
        return np.flatnonzero(a), np.argwhere(a), np.extract(m, a), np.compress(k, a, axis=axis)

    return Case(call=call, operands=(x, mask, along))


@rows(["xp.sort", "xp.argsort", "numpy.sort", "numpy.argsort"])
def _sort(d: Drawing, name: str) -> Case:
    x = d.array(_SORTED, values=ordered, least=1)
    short, standard = name.split(".")[1], name.startswith("xp")
    axis = d.axis(x.host.ndim, none=not standard)
    descending = d.boolean()
    keywords = {"descending": True} if descending and (standard or HAS_DESCENDING) else {}

    def numpys(n: Any, a: Any) -> Any:
        if keywords:
            return (falling_order if short == "argsort" else falling)(a, axis)
        return getattr(np, short)(a, axis=axis, stable=True)

    call = lambda n, a: getattr(n, short)(a, axis=axis, stable=True, **keywords)  # noqa: E731
    return Case(call=call, operands=(x,), numpy=numpys, limit=_order)


def _order(c: Any) -> None:
    np.testing.assert_array_equal(c.found[0], c.expected[0])


@row("numpy.partition numpy.argpartition numpy.lexsort")
def _partition(d: Drawing) -> Case:
    x = d.array(_SORTED, d.one((7,), (257,), (3, 4), (5, 1)), ordered)
    y = d.array(_SORTED, x.host.shape, ordered)
    axis = d.axis(x.host.ndim, none=False)
    kth = d.integer(0, x.host.shape[axis] - 1)

    def call(n: Any, a: Any, b: Any) -> Any:
        parted = np.take(np.partition(a, kth, axis=axis), np.asarray([kth]), axis=axis)
        places = np.take_along_axis(a, np.argpartition(a, kth, axis=axis), axis=axis)
        return parted, np.take(places, np.asarray([kth]), axis=axis), np.lexsort((a, b), axis=axis)

    return Case(call=call, operands=(x, y))


@rows(["xp.searchsorted", "numpy.searchsorted", "numpy.digitize"])
def _searchsorted(d: Drawing, name: str) -> Case:
    kinds = [t for t in _SORTED if t not in ("bool", "float16")]
    x = d.array(kinds, (d.one(0, 1, 7, 257),), ordered, plain=True)
    x = laid_out(np.sort(x.host), (), lambda a: a)
    values = d.array([x.host.dtype.name] if d.boolean() else kinds, d.shape(), ordered)
    side = d.one("left", "right")
    if name.endswith("digitize"):
        x = laid_out(np.unique(np.nan_to_num(x.host)), (), lambda a: a)
        return Case(call=lambda n, a, v: np.digitize(v, a, right=side == "left"), operands=(x, values))
    if d.boolean():
        turned = laid_out(x.host[::-1].copy(), (), lambda a: a)
        sorter = laid_out(np.arange(x.host.size)[::-1].copy(), (), lambda a: a)
        call = lambda n, a, v, s: n.searchsorted(a, v, side=side, sorter=s)  # noqa: E731
        return Case(call=call, operands=(turned, values, sorter))
    return Case(call=lambda n, a, v: n.searchsorted(a, v, side=side), operands=(x, values))


@rows([f"{p}.unique_{n}" for p in ("xp", "numpy") for n in ("all", "counts", "inverse", "values")])
def _unique(d: Drawing, name: str) -> Case:
    x = d.array(_SORTED, values=ordered)
    short = name.split(".")[1]
    call = lambda n, a: getattr(n, short)(a)  # noqa: E731
    if short == "unique_values":  # whose order NumPy leaves open
        return Case(call=call, operands=(x,), numpy=lambda n, a: np.unique(a, equal_nan=False))
    if short == "unique_inverse":  # which NaN is which, NumPy leaves open but for this one
        return Case(call=call, operands=(x,), numpy=lambda n, a: np.unique_all(a)[::2])
    return Case(call=call, operands=(x,))


@row("numpy.unique")
def _numpys_unique(d: Drawing) -> Case:
    x = d.array(_SORTED, values=ordered)
    options = {f"return_{n}": d.boolean() for n in ("index", "inverse", "counts")} | {"equal_nan": d.boolean()}
    return Case(call=lambda n, a: np.unique(a, **options), operands=(x,))


@rows(["xp.isin", "numpy.isin"])
def _isin(d: Drawing, _name: str) -> Case:
    x, y = d.array(_SORTED, values=ordered), d.array(_SORTED, values=ordered)
    invert = d.boolean()
    return Case(call=lambda n, a, b: n.isin(a, b, invert=invert), operands=(x, y))


@rows([f"numpy.{n}" for n in ("union1d", "intersect1d", "setdiff1d", "setxor1d")])
def _sets(d: Drawing, name: str) -> Case:
    kind = d.one(*INTEGERS, "float32", "float64")
    x, y = d.array([kind], values=whole), d.array([kind], values=whole)
    return Case(call=lambda n, a, b: getattr(np, name[6:])(a, b), operands=(x, y))
