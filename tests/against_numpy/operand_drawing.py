"""What hypothesis draws: dtypes, shapes, numbers, and layouts, the same on the host and on the device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from portagpu import cuda, xp

BOOL, SIGNED, UNSIGNED = ("bool",), ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
FLOATS, COMPLEX = ("float32", "float64"), ("complex64", "complex128")
INTEGERS = SIGNED + UNSIGNED
REAL = INTEGERS + FLOATS
INEXACT = FLOATS + COMPLEX
NUMBERS = REAL + COMPLEX
ALL = BOOL + NUMBERS
WITH_HALVES = (*ALL, "float16")
_SHAPES = [(), (1,), (0,), (7,), (257,), (0, 3), (3, 0), (5, 1), (3, 4), (1, 300), (2, 3, 5), (2, 1, 2, 3), (1030,)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """An array, or a number, on both sides, and the memory that it is a view of."""

    host: Any
    device: Any
    base: Any = None
    memory: Any = None

    def check_memory(self, *, rounded: bool = False) -> None:
        """A call writes no other elements than NumPy's does, most of all none; ``rounded``: numbers like NumPy's."""
        if self.memory is None:
            return
        found = self.memory.copy_to_host()
        if rounded and found.dtype.kind in "fc":
            eps = 64 * float(np.finfo(found.dtype).eps)
            np.testing.assert_allclose(found, self.base, rtol=eps, atol=eps)
            return
        np.testing.assert_array_equal(found, self.base)


class Drawing:
    """Draws what a call needs, by `hypothesis.strategies.data`."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.random = np.random.default_rng(data.draw(st.integers(0, 10_000), "seed"))

    def one(self, *values: Any) -> Any:
        """One of some values."""
        return self._data.draw(st.sampled_from(values))

    def boolean(self) -> bool:
        """True or False."""
        return self._data.draw(st.booleans())

    def integer(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        return self._data.draw(st.integers(low, high))

    def shape(self, least: int = 0, most: int = 4, *, empty: bool = True) -> tuple[int, ...]:
        """A shape of so many axes."""
        fitting = [s for s in _SHAPES if least <= len(s) <= most and (empty or 0 not in s)]
        return self._data.draw(st.sampled_from(fitting))

    def axis(self, ndim: int, *, several: bool = False, none: bool = True) -> Any:
        """An axis, perhaps negative; None, or a tuple of axes, where those are taken."""
        kinds = ["one"] * (ndim > 0) + ["none"] * none + ["several"] * several
        kind = self.one(*kinds)
        if kind == "none":
            return None
        if kind == "one":
            return self.integer(-ndim, ndim - 1)
        order = self._data.draw(st.permutations(range(ndim)))
        return tuple(n - ndim * self.boolean() for n in order[: self.integer(0, ndim)])

    def order(self, ndim: int) -> tuple[int, ...]:
        """Axes in some order."""
        return tuple(self._data.draw(st.permutations(range(ndim))))

    def array(
        self,
        dtypes: Sequence[str] = ALL,
        shape: tuple[int, ...] | None = None,
        values: Callable[..., Any] | None = None,
        *,
        least: int = 0,
        most: int = 4,
        empty: bool = True,
        plain: bool = False,
    ) -> Operand:
        """An array of a layout: strided, transposed, reversed, broadcast, part of a larger one, or not computed yet."""
        dtype = np.dtype(self.one(*dtypes))
        if shape is None:
            shape = self.shape(least, most, empty=empty)
        make = values or special
        if plain:
            return laid_out(make(self.random, shape, dtype), (), lambda x: x)
        layout = self.one("plain", "plain", "strided", "transposed", "broadcast", "column", "put off")
        order, steps = tuple(range(len(shape))), (1,) * len(shape)
        if layout == "transposed":
            order = self.order(len(shape))
        if layout == "strided":
            steps = tuple(self.one(1, 2, -1, -2) for _ in shape)
        repeated = [n for n, extent in enumerate(shape) if layout == "broadcast" and extent and self.boolean()]
        extra = 3 if layout == "column" else 0
        extents = [
            1 if n in repeated else extent * abs(step)
            for n, (extent, step) in enumerate(zip(shape, steps, strict=True))
        ]
        inner = tuple(extents[n] for n in order)
        key = tuple(slice(None, None, step) for step in steps)
        back = np.argsort(order) if order else ()

        def view(x: Any) -> Any:
            found = x[..., 1] if extra else x
            if layout == "transposed":
                found = found.transpose(tuple(int(n) for n in back))
            if layout == "strided" and shape:
                found = found[key]
            if repeated:
                found = np.broadcast_to(found, shape)
            return xp.where(xp.asarray(np.asarray(True)), found, found) if layout == "put off" else found

        base = make(self.random, (*inner, *(extra,) * bool(extra)), dtype)
        return laid_out(base, shape, view, put_off=layout == "put off")


def laid_out(base: Any, shape: tuple[int, ...], view: Callable[[Any], Any], *, put_off: bool = False) -> Operand:
    """The same view of memory on the host and on the device."""
    base = np.asarray(base)
    memory = cuda.to_device(base) if base.ndim else xp.asarray(base)
    if put_off:
        return Operand(host=base.copy(), device=view(memory))
    kept = base.copy()
    return Operand(host=view(kept), device=view(memory), base=kept, memory=memory)


def number(value: Any) -> Operand:
    """A number of the host, as it is."""
    return Operand(host=value, device=value)


def special(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Ordinary numbers, and among them all that are not: extremes, infinities, NaN, signed zeros."""
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        pool = np.asarray([limits.min, limits.max, limits.max - 1, limits.max // 2, 0, 1, 2, 3], dtype)
        return np.where(random.random(shape) < 0.4, random.choice(pool, shape), whole(random, shape, dtype))
    if dtype.kind == "c":
        return finite(random, shape, dtype)
    limits = np.finfo(dtype)
    pool = np.asarray(
        [np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 0.5, limits.max, limits.min, limits.tiny, limits.eps, 3]
    )
    spread = random.standard_normal(shape) * 10.0 ** random.integers(-3, 4, shape)
    return np.where(random.random(shape) < 0.3, random.choice(pool, shape), spread).astype(dtype)


def ordered(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """As `special`, with many equal elements; complex numbers with equal real parts."""
    if dtype.kind == "c":
        return (random.integers(-2, 3, shape) + 1j * random.integers(-2, 3, shape)).astype(dtype)
    found = special(random, shape, dtype)
    return np.where(random.random(shape) < 0.5, whole(random, shape, dtype), found).astype(dtype)


def finite(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Finite numbers of magnitudes from 0 to 10; of integers small ones."""
    if dtype.kind in "biu":
        return whole(random, shape, dtype)
    real = random.standard_normal(shape) * random.choice([1e-3, 0.1, 1, 3], shape)
    real = np.where(random.random(shape) < 0.1, random.choice([0.0, 1.0, -1.0, 0.5], shape), real)
    if dtype.kind == "c":
        return (real + 1j * finite(random, shape, np.dtype("float64"))).astype(dtype)
    return real.astype(dtype)


def whole(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Small whole numbers: not negative for dtypes that have none."""
    low = {"b": 0, "u": 0}.get(dtype.kind, -5)
    return random.integers(low, 2 if dtype.kind == "b" else 9, shape).astype(dtype)


def natural(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Small whole numbers that are not negative."""
    return random.integers(0, 2 if dtype.kind == "b" else 5, shape).astype(dtype)


def near_one(random: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Numbers whose products neither overflow nor vanish; of integers all there are, since products wrap around."""
    if dtype.kind in "biu":
        return special(random, shape, dtype)
    found = random.uniform(0.9, 1.1, shape) * random.choice([-1, 1], shape)
    return (found * np.exp(1j * random.uniform(0, 6, shape)) if dtype.kind == "c" else found).astype(dtype)
