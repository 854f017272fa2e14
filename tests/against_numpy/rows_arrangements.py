"""Rows of functions that arrange axes and elements: results are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from function_table import Case, row, rows
from operand_drawing import INTEGERS, WITH_HALVES, Drawing


def _view(d: Drawing, name: str, least: int = 0) -> tuple[Any, Any]:
    x = d.array(WITH_HALVES, least=least)
    return x, x.host.ndim


@rows(["xp.reshape", "numpy.reshape", "x.reshape"])
def _reshape(d: Drawing, name: str) -> Case:
    x = d.array(WITH_HALVES)
    size = x.host.size
    shapes = [(size,), (1, size), (size, 1), (-1,), (1, -1, 1), size, (size + 1,)]
    shapes += [(k, size // k) for k in (2, 3, 5) if size and size % k == 0] + [()] * (size == 1)
    shape = d.one(*shapes)
    if name == "x.reshape":
        return Case(call=lambda n, a: a.reshape(shape), operands=(x,))
    return Case(call=lambda n, a: n.reshape(a, shape), operands=(x,))


@rows(["xp.permute_dims", "numpy.permute_dims", "numpy.transpose", "x.transpose"])
def _transpose(d: Drawing, name: str) -> Case:
    x, ndim = _view(d, name)
    order = tuple(n - ndim * d.boolean() for n in d.order(ndim))
    if name == "x.transpose":
        return Case(call=lambda n, a: a.transpose(order), operands=(x,))
    return Case(call=lambda n, a: getattr(n, name.split(".")[1])(a, order), operands=(x,))


@rows(["xp.moveaxis", "numpy.moveaxis"])
def _moveaxis(d: Drawing, _name: str) -> Case:
    x, ndim = _view(d, "", 1)
    if d.boolean():
        source, target = (d.axis(ndim, none=False) for _ in range(2))
    else:
        count = d.integer(0, ndim)
        source, target = (d.order(ndim)[:count] for _ in range(2))
    return Case(call=lambda n, a: n.moveaxis(a, source, target), operands=(x,))


@rows(["xp.matrix_transpose", "numpy.matrix_transpose", "xp.linalg.matrix_transpose", "numpy.linalg.matrix_transpose"])
def _matrix_transpose(d: Drawing, name: str) -> Case:
    x, _ = _view(d, name, 1)
    inner = name.split(".")[1] == "linalg"
    call = lambda n, a: (n.linalg if inner else n).matrix_transpose(a)  # noqa: E731
    return Case(call=call, operands=(x,))


@row("x.T x.mT")
def _turned(d: Drawing) -> Case:
    x, _ = _view(d, "", 2)
    return Case(call=lambda n, a: (a.T, a.mT), operands=(x,))


@row("numpy.swapaxes x.swapaxes numpy.rollaxis")
def _swapaxes(d: Drawing) -> Case:
    x, ndim = _view(d, "", 1)
    first, second, start = d.axis(ndim, none=False), d.axis(ndim, none=False), d.integer(-ndim, ndim)
    call = lambda n, a: (np.swapaxes(a, first, second), a.swapaxes(second, first), np.rollaxis(a, first, start))  # noqa: E731
    return Case(call=call, operands=(x,))


@rows(["xp.expand_dims", "numpy.expand_dims"])
def _expand_dims(d: Drawing, _name: str) -> Case:
    x, ndim = _view(d, "")
    axis = d.one(d.integer(-ndim - 2, ndim + 1), (0, -1))
    return Case(call=lambda n, a: n.expand_dims(a, axis=axis), operands=(x,))


@rows(["xp.squeeze", "numpy.squeeze", "x.squeeze"])
def _squeeze(d: Drawing, name: str) -> Case:
    x = d.array(WITH_HALVES, d.one((1,), (5, 1), (1, 300), (2, 1, 2, 3), (1, 1, 4)))
    axis = d.axis(x.host.ndim, several=True, none=False)
    if name == "x.squeeze":
        return Case(call=lambda n, a: (a.squeeze(axis), a.squeeze()), operands=(x,))
    return Case(call=lambda n, a: n.squeeze(a, axis), operands=(x,))


@rows(["xp.flip", "numpy.flip"])
def _flip(d: Drawing, _name: str) -> Case:
    x, ndim = _view(d, "")
    axis = d.axis(ndim, several=True)
    return Case(call=lambda n, a: n.flip(a, axis=axis), operands=(x,))


@row("numpy.flipud numpy.fliplr numpy.rot90")
def _turns(d: Drawing) -> Case:
    x, ndim = _view(d, "", 2)
    k, axes = d.integer(-5, 5), d.order(ndim)[:2]
    call = lambda n, a: (np.flipud(a), np.fliplr(a), np.rot90(a, k), np.rot90(a, k, axes))  # noqa: E731
    return Case(call=call, operands=(x,))


@rows(["xp.roll", "numpy.roll"])
def _roll(d: Drawing, _name: str) -> Case:
    x, ndim = _view(d, "")
    axis = d.axis(ndim, several=True)
    shift = d.integer(-400, 400)
    if isinstance(axis, tuple) and d.boolean():
        shift = tuple(d.integer(-5, 5) for _ in axis)
    return Case(call=lambda n, a: n.roll(a, shift, axis=axis), operands=(x,))


@row("numpy.diagonal numpy.trace x.diagonal x.trace")
def _diagonals(d: Drawing) -> Case:
    x = d.array(INTEGERS, least=2)
    offset, (first, second) = d.integer(-4, 4), d.order(x.host.ndim)[:2]

    def call(n: Any, a: Any) -> Any:
        given = (offset, first, second)
        return np.diagonal(a, *given), np.trace(a, *given), a.diagonal(offset), a.trace(*given)

    return Case(call=call, operands=(x,))
