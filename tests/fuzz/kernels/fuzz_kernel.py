"""A drawn kernel with its arguments, launch configuration and script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from fuzz_records import filled
from fuzz_script import script
from fuzz_typed import FLOATS


@dataclass(frozen=True)
class Argument:
    """An argument's description: ``layout`` C, F, "strided" or "reversed" for an array, None for a scalar."""

    name: str
    kind: str
    shape: tuple[int, ...] = ()
    layout: str | None = None
    written: bool = False


@dataclass(frozen=True)
class Kernel:
    """A drawn kernel and what to launch it with."""

    source: str
    arguments: tuple[Argument, ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    seed: int
    shared_bytes: int = 0

    @property
    def configuration(self) -> tuple[Any, ...]:
        """The configuration of a launch."""
        return (self.grid, self.block, *((0, self.shared_bytes) if self.shared_bytes else ()))

    def values(self) -> tuple[Any, ...]:
        """The arguments, the same each time, whichever others there are."""
        return tuple(_value(np.random.default_rng((self.seed, crc32(a.name.encode()))), a) for a in self.arguments)

    def __str__(self) -> str:
        return script(self)


def numbers(random: np.random.Generator, kind: str, count: int) -> np.ndarray[Any, Any]:
    """Numbers of a dtype, its ends among them."""
    if kind == "b":
        return random.integers(0, 2, count).astype(np.bool_)
    if kind in FLOATS:
        return (random.integers(-200, 200, count) / 4).astype(kind)
    info = np.iinfo(kind)
    corners = np.array([info.min, info.max, info.max // 2, 0, 1, 2, 3, 100], kind)
    values = random.integers(max(-20, info.min), 20, count).astype(kind)
    return np.where(random.random(count) < 0.3, random.choice(corners, count), values).astype(kind)


def _value(random: np.random.Generator, argument: Argument) -> Any:
    if argument.layout is None:
        if argument.kind == "pi":
            return int(random.integers(0, 9))
        if argument.kind == "pf":
            return float(random.integers(-16, 16) / 4)
        found = numbers(random, argument.kind, 1)[0]
        return bool(found) if argument.kind == "b" else found
    count = int(np.prod(argument.shape))
    if argument.kind.startswith("np.dtype"):
        records = np.zeros(argument.shape, eval(argument.kind, {"np": np}))
        if not argument.written:
            filled(random, records, numbers)
        return records
    data = np.zeros(count, np.dtype(argument.kind if argument.kind != "b" else bool))
    if not argument.written:
        data = numbers(random, argument.kind, count)
    data = data.reshape(argument.shape)
    if argument.layout == "F":
        return np.asfortranarray(data)
    if argument.layout == "strided":
        wide = np.zeros((*argument.shape[:-1], argument.shape[-1] * 2), data.dtype)
        wide[..., ::2] = data
        return wide[..., ::2]
    return data
