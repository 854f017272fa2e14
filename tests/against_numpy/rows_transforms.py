"""Rows of Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from function_table import Case, rows
from limits import Compared, Limit, same
from operand_drawing import COMPLEX, FLOATS, INEXACT, NUMBERS, Drawing, finite

_LENGTHS = (1, 2, 3, 8, 12, 17, 30, 64, 77)
_ONE = "fft ifft rfft irfft hfft ihfft".split()
_SEVERAL = "fftn ifftn rfftn irfftn".split()


def _transform(name: str) -> Any:
    short = name.split(".")[-1]
    return lambda m, /, *x, **options: getattr(m.fft, short)(*x, **options)


def transforms(size: int) -> Limit:
    """``4 eps (1 + log2(n))`` of the root mean square of the results, of n elements each."""

    def limit(c: Compared) -> None:
        (mine,), (theirs,) = c.found, c.expected
        if not mine.size:
            return
        eps = float(np.finfo(mine.dtype).eps)
        scale = math.sqrt(np.mean(np.abs(theirs.astype(np.complex128)) ** 2) * max(mine.size, 1))
        away = np.abs(mine.astype(np.complex128) - theirs).max()
        assert away <= 4 * eps * (1 + math.log2(max(size, 1))) * scale, (away, scale)

    return limit


def _operand(d: Drawing, name: str, *, several: bool) -> Any:
    real = name.split(".")[-1] in ("rfft", "rfftn", "ihfft", "rfft2")
    kinds = FLOATS if real else d.one(COMPLEX, NUMBERS)
    lengths = [d.one(*_LENGTHS) for _ in range(2 if several else 1)]
    shape = d.one(tuple(lengths), (3, *lengths), (*lengths, 2))
    return d.array(kinds, shape, finite)


@rows([f"{p}.fft.{n}" for p in ("xp", "numpy") for n in _ONE])
def _along_one(d: Drawing, name: str) -> Case:
    x = _operand(d, name, several=False)
    options: dict[str, Any] = {"axis": d.axis(x.host.ndim, none=False), "norm": d.one("backward", "ortho", "forward")}
    extent = x.host.shape[options["axis"]]
    n = d.one(None, None, extent, extent + 3, max(extent - 1, 1), 16)
    if n is None and name.split(".")[-1] in ("irfft", "hfft") and extent < 2:
        n = 4
    if n is not None:
        options["n"] = n
    call = _transform(name)
    return Case(call=lambda m, a: call(m, a, **options), operands=(x,), limit=transforms(2 * max(n or 0, extent)))


@rows(
    [f"{p}.fft.{n}" for p in ("xp", "numpy") for n in _SEVERAL]
    + [f"numpy.fft.{n}2" for n in ("fft", "ifft", "rfft", "irfft")]
)
def _along_several(d: Drawing, name: str) -> Case:
    x = _operand(d, name, several=True)
    ndim = x.host.ndim
    options: dict[str, Any] = {"norm": d.one("backward", "ortho", "forward")}
    axes = d.order(ndim)[: d.integer(1, ndim)] if d.boolean() and not name.endswith("2") else None
    last = x.host.shape[axes[-1] if axes else -1]
    if axes:
        options["axes"] = axes
    if ("irfft" in name and last < 2) or d.boolean():
        over = axes or (range(ndim) if not name.endswith("2") else (-2, -1))
        options["axes"] = tuple(over)
        options["s"] = tuple(x.host.shape[a] + d.integer(0, 2) + (2 if "irfft" in name else 0) for a in over)
    call = _transform(name)
    return Case(call=lambda m, a: call(m, a, **options), operands=(x,), limit=transforms(4 * x.host.size))


@rows([f"{p}.fft.{n}" for p in ("xp", "numpy") for n in ("fftshift", "ifftshift")])
def _shifts(d: Drawing, name: str) -> Case:
    x = d.array(INEXACT, least=1)
    axes = d.axis(x.host.ndim, several=True)
    call = _transform(name)
    return Case(call=lambda m, a: call(m, a, axes=axes), operands=(x,), limit=same)


@rows([f"xp.fft.{n}" for n in ("fftfreq", "rfftfreq")])
def _frequencies(d: Drawing, name: str) -> Case:
    n, step = d.integer(1, 20), d.one(1.0, 0.5, 3.0)
    call = _transform(name)

    def limit(c: Compared) -> None:
        np.testing.assert_allclose(c.found[0], c.expected[0], rtol=4 * np.finfo(float).eps)

    return Case(call=lambda m: call(m, n, d=step), limit=limit)
