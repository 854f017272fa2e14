"""Loops around barriers that threads leave after different numbers of turns, or return from.

Generated: random programs whose threads read what others wrote before a barrier, beside the same text as plain Python.
There each thread is a generator, and yields its place at barriers and where loops and branches end; those that are
furthest behind go on. Where CUDA's own barriers run, which count whoever comes, nothing may follow such a loop.
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda
from portagpu.passes.barriers import converge as converging

BLOCK, GRID, N = 16, 2, 3
HEAD = """
@cuda.jit(device=True)
def f(v, t, m, x, s):
{function}

@cuda.jit
def k(x, n, o):
    s = cuda.shared.array({block}, np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = x[i]
    m = n
    s[t] = v
    cuda.syncthreads()
{body}
    o[i] = v + 7
"""


class Drawn:
    """A random program: lines in which ``MEET`` stands for a barrier, and ``PLACE`` for the end of a loop or branch.

    ``is_last``: one loop that threads leave apart, with nothing behind it. ``calls``: it is in a device function.
    ``in_a_row``: how many loops come last.
    """

    def __init__(self, seed: int, *, is_last: bool, in_a_row: int = 0) -> None:
        self.draw = random.Random(seed)
        self.is_last, self._loops, self._names = is_last, 0, 0
        self.calls = self.draw.random() < 0.3
        self.within: list[str] = []  # of the line that is written: numbers of places and turns of the loops around it
        self.places = 0
        self.function = [*(self.block(0, "return v") if self.calls else ()), "return v"]
        self.body = ["v = CALL", self.place("PLACE")] if self.calls else self.block(0, "return")
        for _ in range(in_a_row):
            self.body += self.loop(1, "return")
        if self.calls and not is_last:
            self.body += self.meeting()

    def place(self, word: str) -> str:
        self.places += 1
        return f"{word} ({', '.join((*self.within, str(self.places)))},)"

    def condition(self) -> str:
        return self.draw.choice(("t % 3 == 1", "v % 5 < 2", "x[t] > 1", "t > 11", "(v + t) % 2", "m > 2", "t != 4"))

    def limit(self) -> str:
        return self.draw.choice(("t % 4", "x[t]", "v % 3", "t // 5", "3 - t % 3", "m", "x[0]"))

    def meeting(self) -> list[str]:
        shift = self.draw.randrange(1, 16)
        change = self.draw.choice((f"v = (v * 3 + s[(t + {shift}) % 16]) % 1009", f"v += s[t ^ {shift % 16}]"))
        return [f"s[t] = v + {self.draw.randrange(9)}", self.place("MEET"), change, self.place("MEET")]

    def block(self, depth: int, leave: str) -> list[str]:
        if self.is_last:
            return self.loop(depth, leave)
        return [line for _ in range(self.draw.choice((1, 2))) for line in self.statement(depth, leave)]

    def statement(self, depth: int, leave: str) -> list[str]:
        kind = self.draw.random()
        if kind < 0.2 or depth == 2:
            return self.meeting()
        if kind < 0.75 and self._loops < 2:
            return self.loop(depth, leave)
        if kind < 0.85 and not self.is_last:
            return [f"if {self.condition()}: {leave}"]
        then = [f"if {self.condition()}:", *indented(self.block(depth + 1, leave))]
        if self.draw.random() < 0.3:
            orelse = [self.place("PLACE"), *self.block(depth + 1, leave)]
            then += ["else:", *indented(orelse)]
        return [*then, self.place("PLACE")]

    def loop(self, depth: int, leave: str) -> list[str]:
        self._loops += 1
        self._names += 1
        name, turn, draw = f"c{self._names}", f"turn{self._names}", self.draw
        self.places += 1
        self.within += [str(self.places), turn]
        jump = draw.choice(("break", leave))
        head, tail = draw.choice(
            (
                ([f"for {name} in range({self.limit()}):"], []),
                ([f"for {name} in range({self.limit()}, 9, {draw.randrange(2, 5)}):"], []),
                ([f"for {name} in range(6, {self.limit()}, -2):"], []),
                ([f"{name} = 0", f"while {name} < {self.limit()} and {name} < 9:"], [f"{name} += 1"]),
                ([f"{name} = {self.limit()}", f"while {name} > 0:"], [f"{name} //= 2"]),
                (
                    [f"{name} = 0", "while True:"],
                    [f"if {name} >= {draw.choice(('t % 4', 'x[t]', 'm'))}: {jump}", f"{name} += 1"],
                ),
                ([f"for {name} in range(5):"], [f"if {self.condition()}: {jump}"]),
            )
        )
        body = self.meeting() if self.is_last or draw.random() < 0.5 else self.block(depth + 1, leave)
        if not tail and draw.random() < 0.2:
            body = [f"if {self.condition()}: continue", *body]
        body = [f"TURN {turn}", *body, *tail, *(self.meeting() if draw.random() < 0.3 else ())]
        del self.within[-2:]
        return [*head[:-1], f"{turn} = 0", head[-1], *indented(body), self.place("PLACE")]


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def kernel_text(program: Drawn) -> str:
    """The text for the device: without places, and with barriers."""

    def lines(body: list[str]) -> str:
        kept = [x for x in body if not x.lstrip().startswith(("PLACE", "TURN", "turn"))]
        words = (x.partition("MEET")[0] + "cuda.syncthreads()" if "MEET" in x else x for x in kept)
        return "\n".join(indented([x.replace("CALL", "f(v, t, m, x, s)") for x in words]))

    return HEAD.format(block=BLOCK, function=lines(program.function), body=lines(program.body))


def in_python(program: Drawn, x: np.ndarray, o: np.ndarray) -> None:
    """Run the text as plain Python."""

    def lines(body: list[str]) -> str:
        made = (
            x.replace("MEET", "yield").replace("PLACE", "yield").replace("CALL", "yield from f(v, t, m, x, s)")
            for x in body
        )
        return "\n".join(indented([f"{x.split('TURN')[0]}{x.split()[1]} += 1" if "TURN" in x else x for x in made]))

    text = HEAD.format(block=BLOCK, function="    yield (0,)\n" + lines(program.function), body=lines(program.body))
    text = text.replace("cuda.syncthreads()", "yield (0,)").replace("cuda.shared.array(16, np.int64)", "cuda.shared")
    for block in range(GRID):
        shared = [0] * BLOCK
        threads = {}
        for t in range(BLOCK):
            stub = SimpleNamespace(
                jit=lambda function=None, **options: function or (lambda f: f),
                grid=lambda axes, i=block * BLOCK + t: i,
                threadIdx=SimpleNamespace(x=t),
                shared=shared,
            )
            generator = define(text, "k", cuda=stub)([int(value) for value in x], N, o)
            threads[t] = (next(generator), generator)
        while threads:
            first = min(place for place, _ in threads.values())
            for t, (place, generator) in list(threads.items()):
                if place == first:
                    try:
                        threads[t] = (next(generator), generator)
                    except StopIteration:
                        del threads[t]


def compare(program: Drawn) -> None:
    text = kernel_text(program)
    x = np.arange(BLOCK * GRID, dtype=np.int64) * 7 % 4
    found, expected = np.full((2, x.size), -1, np.int64)
    define(text, "k", cuda=cuda)[GRID, BLOCK](x, N, found)
    in_python(program, x, expected)
    np.testing.assert_array_equal(found, expected, err_msg=text)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_follows(device, seed):
    compare(Drawn(seed, is_last=True))


@pytest.mark.parametrize("seed", range(16))
def test_more_follows(device, seed):
    if device.capabilities.warp_instructions:
        pytest.skip("barriers of this device count whoever comes, as CUDA's")
    compare(Drawn(seed, is_last=False))


@pytest.mark.parametrize("seed", range(4))
def test_many_loops_in_a_row(device, seed):
    if device.capabilities.warp_instructions:
        pytest.skip("barriers of this device count whoever comes, as CUDA's")
    compare(Drawn(seed, is_last=False, in_a_row=7))


@pytest.mark.parametrize("seed", range(20, 28))
def test_a_first_turn_that_always_comes(device, seed, monkeypatch):
    if device.capabilities.conditional_barriers:
        pytest.skip("the compiler keeps conditions across barriers")
    monkeypatch.setattr(converging, "_MOST_LOOPS", 0)
    compare(Drawn(seed, is_last=False))


LOOPS = (  # what all threads run alike, and the values of j before barriers; TURN is what lies between
    ("for j in range(n + {0}):\n TURN", lambda k: range(N + k)),
    ("for j in range(n, -{0}, -2):\n TURN", lambda k: range(N, -k, -2)),
    ("for j in range({0}, x[{0}]):\n TURN", lambda k: ()),
    ("j = n\nwhile j > 0:\n j -= 1\n TURN", lambda k: range(N - 1, -1, -1)),
    ("for j in range(9):\n if j == {0}: break\n TURN", lambda k: range(min(k, 9))),
    ("for j in range(n + {0}):\n TURN\n if j == m: break", lambda k: range(min(N + 1, N + k))),
    ("for j in range(n):\n if j == {0} % 3: continue\n TURN", lambda k: [j for j in range(N) if j != k % 3]),
    ("j = n + {0}\nwhile True:\n if j <= 0: break\n j -= 1\n TURN", lambda k: range(N + k - 1, -1, -1)),
    ("for j in range(0, 7 + {0}, n):\n TURN", lambda k: range(0, 7 + k, N)),
    ("for j in range(n, {0}, -m):\n TURN", lambda k: range(N, k, -N)),
    ("for j in range(n):\n if j == n: break\n TURN\nelse:\n v += 5", lambda k: (*range(N), None)),
    ("if n > 1:\n for j in range({0}):\n  if n == 9: return\n  TURN", lambda k: range(k)),
)


@pytest.mark.parametrize("shape", [*range(len(LOOPS)), None])
def test_loops_that_all_threads_run_alike(device, shape):
    """Eight of one shape, or twelve of all: a compiler that copies what follows each would never be done."""
    chosen = LOOPS if shape is None else (LOOPS[shape],) * 8
    body: list[str] = []
    v = np.arange(BLOCK * GRID).reshape(GRID, BLOCK) % 16
    x = v.reshape(-1).copy()
    for k, (text, turns) in enumerate(chosen):
        for line in text.format(k).splitlines():
            start, found, _ = line.partition("TURN")
            meeting = ("s[t] = v + j", "cuda.syncthreads()", f"v += s[t ^ {k}] % 101", "cuda.syncthreads()")
            body += [f"    {start.replace(' ', '    ')}{x}" for x in meeting] if found else [_indented(line)]
        for j in turns(k):
            v = v + (5 if j is None else (v[:, np.arange(BLOCK) ^ k] + j) % 101)
    found = np.zeros(x.size, np.int64)
    text = HEAD.format(block=BLOCK, function="    return v", body="\n".join(body))
    define(text, "k", cuda=cuda)[GRID, BLOCK](x, N, found)
    np.testing.assert_array_equal(found, v.reshape(-1) + 7, err_msg=text)


def _indented(line: str) -> str:
    kept = line.lstrip()
    return "    " * (len(line) - len(kept) + 1) + kept


GUARDED = """
    if n > 9:
        for j in range(x[n * 10**9], x[n * 10**9 + 1]):
            s[t] = v + j
            cuda.syncthreads()
    if n > 9:
        j = x[n * 10**9]
        while j < x[n * 10**9 + j]:
            j += 1
            s[t] = v + j
            cuda.syncthreads()
    if n > 9:
        for j in range(100 // (n - 3)):
            s[t] = v + j
            cuda.syncthreads()
"""


@pytest.mark.parametrize("times", [1, 3])
def test_bounds_behind_a_gate_are_not_read(device, times):
    """Three loops and nine, on both sides of the limit: reading one of the bounds ends the process."""
    text = HEAD.format(block=BLOCK, function="    return v", body=GUARDED * times)
    x = np.arange(BLOCK * GRID)
    found = np.zeros(x.size, np.int64)
    define(text, "k", cuda=cuda)[GRID, BLOCK](x, N, found)
    np.testing.assert_array_equal(found, x + 7)
