"""Rows of differences, integrals and interpolations between neighbours, and of `numpy.i0`."""

from __future__ import annotations

from typing import Any

import numpy as np
from function_table import Case, row
from limits import Compared
from operand_drawing import COMPLEX, FLOATS, INTEGERS, NUMBERS, REAL, Drawing, Operand, finite, laid_out, number
from rows_beyond import near


def _rising(d: Drawing, count: int, dtype: str = "float64") -> Operand:
    """Places that are apart, so that what is divided by their distances is known well."""
    return laid_out((np.arange(count) + d.random.uniform(0, 0.5, count)).astype(dtype), (), lambda a: a)


@row("numpy.ediff1d")
def _ediff1d(d: Drawing) -> Case:
    x = d.array((*INTEGERS, *FLOATS), values=finite)
    ends = [d.array([x.host.dtype.name], (d.integer(0, 2),), finite) if d.boolean() else number(None) for _ in range(2)]
    return Case(call=lambda n, a, b, c: n.ediff1d(a, b, c), operands=(x, *ends))


@row("numpy.trapezoid")
def _trapezoid(d: Drawing) -> Case:
    y = d.array(NUMBERS, d.one((1,), (7,), (3, 4), (2, 3, 5)), finite)
    axis = d.axis(y.host.ndim, none=False)
    if d.boolean():
        dx = d.one(1.0, 0.25, 3)
        return Case(call=lambda n, a: n.trapezoid(a, dx=dx, axis=axis), operands=(y,), limit=near(400))
    x = _rising(d, y.host.shape[axis])
    return Case(call=lambda n, a, b: n.trapezoid(a, b, axis=axis), operands=(y, x), limit=near(400))


@row("numpy.gradient")
def _gradient(d: Drawing) -> Case:
    f = d.array((*INTEGERS, *FLOATS, *COMPLEX), d.one((3,), (40,), (3, 4), (2, 5, 3)), finite)
    ndim, order = f.host.ndim, d.one(1, 2)
    axis = d.axis(ndim, none=ndim == 1 or order == 1)
    options = {"axis": axis, "edge_order": order}
    if axis is None or d.boolean():
        steps = d.one((), (0.5,), (2,))
        return Case(call=lambda n, a: n.gradient(a, *steps, **options), operands=(f,), limit=near(64))
    places = _rising(d, f.host.shape[axis])
    return Case(call=lambda n, a, x: n.gradient(a, x, **options), operands=(f, places), limit=near(256))


@row("numpy.unwrap")
def _unwrap(d: Drawing) -> Case:
    x = d.array(REAL, values=finite, least=1)
    options: dict[str, Any] = {"axis": d.axis(x.host.ndim, none=False)}
    if x.host.dtype.kind in "iu":
        options["period"] = d.one(4, 7)
    elif d.boolean():
        options["period"] = 3.7  # no difference of those that `finite` draws is half of it
    return Case(call=lambda n, a: n.unwrap(a, **options), operands=(x,), limit=near(400))


@row("numpy.interp")
def _interp(d: Drawing) -> Case:
    count = d.one(1, 2, 7, 100)
    x, heights = d.array(REAL, values=finite), d.array((*REAL, *COMPLEX), (count,), finite)
    places = _rising(d, count, d.one("float64", "float32"))
    options = d.one({}, {}, {"left": -1.0, "right": 2.0}, {"period": 2.75})
    call = lambda n, a, b, c: n.interp(a, b, c, **options)  # noqa: E731
    return Case(call=call, operands=(x, places, heights), limit=near(256))


@row("numpy.i0")
def _i0(d: Drawing) -> Case:
    x = d.array((*INTEGERS, *FLOATS), values=finite)

    def limit(c: Compared) -> None:
        (mine,), (theirs,) = c.found, c.expected
        np.testing.assert_allclose(mine, theirs, rtol=64 * float(np.finfo(mine.dtype).eps))

    return Case(call=lambda n, a: n.i0(a), operands=(x,), limit=limit)
