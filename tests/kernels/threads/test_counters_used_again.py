"""Loops around barriers whose counters have one name, within branches and behind threads that have left.

Generated: every loop sets its counter first, so that no branch leaves anything to a later one, and each of these
kernels compiles, whatever the names are.
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda
from portagpu.ir.analysis.liveness import Liveness
from portagpu.ir.nodes import Assign, Break, Constant, Continue, Expr, For, If, Return, Stmt, Var, While
from portagpu.ir.types import BOOLEAN, INT64
from portagpu.source import Span

BLOCK, GRID = 32, 3
HEAD = """
@cuda.jit
def k(x, n, o):
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    i = cuda.grid(1)
"""
KNOWN = [
    "if t < 20:\n    if b < 2:\n        c0 = 4\n        while c0 > 0:\n            o[i] += c0\n"
    "            cuda.syncthreads()\n            c0 //= 2\n"
    "    c0 = 2\n    while c0 > 0:\n        o[i] += c0\n        cuda.syncthreads()\n        c0 //= 2",
    "if t == 3:\n    return\nfor r in range(n):\n    if b == 1:\n        c0 = 0\n        while c0 < n:\n"
    "            cuda.syncthreads()\n            c0 += 1\n        o[i] += c0\n"
    "    else:\n        c0 = 5\n        while c0 > 2:\n            cuda.syncthreads()\n            c0 -= 1\n"
    "        o[i] += 100 * c0",
]


class _Drawn:
    """Random loops around barriers in branches, three at most: one driver takes seconds for each more of them."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._loops = 0

    def text(self) -> str:
        left = self._draw.choice(("if t < 20:", "if x[i] > 0:", "for r in range(2):"))
        return "\n".join([left, *indented(self.block(0))])

    def block(self, depth: int) -> list[str]:
        return [
            line
            for _ in range(self._draw.choice((1, 2, 3) if depth == 0 else (1, 2)))
            for line in self._statement(depth)
        ]

    def _statement(self, depth: int) -> list[str]:
        pick, kind = self._draw, self._draw.random()
        if depth == 2 or kind < 0.4:
            return self._loop()
        if kind < 0.5:
            return [f"if {self._condition()}: return" if pick.random() < 0.5 else f"o[i] += {pick.randrange(99)}"]
        inner = indented(self.block(depth + 1))
        if kind < 0.6:
            return [f"for r{depth} in range(2):", *inner]
        lines = [f"if {self._condition()}:", *inner]
        return lines if pick.random() < 0.6 else [*lines, "else:", *indented(self.block(depth + 1))]

    def _condition(self) -> str:
        return self._draw.choice(("t < 20", "t != 5", "i > 40", "x[i] > 1", "b < 2", "b == 1", "n > 2", "n == 7"))

    def _loop(self) -> list[str]:
        pick = self._draw
        self._loops += 1
        if self._loops > 3:
            return ["pass"]
        name, first = f"c{pick.choice((0, 0, 1))}", pick.choice((1, 2, 4, "n"))
        work = [pick.choice((f"o[i] += {name}", f"o[i] += x[i] * {name}")), "cuda.syncthreads()"]
        lines = pick.choice(
            (
                [f"{name} = {first}", f"while {name} > 0:", *indented([*work, f"{name} //= 2"])],
                [f"{name} = 0", f"while {name} < {first}:", *indented([*work, f"{name} += 1"])],
                [f"for {name} in range({first}):", *indented(work)],
            )
        )
        # a `for` without a turn would leave its counter as some branch before left it
        return [*lines, f"o[i] += {name}"] if lines[0][0] == "c" and pick.random() < 0.4 else lines


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def in_python(text: str, x: np.ndarray, n: int, o: np.ndarray) -> None:
    """Run the kernel's text as Python, thread after thread: none reads what another one wrote."""
    thread, block = SimpleNamespace(x=0), SimpleNamespace(x=0)
    stub = SimpleNamespace(
        jit=lambda function: function,
        grid=lambda axes: block.x * BLOCK + thread.x,
        syncthreads=lambda: None,
        threadIdx=thread,
        blockIdx=block,
    )
    kernel = define(text, "k", cuda=stub)
    for block.x in range(GRID):
        for thread.x in range(BLOCK):
            kernel(x, n, o)


@pytest.mark.parametrize("flow", [*range(10), *KNOWN], ids=lambda flow: str(flow) if isinstance(flow, int) else "known")
def test_counters_of_one_name(device, flow):
    lines = (_Drawn(flow).text() if isinstance(flow, int) else flow).split("\n")
    text = HEAD + "\n".join(indented(lines)) + "\n"
    x = np.arange(BLOCK * GRID, dtype=np.int64) % 4
    found, expected = np.zeros((2, x.size), np.int64)
    define(text, "k", cuda=cuda)[GRID, BLOCK](x, 3, found)
    in_python(text, x, 3, expected)
    np.testing.assert_array_equal(found, expected, err_msg=text)


# what is live ---------------------------------------------------------------------------------------------------------

SPAN = Span(filename="k.py", line=1, column=0, end_column=1, text="")
A, B, C = (Var(name, INT64, span=SPAN) for name in "abc")
YES = Var("yes", BOOLEAN, span=SPAN)
END = Return((), span=SPAN)


def number(value: int) -> Constant:
    return Constant(value, INT64, span=SPAN)


def sets(target: Var, value: Expr) -> Assign:
    return Assign(target, value, span=SPAN)


def branch(*then: Stmt, orelse: tuple[Stmt, ...] = ()) -> If:
    return If(YES, then, orelse, span=SPAN)


def live(body: tuple[Stmt, ...], statement: Stmt) -> str:
    return "".join(sorted(name for name, _ in Liveness(body).after(statement) if name in "abc"))


def test_what_is_set_again_is_not_live():
    first, again, read = sets(A, number(1)), sets(A, number(2)), sets(B, A)
    assert live((first, again, read), first) == ""
    assert live((first, read, again), first) == "a"
    assert live((first, branch(again), read), first) == "a"
    assert live((first, branch(again, orelse=(sets(A, C),)), read), first) == "c"
    assert live((first, branch(END), again, read), first) == ""
    assert live((first, branch(read, END), again), first) == "a"


def test_what_a_later_turn_reads_is_live():
    last, again, read = sets(A, number(1)), sets(A, number(2)), sets(B, A)

    def loop(*body: Stmt) -> While:
        return While(YES, body, span=SPAN)

    assert live((loop(read, last),), last) == "a"
    assert live((loop(again, read, last),), last) == ""
    assert live((loop(last, branch(Break(span=SPAN)), again), read), last) == "a"
    assert live((loop(branch(read), last, branch(Continue(span=SPAN)), again),), last) == "a"
    assert live((loop(last, branch(Continue(span=SPAN)), again), again, read), last) == ""


def test_a_loop_sets_its_counter():
    last = sets(A, number(1))
    counted = For(C, number(0), B, number(1), False, (sets(A, C), last), span=SPAN)
    assert live((counted,), last) == "bc"
    first = sets(A, number(2))
    assert live((first, counted), first) == "b"
