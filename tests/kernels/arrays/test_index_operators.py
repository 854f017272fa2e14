"""Every operator on every builtin index, as the subscript of every kind of array, against the same in Python.

One driver's compiler took `s[threadIdx.x >> 5]` for a run of elements: right as a value, wrong as a subscript.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device

GRID, BLOCK = (2, 2, 2), (64, 2, 2)
THREADS, ALL = 256, 2048  # of a block, of the grid
SIZE = 512  # elements of each array: no subscript is outside, and none below its negative

INDICES = (
    *(f"cuda.{name}.{axis}" for name in ("threadIdx", "blockIdx", "blockDim", "gridDim") for axis in "xyz"),
    *("cuda.grid(1)", "cuda.grid(2)[1]", "cuda.grid(3)[0]", "cuda.grid(3)[2]", "cuda.gridsize(1)"),
    *("cuda.gridsize(2)[1]", "cuda.laneid", "cuda.warpsize", "(cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x)"),
)
SHIFTS = ("{0} >> 3", "{0} >> 5", "({0} + 7) >> 3", "({0} - 20) >> 2", "({0} * 3) >> 2", "(63 - {0}) >> 3")
SUMS = ("{0} + 3", "{0} - 3", "3 - {0}", "-{0}", "{0} * 3", "{0} << 1", "{0} ** 2 % 500", "abs({0} - 9)")
QUOTIENTS = ("{0} // 8", "{0} // 5", "({0} + 40) // 8", "({0} // 4) % 4", "({0} % 16) // 4", "{0} << 29 >> 32")
REMAINDERS = ("{0} % 8", "{0} % 5", "5 % ({0} + 1)", "divmod({0}, 9)[0]", "divmod({0}, 9)[1]", "100 // ({0} + 1)")
BITS = ("{0} & 7", "{0} & ~7", "{0} | 4", "{0} ^ 5", "~{0}", "({0} >> 2) & 3", "({0} & 60) >> 2", "1 << ({0} & 3)")
CHOICES = ("min({0}, 5)", "max({0}, 5)", "({0} if {0} < 6 else 6)", "({0} >> 3) if {0} < 20 else ({0} >> 4)")
TESTS = ("int({0} > 5)", "int({0} == 3)", "int({0} != 0)", "({0} >= 8) + ({0} >= 16)", "int({0} / 4)")
CASTS = ("np.int32({0}) >> 3", "np.uint32({0}) // 8", "np.int64({0}) >> 2", "np.uint64({0}) >> 2", "np.uint8({0})")
NARROW = ("np.int16({0}) >> 1", "np.int8({0} >> 3)", "np.int8({0} & 63) >> 1", "int(np.float32({0}) * np.float32(0.5))")
OPERATORS = (SHIFTS + SUMS, QUOTIENTS + REMAINDERS, BITS + CHOICES, TESTS + CASTS + NARROW)

Case = tuple[str, str]  # operator, index


def _read(array: str) -> Callable[[int, str], tuple[str, ...]]:
    return lambda row, text: (f"o[{row}, i] = {array}[{text}]",)


# what a thread does with a subscript; each number of `g` occurs once in it, so that a wrong place is seen
PLACES: tuple[Callable[[int, str], tuple[str, ...]], ...] = (
    _read("g"),
    _read("s"),
    _read("m"),
    lambda row, text: (f"v = {text}", f"o[{row}, i] = g[v] - s[v] * 2"),
    lambda row, text: (f"m[{text}] += {row + 1}", f"v = {text}", f"o[{row}, i] = m[v]", f"m[v] -= {row + 1}"),
    lambda row, text: (f"w[{row}, {text}] = 7",),
    lambda row, text: (f"s{row}[{text}] = 7",),  # threads of the same place write the same
)
WRITE_LOCAL, WRITE_GLOBAL, WRITE_SHARED = 4, 5, 6


def place_of(row: int) -> int:
    """Places take turns, so that every operator and every index meets each of them."""
    return (row + row // len(INDICES)) % len(PLACES)


def made(cases: list[Case]):
    """The kernel with a row of ``o`` (or ``w``) for each case."""
    shared = [f"s{row}" for row in range(len(cases)) if place_of(row) == WRITE_SHARED]
    lines = [
        f"t = (cuda.threadIdx.z * {BLOCK[1]} + cuda.threadIdx.y) * {BLOCK[0]} + cuda.threadIdx.x",
        f"b = (cuda.blockIdx.z * {GRID[1]} + cuda.blockIdx.y) * {GRID[0]} + cuda.blockIdx.x",
        f"i = b * {THREADS} + t",
        f"m = cuda.local.array({SIZE}, np.int32)",
        f"for q in range({SIZE}):",
        "    m[q] = g[q]",
        *(f"{name} = cuda.shared.array({SIZE}, np.uint8)" for name in shared),
        f"s = cuda.shared.array({SIZE}, np.int32)",
        f"for q in range(t, {SIZE}, {THREADS}):",
        "    s[q] = g[q]",
        *(f"    {name}[q] = 0" for name in shared),
        "cuda.syncthreads()",
        *(
            line
            for row, (operator, index) in enumerate(cases)
            for line in PLACES[place_of(row)](row, operator.format(index))
        ),
        "cuda.syncthreads()",
        *(f"o[{name[1:]}, i] = {name}[t] + {name}[t + {THREADS}] * 16" for name in shared),
    ]
    names = {"cuda": cuda, "np": np}
    exec("@cuda.jit\ndef k(g, o, w):\n" + "".join(f"    {line}\n" for line in lines), names)
    return names["k"]


def values_of_indices() -> dict[str, np.ndarray]:
    """What each index is, for the threads in the order of their rows in ``o``."""
    places = np.indices((*GRID[::-1], *BLOCK[::-1])).reshape(6, ALL)[::-1]
    thread, block = dict(zip("xyz", places[:3], strict=True)), dict(zip("xyz", places[3:], strict=True))
    size, blocks = dict(zip("xyz", BLOCK, strict=True)), dict(zip("xyz", GRID, strict=True))
    grid = {axis: block[axis] * size[axis] + thread[axis] for axis in "xyz"}
    found = {}
    for name, values in {"threadIdx": thread, "blockIdx": block, "blockDim": size, "gridDim": blocks}.items():
        found |= {f"cuda.{name}.{axis}": values[axis] for axis in "xyz"}
    found |= {"cuda.grid(1)": grid["x"], "cuda.grid(2)[1]": grid["y"], "cuda.grid(3)[0]": grid["x"]}
    found |= {"cuda.grid(3)[2]": grid["z"], "cuda.gridsize(1)": 128, "cuda.gridsize(2)[1]": 4}
    found |= {"cuda.laneid": np.arange(ALL) % 32, "cuda.warpsize": 32, INDICES[-1]: grid["x"]}
    return {name: np.broadcast_to(values, ALL) for name, values in found.items()}


def subscripts(operator: str, values: np.ndarray) -> np.ndarray:
    """What Python computes, thread by thread."""
    distinct, which = np.unique(values, return_inverse=True)
    results = [int(eval(operator.format("v"), {"np": np, "v": int(v)})) for v in distinct]
    assert max(results) < SIZE and min(results) >= -SIZE
    return np.array(results)[which]


def touched(places: np.ndarray) -> np.ndarray:
    """7 where one of the places is, else 0."""
    marks = np.zeros(SIZE, np.int32)
    marks[places] = 7
    return marks


def wanted(row: int, g: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The row of ``o``, or of ``w``."""
    match place_of(row):
        case 3:
            return -g[found]
        case place if place == WRITE_LOCAL:
            return g[found] + row + 1
        case place if place == WRITE_GLOBAL:
            return touched(found)
        case place if place == WRITE_SHARED:
            halves = [touched(block).reshape(2, THREADS) for block in found.reshape(-1, THREADS)]
            return np.concatenate([low + high * 16 for low, high in halves])
        case _:
            return g[found]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("operators", OPERATORS, ids=["shifts", "quotients", "bits", "casts"])
def test_subscripts(device, operators):
    """Each operator on each index selects the element that it selects in Python."""
    cases = list(product(operators, INDICES))
    g = np.random.default_rng(5).permutation(SIZE).astype(np.int32)
    o, w = np.zeros((len(cases), ALL), np.int32), np.zeros((len(cases), SIZE), np.int32)
    made(cases)[GRID, BLOCK](g, o, w)
    values = values_of_indices()
    wrong = []
    for row, (operator, index) in enumerate(cases):
        got = w[row] if place_of(row) == WRITE_GLOBAL else o[row]
        if not np.array_equal(got, wanted(row, g, subscripts(operator, values[index]))):
            wrong.append(f"{operator.format(index)} (place {place_of(row)})")
    assert not wrong


# subscripts that variables hold, and that are read, written and read again: one driver's compiler took elements for
# others where the variable had 64 bits and the subscript the lower 32 of them
HELD = ("{0} << 1", "{0} * 2", "{0} * 3", "{0} * 4", "({0} << 1) ^ 2", "{0} * 2 + 1", "130 - {0} * 2", "{0} + 16")
HELD += (
    "np.uint32({0} * 2)",
    "np.uint64({0}) * np.uint64(2)",
    "{0} + {0}",
    "({0} * 2) & 510",
    "({0} * 2 if {0} > 5 else {0} * 2 + 1)",
)
USES = (
    ("{a}[v] = {a}[v] + 5", "o[{row}, t] = {a}[v]", "{a}[v] = {a}[v] - 5"),
    ("if v < 100:", "    {a}[v] = {a}[v] + 5", "    o[{row}, t] = {a}[v]", "    {a}[v] = {a}[v] - 5"),
    (
        *("total = 0", "for _ in range(3):", "    {a}[v] = {a}[v] + 5", "    total += {a}[v]"),
        *("    {a}[v] = {a}[v] - 5", "    v += 100", "o[{row}, t] = total"),
    ),
    ("u = v", "{a}[u] = {a}[u] + 5", "o[{row}, t] = {a}[v]", "w = v + 0", "{a}[w] = {a}[w] - 5"),
)


@pytest.mark.parametrize("index", ["cuda.threadIdx.x", "cuda.grid(1)", "t"])
def test_subscripts_that_variables_hold(device, index):
    """Each thread has elements of its own, in shared memory and in an array of its own."""
    cases = list(product(HELD, USES, "sm"))
    lines = [
        *(
            "t = cuda.threadIdx.x",
            f"s = cuda.shared.array({SIZE}, np.int32)",
            f"m = cuda.local.array({SIZE}, np.int32)",
        ),
        *(f"for q in range({SIZE}):", "    m[q] = g[q]", f"for q in range(t, {SIZE}, 64):", "    s[q] = g[q]"),
    ]
    for row, (operator, uses, array) in enumerate(cases):
        lines += ["cuda.syncthreads()", f"v = {operator.format(index)}", *(u.format(a=array, row=row) for u in uses)]
    names = {"cuda": cuda, "np": np}
    exec("@cuda.jit\ndef k(g, o):\n" + "".join(f"    {line}\n" for line in lines), names)
    g = np.random.default_rng(6).permutation(SIZE).astype(np.int32)
    o = np.zeros((len(cases), 64), np.int32)
    names["k"][1, 64](g, o)
    wrong = []
    for row, (operator, uses, array) in enumerate(cases):
        v = subscripts(operator, np.arange(64))
        if uses is USES[1]:
            expected = np.where(v < 100, g[v] + 5, 0)
        else:
            expected = g[v] + g[v + 100] + g[v + 200] + 15 if uses is USES[2] else g[v] + 5
        if not np.array_equal(o[row], expected):
            wrong.append(f"{operator.format(index)}, use {USES.index(uses)} of {array}")
    assert not wrong
