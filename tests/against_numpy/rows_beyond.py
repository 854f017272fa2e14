"""Rows of NumPy's functions that the standard does not have, and of methods beside operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from function_table import Case, row, rows
from limits import Compared
from operand_drawing import (
    ALL,
    COMPLEX,
    FLOATS,
    INEXACT,
    INTEGERS,
    REAL,
    WITH_HALVES,
    Drawing,
    finite,
    laid_out,
    natural,
    ordered,
    special,
    whole,
)


def near(factor: float) -> Any:
    """Within so many eps of NumPy's, relative to the largest result."""

    def limit(c: Compared) -> None:
        for mine, theirs in zip(c.found, c.expected, strict=True):
            if mine.dtype.kind not in "fc":
                np.testing.assert_array_equal(mine, theirs)
                continue
            eps = float(np.finfo(mine.dtype).eps)
            usual = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)
            np.testing.assert_allclose(mine, theirs, rtol=factor * eps, atol=factor * eps * usual)

    return limit


@row("numpy.round numpy.around x.round")
def _round(d: Drawing) -> Case:
    x, decimals = d.array((*INTEGERS, *INEXACT), values=finite), d.integer(0, 3)
    call = lambda n, a: (np.round(a, decimals), np.around(a), a.round(decimals))  # noqa: E731
    return Case(call=call, operands=(x,), limit=near(4))


@row("numpy.clip x.clip")
def _clip(d: Drawing) -> Case:
    x = d.array((*INTEGERS, *FLOATS))
    low, high = d.integer(0, 2), d.integer(2, 5)
    return Case(call=lambda n, a: (np.clip(a, low, high), a.clip(low, high), a.clip(min=low)), operands=(x,))


@row("numpy.conj x.conj x.conjugate x.real x.imag numpy.real numpy.imag numpy.fix")
def _parts(d: Drawing) -> Case:
    x = d.array((*INEXACT, *INTEGERS))

    def call(n: Any, a: Any) -> Any:
        found = [a.conj(), a.conjugate(), a.real, a.imag, np.real(a), np.imag(a)]
        if a.dtype.kind != "f":
            return found
        return [*found, np.trunc(a) if isinstance(a, np.ndarray) else np.fix(a)]  # NumPy 2.5 warns of its own

    return Case(call=call, operands=(x,))


@row("numpy.angle numpy.sinc")
def _angle(d: Drawing) -> Case:
    x, deg = d.array(INEXACT, values=finite), d.boolean()
    # NumPy, too, computes the sine of a product that was rounded
    call = lambda n, a: (np.angle(a, deg=deg), np.sinc(a.real))  # noqa: E731
    return Case(call=call, operands=(x,), limit=near(16))


@row("numpy.nan_to_num")
def _nan_to_num(d: Drawing) -> Case:
    x, given = d.array(ALL), d.one({}, {"nan": 1.5}, {"posinf": 7.0, "neginf": -2.0})
    return Case(call=lambda n, a: np.nan_to_num(a, **given), operands=(x,))


@row("numpy.isclose numpy.allclose numpy.array_equal numpy.array_equiv")
def _comparisons(d: Drawing) -> Case:
    x = d.array((*INTEGERS, *INEXACT))
    y = d.array([x.host.dtype.name], x.host.shape, lambda r, s, t: finite(r, s, t))
    other = laid_out(x.host.copy(), (), lambda a: a) if d.boolean() else y
    options = {"equal_nan": d.boolean()}

    def call(n: Any, a: Any, b: Any) -> Any:
        found = [np.isclose(a, b, **options), np.allclose(a, b, rtol=1e-3, atol=1e-2, **options), np.array_equiv(a, b)]
        return [*found, np.array_equal(a, b, **options)]

    return Case(call=call, operands=(x, other))


@row("numpy.iscomplex numpy.isreal numpy.isposinf numpy.isneginf numpy.isnat")
def _kinds(d: Drawing) -> Case:
    x = d.array(ALL, values=special)

    def call(n: Any, a: Any) -> Any:
        found = [np.iscomplex(a), np.isreal(a)]
        return [*found, np.isposinf(a), np.isneginf(a)] if a.dtype.kind == "f" else found

    return Case(call=call, operands=(x,))


@row("numpy.average")
def _average(d: Drawing) -> Case:
    x = d.array((*INTEGERS, *FLOATS), d.one((7,), (3, 4), (2, 3, 5)), finite)
    axis = d.axis(x.host.ndim)
    weights = d.array([x.host.dtype.name], x.host.shape, lambda r, s, t: r.integers(1, 5, s).astype(t))
    options = {"axis": axis, "keepdims": d.boolean()}
    call = lambda n, a, w: (np.average(a, **options), np.average(a, weights=w, **options))  # noqa: E731
    return Case(call=call, operands=(x, weights), limit=near(400))


@rows(["numpy.quantile", "numpy.percentile"])
def _weighted_quantiles(d: Drawing, name: str) -> Case:
    """Sums of whole weights are exact, so that they reach a share where NumPy's do."""
    x = d.array((*INTEGERS, *FLOATS), d.one((1,), (7,), (3, 4), (2, 3, 5)), ordered)
    axis = d.axis(x.host.ndim, several=True) or None
    axes = () if axis is None else (axis,) if isinstance(axis, int) else axis
    along = tuple(x.host.shape[n] for n in axes) if axes and d.boolean() else x.host.shape
    w = d.array(("int32", "float32", "float64"), along, lambda r, s, t: r.integers(0, 4, s).astype(t))
    q = d.one(0.5, [0.0, 0.25, 1.0], np.asarray([0.9, 0.1], np.float32))
    q = q if name == "numpy.quantile" else np.multiply(q, 100)
    options = {"axis": axis, "keepdims": d.boolean(), "method": "inverted_cdf"}
    return Case(call=lambda n, a, b: getattr(n, name[6:])(a, q, weights=b, **options), operands=(x, w))


@row("numpy.median")
def _quantiles(d: Drawing) -> Case:
    x = d.array((*INTEGERS, *FLOATS), d.one((1,), (7,), (3, 4), (2, 3, 5)), finite)
    options = {"axis": d.axis(x.host.ndim, several=True), "keepdims": d.boolean()}
    if options["axis"] == ():
        options["axis"] = None
    q = d.one(0.5, [0.0, 0.25, 1.0], 0.9)
    call = lambda n, a: (  # noqa: E731
        np.median(a, **options),
        np.quantile(a, q, **options),
        np.percentile(a, 100 * np.asarray(q), **options),
    )
    return Case(call=call, operands=(x,), limit=near(64), dtypes=x.host.dtype.kind != "f")


@row("numpy.cov numpy.corrcoef")
def _covariances(d: Drawing) -> Case:
    x = d.array((*REAL, *COMPLEX), (3, 40), finite)
    rowvar = d.boolean()
    kept = laid_out(x.host[:, :5], (), lambda a: a) if not rowvar else x
    call = lambda n, a: (np.cov(a, rowvar=rowvar), np.corrcoef(a + a * a, rowvar=rowvar) if rowvar else a)  # noqa: E731
    return Case(call=call, operands=(kept,), limit=near(4000), dtypes=x.host.dtype.name not in ("float32", "complex64"))


@row("numpy.histogram")
def _histogram(d: Drawing) -> Case:
    x = d.array((*INTEGERS, *FLOATS), values=finite, empty=False, least=1)
    bins = d.one(1, 10, 37)
    options = {"range": (-3.0, 3.0)} if d.boolean() else {}
    edges = d.one(None, [-2.0, 0.0, 0.5, 4.0])
    call = lambda n, a: np.histogram(a, edges if edges else bins, **({} if edges else options))  # noqa: E731

    def limit(c: Compared) -> None:
        np.testing.assert_allclose(c.found[1], c.expected[1], rtol=1e-6, atol=1e-6)
        # a number at an edge that was rounded may count on its other side
        assert np.abs(np.cumsum(c.found[0]) - np.cumsum(c.expected[0])).max() <= max(2, c.expected[0].size // 10)

    return Case(call=call, operands=(x,), limit=limit, dtypes=False)


@row("numpy.bincount")
def _bincount(d: Drawing) -> Case:
    x = d.array(("int64", "int32", "uint8"), d.one((1,), (7,), (257,)), natural)
    weights = d.array(("float64", "int32"), x.host.shape, whole)
    least = d.integer(0, 9)
    if d.boolean():
        return Case(call=lambda n, a: np.bincount(a, minlength=least), operands=(x,))
    return Case(call=lambda n, a, w: np.bincount(a, weights=w, minlength=least), operands=(x, weights))


@row("numpy.several_results")
def _two_results(d: Drawing) -> Case:
    shape = d.shape()
    x, y = d.array((*INTEGERS, *FLOATS), shape, special), d.array((*INTEGERS, *FLOATS), shape, special)

    def call(n: Any, a: Any, b: Any) -> Any:
        found = list(np.divmod(a, b))
        return [*found, *np.modf(a), *np.frexp(a)] if a.dtype.kind == "f" else found

    return Case(call=call, operands=(x, y))


@rows(["numpy.sums_of_halves"])
def _halves(d: Drawing, name: str) -> Case:
    x = d.array(["float16"], least=1, values=lambda r, s, t: r.integers(-3, 4, s).astype(t))
    return Case(call=lambda n, a: (np.cumsum(a), np.sum(a), np.mean(a, axis=0)), operands=(x,), limit=near(2))


@row("x.copy_to_host x.copy_to_device x.getitem x.setitem")
def _copies(d: Drawing) -> Case:
    x = d.array(WITH_HALVES)
    y = d.array([x.host.dtype.name], x.host.shape)

    def call(n: Any, a: Any, b: Any) -> Any:
        made = a.copy()
        if isinstance(made, np.ndarray):
            made[...] = b
        else:
            made.copy_to_device(b)
        return made, a

    return Case(call=call, operands=(x, y))


@row("numpy.save")
def _save(d: Drawing) -> Case:
    import io

    x = d.array(WITH_HALVES)

    def call(n: Any, a: Any) -> Any:
        file = io.BytesIO()
        np.save(file, a)
        file.seek(0)
        return np.load(file)

    return Case(call=call, operands=(x,))
