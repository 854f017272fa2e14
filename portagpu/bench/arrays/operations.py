"""What is measured, written once for all libraries: operations on large arrays, and on arrays of 8 x 8."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.bench.arrays.checks import Check, close, exact, nearly, normal, running
from portagpu.bench.arrays.library import Library

SMALL = 8  # rows and columns of a small array
_BINS = 256
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A call of a library on operands, which are named by the letters of `operand`.

    ``wide``: what is right is computed from float64. ``fused``: a chain of functions of elements. ``seen(result,
    *operands)``: what is compared, if that is not the result itself.
    """

    name: str
    operands: str
    call: Callable[..., Any]
    check: Check = exact
    wide: bool = False
    fused: bool = False
    seen: Callable[..., Array] = lambda found, *operands: found


def operand(letter: str, n: int, dtype: str, seed: int) -> Array:
    """Random elements.

    a, b, c: between 0 and 1; x: normal; m: a square matrix of such; k: integers of which each is there some eight
    times; i: places of other elements, int64; t: a truth for each element; s: a small matrix, i8 its places.
    """
    rng = np.random.default_rng([seed, ord(letter)])
    side = math.isqrt(n)
    made: dict[str, Callable[[], Array]] = {
        "x": lambda: rng.standard_normal(n),
        "m": lambda: rng.standard_normal((side, side)),
        "k": lambda: rng.integers(0, max(1, n // 8), n).astype(np.float64),
        "i": lambda: rng.integers(0, n, n),
        "t": lambda: rng.random(n) > 0.5,
        "s": lambda: rng.standard_normal((SMALL, SMALL)),
        "r": lambda: rng.integers(0, SMALL, SMALL),
    }
    found = made.get(letter, lambda: rng.random(n))()
    return found if letter in "itr" else found.astype(dtype)


def _summed(name: str, axis: int | None) -> Operation:
    return Operation(name=name, operands="m", call=lambda of, m: m.sum(axis=axis), check=_of_terms, wide=True)


def _of_terms(found: Array, expected: Array, n: int) -> float:
    """Terms of both signs nearly cancel: what counts is the sum of their magnitudes, of which each is about 0.8."""
    terms = n // max(1, found.size)
    scale = float(np.abs(expected).max(initial=0.0))
    return close(found, expected, n) * scale / (0.8 * terms)


LARGE: tuple[Operation, ...] = (
    Operation(name="a * b + c", operands="abc", call=lambda of, a, b, c: a * b + c, check=close, wide=True, fused=True),
    Operation(
        name="sqrt(a**2 + b**2) > 1",
        operands="ab",
        call=lambda of, a, b: of.names.sqrt(a**2 + b**2) > 1,
        check=nearly,
        fused=True,
    ),
    _summed("sum", None),
    _summed("sum axis 0", 0),
    _summed("sum axis 1", 1),
    Operation(name="mean", operands="a", call=lambda of, a: a.mean(), check=close, wide=True),
    Operation(name="std", operands="a", call=lambda of, a: a.std(), check=close, wide=True),
    Operation(name="max", operands="x", call=lambda of, x: x.max()),
    Operation(name="argmax", operands="x", call=lambda of, x: x.argmax()),
    Operation(name="cumsum", operands="a", call=lambda of, a: a.cumsum(), check=running, wide=True),
    Operation(name="sort", operands="x", call=lambda of, x: of.names.sort(x)),
    Operation(
        name="argsort", operands="x", call=lambda of, x: of.names.argsort(x), seen=lambda places, x: _taken(places, x)
    ),
    Operation(name="unique", operands="k", call=lambda of, k: of.names.unique(k)),
    Operation(name="a[a > 0.5]", operands="a", call=lambda of, a: a[a > 0.5]),
    Operation(name="nonzero", operands="t", call=lambda of, t: t.nonzero()[0]),
    Operation(
        name=f"histogram {_BINS}", operands="a", call=lambda of, a: of.names.histogram(a, _BINS)[0], check=nearly
    ),
    Operation(
        name="normals",
        operands="x",
        call=lambda of, x: of.normals(x.size, x.dtype.name),
        check=normal,
    ),
    Operation(name="take", operands="xi", call=lambda of, x, i: x.take(i)),
    Operation(name="where", operands="tab", call=lambda of, t, a, b: of.names.where(t, a, b)),
    Operation(name="concatenate", operands="ab", call=lambda of, a, b: of.names.concatenate((a, b))),
    Operation(name="repeat", operands="a", call=lambda of, a: of.names.repeat(a, 2)),
    Operation(name="tile", operands="a", call=lambda of, a: of.names.tile(a, (2,))),
    Operation(name="copy", operands="a", call=lambda of, a: a.copy()),
    Operation(name="copy of m.T", operands="m", call=lambda of, m: m.T.copy()),
    Operation(name="fill", operands="a", call=lambda of, a: _filled(a)),
    Operation(name="a**3", operands="a", call=lambda of, a: a**3, check=close, wide=True),
    Operation(name="m[1:, 1:] - m[:-1, :-1]", operands="m", call=lambda of, m: m[1:, 1:] - m[:-1, :-1]),
    Operation(name="m - m[:, :1]", operands="m", call=lambda of, m: m - m[:, :1]),
    Operation(name="roll", operands="m", call=lambda of, m: of.names.roll(m, 1, axis=1)),
    Operation(name="sum of rolls", operands="m", call=lambda of, m: _neighbours(of, m), check=nearly, fused=True),
    Operation(name="m[1:-1, 1:-1] = m[:-2, 2:]", operands="m", call=lambda of, m: _moved(m)),
)
"""In the order of tables."""

LITTLE: tuple[Operation, ...] = (
    Operation(name="8 x 8: add", operands="s", call=lambda of, s: s + s),
    Operation(name="8 x 8: sum", operands="s", call=lambda of, s: s.sum(), check=_of_terms, wide=True),
    Operation(name="8 x 8: sort", operands="s", call=lambda of, s: of.names.sort(s)),
    Operation(name="8 x 8: take", operands="sr", call=lambda of, s, r: s.take(r, axis=0)),
    Operation(name="8 x 8: s[s > 0]", operands="s", call=lambda of, s: s[s > 0]),
    Operation(name="8 x 8: zeros", operands="s", call=lambda of, s: of.names.zeros(s.shape, dtype=s.dtype)),
    Operation(name="8 x 8: concatenate", operands="s", call=lambda of, s: of.names.concatenate((s, s))),
)
"""Small operations, whose time is overhead."""


def _taken(places: Array, x: Array) -> Array:
    """Elements in the order of an argsort, which need not be stable; none where a place is not there once."""
    is_whole = places.size == x.size and bool((np.bincount(places, minlength=x.size) == 1).all())
    return x[places] if is_whole else x[:0]


def _filled(a: Any) -> Any:
    a.fill(2)
    return a


def _neighbours(of: Library, m: Any) -> Any:
    roll = of.names.roll
    return roll(m, 1, axis=0) + roll(m, -1, axis=0) + roll(m, 1, axis=1) + roll(m, -1, axis=1) - 4 * m


def _moved(m: Any) -> Any:
    target = m.copy()
    target[1:-1, 1:-1] = m[:-2, 2:]
    return target


def expected(operation: Operation, of: Library, operands: tuple[Array, ...]) -> Array:
    """What NumPy says is right."""
    given = tuple(x.astype(np.float64) if operation.wide and x.dtype.kind == "f" else x.copy() for x in operands)
    found: Array = np.asarray(operation.call(of, *given))
    return operation.seen(found, *operands)


__all__ = ["LARGE", "LITTLE", "SMALL", "Operation", "expected", "operand"]
