"""Names whose new value is made of parts of the old one, `t = t[1], t[0]`: generated programs, run by Python, too."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
from programs import define

from portagpu import cuda

Pair = namedtuple("Pair", "one two")

# a first value, new values of the same structure, and numbers in it
KINDS = {
    "pair": ("(x[1], x[2])", ["(t[1], t[0])", "(t[0] + t[1], t[0])", "(t[1], t[1] * 2 - t[0])"], "t[0] * 100 + t[1]"),
    "constants": ("(1, x[2])", ["(t[1], t[0])", "(5, t[0])", "(t[1], 3)"], "t[0] * 100 + t[1]"),
    "three": (
        "(x[1], x[2], x[3])",
        ["(t[1], t[2], t[0])", "(t[2], t[0], t[1])", "(t[0], t[0], t[1])", "t[::-1]", "t[1:] + (t[0] + t[1],)"],
        "(t[0] * 10 + t[1]) * 10 + t[2]",
    ),
    "nested": (
        "((x[1], x[2]), x[3])",
        ["((t[0][1], t[1]), t[0][0])", "((t[1], t[1]), t[0][1])", "(t[0][::-1], t[0][0] + t[1])"],
        "(t[0][0] * 10 + t[0][1]) * 10 + t[1]",
    ),
    "named": ("Pair(x[1], x[2])", ["Pair(t.two, t.one)", "Pair(t.one + t.two, t.one)"], "t.one * 100 + t.two"),
    "types": ("(x[1], x[2] / 2)", ["(int(t[1] * 2), t[0] / 2)"], "t[0] * 100 + t[1]"),
    "transposed": (
        "m[1:]",
        ["t.T", "t.T[::-1]", "t[::-1, ::-1].T"],
        "t.shape[0] * 100 + t.shape[1] * 10 + t[0, 1] + t[1, 0] * 3",
    ),
    "slices": ("m[:]", ["t[1:, :-1]", "t[::-1, 1:]", "t[:-1].T[1:].T"], "t.shape[0] * 100 + t.shape[1] * 10 + t[0, 0]"),
    "arrays": (
        "(x[:2], x[1:])",
        ["(t[1], t[0])", "(t[1][::-1], t[0])", "(t[0], t[0])"],
        "t[0][0] * 1000 + t[1][0] * 100 + t[0].size * 10 + t[1].size",
    ),
    "array and number": (
        "(x[1:], x[1])",
        ["(t[0][::-1], t[0][0])", "(t[0][:], t[1] + t[0].size)"],
        "t[0][0] * 100 + t[1]",
    ),
}
PLACES = {
    "once": "{0}",
    "twice": "{0}\n{0}",
    "branch": "if x[1] > 0:\n    {0}",
    "loop": "for k in range(x[2]):\n    {0}",
    "left": "for k in range(9):\n    if k == 2:\n        break\n    {0}",
    "while": "n = 2\nwhile n > 0:\n    n -= 1\n    if x[n] >= 0:\n        {0}",
    "unpacked": "for k in range(2):\n    n, t = 1, {1}",
    "walrus": "if x[1] > 0 and len((t := {1})) > 0:\n    n = 1",
}


def function(name: str, first: str, new: str, place: str, shown: str) -> str:
    lines = [f"t = {first}", *PLACES[place].format(f"t = {new}", new).split("\n"), f"out[0] = {shown}"]
    return f"@cuda.jit(device=True)\ndef {name}(x, m, out):\n" + "".join(f"    {line}\n" for line in lines)


class _Python:
    """The part of `cuda` that the programs use, for Python."""

    @staticmethod
    def jit(device):
        return lambda function: function


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_their_own_parts(device, kind):
    first, news, shown = KINDS[kind]
    programs = [(new, place) for new in news for place in PLACES]
    text = "".join(function(f"f{n}", first, new, place, shown) for n, (new, place) in enumerate(programs))
    text += "def kernel(x, m, out):\n" + "".join(f"    f{n}(x, m, out[{n}])\n" for n in range(len(programs)))
    x, m = np.array([0, 1, 2, 4]), np.arange(56).reshape(7, 8)
    found, expected = np.zeros((2, len(programs), 1))
    define(text, "kernel", cuda=_Python, Pair=Pair)(x, m, expected)
    cuda.jit(define(text, "kernel", Pair=Pair))[1, 1](x, m, found)
    assert [p for p, a, b in zip(programs, found, expected, strict=True) if a[0] != b[0]] == []
