"""Rows of methods of arrays that sort, search and multiply, of powers, and of systems of tensors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from falling_orders import falling, falling_order
from function_table import Case, row
from operand_drawing import INEXACT, NUMBERS, REAL, Drawing, finite, laid_out, ordered
from rows_elements import elements_case
from rows_factors import relative
from rows_products import products

_SORTED = (*REAL, "bool", "float16")


@row("xp.pow")
def _pow(d: Drawing) -> Case:
    return elements_case(d, np.power, lambda n, x, y: n.pow(x, y))


@row("numpy.**")
def _operator(d: Drawing) -> Case:
    """The operator, whose exponents that are numbers are looked at."""
    return elements_case(d, np.power, lambda n, x, y: operator.pow(x, y))


@row("x.sort")
def _sort(d: Drawing) -> Case:
    x = d.array(_SORTED, least=1, values=ordered, plain=True)
    axis, descending = d.axis(x.host.ndim, none=False), d.boolean()
    keywords: dict[str, Any] = {"descending": True} if descending else {"kind": "stable"}

    def call(n: Any, a: Any) -> Any:
        a.sort(axis, **keywords)
        return a

    def numpys(n: Any, a: Any) -> Any:
        a[...] = falling(a, axis) if descending else np.sort(a, axis)
        return a

    return Case(call=call, operands=(x,), numpy=numpys)


@row("x.argsort")
def _argsort(d: Drawing) -> Case:
    x = d.array(_SORTED, least=1, values=ordered)
    axis, descending = d.axis(x.host.ndim), d.boolean()

    def numpys(n: Any, a: Any) -> Any:
        return falling_order(a, axis) if descending else np.argsort(a, axis, stable=True)

    call = lambda n, a: a.argsort(axis, stable=True, descending=descending)  # noqa: E731
    return Case(call=call, operands=(x,), numpy=numpys)


@row("x.partition x.argpartition")
def _partition(d: Drawing) -> Case:
    x = d.array(_SORTED, d.one((7,), (257,), (3, 4), (5, 1)), ordered, plain=True)
    axis = d.axis(x.host.ndim, none=False)
    kth = d.integer(0, x.host.shape[axis] - 1)

    def call(n: Any, a: Any) -> Any:
        places = np.take_along_axis(a, a.argpartition(kth, axis), axis=axis)
        parted = a.copy()  # what else is where, is open
        parted.partition(kth, axis)
        return [np.take(part, np.asarray([kth]), axis=axis) for part in (places, parted)]

    return Case(call=call, operands=(x,))


@row("x.searchsorted")
def _searchsorted(d: Drawing) -> Case:
    x = d.array(REAL, (d.one(0, 1, 7, 257),), ordered, plain=True)
    x = laid_out(np.sort(x.host), (), lambda a: a)
    values, side = d.array([x.host.dtype.name], d.shape(), ordered), d.one("left", "right")
    return Case(call=lambda n, a, v: a.searchsorted(v, side), operands=(x, values))


@row("x.dot")
def _dot(d: Drawing) -> Case:
    m, k, n = (d.one(1, 2, 7, 33) for _ in range(3))
    kind = d.one(*NUMBERS)
    x, y = d.array([kind], d.one((k,), (m, k)), finite), d.array([kind], d.one((k,), (k, n), (k + 1,)), finite)
    return Case(call=lambda n, a, b: a.dot(b), operands=(x, y), limit=products(k))


@row("numpy.linalg.tensorinv numpy.linalg.tensorsolve")
def _of_tensors(d: Drawing) -> Case:
    kind = d.one(*INEXACT)
    square = finite(d.random, (6, 6), np.dtype(kind)) + 24 * np.eye(6, dtype=kind)
    shape, ind = d.one(((2, 3, 6), 2), ((6, 2, 3), 1), ((3, 2, 2, 3), 2), ((2, 3, 5), 2))
    size = 6 if shape[-1] != 5 else 5
    host = square[:, :size].reshape(shape)
    x, right = laid_out(host, (), lambda a: a), d.array([kind], shape[:ind], finite)

    def call(n: Any, a: Any, b: Any) -> Any:
        return n.linalg.tensorinv(a, ind), n.linalg.tensorsolve(a, b)

    return Case(call=call, operands=(x, right), limit=relative(400))
