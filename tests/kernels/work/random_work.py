"""Random kernels, and the work that plain Python does when it runs them: an oracle for counts.

Numbers and products of them are small whole numbers, which float32 has exactly: whether a compiler fuses a product and
a sum changes no condition. Constants stand on the right only, since a compiler computes with two of them.
"""

from __future__ import annotations

import math
import types
from collections import Counter
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

HEAD = """
@cuda.jit(device=True)
def helper(p, q):
    if p < q:
        return p + q
    for j in range(3):
        if q < p:
            q = q + np.float32(1)
            continue
        return q - p
    return q * np.float32(2)


@cuda.jit(device=True)
def outer(p, q):
    return helper(p, q) > q or helper(q, p) < p


@cuda.jit
def kernel(x, y):
    i = cuda.grid(1)
    if i >= y.size:
        return
    a = x[i % 8]
    b = x[(i + 3) % 8]
"""
SIZE = 8


class Number:
    """A float32 that counts what is done with it."""

    def __init__(self, value, counts):
        self.value, self.counts = np.float32(value), counts

    def _made(self, kind, value):
        self.counts[kind] += 1
        return Number(value, self.counts)

    def _asked(self, answer):
        self.counts["compare"] += 1
        return bool(answer)

    def __add__(self, other):
        return self._made("add", self.value + other.value)

    def __sub__(self, other):
        return self._made("add", self.value - other.value)

    def __mul__(self, other):
        return self._made("mul", self.value * other.value)

    def __lt__(self, other):
        return self._asked(self.value < other.value)

    def __gt__(self, other):
        return self._asked(self.value > other.value)

    def __abs__(self):
        return Number(abs(self.value), self.counts)


class Array:
    """An array that counts what is loaded and stored, and which elements."""

    def __init__(self, values, counts):
        self.values, self.counts, self.size = values, counts, values.size
        self.read, self.written = set(), set()

    def __getitem__(self, index):
        self.counts["loaded"] += 4
        self.read.add(index)
        return Number(self.values[index], self.counts)

    def __setitem__(self, index, value):
        self.counts["stored"] += 4
        self.written.add(index)
        self.values[index] = value.value


def work_in_python(text, x, y, threads):
    """The counts of a launch, and the arrays after it with the elements that were read and written."""
    counts = Counter()
    here = [0]

    def fma(p, q, r):
        counts["fma"] += 1
        return Number(p.value * q.value + r.value, counts)

    def largest(p, q):
        counts["compare"] += 1
        return Number(max(p.value, q.value), counts)

    def root(p):
        counts["special"] += 1
        return Number(math.sqrt(p.value) if np.isfinite(p.value) else p.value, counts)

    fake = SimpleNamespace(
        jit=lambda function=None, **_: function if function else (lambda f: f), grid=lambda _: here[0], fma=fma
    )
    scope = {
        "cuda": fake,
        "np": SimpleNamespace(float32=lambda value: Number(value, counts)),
        "math": SimpleNamespace(sqrt=root),
        "max": largest,
    }
    exec(text, scope)
    assert isinstance(scope["kernel"], types.FunctionType)
    arrays = Array(x.copy(), counts), Array(y.copy(), counts)
    with np.errstate(all="ignore"):
        for thread in range(threads):
            here[0] = thread
            scope["kernel"](*arrays)
    return counts, arrays


@st.composite
def programs(draw):
    """The text of a kernel."""
    names = iter(range(10**6))

    def pick(*choices):
        return draw(st.sampled_from(choices))

    def load():
        return f"x[(i + {draw(st.integers(0, 7))}) % {SIZE}]"

    def small():  # products of these are exact
        return pick(load(), load(), f"np.float32({draw(st.integers(1, 3))})")

    def number(depth):
        kind = pick("name", "load", "sum", "product", "choice", "call", "largest") if depth else pick("name", "load")
        match kind:
            case "name":
                return pick("a", "b")
            case "load":
                return load()
            case "sum":
                return f"({number(depth - 1)} {pick('+', '-')} {pick(number(depth - 1), 'np.float32(1)')})"
            case "product":
                return f"({load()} * {small()})"
            case "choice":
                return f"({number(depth - 1)} if {condition(depth - 1)} else {number(depth - 1)})"
            case "call":
                return f"helper({number(depth - 1)}, {number(depth - 1)})"
            case _:
                return f"max({number(depth - 1)}, {load()})"

    def condition(depth):
        kind = pick("less", "more", "and", "or", "not", "place", "call") if depth else pick("less", "more")
        match kind:
            case "and" | "or":
                return f"({condition(depth - 1)} {kind} {condition(depth - 1)})"
            case "not":
                return f"(not {condition(depth - 1)})"
            case "place":
                return f"i % {draw(st.integers(2, 4))} == 1"
            case "call":
                return f"outer({number(depth - 1)}, {load()})"
            case _:
                return f"{number(depth)} {'<' if kind == 'less' else '>'} {pick(load(), 'np.float32(0)')}"

    def block(depth, indent, looped):
        lines = []
        for _ in range(draw(st.integers(1, 3))):
            lines += statement(depth, indent, looped)
        return lines

    def statement(depth, indent, looped):
        pad = "    " * indent
        simple = ["set", "set", "store", "update", "fma", "root"]
        deep = ["if", "else", "for", "while", *(("leave", "leave") if looped else ()), "return"] if depth else []
        match pick(*simple, *deep):
            case "set":
                return [f"{pad}{pick('a', 'b')} = {number(2)}"]
            case "store":
                return [f"{pad}y[i] = {number(2)}"]
            case "update":
                return [f"{pad}y[i] += {number(1)}"]
            case "fma":
                return [f"{pad}{pick('a', 'b')} = cuda.fma({load()}, {load()}, {number(1)})"]
            case "root":
                return [f"{pad}y[i] = math.sqrt(abs({number(1)}))"]
            case "if":
                return [f"{pad}if {condition(2)}:", *block(depth - 1, indent + 1, looped)]
            case "else":
                return [
                    f"{pad}if {condition(1)}:",
                    *block(depth - 1, indent + 1, looped),
                    f"{pad}elif {condition(2)}:",
                    *block(depth - 1, indent + 1, looped),
                    f"{pad}else:",
                    *block(depth - 1, indent + 1, looped),
                ]
            case "for":
                name = f"k{next(names)}"
                turns = pick("2", "3", "i % 3")
                return [f"{pad}for {name} in range({turns}):", *block(depth - 1, indent + 1, True)]
            case "while":
                name = f"n{next(names)}"
                return [
                    f"{pad}{name} = 0",
                    f"{pad}while {name} < {draw(st.integers(1, 3))} and {condition(2)}:",
                    f"{pad}    {name} += 1",
                    *block(depth - 1, indent + 1, True),
                ]
            case "leave":
                return [f"{pad}if {condition(1)}:", f"{pad}    {pick('break', 'continue')}"]
            case _:
                return [f"{pad}if {condition(1)}:", f"{pad}    return"]

    return HEAD + "\n".join([*block(2, 1, False), "    y[i] = a + b", ""])
