"""Uniform values that branches of some threads leave in variables, where these branches hold branches themselves.

Generated: random control flow that sets variables to constants and arguments, behind it a barrier or none, and threads
that return early. One driver's vectoriser gave all threads one thread's value (docs/driver-quirks.md).
"""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda
from portagpu.device import working_devices

BLOCK, GRID = 32, 2
N = BLOCK * GRID
CHOICE = "o[i] += x[(i + 1) % 64] if s > 3 else t"  # both are one thread's own
TESTS = "if n == 3 or n == -2:\n    o[i] += 7"
INNER, OTHER = (text.replace("\n", "\n    ") for text in (CHOICE, TESTS))
KNOWN = [  # v0 to v2 are 7 before
    f"if t != 0:\n    {INNER}\n    v0 = 3\nelse:\n    {OTHER}",
    f"if n != 0 and t != 0:\n    {OTHER}\n    v0 = p\nelse:\n    {INNER}",
    f"v0 = result(t, n, s, x, o, i)\nif v0 > 3:\n    {INNER}",
    "l = cuda.local.array(2, np.int64)\nl[0] = 7\n"
    f"if t != 0:\n    {INNER}\n    l[0] = 3\nelse:\n    {OTHER}\nv0 = l[0]",
    f"f = 7.5\nif t != 0:\n    {INNER}\n    f = -0.0\nelse:\n    {OTHER}\nv0 = int(2 * f)",
    f"if t != 0:\n    if n != 0:\n        {CHOICE}\n        return\n{TESTS}\nv0 = 3",
]
HEAD = f"""
@cuda.jit(device=True)
def result(t, n, s, x, o, i):
    if t != 0:
        {CHOICE}
        return 3
    if n == 3 or n == -2:
        o[i] += 7
    return 7


@cuda.jit
def k(x, n, s, p, q, o, r):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v0 = 7
    v1 = 7
    v2 = 7
"""
ENDS = ("", "cuda.syncthreads()\n")


class _Drawn:
    """Random control flow."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def text(self) -> str:
        return "\n".join(self._block(0))

    def _condition(self, depth: int = 0) -> str:
        pick = self._draw
        if depth == 0 and pick.random() < 0.2:
            return f"({self._condition(1)} {pick.choice(('and', 'or'))} {self._condition(1)})"
        name, values = pick.choice(
            [
                *[("n", (2, 3, -2)), ("s", (2, 17)), ("t", range(6)), ("x[i]", range(4))],
                *[(f"v{k}", (7, 3, 5)) for k in range(3)],
            ]
        )
        return f"{name} {pick.choice(('==', '!=', '>'))} {pick.choice(values)}"

    def _block(self, depth: int) -> list[str]:
        count = self._draw.choice((1, 1, 2, 2, 3) if depth else (2, 3, 4))
        return [line for _ in range(count) for line in self._statement(depth)]

    def _statement(self, depth: int) -> list[str]:
        pick = self._draw
        kind = pick.random() if depth < 3 else pick.random() * 0.35
        if kind < 0.17:
            return [f"v{pick.randrange(3)} = {pick.choice((7, 3, 5, 'p', 'q'))}"]
        if kind < 0.35:
            return [
                pick.choice((CHOICE, f"o[i] += {pick.randrange(99)}", f"o[i] += x[i] if {self._condition(1)} else 9"))
            ]
        if kind < 0.4 and depth:
            return [f"if {self._condition()}:", *_indented([CHOICE, "return"])]
        inner = _indented(self._block(depth + 1))
        if kind < 0.5:
            return [f"for j{depth} in range({pick.choice(('n', 'x[i]'))}):", *inner]
        lines = [f"if {self._condition()}:", *inner]
        return lines if pick.random() < 0.5 else [*lines, "else:", *_indented(self._block(depth + 1))]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def program(flow: str, end: str) -> str:
    """The text of a kernel with some control flow."""
    return HEAD + "\n".join(_indented(f"{flow}\n{end}r[i] = v0 + 100 * v1 + 10000 * v2".split("\n"))) + "\n"


def arguments() -> tuple:
    """Arguments of the kernel: numbers of the threads, numbers of the launch, sums, and results."""
    x = np.array([(i * 7 + i // 5) % 4 for i in range(N)], np.int32)
    return x, np.int32(2), np.uint16(17), np.int32(7), np.int32(3), np.zeros(N, np.int64), np.zeros(N, np.int64)


def in_python(text: str, values: tuple) -> None:
    """Run the kernel's text as Python, thread after thread: no thread reads what another one wrote."""
    stub = SimpleNamespace(
        jit=lambda function=None, **options: function or (lambda f: f),
        grid=lambda axes: i,
        syncthreads=lambda: None,
        local=SimpleNamespace(array=np.zeros),
    )
    kernel = define(text, "k", cuda=stub)
    for i in range(N):
        stub.threadIdx = SimpleNamespace(x=i % BLOCK)
        kernel(*values)


def check(flow: str, end: str) -> None:
    """Compare a kernel on the current device with Python."""
    text = program(flow, end)
    got, want = arguments(), arguments()
    in_python(text, want)
    define(text, "k")[GRID, BLOCK](*got)
    np.testing.assert_array_equal(got[-1], want[-1], text)
    np.testing.assert_array_equal(got[-2], want[-2], text)


def test_known_flows_on_all_devices():
    """Flows that one driver took wrongly, with and without a barrier by turns."""
    for device in working_devices():
        with cuda.select_device(device.index):
            for number, flow in enumerate(KNOWN):
                check(flow, ENDS[number % 2])


@pytest.mark.exhaustive
@pytest.mark.parametrize("end", ENDS, ids=("alone", "barrier"))
@pytest.mark.parametrize("first", range(0, 400, 40))
def test_random_flows(device, first, end):
    """Random flows."""
    for seed in range(first, first + 40):
        check(_Drawn(seed).text(), end)
