"""How far results may be from exact ones: what docs/arrays.md states under "How exact"."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np


class Compared:
    """Results of a call, ours and NumPy's, and the exact ones where a limit asks for them."""

    def __init__(self, found: list[Any], expected: list[Any], operands: tuple[Any, ...], call: Callable[..., Any]):
        self.found, self.expected, self.operands, self._call = found, expected, operands, call

    @cached_property
    def exact(self) -> list[Any]:
        """Results of the same call in long double."""
        result = self._call(np, *(widened(x.host) for x in self.operands))
        parts = result if isinstance(result, tuple | list) else [result]
        return [np.asarray(x) for x in parts]


Limit = Callable[[Compared], None]


def widened(x: Any) -> Any:
    """An operand in long double; bools, and what is no array, as they are."""
    if not isinstance(x, np.ndarray | np.generic) or x.dtype.kind == "b":
        return x
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def same(c: Compared) -> None:
    """NumPy's numbers, bit for bit but for those of NaN; which of two zeros a largest or smallest one is, is open."""
    for mine, theirs in zip(c.found, c.expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def same_with_signs(c: Compared) -> None:
    """As `same`, with the signs of zeros."""
    same(c)
    for mine, theirs in zip(c.found, c.expected, strict=True):
        if theirs.dtype.kind == "f":
            zeros = theirs == 0
            np.testing.assert_array_equal(np.signbit(mine[zeros]), np.signbit(theirs[zeros]))


def nothing(c: Compared) -> None:
    """Only shapes and dtypes."""


def ulps(count: float, *, half: float | None = None, scale: Callable[..., Any] | None = None) -> Limit:
    """So many units in the last place; of complex numbers, of the modulus. ``scale``: of what, if not of the result."""

    def limit(c: Compared) -> None:
        if all(x.dtype.kind not in "fc" for x in c.found):
            same(c)
            return
        for mine, theirs, exact in zip(c.found, c.expected, c.exact, strict=True):
            allowed = half if half is not None and mine.dtype == np.float16 else count
            size = np.abs(exact) if scale is None else scale(*(widened(x.host) for x in c.operands))
            close(mine, exact, allowed * spacing(size, mine.dtype), theirs)

    return limit


def spacing(size: Any, dtype: Any) -> Any:
    """The distance of neighbours among numbers of a size, never less than that of the least ordinary ones."""
    info = np.finfo(dtype)
    fraction, exponent = np.frexp(np.maximum(np.where(np.isfinite(size), size, 0), np.longdouble(info.tiny)))
    del fraction
    return np.ldexp(np.longdouble(info.eps), exponent - 1)


def close(found: Any, exact: Any, allowed: Any, theirs: Any = None) -> None:
    """Within a distance, in both parts; infinite where the exact number is beyond what the dtype holds, or nearly."""
    parts = [(found, exact)] if found.dtype.kind != "c" else [(found.real, exact.real), (found.imag, exact.imag)]
    largest = np.longdouble(np.finfo(found.dtype).max)
    for mine, wanted in parts:
        mine = mine.astype(np.longdouble)
        wanted, room = np.broadcast_arrays(np.asarray(wanted, np.longdouble), np.asarray(allowed, np.longdouble))[:2]
        beyond = np.abs(wanted) + room >= largest
        with np.errstate(all="ignore"):
            fits = np.abs(mine - wanted) <= room
        fits |= (mine == wanted) | (np.isnan(mine) & np.isnan(wanted))
        fits |= beyond & (np.sign(mine) == np.sign(wanted)) & (np.abs(mine) + room >= largest)
        if theirs is not None and theirs.dtype.kind == "f":  # NumPy's own NaN and infinities
            fits |= ~np.isfinite(theirs) & ((mine == theirs) | (np.isnan(mine) & np.isnan(theirs)))
        assert np.all(fits), _told(mine, wanted, room, fits)


def _told(mine: Any, wanted: Any, room: Any, fits: Any) -> str:
    at = tuple(int(n[0]) for n in np.nonzero(~np.atleast_1d(fits)))
    mine, wanted, room = (np.atleast_1d(x)[at] for x in (mine, wanted, np.broadcast_to(room, np.shape(fits))))
    return (
        f"{np.size(fits) - np.count_nonzero(fits)} are too far: at {at} {mine!r}, exactly {wanted!r}, within {room!r}"
    )


def additions(count: int) -> float:
    """How many additions an element goes through at most, of so many (`portagpu.expressions.reductions.functions`)."""
    return min(max(count - 1, 0), 256 + 2 * math.log2(max(count, 1)))


@dataclasses.dataclass(frozen=True, slots=True)
class Sums:
    """A sum of n terms is within ``k u sum(abs(x))``, and half a unit more where it is rounded to a smaller dtype."""

    sizes: Callable[..., Any]  # the sum of magnitudes, from wide operands
    count: int
    extra: float = 0  # roundings beside those of additions

    def __call__(self, c: Compared) -> None:
        (mine,), (theirs,) = c.found, c.expected
        if mine.dtype.kind not in "fc":
            np.testing.assert_array_equal(mine, theirs)
            return
        computed = np.float32 if mine.dtype == np.float16 else mine.dtype
        unit = np.longdouble(np.finfo(computed).eps) / 2
        size = np.abs(self.sizes(*(widened(x.host) for x in c.operands)))
        allowed = (additions(self.count) + self.extra) * unit * size * 1.01
        close(mine, c.exact[0], allowed + spacing(np.abs(c.exact[0]), mine.dtype), theirs)
