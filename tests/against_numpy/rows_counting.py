"""Rows of histograms of several axes, their edges, and functions of numbers beside NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
from function_table import Case, row, rows
from limits import Compared
from operand_drawing import FLOATS, INTEGERS, REAL, Drawing, Operand, finite, laid_out, near_one
from rows_beyond import near

_EDGES = [-2.0, -0.5, 0.25, 3.0]  # numbers that `finite` draws may be at an edge: all of these are exact


def _points(d: Drawing, count: int) -> Operand:
    return d.array((*INTEGERS, *FLOATS), (count,), finite)


def _bins(d: Drawing, axes: int) -> tuple[Any, Any]:
    """Bins and a range, whose edges have no rounding."""
    if d.boolean():
        return [_EDGES] * axes, None
    return d.one(4, [8] * axes, [4, *[16] * (axes - 1)]), [(-4.0, 4.0)] * axes


@row("numpy.histogram2d")
def _histogram2d(d: Drawing) -> Case:
    count = d.one(1, 7, 257)
    x, y, weights = _points(d, count), _points(d, count), d.array(("float64", "int32"), (count,), finite)
    bins, limits = _bins(d, 2)
    weighted, density = d.boolean(), d.boolean()

    def call(n: Any, a: Any, b: Any, w: Any) -> Any:
        # weights=1 adds up what may be nothing, of which there is no density
        return n.histogram2d(a, b, bins, limits, density and not weighted, w if weighted else None)

    return Case(call=call, operands=(x, y, weights), limit=near(400), dtypes=False)


@row("numpy.histogramdd")
def _histogramdd(d: Drawing) -> Case:
    axes = d.integer(1, 3)
    sample = d.array((*INTEGERS, *FLOATS), (d.one(1, 40), axes), finite)
    bins, limits = _bins(d, axes)
    density = d.boolean()
    call = lambda n, a: n.histogramdd(a, bins, limits, density)  # noqa: E731
    return Case(call=call, operands=(sample,), limit=near(64), dtypes=False)


@row("numpy.histogram_bin_edges")
def _bin_edges(d: Drawing) -> Case:
    rule = d.one(None, None, "auto", "doane", "fd", "rice", "scott", "sqrt", "sturges")
    # the width of a rule, which is rounded, decides about their number
    x = d.array(["float64", *INTEGERS[2:4]] if rule else REAL, d.one((7,), (257,), (3, 4)), finite)
    bins = rule or d.one(1, 10, 37, _EDGES)
    options = {} if rule or d.boolean() else {"range": (-3.0, 3.0)}
    return Case(
        call=lambda n, a: n.histogram_bin_edges(a, bins, **options), operands=(x,), limit=near(16), dtypes=False
    )


def _with_nan(random: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    found = near_one(random, shape, dtype) if dtype.kind in "fc" else finite(random, shape, dtype)
    return np.where(random.random(shape) < 0.2, np.nan, found).astype(dtype) if dtype.kind in "fc" else found


@rows(["numpy.nanargmax", "numpy.nanargmin"])
def _places(d: Drawing, name: str) -> Case:
    x = d.array(REAL, values=_with_nan)
    options = {"axis": d.axis(x.host.ndim), "keepdims": d.boolean()}
    return Case(call=lambda n, a: getattr(n, name[6:])(a, **options), operands=(x,))


@rows(["numpy.nancumsum", "numpy.nancumprod"])
def _cumulated(d: Drawing, name: str) -> Case:
    x = d.array((*REAL, "complex64", "complex128"), values=_with_nan)
    axis = d.axis(x.host.ndim)
    function = getattr(np, name[6:])
    sizes = np.abs(function(np.abs(x.host.astype(np.clongdouble)), axis=axis)).max(initial=0)

    def limit(c: Compared) -> None:
        (mine,), (theirs,) = c.found, c.expected
        eps = float(np.finfo(mine.dtype).eps) if mine.dtype.kind in "fc" else 0
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=4 * eps * (x.host.size + 1) * float(sizes))

    return Case(call=lambda n, a: getattr(n, name[6:])(a, axis=axis), operands=(x,), limit=limit)


@rows(["numpy.nanmedian", "numpy.nanquantile", "numpy.nanpercentile"])
def _quantiles(d: Drawing, name: str) -> Case:
    x = d.array(REAL, d.one((1,), (7,), (3, 4), (2, 3, 5)), _with_nan)
    options: dict[str, Any] = {"axis": d.axis(x.host.ndim, several=True), "keepdims": d.boolean()}
    if options["axis"] == ():
        options["axis"] = None
    share = () if name == "numpy.nanmedian" else (d.one(0.5, [0.0, 0.25, 1.0], 0.9),)
    short = name[6:]
    if short == "nanpercentile":
        share = (np.multiply(share[0], 100),)
    if short != "nanmedian" and d.boolean():
        axis = options["axis"]
        axis = axis[0] if isinstance(axis, tuple) else axis
        w = d.array(("int32", "float64"), x.host.shape, lambda r, s, t: r.integers(0, 4, s).astype(t))
        options |= {"axis": axis, "method": "inverted_cdf"}
        return Case(call=lambda n, a, b: getattr(n, short)(a, *share, weights=b, **options), operands=(x, w))
    call = lambda n, a: getattr(n, short)(a, *share, **options)  # noqa: E731
    return Case(call=call, operands=(x,), limit=near(64), dtypes=x.host.dtype.kind != "f")


@row("numpy.sort_complex")
def _sort_complex(d: Drawing) -> Case:
    x = d.array((*REAL, "complex64", "complex128"), values=finite, least=1)
    return Case(call=lambda n, a: n.sort_complex(a), operands=(x,))


@row("numpy.real_if_close")
def _real_if_close(d: Drawing) -> Case:
    x = d.array((*REAL, "complex64", "complex128"), values=finite)
    if d.boolean() and x.host.dtype.kind == "c":
        host = (x.host.real + 1e-18j).astype(x.host.dtype)
        x = laid_out(host, (), lambda a: a)
    return Case(call=lambda n, a: n.real_if_close(a), operands=(x,))
