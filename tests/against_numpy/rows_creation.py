"""Rows of functions that create arrays, and of conversions."""

from __future__ import annotations

from typing import Any

import numpy as np
from function_table import Case, row, rows
from limits import nothing, ulps
from operand_drawing import ALL, COMPLEX, FLOATS, INTEGERS, NUMBERS, REAL, WITH_HALVES, Drawing, finite, natural


@rows(f"xp.{n}" for n in ("zeros", "ones", "empty", "full"))
def _filled(d: Drawing, name: str) -> Case:
    short, shape, dtype = name[3:], d.shape(), d.one(None, *WITH_HALVES)
    given = (d.one(0, 3, True, 2.5, 1 + 2j),) if short == "full" else ()
    if given and dtype is not None:
        given = (d.one(0, 1, 3),)
    options = {} if dtype is None else {"dtype": np.dtype(dtype)}
    where = shape[0] if len(shape) == 1 and d.boolean() else shape
    return Case(
        call=lambda n: getattr(n, short)(where, *given, **options), limit=nothing if short == "empty" else _same
    )


def _same(c: Any) -> None:
    np.testing.assert_array_equal(c.found[0], c.expected[0])


@rows([f"{p}.{n}_like" for p in ("xp", "numpy") for n in ("zeros", "ones", "empty", "full")])
def _like(d: Drawing, name: str) -> Case:
    short, dtype = name.split(".")[1], d.one(None, *WITH_HALVES)
    x = d.array(WITH_HALVES)
    given = (d.one(0, 1, 3),) if "full" in short else ()
    options = {} if dtype is None else {"dtype": np.dtype(dtype)}
    call = lambda n, a: getattr(n, short)(a, *given, **options)  # noqa: E731
    return Case(call=call, operands=(x,), limit=nothing if "empty" in short else _same)


@row("xp.arange")
def _arange(d: Drawing) -> Case:
    whole = d.boolean()
    numbers = [d.integer(-20, 20) if whole else d.one(-3.5, -0.25, 0.0, 1.5, 7.25, 10) for _ in range(d.integer(1, 2))]
    step = d.one(1, 2, -3, 7) if whole else d.one(0.25, -0.5, 2)
    options = {"step": step} if d.boolean() else {}
    if d.boolean():
        options["dtype"] = np.dtype(
            d.one(*(INTEGERS if whole and min(numbers, default=0) >= 0 and step > 0 else FLOATS))
        )
    return Case(
        call=lambda n: n.arange(*numbers, **options), limit=ulps(2), exact=lambda n: n.arange(*numbers, **options)
    )


@row("xp.linspace")
def _linspace(d: Drawing) -> Case:
    low, high = (d.one(-3, 0, 1.5, 10, -0.25) for _ in range(2))
    options: dict[str, Any] = {"endpoint": d.boolean()} if d.boolean() else {}
    dtype = d.one(None, *FLOATS, *COMPLEX)
    number_of = d.integer(0, 40)
    words = {} if dtype is None else {"dtype": np.dtype(dtype)}
    exact = lambda n: np.linspace(np.longdouble(low), np.longdouble(high), number_of, **options)  # noqa: E731
    scale = lambda: max(abs(low), abs(high))  # noqa: E731
    call = lambda n: n.linspace(low, high, number_of, **options, **words)  # noqa: E731
    return Case(call=call, limit=ulps(4, scale=scale), exact=exact)


@row("xp.eye")
def _eye(d: Drawing) -> Case:
    rows_, columns, k = d.integer(0, 9), d.one(None, 0, 3, 8), d.integer(-9, 9)
    options = {"dtype": np.dtype(d.one(*WITH_HALVES))} if d.boolean() else {}
    return Case(call=lambda n: n.eye(rows_, columns, k=k, **options))


@row("xp.asarray")
def _asarray(d: Drawing) -> Case:
    if d.boolean():
        x = d.array(ALL)
        kind = x.host.dtype.kind
        dtype = np.dtype(d.one(*{"c": COMPLEX, "f": FLOATS}.get(kind, INTEGERS + FLOATS)))
        copy = d.one(None, True)
        if kind == "f":
            x = d.array(FLOATS, values=finite)
        return Case(call=lambda n, a: n.asarray(a, dtype=dtype, copy=copy), operands=(x,))
    nested = d.one(1, 2.5, True, 3j, [1, 2], [[1.0, 2], [3, 4]], [], [[True], [False]], (1, 2j))
    return Case(call=lambda n: n.asarray(nested))


@row("xp.from_dlpack")
def _from_dlpack(d: Drawing) -> Case:
    x = d.array(NUMBERS)
    return Case(call=lambda n, a: n.from_dlpack(a), operands=(x,), numpy=lambda n, a: a)


@rows(f"{p}.{n}" for p in ("xp", "numpy") for n in ("tril", "triu"))
def _triangles(d: Drawing, name: str) -> Case:
    x, k = d.array(WITH_HALVES, least=1), d.integer(-4, 4)
    if x.host.ndim < 2:
        x = d.array(WITH_HALVES, least=2)
    return Case(call=lambda n, a: getattr(n, name.split(".")[1])(a, k=k), operands=(x,))


@rows(["xp.meshgrid", "numpy.meshgrid"])
def _meshgrid(d: Drawing, _name: str) -> Case:
    operands = tuple(d.array(ALL, (d.one(0, 1, 3, 7),)) for _ in range(d.integer(1, 3)))
    indexing = d.one("xy", "ij")
    return Case(call=lambda n, *x: n.meshgrid(*x, indexing=indexing), operands=operands)


@rows(["xp.astype", "numpy.astype", "x.astype"])
def _astype(d: Drawing, name: str) -> Case:
    dtype = np.dtype(d.one(*WITH_HALVES))
    x = d.array(WITH_HALVES, values=natural if dtype.kind in "iu" else None)
    if x.host.dtype.kind == "c" and dtype.kind != "c":
        x = d.array(REAL, values=natural)
    options = {"copy": d.boolean()} if d.boolean() else {}
    if name == "x.astype":
        return Case(call=lambda n, a: a.astype(dtype, **options), operands=(x,))
    return Case(call=lambda n, a: n.astype(a, dtype, **options), operands=(x,))
