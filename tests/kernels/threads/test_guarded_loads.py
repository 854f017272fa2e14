"""Loads behind branches and loops around barriers: where no thread takes them, nothing is read, however far away.

Generated: each kind of load behind each kind of guard, around a barrier behind which the element is used. Not taken,
the place is gigabytes behind the array, and reading it ends the process.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda

BLOCK, GRID, FAR = 16, 2, 10**9
HEAD = """
@cuda.jit(device=True)
def element(x, n, f):
    return x[n * f]

@cuda.jit(device=True)
def place(n, f):
    return n * f

@cuda.jit(device=True)
def met(x, n, f, v, s, t):
    e = x[n * f]
    s[t] = v
    cuda.syncthreads()
    v += s[t ^ 1] + e
    cuda.syncthreads()
    return v

@cuda.jit
def k(x, y, z, r, n, f, o):
    s = cuda.shared.array({block}, np.int64)
    limit = cuda.shared.array(1, np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = x[i]
    if t == 0:
        limit[0] = 9
    cuda.syncthreads()
{body}
    o[i] = v
"""
MEET = ("s[t] = v", "cuda.syncthreads()", "v += s[t ^ 1] + e", "cuda.syncthreads()")
# lines that set e to the number n * f, which all threads read at one place; x[k], y[0, k], z[k] and r[k].b are k
LOADS = {
    "element": ("e = x[n * f]", *MEET),
    "sum": ("e = x[n * f] * 2 - x[n * f]", *MEET),
    "by another": ("e = x[x[n * f]]", *MEET),
    "float": ("e = np.int64(z[n * f])", *MEET),
    "row": ("e = y[n * f, n * f]", *MEET),
    "view": ("w = x[n * f:]", "e = w[0]", *MEET),
    "field": ("e = r[n * f].b", *MEET),
    "function": ("e = element(x, n, f)", *MEET),
    "place of a function": ("e = x[place(n, f)]", *MEET),
    "function that meets": ("v = met(x, n, f, v, s, t)",),
    "bounds": ("for e in range(x[n * f], x[n * f + 1]):", *("    " + line for line in MEET)),
    "condition": ("e = n * f", "if x[n * f] < 100:", *("    " + line for line in MEET)),
    "counted": ("e = x[n * f]", "while e <= x[n * f]:", *("    " + line for line in MEET), "    e += 1"),
    "last use": ("e = x[n * f]", "v += e - x[n * f]", *(line.replace(" + e", "") for line in MEET), "v += e"),
}
GUARDS = {
    "if": "if n > 9:\n    BODY",
    "else": "if n <= 9:\n    v += 0\nelse:\n    BODY",
    "nested": "if n > 9:\n    if n > 10:\n        BODY",
    "loop": "for c in range(11, n):\n    BODY",
    "while": "c = n\nwhile c > 9:\n    BODY\n    c = 0",
    "shared": "if n > limit[0]:\n    BODY",
    "vote": "if cuda.syncthreads_and(n > 9):\n    BODY",
}


def _guarded(guard: str, load: tuple[str, ...]) -> list[str]:
    """The lines of one load behind a guard, indented as those of a function."""
    lines: list[str] = []
    for line in guard.splitlines():
        start, found, _ = line.partition("BODY")
        lines += [f"    {start}{part}" for part in load] if found else [f"    {line}"]
    return lines


@pytest.mark.parametrize("guard", GUARDS)
def test_nothing_is_read_behind_a_guard(device, guard):
    body = [line for load in LOADS.values() for line in _guarded(GUARDS[guard], load)]
    _compare(body, len(LOADS))


@pytest.mark.parametrize("load", LOADS)
def test_nothing_is_read_behind_a_return(device, load):
    _compare([*_guarded("if n <= 9:\n    o[i] = v\n    return\nBODY", LOADS[load])], 1)


def _compare(body: list[str], count: int) -> None:
    """Run a kernel with ``count`` loads whose guards let nothing through, and then everything."""
    text = HEAD.format(block=BLOCK, body="\n".join(body))
    k = define(text, "k", cuda=cuda, np=np)
    x = np.arange(BLOCK * GRID)
    y = np.broadcast_to(x, (x.size, x.size)).copy()
    r = np.zeros(x.size, [("a", np.int32), ("b", np.int64)])
    r["b"] = x
    for n, f in ((3, FAR), (12, 1)):
        expected = x.reshape(GRID, BLOCK)
        for _ in range(count if n > 9 else 0):
            expected = expected + expected[:, np.arange(BLOCK) ^ 1] + n * f
        o = np.zeros(x.size, np.int64)
        k[GRID, BLOCK](x, y, x.astype(np.float32), r, n, f, o)
        np.testing.assert_array_equal(o, expected.reshape(-1), err_msg=f"n = {n}\n{text}")
