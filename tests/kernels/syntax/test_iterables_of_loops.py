"""Iterables of `for` are evaluated once, before the loop; elements are read as their turn comes.

Generated programs change the variables and the arrays in the loop, and are run by Python, too.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from programs import define

from portagpu import cuda

# target and iterable; `s` and `n` are integers, `w` is a view
LOOPS = {
    "view": ("q", "x[s:]"),
    "view of a view": ("q", "w[n - 1:]"),
    "name": ("q", "w"),
    "steps": ("q", "x[s::2]"),
    "row": ("q", "x.reshape(2, 3)[s]"),
    "flat": ("q", "x[s:].flat"),
    "enumerate": ("r, q", "enumerate(x[s:], s)"),
    "enumerate a tuple": ("r, q", "enumerate((x[s], n), s)"),
    "range": ("q", "range(s, n * 3, s)"),
    "zip": ("q, r", "zip(x[s:], w)"),
    "zip of ranges": ("q, r", "zip(range(s, 9, n), range(n, s, -1))"),
    "zip with a tuple": ("q, r", "zip((s, n, 5), x)"),
    "zip with constants": ("q, r", "zip((1, 2, 3), x[s:])"),
    "zip with a longer tuple": ("q, r", "zip((1, 2, 3, 4, 5, 6, 7, 8), x)"),
    "zip with a range": ("q, r", "zip((x[s], n), range(5))"),
    "zip in enumerate": ("r, (q, e)", "enumerate(zip(w, (s, n, 7)), n)"),
    "enumerate in zip": ("q, (r, e)", "zip(x[s:], enumerate(w, s))"),
    "ndindex": ("q, r", "np.ndindex(s + 1, n)"),
    "ndenumerate": ("(r,), q", "np.ndenumerate(x[s:])"),
    "tuple": ("q", "(s, n, x[s], x[n])"),
}
CHANGES = {
    "nothing": "e = 0",
    "integers": "s, n = s + 1, n - 1",
    "view": "w = x[1:]",
    "elements": "x[1] += 10; x[2] += 5; x[-1] -= 3",
    "all": "x[n % 6] += s; s += 1; w = w[1:]",
    "broken": "s += 1; n += x[0]\nif q > 4: break",
    "continued": "s += 1; x[2] += 3\nif q == 2: continue\nw = x[2:]",
}
NAMES = ("q", "s", "n")


def function(name: str, loop: str, change: str, target: str) -> str:
    """A loop that changes what it loops over; ``target``: the variable that its target is."""
    names, iterable = LOOPS[loop]
    lines = ["s, n, w, r = x[0], 2, x[1:4], 0", f"for {names} in {iterable}:"]
    lines += [f"    {line}" for line in CHANGES[change].split("\n")]
    lines += ["    out[0] = (out[0] * 7 + q + r) % 1009"]
    if target != "q":
        lines = [lines[0], *(re.sub(r"\bq\b", target, line) for line in lines[1:])]
    body = "".join(f"    {line}\n" for line in lines)
    return f"@cuda.jit(device=True)\ndef {name}(x, out):\n{body}    out[1], out[2] = s, n\n"


class _Python:
    """The part of `cuda` that the programs use, for Python."""

    @staticmethod
    def jit(device):
        return lambda function: function


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("target", NAMES)
def test_evaluated_once(device, loop, target):
    changes = list(CHANGES)
    text = "".join(function(f"f{n}", loop, change, target) for n, change in enumerate(changes))
    text += "def kernel(x, out):\n" + "".join(f"    f{n}(x[{n}], out[{n}])\n" for n in range(len(changes)))
    arrays = [np.tile(np.array([1, 2, 3, 1, 2, 4]), (len(changes), 1)) for _ in range(2)]
    found, expected = np.zeros((2, len(changes), 3), np.int64)
    define(text, "kernel", cuda=_Python)(arrays[0], expected)
    cuda.jit(define(text, "kernel"))[1, 1](arrays[1], found)
    assert [c for c, a, b in zip(changes, found, expected, strict=True) if a.tolist() != b.tolist()] == []
    assert (arrays[0] == arrays[1]).all()


def test_tuples_of_arrays(device):
    """Tuples of arrays beside an array, which may be shorter: as many items as the shortest has."""

    @cuda.jit
    def kernel(x, out):
        for part, v in zip((x, x[1:], x[2:]), x[3:]):
            out[0] += part[1] * v

    for count in (4, 5, 6, 7, 9):
        x, out = np.arange(1, count + 1), np.zeros(1, np.int64)
        kernel[1, 1](x, out)
        assert out[0] == sum(x[n + 1] * v for n, v in zip(range(3), x[3:], strict=False))
