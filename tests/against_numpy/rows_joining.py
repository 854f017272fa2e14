"""Rows of functions that join, split, repeat and broadcast arrays: results are exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from function_table import Case, row, rows
from operand_drawing import NUMBERS, WITH_HALVES, Drawing, natural, number

from portagpu import xp


def _view(d: Drawing, name: str, least: int = 0) -> tuple[Any, Any]:
    x = d.array(WITH_HALVES, least=least)
    return x, x.host.ndim


@rows(["xp.concat", "numpy.concat", "numpy.concatenate"])
def _concat(d: Drawing, name: str) -> Case:
    first, ndim = _view(d, name, 1)
    axis = d.axis(ndim)
    operands = [first]
    for _ in range(d.integer(0, 2)):
        shape = list(first.host.shape)
        if axis is not None:
            shape[axis] = d.integer(0, 4)
        operands.append(d.array(WITH_HALVES, tuple(shape)))
    return Case(call=lambda n, *x: getattr(n, name.split(".")[1])(x, axis=axis), operands=tuple(operands))


@rows(["xp.stack", "numpy.stack"])
def _stack(d: Drawing, _name: str) -> Case:
    first, ndim = _view(d, "")
    others = [d.array(WITH_HALVES, first.host.shape) for _ in range(d.integer(0, 2))]
    axis = d.integer(-ndim - 1, ndim)
    return Case(call=lambda n, *x: n.stack(x, axis=axis), operands=(first, *others))


@row("numpy.vstack numpy.hstack numpy.dstack numpy.column_stack numpy.append")
def _stacks(d: Drawing) -> Case:
    x = d.array(WITH_HALVES, d.one((4,), (3, 4), (1,), (2, 3, 2)))
    y = d.array(WITH_HALVES, x.host.shape)

    def call(n: Any, a: Any, b: Any) -> Any:
        made = [np.vstack((a, b)), np.hstack((a, b)), np.dstack((a, b)), np.append(a, b), np.append(a, b, axis=-1)]
        return [*made, np.column_stack((a, b))] if a.ndim < 3 else made

    return Case(call=call, operands=(x, y))


@rows(["xp.unstack", "numpy.unstack"])
def _unstack(d: Drawing, _name: str) -> Case:
    x = d.array(WITH_HALVES, d.one((3, 4), (2, 3, 5), (5, 1), (0, 3), (4,)))
    axis = d.axis(x.host.ndim, none=False)
    return Case(call=lambda n, a: n.unstack(a, axis=axis), operands=(x,))


@row("numpy.split numpy.array_split x.split")
def _split(d: Drawing) -> Case:
    x = d.array(WITH_HALVES, d.one((6,), (6, 4), (2, 6, 3)))
    axis = d.axis(x.host.ndim, none=False)
    parts = d.one(1, 2, 3, [1, 2], [0, 5, 9])
    call = lambda n, a: (np.split(a, parts, axis=axis) if parts != 1 else a, np.array_split(a, parts, axis))  # noqa: E731
    return Case(call=call, operands=(x,))


@rows(["xp.broadcast_to", "numpy.broadcast_to", "x.broadcast_to"])
def _broadcast_to(d: Drawing, name: str) -> Case:
    x, _ = _view(d, name)
    shape = (*d.one((), (2,), (3, 1)), *(d.integer(0, 3) if n == 1 and d.boolean() else n for n in x.host.shape))
    method = name.startswith("x.")
    call = lambda n, a: a.broadcast_to(shape) if method and n is xp else n.broadcast_to(a, shape)  # noqa: E731
    return Case(call=call, operands=(x,))


@rows(["xp.broadcast_arrays", "numpy.broadcast_arrays"])
def _broadcast_arrays(d: Drawing, _name: str) -> Case:
    x, _ = _view(d, "")
    y = d.array(WITH_HALVES, tuple(1 if d.boolean() else n for n in x.host.shape[d.integer(0, len(x.host.shape)) :]))
    return Case(call=lambda n, a, b: n.broadcast_arrays(a, b), operands=(x, y))


@row("xp.broadcast_shapes")
def _broadcast_shapes(d: Drawing) -> Case:
    shapes = [d.shape() for _ in range(2)]
    return Case(call=lambda n: list(n.broadcast_shapes(*shapes)))


@rows(["xp.repeat", "numpy.repeat", "x.repeat"])
def _repeat(d: Drawing, name: str) -> Case:
    x, ndim = _view(d, name, 1)
    axis = d.axis(ndim)
    extent = x.host.size if axis is None else x.host.shape[axis]
    times = (
        number(d.integer(0, 3)) if d.boolean() else d.array(["int64", "int32", "uint8"], (d.one(1, extent),), natural)
    )
    if name == "x.repeat":
        return Case(call=lambda n, a, t: a.repeat(t, axis=axis), operands=(x, times))
    return Case(call=lambda n, a, t: n.repeat(a, t, axis=axis), operands=(x, times))


@rows(["xp.tile", "numpy.tile"])
def _tile(d: Drawing, _name: str) -> Case:
    x = d.array(WITH_HALVES, most=3)
    times = tuple(d.integer(0, 3) for _ in range(d.integer(1, 3)))
    return Case(call=lambda n, a: n.tile(a, times), operands=(x,))


@rows(["numpy.ravel", "x.ravel", "x.flatten", "numpy.copy", "x.copy"])
def _copies(d: Drawing, name: str) -> Case:
    x, _ = _view(d, name)
    place, short = name.split(".")
    call = lambda n, a: getattr(a, short)() if place == "x" else getattr(np, short)(a)  # noqa: E731
    return Case(call=call, operands=(x,))


@row("numpy.atleast_1d numpy.atleast_2d numpy.atleast_3d")
def _atleast(d: Drawing) -> Case:
    x, _ = _view(d, "")
    return Case(call=lambda n, a: (np.atleast_1d(a), np.atleast_2d(a), np.atleast_3d(a)), operands=(x,))


@row("xp.result_type xp.can_cast xp.isdtype xp.finfo xp.iinfo numpy.result_type numpy.can_cast numpy.common_type")
def _dtypes(d: Drawing) -> Case:
    x, y = d.array(NUMBERS, (1,)), d.array(NUMBERS, (2,))
    weak = d.one(1, 2.5, 1j)

    def call(n: Any, a: Any, b: Any) -> Any:
        kinds = [n.result_type(a, b), n.result_type(a.dtype, b), n.result_type(a, weak), np.common_type(a, b)]
        facts = [n.isdtype(a.dtype, k) for k in ("integral", "real floating", "numeric", ("bool", "complex floating"))]
        facts.append(n.can_cast(a.dtype, b.dtype))
        facts.append(n.finfo(a.dtype).bits if a.dtype.kind in "fc" else n.iinfo(a.dtype).max % 1000)
        return [np.dtype(k).num for k in kinds], facts

    return Case(call=call, operands=(x, y))


@row("numpy.min_scalar_type numpy.iscomplexobj numpy.isrealobj numpy.shape numpy.ndim numpy.size")
def _of_arrays(d: Drawing) -> Case:
    x, _ = _view(d, "", 1)

    def call(n: Any, a: Any) -> Any:
        facts = [np.iscomplexobj(a), np.isrealobj(a), np.shape(a), np.ndim(a), np.size(a)]
        return [*facts, np.min_scalar_type(a).num]

    return Case(call=call, operands=(x,))


@row("x.nbytes")
def _sizes(d: Drawing) -> Case:
    x, _ = _view(d, "")
    return Case(call=lambda n, a: [a.nbytes, a.size, a.ndim, a.itemsize, math.prod(a.shape)], operands=(x,))
