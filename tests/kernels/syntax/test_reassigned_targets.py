"""Targets of `for` that are assigned again: in the loop's body, or by loops that begin where the last one ended.

The programs are generated, and run by Python, too. Where the name occurs in the loop alone, no other iteration sees its
value; the rest of the iteration does.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from programs import define

from portagpu import cuda

LOOPS = {
    "range": "for v in range(4):",
    "run_time": "for v in range(x[1], x[3]):",
    "array": "for v in x:",
    "enumerate": "for v, e in enumerate(x):",
    "zip": "for e, v in zip(x, range(2, 9)):",
    "unrolled": "for v in cuda.unroll(range(3)):",
    "tuple": "for v in (x[2], x[0], x[3]):",
}
ASSIGNMENTS = {
    "set": "v = 5",
    "added": "v += x[2]",
    "walrus": "out[0] += (v := v + 1)",
    "swapped": "v, w = w, v",
    "target": "for v in range(6, 8):\n    out[0] += v",
}
PLACES = {
    "plain": "{0}",
    "branch": "if x[1] > 0:\n    {0}",
    "else": "if x[1] == 0:\n    out[0] += 1\nelse:\n    {0}",
    "for": "for m in range(x[1], 3):\n    {0}",
    "while": "n = x[2]\nwhile n > 0:\n    n -= 1\n    {0}",
    "for_else": "for m in range(3):\n    if x[m] > 9:\n        break\nelse:\n    {0}",
    "broken": "for m in range(3):\n    if x[m] > 0:\n        {0}\n        break",
    "continued": "for m in range(3):\n    {0}\n    if x[m] > 0:\n        continue\n    out[0] += v",
    "inner": "for m in range(3):\n    if x[m] > 0:\n        while n < 2:\n            n += 1\n            {0}",
}


ITERABLES = {
    "range": "range(v, 7)",
    "range_down": "range(9, v - 1, -2)",
    "part": "x[v:]",
    "enumerate": "enumerate(x[v - 2:])",
    "items": "(v + 1, v * 2)",
    "flat": "x[:v].flat",
}
AFTER = {
    "after": "{0}\n{1}",
    "twice": "for m in range(2):\n    {0}\n    {1}",
    "again": "{0}\nfor m in range(3):\n    {1}",
    "else": "{0}\nelse:\n    {1}",
    "branch": "{0}\nif x[1] > 0:\n    {1}",
    "inside": "{0}\n    if v == 2:\n        {1}",
    "while": "n = 2\n{0}\nwhile n > 0:\n    n -= 1\n    {1}",
}


def placed(template: str, statement: str) -> list[str]:
    lines = []
    for line in template.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        lines += [f"{indent}{part}" for part in line.strip().format(statement).split("\n")]
    return lines


def function(name: str, lines: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"@cuda.jit(device=True)\ndef {name}(x, out):\n    w, n = x[0], 0\n{body}"


def reassigned(loop: str, assignment: str, place: str) -> list[str]:
    body = [*placed(PLACES[place], ASSIGNMENTS[assignment]), "out[1] += v", "out[2] = out[2] * 7 + v"]
    return [LOOPS[loop], *(f"    {line}" for line in body)]


def continued(loop: str, iterable: str, place: str) -> list[str]:
    """A loop, and one that begins with the target of the first one."""
    target = "e, v" if iterable == "enumerate" else "v"
    first = f"{LOOPS[loop]}\n    out[1] += v"
    second = f"for {target} in {ITERABLES[iterable]}:\n    out[2] = out[2] * 7 + v"
    lines = []
    for line in AFTER[place].split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        lines += [f"{indent}{part}" for part in line.strip().format(first, second).split("\n")]
    return lines


class _Python:
    """The part of `cuda` that the programs use, for Python."""

    unroll = staticmethod(tuple)

    @staticmethod
    def jit(device):
        return lambda function: function


def compare(programs: dict[tuple[str, str], list[str]]) -> None:
    text = "".join(function(f"f{n}", lines) for n, lines in enumerate(programs.values()))
    text += "def kernel(x, out):\n" + "".join(f"    f{n}(x, out[{n}])\n" for n in range(len(programs)))
    x = np.array([0, 1, 2, 4], np.int64)
    found, expected = np.zeros((2, len(programs), 3), np.int64)
    define(text, "kernel", cuda=_Python)(x, expected)
    cuda.jit(define(text, "kernel"))[1, 1](x, found)
    assert [name for name, a, b in zip(programs, found, expected, strict=True) if a.tolist() != b.tolist()] == []


@pytest.mark.parametrize("loop", LOOPS)
def test_assigned_again(device, loop):
    compare({(a, p): reassigned(loop, a, p) for a, p in itertools.product(ASSIGNMENTS, PLACES)})


@pytest.mark.parametrize("loop", ["range", "run_time", "array"])
def test_next_loop_begins_there(device, loop):
    compare({(i, p): continued(loop, i, p) for i, p in itertools.product(ITERABLES, AFTER)})
