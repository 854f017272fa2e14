"""Rows of choices between arrays, of a program's functions, and of subscripts and bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from function_table import Case, row, rows
from operand_drawing import (
    ALL,
    FLOATS,
    INTEGERS,
    SIGNED,
    UNSIGNED,
    WITH_HALVES,
    Drawing,
    Operand,
    finite,
    laid_out,
    natural,
    number,
    special,
    whole,
)


@rows(["numpy.choose", "x.choose"])
def _choose(d: Drawing, name: str) -> Case:
    shape, count, mode = d.shape(), d.integer(1, 4), d.one("raise", "wrap", "clip")
    low, high = (0, count) if mode == "raise" else (-6, 9)
    which = d.array(SIGNED, shape, lambda r, s, t: r.integers(low, high, s).astype(t))
    smaller = tuple(1 if d.boolean() else n for n in shape)
    choices = [d.array(ALL, shape if d.boolean() else smaller) for _ in range(count)]
    numbers = d.one((), (1,), (0.5,))  # which follow the arrays' dtype

    def call(n: Any, i: Any, *x: Any) -> Any:
        x = (*x, *numbers)
        return i.choose(x, mode=mode) if name == "x.choose" else n.choose(i, x, mode=mode)

    return Case(call=call, operands=(which, *choices))


@row("numpy.select")
def _select(d: Drawing) -> Case:
    shape, count = d.shape(), d.integer(1, 3)
    masks = [d.array(["bool"], shape) for _ in range(count)]
    values = [d.array(WITH_HALVES, shape) for _ in range(count)]
    default = d.one(0, 1, True)

    def call(n: Any, *x: Any) -> Any:
        return n.select(list(x[:count]), list(x[count:]), default)

    return Case(call=call, operands=(*masks, *values))


@row("numpy.piecewise")
def _piecewise(d: Drawing) -> Case:
    x = d.array((*INTEGERS, *FLOATS), values=finite)
    first, second = d.array(["bool"], x.host.shape), d.array(["bool"], x.host.shape)
    last = d.one([], [5], [lambda a: a + a])

    def call(n: Any, a: Any, b: Any, c: Any) -> Any:
        return n.piecewise(a, [b, c], [lambda part: part * part, 3, *last])

    return Case(call=call, operands=(x, first, second))


@row("numpy.apply_along_axis")
def _apply_along_axis(d: Drawing) -> Case:
    x = d.array(INTEGERS, d.one((4,), (3, 4), (2, 3, 2)), special)
    axis = d.axis(x.host.ndim, none=False)
    function = d.one(lambda line: line.max(), lambda line: line[::-1], lambda line: np.stack([line, line]))
    return Case(call=lambda n, a: n.apply_along_axis(function, axis, a), operands=(x,))


@row("numpy.apply_over_axes")
def _apply_over_axes(d: Drawing) -> Case:
    x = d.array(INTEGERS, least=1, empty=False, values=special)
    axes = d.axis(x.host.ndim, several=True, none=False)
    function = d.one(np.max, np.sum)
    return Case(call=lambda n, a: n.apply_over_axes(function, a, axes), operands=(x,))


@row("numpy.ix_")
def _ix(d: Drawing) -> Case:
    parts = tuple(d.array(["int64", "uint8", "bool"], (d.integer(0, 5),), whole) for _ in range(d.integer(1, 3)))
    return Case(call=lambda n, *x: n.ix_(*x), operands=parts)


@row("numpy.ravel_multi_index")
def _ravel_multi_index(d: Drawing) -> Case:
    extents, shape, mode = tuple(d.integer(1, 5) for _ in range(d.integer(1, 3))), d.shape(), d.one("raise", "wrap")
    order = d.one("C", "F")

    def within(extent: int) -> Operand:
        low, high = (0, extent) if mode == "raise" else (-7, 9)
        return d.array(["int64", "int32"], shape, lambda r, s, t: r.integers(low, high, s).astype(t))

    operands = tuple(within(n) for n in extents)
    call = lambda n, *x: n.ravel_multi_index(x, extents, mode=mode, order=order)  # noqa: E731
    return Case(call=call, operands=operands)


@row("numpy.unravel_index")
def _unravel_index(d: Drawing) -> Case:
    extents, order = d.one((24,), (4, 6), (2, 3, 4)), d.one("C", "F")
    x = d.array(["int64", "int32", "uint8"], values=lambda r, s, t: r.integers(0, 24, s).astype(t))
    if d.integer(0, 5) == 5:  # one that is outside
        x = laid_out(np.asarray([3, d.one(24, -1)]), (), lambda a: a)
    return Case(call=lambda n, a: n.unravel_index(a, extents, order=order), operands=(x,))


@row("numpy.packbits")
def _packbits(d: Drawing) -> Case:
    x = d.array((*INTEGERS, "bool"), values=natural, least=1)
    axis, order = d.axis(x.host.ndim), d.one("big", "little")
    return Case(call=lambda n, a: n.packbits(a, axis, order), operands=(x,))


@row("numpy.unpackbits")
def _unpackbits(d: Drawing) -> Case:
    x = d.array(UNSIGNED[:1], least=1)
    axis, order, count = d.axis(x.host.ndim), d.one("big", "little"), d.one(None, 0, 5, 30, -3)
    return Case(call=lambda n, a: n.unpackbits(a, axis, count, order), operands=(x,))


@row("numpy.diag_indices_from numpy.tril_indices_from numpy.triu_indices_from")
def _indices_from(d: Drawing) -> Case:
    x, k = d.array(ALL, d.one((3, 3), (1, 1), (3, 5), (4,), (2, 2, 2))), d.integer(-3, 3)
    which = d.integer(0, 2)

    def call(n: Any, a: Any) -> Any:
        if which == 0:
            return n.diag_indices_from(a)
        return n.tril_indices_from(a, k) if which == 1 else n.triu_indices_from(a, k)

    return Case(call=call, operands=(x,))


@row("x.compress")
def _compress(d: Drawing) -> Case:
    x = d.array(WITH_HALVES, least=1)
    axis = d.axis(x.host.ndim)
    extent = x.host.size if axis is None else x.host.shape[axis]
    mask = d.array(["bool"], (d.integer(0, extent),) if extent < 9 else (extent,))
    return Case(call=lambda n, a, m: a.compress(m, axis), operands=(x, mask))


@row("numpy.ufunc.at")
def _at(d: Drawing) -> Case:
    """In place, where subscripts repeat several times over: functions whose results are exact in any order."""
    x = d.array(INTEGERS, d.one((7,), (3, 4), (1030,)), special, plain=True)
    ufunc = getattr(np, d.one("add", "subtract", "maximum", "minimum", "bitwise_xor", "negative", "multiply"))
    extent, count = x.host.shape[0], d.one(1, 5, 300)
    where = d.array(["int64", "int32"], (count,), lambda r, s, t: r.integers(-extent, extent, s).astype(t))
    values = d.array([x.host.dtype.name], (count, *x.host.shape[1:]), special) if d.boolean() else number(2)

    def call(n: Any, a: Any, i: Any, v: Any) -> Any:
        ufunc.at(a, i, *(() if ufunc is np.negative else (v,)))
        return a

    return Case(call=call, operands=(x, where, values))


@row("numpy.ufunc.reduceat")
def _reduceat(d: Drawing) -> Case:
    x = d.array(INTEGERS, d.one((7,), (257,), (3, 4), (2, 3, 5)), special)
    ufunc = getattr(np, d.one("add", "multiply", "maximum", "minimum", "bitwise_xor"))
    axis = d.axis(x.host.ndim, none=False)
    places = d.random.integers(0, x.host.shape[axis], d.integer(1, 5))
    where = laid_out(places, (), lambda a: a) if d.boolean() else number(places.tolist())
    return Case(call=lambda n, a, i: ufunc.reduceat(a, i, axis=axis), operands=(x, where))
