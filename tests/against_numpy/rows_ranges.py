"""Rows of ranges between elements of arrays, and of functions that make arrays ``like=`` a device array."""

from __future__ import annotations

from typing import Any

import numpy as np
from function_table import Case, row, rows
from limits import nothing, same
from operand_drawing import (
    ALL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    REAL,
    WITH_HALVES,
    Drawing,
    Operand,
    finite,
    laid_out,
    number,
    whole,
)
from rows_beyond import near


def _ends(d: Drawing, dtypes: Any, values: Any = finite) -> tuple[Operand, Operand]:
    x = d.array(dtypes, d.one((), (3,), (2, 3)), values)
    other = number(d.one(-3, 2.5)) if d.boolean() else d.array(dtypes, d.one((), (3,)), values)
    return (x, other) if d.boolean() else (other, x)


@row("numpy.linspace")
def _linspace(d: Drawing) -> Case:
    first, last = _ends(d, (*INTEGERS, *FLOATS, *COMPLEX))
    options = {"endpoint": d.boolean(), "axis": d.one(0, -1), "retstep": d.boolean()}
    count = d.integer(0, 9)
    return Case(call=lambda n, a, b: n.linspace(a, b, count, **options), operands=(first, last), limit=near(16))


@row("numpy.logspace")
def _logspace(d: Drawing) -> Case:
    first, last = _ends(d, REAL, whole)
    options = {"endpoint": d.boolean(), "axis": d.one(0, -1), "base": d.one(10.0, 2.0)}
    count = d.integer(0, 9)
    return Case(call=lambda n, a, b: n.logspace(a, b, count, **options), operands=(first, last), limit=near(256))


@row("numpy.geomspace")
def _geomspace(d: Drawing) -> Case:
    positive = lambda r, s, t: r.integers(1, 9, s).astype(t)  # noqa: E731
    first, last = (d.array(REAL, d.one((), (3,)), positive) for _ in range(2))
    options = {"endpoint": d.boolean(), "axis": d.one(0, -1)}
    count = d.integer(0, 9)
    return Case(call=lambda n, a, b: n.geomspace(a, b, count, **options), operands=(first, last), limit=near(256))


def _dtype(d: Drawing) -> dict[str, Any]:
    return {"dtype": np.dtype(d.one(*WITH_HALVES))} if d.boolean() else {}


@rows(f"numpy.{n}" for n in ("zeros", "ones", "empty", "full"))
def _filled(d: Drawing, name: str) -> Case:
    short, shape, like = name[6:], d.one(4, ()) if d.boolean() else d.shape(), d.array(ALL)
    given = (d.one(0, 1, 3),) if short == "full" else ()
    options = _dtype(d) | ({"order": d.one("C", "F")} if d.boolean() else {})
    call = lambda n, a: getattr(n, short)(shape, *given, like=a, **options)  # noqa: E731
    return Case(call=call, operands=(like,), limit=nothing if short == "empty" else same)


@row("numpy.arange")
def _arange(d: Drawing) -> Case:
    numbers = d.one((7,), (2, 9), (9, 2, -2), (0, 3, 0.25), (5, 5), (0.5,))
    options = _dtype(d) if all(type(n) is int for n in numbers) and d.boolean() else {}
    if options.get("dtype", np.dtype(np.int64)).kind not in "iuf":  # ranges are those of real numbers here
        options = {}
    return Case(call=lambda n, a: n.arange(*numbers, like=a, **options), operands=(d.array(ALL),))


@rows(["numpy.eye", "numpy.identity", "numpy.tri"])
def _matrices(d: Drawing, name: str) -> Case:
    short, count, k = name[6:], d.integer(0, 6), d.integer(-4, 4)
    more = {} if short == "identity" else {"M": d.one(None, 3, 5), "k": k}
    options = _dtype(d) | more
    return Case(call=lambda n, a: getattr(n, short)(count, like=a, **options), operands=(d.array(ALL),))


@rows(f"numpy.{n}" for n in ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray"))
def _converted(d: Drawing, name: str) -> Case:
    x, short = d.array(ALL, values=finite), name[6:]
    numbers = d.one(1, 2.5, True, [1, 2], [[1.0, 2], [3, 4]], [], (1, 2j))
    options = _dtype(d) if x.host.dtype.kind in "bi" and numbers in (1, [1, 2]) else {}
    if options and np.dtype(options["dtype"]).kind == "u":  # negative numbers
        options = {}
    options |= {"ndmin": d.integer(0, 3)} if short == "array" else {}
    options |= {"order": d.one("C", "F")} if short in ("array", "asarray", "asanyarray") else {}

    def call(n: Any, a: Any) -> Any:
        function = getattr(n, short)
        return function(numbers, like=a, **options), function(a, like=a, **options)

    return Case(call=call, operands=(x,))


@row("numpy.shares_memory numpy.may_share_memory")
def _memory(d: Drawing) -> Case:
    x = laid_out(np.arange(24.0), (), lambda a: a)
    y = laid_out(np.arange(24.0), (), lambda a: a)
    keys = [slice(d.integer(0, 12), d.integer(12, 24), d.one(1, 2, 3)) for _ in range(2)]

    def call(n: Any, a: Any, b: Any) -> Any:
        one, other = (a[key] for key in keys)
        return n.shares_memory(one, other), n.may_share_memory(one, other), n.shares_memory(one, b)

    return Case(call=call, operands=(x, y))
