"""Rows of convolutions, polynomials, and what is written with sums of products: `einsum`."""

from __future__ import annotations

from typing import Any

import numpy as np
from function_table import Case, row, rows
from operand_drawing import FLOATS, INTEGERS, NUMBERS, Drawing, Operand, finite, laid_out, special
from rows_factors import relative
from rows_products import products


def _line(d: Drawing, *, least: int = 0, dtypes: Any = NUMBERS) -> Operand:
    return d.array(dtypes, d.one((1,), (3,), (7,), (40,), *([] if least else [(0,)])), finite)


@rows(["numpy.convolve", "numpy.correlate"])
def _slid(d: Drawing, name: str) -> Case:
    x, y, mode = _line(d), _line(d), d.one("full", "same", "valid")
    terms = min(x.host.size, y.host.size)
    return Case(call=lambda n, a, v: getattr(n, name[6:])(a, v, mode), operands=(x, y), limit=products(terms))


@row("numpy.polyval")
def _polyval(d: Drawing) -> Case:
    p, x = d.array(NUMBERS, (d.integer(1, 6),), finite), d.array(NUMBERS, values=finite)
    return Case(call=lambda n, a, b: n.polyval(a, b), operands=(p, x), limit=products(2 * p.host.size))


@rows(["numpy.polyadd", "numpy.polysub"])
def _sums(d: Drawing, name: str) -> Case:
    return Case(call=lambda n, a, b: getattr(n, name[6:])(a, b), operands=(_line(d), _line(d)))


@row("numpy.polymul")
def _polymul(d: Drawing) -> Case:
    x, y = (_leading(d, _line(d, least=1)) for _ in range(2))
    terms = min(x.host.size, y.host.size)
    return Case(call=lambda n, a, b: n.polymul(a, b), operands=(x, y), limit=products(terms))


def _leading(d: Drawing, x: Operand) -> Operand:
    """Perhaps with zeros in front, which are left out of the product."""
    if d.boolean():
        return x
    host = x.host.copy()
    host[: d.integer(0, 3)] = 0
    return laid_out(host, (), lambda a: a)


@row("numpy.polydiv")
def _polydiv(d: Drawing) -> Case:
    """By divisors that begin with 2: products with it are exact, so that rests have NumPy's length."""
    dtypes = (*INTEGERS, *FLOATS, "complex64", "complex128")
    u, v = _line(d, least=1, dtypes=dtypes), _line(d, least=1, dtypes=dtypes)
    parts = []
    for x in (u, v):
        host = np.clip(np.rint(x.host.real), 0, 8).astype(x.host.dtype)
        if x is v:
            host[0] = 2
        parts.append(laid_out(host, (), lambda a: a))
    return Case(call=lambda n, a, b: n.polydiv(a, b), operands=tuple(parts), limit=relative(64))


@row("numpy.polyder")
def _polyder(d: Drawing) -> Case:
    m = d.integer(0, 3)
    return Case(call=lambda n, a: n.polyder(a, m), operands=(_line(d),), limit=relative(4))


@row("numpy.polyint")
def _polyint(d: Drawing) -> Case:
    m = d.integer(1, 3)
    k = d.one(None, 2.5, [1.0, 2.0, 3.0][:m])
    return Case(call=lambda n, a: n.polyint(a, m, k), operands=(_line(d, least=1),), limit=relative(8))


@row("numpy.polyfit")
def _polyfit(d: Drawing) -> Case:
    count, deg = d.one(8, 30), d.integer(0, 3)
    x = laid_out(np.linspace(-1, 2, count) + d.random.uniform(0, 0.05, count), (), lambda a: a)
    y = d.array((*FLOATS, "int32"), d.one((count,), (count, 2)), finite)
    w = laid_out(d.random.uniform(0.5, 2, count), (), lambda a: a)
    weighted = y.host.dtype != np.float32 and d.boolean()  # weighted ones NumPy rounds to float32 again
    cov = d.one(False, True, "unscaled") if y.host.ndim == 1 else False

    def call(n: Any, a: Any, b: Any, c: Any) -> Any:
        return n.polyfit(a, b, deg, w=c if weighted else None, cov=cov)

    return Case(call=call, operands=(x, y, w), limit=relative(1e4))


@row("numpy.vander")
def _vander(d: Drawing) -> Case:
    x = d.array((*INTEGERS, *FLOATS, "complex64", "complex128"), (d.one(1, 5),), finite)
    count, increasing = d.one(None, 0, 1, 4), d.boolean()
    return Case(call=lambda n, a: n.vander(a, count, increasing=increasing), operands=(x,), limit=relative(16))


_SUMS = [
    ("ij,jk->ik", (3, 4), (4, 2)),
    ("ij,jk", (3, 4), (4, 2)),
    ("ij->ji", (3, 4)),
    ("ii->i", (4, 4)),
    ("ii", (5, 5)),
    ("ij->", (3, 4)),
    ("i,j->ij", (3,), (4,)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ij,ij->j", (5, 3), (5, 3)),
    ("ijk,j->ki", (2, 3, 4), (3,)),
]


@row("numpy.einsum")
def _einsum(d: Drawing) -> Case:
    subscripts, *shapes = d.one(*_SUMS)
    kind = d.one(*NUMBERS)
    operands = [d.array([kind if d.integer(0, 3) else d.one(*NUMBERS)], shape, finite) for shape in shapes]
    return Case(call=lambda n, *x: n.einsum(subscripts, *x), operands=tuple(operands), limit=products(40))


@row("numpy.einsum_path")
def _einsum_path(d: Drawing) -> Case:
    """A path is one of NumPy's, whichever: sums along it are the same."""
    subscripts, *shapes = d.one(*_SUMS)
    operands = tuple(d.array(INTEGERS, shape, special) for shape in shapes)

    def call(n: Any, *x: Any) -> Any:
        path, told = n.einsum_path(subscripts, *x)
        assert isinstance(told, str) and told
        return np.einsum(subscripts, *(np.ones(shape) for shape in shapes), optimize=path)

    return Case(call=call, operands=operands)
