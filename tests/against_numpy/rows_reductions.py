"""Rows of reductions and of sums up to each element, of the standard, under NumPy's names, and as methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from function_table import Case, rows
from limits import Compared, Limit, Sums, additions, close, same, spacing, widened
from operand_drawing import ALL, FLOATS, INEXACT, INTEGERS, WITH_HALVES, Drawing, Operand, finite, near_one, special

Array = Any


def _names(text: str, *places: str) -> list[str]:
    return [f"{place}.{name}" for name in text.split() for place in places]


def _call(name: str) -> Callable[..., Any]:
    """The function of a row's name, on its first operand; where the standard's name is also NumPy's, of both."""
    place, short = name.split(".", 1)
    if place == "x":
        return lambda n, x, **options: getattr(x, short)(**options)
    return lambda n, x, **options: getattr(n, short)(x, **options)


def _count(shape: tuple[int, ...], axis: Any) -> int:
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return math.prod(shape[n] for n in axes)


def _options(d: Drawing, name: str, ndim: int, *, several: bool = True) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if d.boolean():
        options["axis"] = d.axis(ndim, several=several)
    if d.boolean():
        options["keepdims"] = d.boolean()
    return options


@rows(_names("sum prod", "xp", "numpy", "x"))
def _sums(d: Drawing, name: str) -> Case:
    product = name.endswith("prod")
    x = d.array(WITH_HALVES, values=near_one if product else finite)
    options, dtype = _options(d, name, x.host.ndim), _dtype(d, x)
    if product and dtype in INEXACT and x.host.dtype.kind in "iu":  # whose products would overflow
        dtype = "uint64"
    wanted = {} if dtype is None else {"dtype": dtype}
    axes = options.get("axis")
    function = np.prod if product else np.sum

    def exact(n: Any, wide: Array) -> Array:
        given = x.host if dtype is None else x.host.astype(dtype)
        return function(widened(given), **options)

    count = _count(x.host.shape, axes)
    sizes: Callable[..., Any] = lambda wide: function(np.abs(wide), **options)  # noqa: E731
    limit: Limit = Sums(sizes=sizes, count=count, extra=2 * count if product else 2)
    return Case(call=lambda n, a: _call(name)(n, a, **options, **wanted), operands=(x,), limit=limit, exact=exact)


def _dtype(d: Drawing, x: Operand) -> str | None:
    if d.integer(0, 2):
        return None
    kind = x.host.dtype.kind
    return d.one(
        *{"b": INTEGERS, "c": ("complex64", "complex128")}.get(kind, (*INEXACT, "int64")) if kind != "f" else INEXACT
    )


@rows(_names("max min", "xp", "numpy", "x") + _names("amax amin ptp nanmax nanmin", "numpy") + ["x.ptp"])
def _extremes(d: Drawing, name: str) -> Case:
    kinds = [t for t in WITH_HALVES if not name.endswith("ptp") or t != "bool"]
    x = d.array(kinds, values=finite if name.endswith("ptp") else special)
    options = _options(d, name, x.host.ndim)
    call = lambda n, a: _call(name)(n, a, **options)  # noqa: E731
    return Case(call=call, operands=(x,), numpy=(lambda n, a: np.ptp(a, **options)) if name == "x.ptp" else None)


@rows(_names("all any", "xp", "numpy", "x") + _names("count_nonzero", "xp", "numpy"))
def _truths(d: Drawing, name: str) -> Case:
    x = d.array(WITH_HALVES)
    options = _options(d, name, x.host.ndim)
    return Case(call=lambda n, a: _call(name)(n, a, **options), operands=(x,))


@rows(_names("argmax argmin", "xp", "numpy", "x"))
def _places(d: Drawing, name: str) -> Case:
    x = d.array([t for t in WITH_HALVES if t[0] != "c"])
    options = _options(d, name, x.host.ndim, several=False)
    return Case(call=lambda n, a: _call(name)(n, a, **options), operands=(x,))


@rows([*_names("mean", "xp", "numpy", "x"), "numpy.nanmean"])
def _means(d: Drawing, name: str) -> Case:
    x = d.array(ALL, values=finite)
    if "nan" in name and x.host.dtype.kind in "f":
        x = d.array(FLOATS, empty=False)
    options = _options(d, name, x.host.ndim)
    count = max(_count(x.host.shape, options.get("axis")), 1)
    sizes: Callable[..., Any] = lambda wide: np.nansum(np.abs(wide), **options) / count  # noqa: E731
    if "nan" in name:
        sizes = lambda wide: np.nanmean(np.abs(np.where(np.isinf(wide), 0, wide)), **options) * count  # noqa: E731
    exact = lambda n, a: np.nanmean(a, **options) if "nan" in name else np.mean(a, **options)  # noqa: E731
    return Case(
        call=lambda n, a: _call(name)(n, a, **options),
        operands=(x,),
        limit=Sums(sizes=sizes, count=count, extra=4),
        exact=lambda n, a: exact(n, a.astype(np.longdouble) if a.dtype.kind == "b" else a),
    )


@rows(_names("var std", "xp", "numpy", "x") + _names("nanvar nanstd", "numpy"))
def _variances(d: Drawing, name: str) -> Case:
    x = d.array(INTEGERS + INEXACT if not name.startswith("xp") else INEXACT, values=finite, empty=False)
    options = _options(d, name, x.host.ndim)
    correction = d.one(0, 1, 0.5)
    given = {"correction" if name.startswith("xp") else "ddof": correction} if d.boolean() else {}
    correction = correction if given else 0
    root = name.endswith("std")
    axes = options.get("axis")
    count = _count(x.host.shape, axes)

    def limit(c: Compared) -> None:
        (mine,), (theirs,) = c.found, c.expected
        unit = np.longdouble(np.finfo(mine.dtype).eps) / 2
        wide = widened(x.host)
        free = max(count - correction, 0)
        if free <= 0:
            np.testing.assert_array_equal(mine, theirs)
            return
        variance = np.asarray(np.var(wide, **options)) * count / free
        shift = (additions(count) + 4) * unit * np.mean(np.abs(wide), **options)
        allowed = (additions(count) + 8) * unit * variance + (1 + unit * 8 * count) * shift**2 * count / free
        exact = np.sqrt(variance) if root else variance
        if root:
            with np.errstate(all="ignore"):
                allowed = np.minimum(np.sqrt(allowed), np.where(exact > 0, allowed / exact, np.inf))
        close(mine, exact, allowed + spacing(exact, mine.dtype) * 4, theirs)

    return Case(call=lambda n, a: _call(name)(n, a, **options, **given), operands=(x,), limit=limit)


@rows(_names("cumulative_sum cumulative_prod", "xp", "numpy") + _names("cumsum cumprod", "numpy", "x"))
def _cumulated(d: Drawing, name: str) -> Case:
    product = name.endswith("prod")
    kinds = [t for t in ALL if t != "bool" or not name.startswith("xp")]
    x = d.array(kinds, values=near_one if product else finite, least=int("cumulative" in name))
    options: dict[str, Any] = {"axis": d.axis(x.host.ndim)} if d.boolean() else {}
    dtype = _dtype(d, x)
    if product and dtype in INEXACT and x.host.dtype.kind in "iu":  # whose products would overflow
        dtype = "uint64"
    wanted = {} if dtype is None else {"dtype": dtype}
    if "cumulative" in name and d.boolean():
        options["include_initial"] = d.boolean()
    function = getattr(np, name.split(".")[1])

    def exact(n: Any, wide: Array) -> Array:
        return function(widened(x.host if dtype is None else x.host.astype(dtype)), **options)

    def limit(c: Compared) -> None:
        (mine,) = c.found
        if mine.dtype.kind not in "fc":
            same(c)
            return
        size = function(np.abs(widened(x.host)), **options)
        axis = options.get("axis")
        count = x.host.size if axis is None else x.host.shape[axis]
        unit = np.longdouble(np.finfo(mine.dtype).eps)
        close(mine, c.exact[0], (count + 1) * unit * size * (4 if product else 1), c.expected[0])

    return Case(call=lambda n, a: _call(name)(n, a, **options, **wanted), operands=(x,), limit=limit, exact=exact)


@rows(_names("nansum nanprod", "numpy"))
def _without_nan(d: Drawing, name: str) -> Case:
    x = d.array(
        ALL,
        values=lambda r, s, t: (
            np.where(r.random(s) < 0.2, np.nan, near_one(r, s, t)).astype(t) if t.kind in "fc" else near_one(r, s, t)
        ),
    )
    options = _options(d, name, x.host.ndim)
    function = getattr(np, name[6:])
    count = _count(x.host.shape, options.get("axis"))
    sizes: Callable[..., Any] = lambda wide: function(np.abs(wide), **options)  # noqa: E731
    return Case(
        call=lambda n, a: function(a, **options),
        operands=(x,),
        limit=Sums(sizes=sizes, count=count, extra=2 * count + 2),
        exact=lambda n, a: function(a, **options),
    )


@rows(_names("diff", "xp", "numpy"))
def _differences(d: Drawing, name: str) -> Case:
    x = d.array(ALL, least=1)
    axis = d.axis(x.host.ndim, none=False)
    options: dict[str, Any] = {"axis": axis, "n": d.integer(0, 3)}
    operands = [x]
    for _ in range(2 if d.boolean() else 0):
        shape = list(x.host.shape)
        shape[axis] = d.integer(1, 2)
        operands.append(d.array([x.host.dtype.name], tuple(shape)))
    words = ("prepend", "append")

    def call(n: Any, a: Array, *more: Array) -> Any:
        return n.diff(a, **options, **dict(zip(words, more, strict=False)))

    return Case(call=call, operands=tuple(operands), limit=_few_differences)


def _few_differences(c: Compared) -> None:
    (mine,), (theirs,) = c.found, c.expected
    np.testing.assert_array_equal(mine, theirs)
