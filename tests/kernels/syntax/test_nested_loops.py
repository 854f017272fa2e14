"""Loops in loops that threads run and leave apart: random kernels that a vectoriser got wrong, made smaller."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

from portagpu import cuda

KERNELS = {
    "two whiles in a for that is left": """
@cuda.jit
def k(x, o):
    i = cuda.grid(1)
    c = 0
    for k1 in range(i % 7):
        if k1 < 3 and i != 2:
            if k1 % 4 == 1:
                break
            w3 = i % 6
            while w3 > 0:
                w3 -= 1
                c = c + c
        w4 = i % 6
        while w4 > 0:
            w4 -= 1
            c = (c + k1) % 1009
            c = (c + c) % 1009
    else:
        c = c * 3 % 1009
    o[i] = c
""",
    "else of a while in a for": """
@cuda.jit(device=True)
def f(x, i):
    c = 0
    for k3 in range(7, 0, -1):
        w4 = c % 6
        while w4 > 0:
            w4 -= 1
            if i == 4:
                break
        else:
            for k5 in range(2, 6, 1):
                c = (c - x[k5 % 64]) % 4001
    return c
@cuda.jit
def k(x, o):
    i = cuda.grid(1)
    c = f(x, i)
    o[i] = c
""",
    "else of a for in a while": """
@cuda.jit
def k(x, o):
    i = cuda.grid(1)
    c = 0
    w5 = i % 6
    while True:
        w5 -= 1
        if w5 < 0:
            break
        for k6 in range(c % 7):
            if k6 == 4:
                break
        else:
            c = c - x[c % 64]
        c = c + i
    o[i] = c
""",
    "two fors after a break": """
@cuda.jit(device=True)
def f(x, i):
    c = 0
    for k1 in range(10):
        for k3 in range(2, c % 9):
            if k3 > 5:
                c = c + c
                break
            for k4 in range(0, 7, 1):
                c = (c - x[c % 64]) % 4001
        for k7 in range(2, i % 9):
            c = c + k7
    return c
@cuda.jit
def k(x, o):
    i = cuda.grid(1)
    c = f(x, i)
    o[i] = c
""",
    "while in a while": """
@cuda.jit
def k(x, o):
    i = cuda.grid(1)
    c = 0
    for k1 in range(11):
        if i == 3:
            for k2 in range(2, k1 % 9):
                c = c + k2
        if k1 == 2:
            continue
        w4 = k1 % 6
        while w4 > 0:
            w4 -= 1
            c = c * 3 % 1009
    for k5 in range(i % 7):
        c = c * 3 % 1009
    o[i] = c
""",
    "a for under a branch": """
@cuda.jit(device=True)
def f(x, i):
    c = 0
    for k1 in range(i % 7):
        w2 = k1 % 6
        while w2 > 0:
            w2 -= 1
            if c % 2 == 1:
                c = c + i
            else:
                c = (c - x[w2 % 64]) % 4001
                w5 = k1 % 6
                while w5 > 0:
                    w5 -= 1
                    if c > x[w5 % 64]:
                        continue
                    c = (c - x[w5 % 64]) % 4001
                c ^= 5
            for k6 in range(w2 % 7):
                c = c * 3 % 1009
            break
        c = c + i
        c = c * 3 % 1009
    return c
@cuda.jit
def k(x, o):
    i = cuda.grid(1)
    c = f(x, i)
    o[i] = c
""",
}
THREADS = 64


class _Grid:
    """``cuda`` for one thread of plain Python."""

    def __init__(self, thread: int) -> None:
        self._thread = thread

    def grid(self, ndim: int) -> int:
        return self._thread

    def jit(self, *functions: object, **options: object) -> object:
        return functions[0] if functions else (lambda function: function)


def wanted(text: str, x: np.ndarray) -> np.ndarray:
    """What Python computes, thread by thread."""
    found = np.zeros(THREADS, np.int64)
    for thread in range(THREADS):
        names: dict[str, object] = {"cuda": _Grid(thread)}
        exec(text, names)
        names["k"]([int(value) for value in x], found)
    return found


@pytest.mark.parametrize("name", list(KERNELS))
def test_nested_loops(device, name):
    text = KERNELS[name].lstrip()
    filename = f"<nested loops: {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names: dict[str, object] = {"cuda": cuda}
    exec(compile(text, filename, "exec"), names)
    for seed in (162, 252, 953, 1147, 1352, 1413):  # with which each was found
        x = np.random.default_rng(seed).integers(0, 40, THREADS)
        found = np.zeros(THREADS, np.int64)
        names["k"][1, THREADS](x, found)
        np.testing.assert_array_equal(found, wanted(text, x))
