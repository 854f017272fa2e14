"""Rows of what surrounds arrays, and of what is put into them or taken out."""

from __future__ import annotations

from typing import Any

import numpy as np
from function_table import Case, row, rows
from limits import nothing, same
from operand_drawing import ALL, FLOATS, INTEGERS, WITH_HALVES, Drawing, Operand, finite, laid_out, natural, number
from rows_beyond import near

_REPEATING = ("edge", "reflect", "symmetric", "wrap")
_STATISTICS = ("maximum", "minimum", "mean", "median")


def _widths(d: Drawing, ndim: int) -> Any:
    pairs = [(d.integer(0, 4), d.integer(0, 4)) for _ in range(ndim)]
    return d.one(d.integer(0, 5), pairs[0], pairs)


@row("numpy.pad")
def _pad(d: Drawing) -> Case:
    mode = d.one("constant", "empty", "linear_ramp", "function", *_REPEATING, *_STATISTICS)
    shape = d.one((1,), (5,), (3, 4), (2, 3, 2))
    x = d.array((*INTEGERS, *FLOATS, "complex64") if mode not in _STATISTICS else INTEGERS + FLOATS, shape, finite)
    widths, options = _widths(d, len(shape)), _options(d, mode, len(shape))
    if mode == "function":
        return Case(call=lambda n, a: n.pad(a, widths, _sevens), operands=(x,))
    limit = nothing if mode == "empty" else same
    rounds = mode in ("linear_ramp", "mean", "median") or "reflect_type" in options
    if rounds and x.host.dtype.kind in "fc":
        limit = near(64)
    return Case(call=lambda n, a: n.pad(a, widths, mode, **options), operands=(x,), limit=limit)


def _options(d: Drawing, mode: str, ndim: int) -> dict[str, Any]:
    if d.boolean():
        return {}
    values = d.one(3, (1, 2), [(n, n + 1) for n in range(ndim)])
    if mode in ("reflect", "symmetric"):
        return {"reflect_type": d.one("even", "odd")}
    if mode in _STATISTICS:
        return {"stat_length": d.one(1, 2, (1, 3), [(2, 1)] * ndim)}
    return {"constant": {"constant_values": values}, "linear_ramp": {"end_values": values}}.get(mode, {})


def _sevens(line: Any, pair: Any, axis: int, options: Any) -> None:
    line[: pair[0]] = 7
    line[line.size - pair[1] :] = axis


@row("numpy.resize")
def _resize(d: Drawing) -> Case:
    x, shape = d.array(WITH_HALVES), d.one(4, (0,), (3, 5), (2, 2, 9), (700,))
    return Case(call=lambda n, a: n.resize(a, shape), operands=(x,))


@row("numpy.trim_zeros")
def _trim_zeros(d: Drawing) -> Case:
    x, trim = d.array(ALL, (d.one(0, 1, 7, 257),), natural), d.one("f", "b", "fb")
    return Case(call=lambda n, a: n.trim_zeros(a, trim), operands=(x,))


def _where(d: Drawing, extent: int) -> Operand:
    """An integer, a slice, integers, or bools, some of them on the device."""
    kind = d.one("integer", "slice", "list", "array", "bools")
    if kind == "integer":
        return number(d.integer(-extent, extent - 1))
    if kind == "slice":
        return number(slice(d.one(None, 0, 1), d.one(None, 2, -1), d.one(None, 2)))
    if kind == "bools":
        return d.array(["bool"], (extent,))
    places = d.random.integers(-extent, extent, d.integer(1, 4))
    return number(places.tolist()) if kind == "list" else laid_out(places, (), lambda a: a)


@row("numpy.delete")
def _delete(d: Drawing) -> Case:
    x = d.array(WITH_HALVES, d.one((4,), (3, 4), (2, 3, 5)))
    axis = d.axis(x.host.ndim)
    where = _where(d, x.host.size if axis is None else x.host.shape[axis])
    return Case(call=lambda n, a, i: n.delete(a, i, axis=axis), operands=(x, where))


@row("numpy.insert")
def _insert(d: Drawing) -> Case:
    x = d.array(ALL, d.one((4,), (3, 4), (2, 3, 5)), finite)
    axis = d.axis(x.host.ndim)
    where = _where(d, x.host.size if axis is None else x.host.shape[axis])
    value = number(d.one(0, 1)) if d.boolean() else d.array([x.host.dtype.name], (1,), finite)
    return Case(call=lambda n, a, i, v: n.insert(a, i, v, axis=axis), operands=(x, where, value))


@row("numpy.block")
def _block(d: Drawing) -> Case:
    rows_, columns = (d.integer(1, 3), d.integer(1, 3)), (d.integer(1, 3), d.integer(0, 3))
    parts = tuple(d.array(WITH_HALVES, (m, n)) for m in rows_ for n in columns)

    def call(n: Any, a: Any, b: Any, c: Any, e: Any) -> Any:
        return n.block([[a, b], [c, e]]), n.block([a, b]), n.block(a)

    return Case(call=call, operands=parts)


@rows(["numpy.vsplit", "numpy.hsplit", "numpy.dsplit"])
def _cut(d: Drawing, name: str) -> Case:
    x = d.array(WITH_HALVES, d.one((6,), (6, 4), (4, 6, 2)))
    parts = d.one(2, 3, [1, 2], [0, 5, 9])
    return Case(call=lambda n, a: getattr(n, name[6:])(a, parts), operands=(x,))


@row("numpy.place")
def _place(d: Drawing) -> Case:
    x = d.array(ALL, d.one((7,), (3, 4), (2, 3, 5)), finite, plain=True)
    mask, values = d.array(["bool"], x.host.shape), d.array([x.host.dtype.name], (d.integer(0, 3),), finite)

    def call(n: Any, a: Any, m: Any, v: Any) -> Any:
        n.place(a, m, v)
        return a

    return Case(call=call, operands=(x, mask, values))


@row("numpy.fill_diagonal")
def _fill_diagonal(d: Drawing) -> Case:
    x = d.array(ALL, d.one((3, 3), (3, 5), (7, 2), (2, 2, 2), (4,)), finite, plain=True)
    value = number(1) if d.boolean() else d.array([x.host.dtype.name], (d.integer(1, 5),), finite)
    wrap = d.boolean()

    def call(n: Any, a: Any, v: Any) -> Any:
        n.fill_diagonal(a, v, wrap=wrap)
        return a

    return Case(call=call, operands=(x, value))


@row("numpy.diag numpy.diagflat")
def _diag(d: Drawing) -> Case:
    x, k = d.array(WITH_HALVES, d.one((4,), (0,), (1,), (3, 4), (3, 3))), d.integer(-3, 3)
    return Case(call=lambda n, a: (np.diag(a, k), np.diagflat(a, k)), operands=(x,))
