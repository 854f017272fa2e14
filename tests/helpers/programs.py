"""Random Python programs and expressions, and functions made of text."""

from __future__ import annotations

import itertools
import linecache
from random import Random
from typing import Any

import numpy as np

from portagpu import cuda

_numbers = itertools.count()


def define(text: str, name: str, **names: Any) -> Any:
    """The function that ``text`` defines; its text can be found, as that of a function in a file."""
    filename = f"<generated {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = {"np": np, "cuda": cuda, **names}
    exec(compile(text, filename, "exec"), scope)
    return scope[name]


class Program:
    """A function ``program(i, x)`` of integers ``a, b, c`` below 997 and halves ``f``, exact in both languages."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.counters = 0
        self.readable = ["a", "b", "c", "i"]

    def text(self) -> str:
        """The function's text."""
        self.lines = ["def program(i, x):", "    a, b, c, f = i, x[i], 3, 0.5"]
        self.block(1, depth=3, in_loop=False)
        self.lines.append("    return a, b, c, f")
        return "\n".join(self.lines) + "\n"

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def say(self, level: int, text: str) -> None:
        self.lines.append("    " * level + text)

    def integer(self, depth: int = 2) -> str:
        if depth == 0:
            return self.pick(*self.readable, "x[(a + b) % len(x)]", str(self.random.randrange(10)))
        left, right = self.integer(depth - 1), self.integer(depth - 1)
        return self.pick(
            f"({left} + {right})",
            f"({left} - {right})",
            f"({left} * {right})",
            f"({left} // (abs({right}) + 1))",
            f"({left} % (abs({right}) + 2))",
            f"({left} & {right})",
            f"({left} ^ {right})",
            f"({left} << {self.random.randrange(4)})",
            f"({left} >> {self.random.randrange(4)})",
            f"({left} if {self.test(0)} else {right})",
            f"max({left}, {right})",
            f"min({left}, {right})",
            f"int({self.test(0)})",
            f"(-{left})",
            f"({left}, {right})[{self.test(0)}]",
        )

    def test(self, depth: int = 1) -> str:
        left, right = self.integer(depth), self.integer(depth)
        sign = self.pick("<", "<=", ">", ">=", "==", "!=")
        simple = f"{left} {sign} {right}"
        if depth == 0:
            return f"({simple})"
        return self.pick(
            simple,
            f"({simple} and {self.test(0)})",
            f"({simple} or {self.test(0)})",
            f"not {simple}",
            f"{left} < {self.integer(0)} <= {right}",
            f"{left} in (1, 5, {right})",
            f"f > {left} / 2",
        )

    def block(self, level: int, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(level, depth, in_loop)

    def statement(self, level: int, depth: int, in_loop: bool) -> None:
        simple = (self.assign, self.assign, self.swap, self.augmented, self.halves, self.both)
        nested = (self.branch, self.branch, self.for_loop, self.while_loop, self.tuple_loop)
        self.random.choice(simple if depth == 0 else simple + nested)(level, depth, in_loop)
        if in_loop and self.random.randrange(5) == 0:
            self.say(level, f"if {self.test()}:")
            self.say(level + 1, self.pick("break", "continue"))
        if self.random.randrange(25) == 0:
            self.say(level, f"if {self.test()}:")
            self.say(level + 1, f"return a, {self.integer()} % 997, c, f")

    def target(self) -> str:
        return self.pick("a", "b", "c")

    def assign(self, level: int, depth: int, in_loop: bool) -> None:
        self.say(level, f"{self.target()} = {self.integer()} % 997")

    def swap(self, level: int, depth: int, in_loop: bool) -> None:
        self.say(
            level, self.pick("a, b = b, a", "a, b, c = c, a, b", "b, c = c, (a + b) % 997", "(a, b), c = (c, a), b")
        )

    def augmented(self, level: int, depth: int, in_loop: bool) -> None:
        name = self.target()
        self.say(level, f"{name} {self.pick('+', '-', '*', '^', '|')}= {self.integer(1)}")
        self.say(level, f"{name} %= 997")

    def halves(self, level: int, depth: int, in_loop: bool) -> None:
        self.say(
            level, f"f = {self.pick(f'({self.integer()} % 997) / 2', f'{self.integer()} % 997', '(f + a) % 64', '-f')}"
        )

    def both(self, level: int, depth: int, in_loop: bool) -> None:
        self.say(level, f"a = c = {self.integer()} % 997")

    def branch(self, level: int, depth: int, in_loop: bool) -> None:
        self.say(level, f"if {self.test()}:")
        self.block(level + 1, depth - 1, in_loop)
        if self.random.randrange(3) == 0:
            self.say(level, f"elif {self.test()}:")
            self.block(level + 1, depth - 1, in_loop)
        if self.random.randrange(2):
            self.say(level, "else:")
            self.block(level + 1, depth - 1, in_loop)

    def loop_body(self, level: int, depth: int, *targets: str) -> None:
        self.readable += targets
        self.block(level + 1, depth - 1, in_loop=True)
        for name in targets:
            self.readable.remove(name)
        if self.random.randrange(3) == 0:
            self.say(level, "else:")
            self.block(level + 1, depth - 1, in_loop=False)

    def for_loop(self, level: int, depth: int, in_loop: bool) -> None:
        self.counters += 1
        name = f"k{self.counters}"
        stop = f"{self.integer(1)} % 5"
        header = self.pick(
            f"range({stop})", f"range(1, {stop} + 1)", f"range({stop}, -1, -2)", "range(3)", "range(7, 1, -3)"
        )
        self.say(level, f"for {name} in {header}:")
        self.loop_body(level, depth, name)

    def while_loop(self, level: int, depth: int, in_loop: bool) -> None:
        self.counters += 1
        name = f"n{self.counters}"
        self.say(level, f"{name} = 0")
        self.say(level, f"while {name} < 4 and ({self.test()}):")
        self.say(level + 1, f"{name} += 1")
        self.loop_body(level, depth)

    def tuple_loop(self, level: int, depth: int, in_loop: bool) -> None:
        self.counters += 1
        n, v = f"m{self.counters}", f"v{self.counters}"
        items = self.pick("x[:3]", "x[::-2]", "x[1:5]", "x[-3:]")
        header = self.pick(f"{n}, {v} in enumerate({items})", f"{n}, {v} in zip(range(3), {items})")
        self.say(level, f"for {header}:")
        self.loop_body(level, depth, n, v)


class Expression:
    """Integer expressions of named NumPy scalars and literals, for which NumPy's promotion is the reference."""

    def __init__(self, random: Random, names: list[str]) -> None:
        self.random, self.names = random, names

    def leaf(self) -> str:
        return self.random.choice(self.names)

    def text(self, depth: int) -> str:
        """An expression; literals stand beside a typed operand and fit every dtype."""
        if depth == 0:
            return self.leaf()
        left, right = (
            self.text(depth - 1),
            self.random.choice([self.text(depth - 1), str(self.random.randrange(1, 100))]),
        )
        operator = self.random.choice(
            ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "min", "max", "neg", "~", "abs"]
        )
        if operator in ("min", "max"):
            return f"np.{operator}imum({left}, {right})"
        if operator == "neg":
            return f"(-{left})"
        if operator in ("~", "abs"):
            return f"{operator}({left})"
        if self.random.randrange(2) and operator not in ("<<", ">>"):
            left, right = right, left
        return f"({left} {operator} {right})"
