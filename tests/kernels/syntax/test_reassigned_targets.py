"""Targets of `for` that its body assigns again, in branches and loops of every kind: generated programs, run by Python.

The name occurs in the loop alone, so that no other iteration sees its value; the rest of the iteration does.
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


def placed(template: str, statement: str) -> list[str]:
    lines = []
    for line in template.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        lines += [f"{indent}{part}" for part in line.strip().format(statement).split("\n")]
    return lines


def function(name: str, loop: str, assignment: str, place: str) -> str:
    body = [*placed(PLACES[place], ASSIGNMENTS[assignment]), "out[1] += v", "out[2] = out[2] * 7 + v"]
    lines = ["w, n = x[0], 0", LOOPS[loop], *(f"    {line}" for line in body)]
    return f"@cuda.jit(device=True)\ndef {name}(x, out):\n" + "".join(f"    {line}\n" for line in lines)


class _Python:
    """The part of `cuda` that the programs use, for Python."""

    unroll = staticmethod(tuple)

    @staticmethod
    def jit(device):
        return lambda function: function


@pytest.mark.parametrize("loop", LOOPS)
def test_assigned_again(device, loop):
    pairs = list(itertools.product(ASSIGNMENTS, PLACES))
    text = "".join(function(f"f{n}", loop, *pair) for n, pair in enumerate(pairs))
    text += "def kernel(x, out):\n" + "".join(f"    f{n}(x, out[{n}])\n" for n in range(len(pairs)))
    x = np.array([0, 1, 2, 4], np.int64)
    found, expected = np.zeros((len(pairs), 3), np.int64), np.zeros((len(pairs), 3), np.int64)
    define(text, "kernel", cuda=_Python)(x, expected)
    cuda.jit(define(text, "kernel"))[1, 1](x, found)
    wrong = [pairs[n] for n in range(len(pairs)) if found[n].tolist() != expected[n].tolist()]
    assert not wrong
