"""Random kernels that read several shared and local arrays in branches, and exchange their names: one vectoriser took
the arrays that threads choose for the same in all of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda

BLOCK, GRID, M = 16, 2, 3
DTYPES = ("np.int32", "np.float64", "np.int16", "np.float32", "np.int64")


class Drawn:
    """The text of a kernel ``k(x, o, m)``; threads write only what is theirs. ``renames``: names of arrays change."""

    def __init__(self, seed: int, *, renames: bool) -> None:
        self.draw = random.Random(seed)
        self.renames = renames
        self.size = self.draw.choice((3, 4, 6, 8))
        dtype = self.draw.choice(DTYPES)
        kind = self.draw.choice(("shared", "local", "" if not renames else "shared"))
        self.kinds = {name: kind or self.draw.choice(("shared", "local")) for name in "abc"[: self.draw.choice((2, 3))]}
        lines = ["i = cuda.grid(1)", "t = cuda.threadIdx.x"]
        for name, memory in self.kinds.items():
            step, start = self.draw.randrange(1, 10), self.draw.randrange(4)
            lines.append(f"{name} = cuda.{memory}.array({self.size}, {dtype})")
            if memory == "shared":
                lines += [f"if t < {self.size}:", f"    {name}[t] = t * {step} + {start}"]
            else:
                lines += [f"for q in range({self.size}):", f"    {name}[q] = q * {step} + i * {start}"]
        lines += ["cuda.syncthreads()", "v = 0", "w = 0.0"]
        for _ in range(self.draw.choice((2, 3, 4))):
            lines += self.statement(0)
        lines += [f"w = w * 3 + {self.read(name)}" for name in self.kinds]
        self.text = "\n@cuda.jit\ndef k(x, o, m):\n" + "\n".join(indented([*lines, "o[i] = v + w"])) + "\n"

    def condition(self) -> str:
        return self.draw.choice(("x[i] > 1", "x[i] > 2", "i % 2", "t > 5", "i % 3 == 1", "t & 4", "m > 2", "v % 2 < 1"))

    def read(self, name: str = "") -> str:
        n = self.size
        places = (
            f"i % {n}",
            f"t % {n}",
            f"x[i] % {n}",
            f"(i + 1) % {n}",
            f"t * 3 % {n}",
            str(self.draw.randrange(n)),
            "-1",
        )
        return f"{name or self.draw.choice([*self.kinds])}[{self.draw.choice(places)}]"

    def statement(self, depth: int) -> list[str]:
        kind = self.draw.random()
        if kind < 0.35 and depth < 3:
            lines = [f"if {self.condition()}:", *self.block(depth)]
            if self.draw.random() < 0.4:
                lines += [f"elif {self.condition()}:", *self.block(depth)]
            return [*lines, "else:", *self.block(depth)] if self.draw.random() < 0.7 else lines
        if kind < 0.45 and depth < 2:
            return [f"for q{depth} in range({self.draw.choice(('x[i]', '2', 'm', 't % 3'))}):", *self.block(depth)]
        if self.renames and kind < 0.75:
            return [self.renaming()]
        if kind < 0.65:
            return [f"v = {self.read()} if {self.condition()} else {self.read()}"]
        if kind < 0.85:
            return [f"v = {self.read()}"]
        own = [name for name, memory in self.kinds.items() if memory == "local"]
        if own and not self.renames and kind < 0.92:
            return [f"{self.read(self.draw.choice(own))} += {self.read()}"]
        return [f"w += v * 2 + {self.read()}"]

    def renaming(self) -> str:
        first, second = self.draw.sample([*self.kinds], 2)
        return self.draw.choice(
            (
                f"{first}, {second} = {second}, {first}",
                f"{first} = {second} if {self.condition()} else {self.draw.choice([*self.kinds])}",
                f"{first} = {second}",
                f"{first} = {first}[::-1]",
            )
        )

    def block(self, depth: int) -> list[str]:
        return indented([line for _ in range(self.draw.choice((1, 2))) for line in self.statement(depth + 1)])


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _one_for_all(shared: dict[int, np.ndarray], number: Iterator[int], size: int, dtype: type) -> np.ndarray:
    return shared.setdefault(next(number), np.zeros(size, dtype))


def in_python(text: str, x: np.ndarray, o: np.ndarray) -> None:
    """Run the text thread after thread, twice: the first time fills shared arrays."""
    for block in range(GRID):
        shared: dict[int, np.ndarray] = {}
        for result in (o.copy(), o):
            for t in range(BLOCK):
                number = iter(range(9))
                stub = SimpleNamespace(
                    jit=lambda function: function,
                    grid=lambda axes, i=block * BLOCK + t: i,
                    threadIdx=SimpleNamespace(x=t),
                    syncthreads=lambda: None,
                    local=SimpleNamespace(array=np.zeros),
                    shared=SimpleNamespace(array=partial(_one_for_all, shared, number)),
                )
                with np.errstate(all="ignore"):
                    define(text, "k", cuda=stub)(x, result, M)


@pytest.mark.parametrize("renames", [False, True], ids=["reads", "renames"])
@pytest.mark.parametrize("seed", range(12))
def test_reads(device, seed, renames):
    text = Drawn(seed, renames=renames).text
    x = np.random.default_rng(seed).integers(0, 4, BLOCK * GRID)
    found, expected = np.zeros((2, x.size))
    define(text, "k", cuda=cuda)[GRID, BLOCK](x, found, M)
    in_python(text, x, expected)
    np.testing.assert_array_equal(found, expected, err_msg=text)
