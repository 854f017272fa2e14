"""Uniform values that branches of some threads leave in variables, where these branches hold branches themselves.

Generated: random control flow that sets variables to constants and arguments, behind it a barrier or none, and threads
that return early; also floats, with infinities, NaN and -0.0, and results of device functions that return early. One
driver's vectoriser gave all threads one thread's value (docs/driver-quirks.md).
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
    f"w = 7.5\nif t != 0:\n    {INNER}\n    w = -0.0\nelse:\n    {OTHER}\nv0 = int(2 * w)",
    "if n == -2:\n    if s == 17:\n        o[i] += x[i] if s != 17 else 9\n"
    "for j in range(n):\n    for l in range(n):\n"
    f"        if x[i] != 0:\n            o[i] += 89\n            {CHOICE}\n"
    f"        else:\n            {CHOICE}\n            o[i] += 81\nif t == 3:\n    {CHOICE}",
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


"""
KERNEL = """
@cuda.jit
def k(x, n, s, p, q, o, r, f, g):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v0 = 7
    v1 = 7
    v2 = 7
    w0 = np.float64(7.5)
    w1 = np.float32(7.5)
"""
STORES = "r[i] = v0 + 100 * v1 + 10000 * v2\nf[i] = w0\ng[i] = w1"
FLOATS = ("np.inf", "-np.inf", "np.nan", "-0.0", "0.0", "7.5", "3")
PARAMETERS = "t, n, s, x, o, i, p, q"
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
        name, values = pick.choice(self._operands())
        return f"{name} {pick.choice(('==', '!=', '>'))} {pick.choice(values)}"

    def _operands(self) -> list:
        """Names of numbers, and what they are compared with."""
        own = [("n", (2, 3, -2)), ("s", (2, 17)), ("t", range(6)), ("x[i]", range(4))]
        return [*own, *[(f"v{k}", (7, 3, 5)) for k in range(3)]]

    def _assignment(self) -> str:
        return f"v{self._draw.randrange(3)} = {self._draw.choice((7, 3, 5, 'p', 'q'))}"

    def _leave(self) -> str:
        return "return"

    def _block(self, depth: int) -> list[str]:
        count = self._draw.choice((1, 1, 2, 2, 3) if depth else (2, 3, 4))
        return [line for _ in range(count) for line in self._statement(depth)]

    def _statement(self, depth: int) -> list[str]:
        pick = self._draw
        kind = pick.random() if depth < 3 else pick.random() * 0.35
        if kind < 0.17:
            return [self._assignment()]
        if kind < 0.35:
            return [
                pick.choice((CHOICE, f"o[i] += {pick.randrange(99)}", f"o[i] += x[i] if {self._condition(1)} else 9"))
            ]
        if kind < 0.4 and depth:
            return [f"if {self._condition()}:", *_indented([CHOICE, self._leave()])]
        inner = _indented(self._block(depth + 1))
        if kind < 0.5:
            return [f"for j{depth} in range({pick.choice(('n', 'x[i]'))}):", *inner]
        lines = [f"if {self._condition()}:", *inner]
        return lines if pick.random() < 0.5 else [*lines, "else:", *_indented(self._block(depth + 1))]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class _DrawnFloats(_Drawn):
    """Random control flow with floats, infinities and NaN among them, and results of device functions."""

    def _operands(self) -> list:
        return [*super()._operands(), *[(f"w{k}", ("np.inf", "0.0", "7.5", "np.nan")) for k in range(2)]]

    def _assignment(self) -> str:
        pick = self._draw
        kind = pick.random()
        if kind < 0.2:
            return super()._assignment()
        if kind < 0.35:
            return f"v{pick.randrange(3)} = whole{pick.randrange(2)}({PARAMETERS})"
        number = pick.randrange(2)
        if kind < 0.55:
            return f"w{number} = real{number}({PARAMETERS})"
        return f"w{number} = np.float{64 >> number}({pick.choice((*FLOATS, 'p', 'n'))})"


class _DrawnFunction(_Drawn):
    """Random control flow of a device function, in which threads return early."""

    def __init__(self, seed: int, kind: str, values: tuple) -> None:
        super().__init__(seed)
        self._kind, self._values = kind, values

    def text(self) -> str:
        lines = _indented(["v0 = 7", *self._block(0), self._leave()])
        return "\n".join(lines)

    def _operands(self) -> list:
        return [*super()._operands()[:4], ("v0", (7, 3, 5))]

    def _assignment(self) -> str:
        return self._leave_if() if self._draw.random() < 0.5 else f"v0 = {self._draw.choice((7, 3, 5, 'p', 'q'))}"

    def _leave_if(self) -> str:
        return f"if {self._condition()}: {self._leave()}"

    def _leave(self) -> str:
        return f"return np.{self._kind}({self._draw.choice(self._values)})"


def functions(seed: int) -> str:
    """Device functions with early returns: two of integers, one of float64, one of float32."""
    reals = (("real0", "float64", FLOATS), ("real1", "float32", FLOATS))
    kinds = (*((f"whole{k}", "int64", (7, 3, 5, "v0")) for k in range(2)), *reals)
    texts = []
    for number, (name, kind, values) in enumerate(kinds):
        body = _DrawnFunction(4 * seed + number, kind, values).text()
        texts.append(f"@cuda.jit(device=True)\ndef {name}({PARAMETERS}):\n{body}\n")
    return "\n\n" + "\n\n".join(texts)


def program(flow: str, end: str, functions: str = "") -> str:
    """The text of a kernel with some control flow, and of the device functions that it calls."""
    return HEAD + functions + KERNEL + "\n".join(_indented(f"{flow}\n{end}{STORES}".split("\n"))) + "\n"


def arguments() -> tuple:
    """Arguments of the kernel: numbers of the threads, numbers of the launch, sums, and results."""
    x = np.array([(i * 7 + i // 5) % 4 for i in range(N)], np.int32)
    return (
        x,
        np.int32(2),
        np.uint16(17),
        np.int32(7),
        np.int32(3),
        *(np.zeros(N, dtype) for dtype in ("i8", "i8", "f8", "f4")),
    )


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


def check(flow: str, end: str, functions: str = "") -> None:
    """Compare a kernel on the current device with Python."""
    text = program(flow, end, functions)
    got, want = arguments(), arguments()
    in_python(text, want)
    define(text, "k")[GRID, BLOCK](*got)
    for found, expected in zip(got[-4:], want[-4:], strict=True):
        np.testing.assert_array_equal(found, expected, text)
        np.testing.assert_array_equal(np.signbit(found) & (found == 0), np.signbit(expected) & (expected == 0), text)


TABLE = np.array([2147483647, 2, 10], np.uint32)


@cuda.jit
def reads_where_no_lane_goes(x, b, out):
    """The smallest of a random program, whose vectoriser read `own[blockIdx.x % 3]` at any place."""
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    table = cuda.const.array_like(TABLE)
    own = cuda.local.array(3, np.uint64)
    for k in range(3):
        own[k] = bool(10)
    if t / 2:
        pass
    elif table[cuda.blockIdx.x] >= own[-1 - t % 3]:
        if np.float16(0) != np.int64(x[i % 3][-1 - i % 4] & 63):
            return
        if i | own[cuda.blockIdx.x % 3] > x[table[3 % len(table)] % 3, x[t % 3, i % 4] % 4] < t:
            pass
        else:
            cuda.atomic.cas(out, (i, 1), np.uint64(1), np.uint64(np.int64(abs(t) / 2)))
    else:
        place = table[cuda.blockIdx.x % 3] % 3
        there = x[place][np.int32(b[cuda.blockIdx.x % 2, -1 - cuda.blockIdx.x % 6]) % 4]
        bits = cuda.clz(np.uint64(t if i > table[i % len(table)] else cuda.blockIdx.x))
        v = (cuda.blockIdx.x, int(np.int32((-there ^ (t, i)[i % 2]) & 1023)))[int(bits & 1023) % 2]
        v = np.floor(np.float64(abs(i) ** 3)) % 64  # noqa: F841


def test_known_reads_of_own_arrays(device):
    high = 2**63 - 1
    x = np.array([[2, 18, 15, 9], [4, 2, 9, high], [8, high, 17, high]], np.uint64)
    out = np.zeros((16, 2), np.uint64)
    reads_where_no_lane_goes[1, 8](x, np.zeros((2, 6), bool), out)
    assert not out.any()


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


@pytest.mark.exhaustive
@pytest.mark.parametrize("end", ENDS, ids=("alone", "barrier"))
@pytest.mark.parametrize("first", range(0, 200, 40))
def test_random_floats_and_functions(device, first, end):
    """Random flows with floats and with device functions."""
    for seed in range(first, first + 40):
        check(_DrawnFloats(seed).text(), end, functions(seed))


LEFT_APART = """
@cuda.jit(device=True)
def whole0(t, n, s, x, o, i, p, q):
    for j in range(n):
        o[i] += x[(i + 1) % 64] if s > 3 else t
    for j in range(n):
        if s == 17:
            o[i] += 85
        elif t > 1:
            return np.int64(3)
        for k in range(n):
            if t > 2:
                return np.int64(7)
    o[i] += 64
    return np.int64(7)


@cuda.jit(device=True)
def passed_on(t, n, s, x, o, i, p, q):
    return whole0(t, n, s, x, o, i, p, q)
"""
CALLS = {
    "loop": "for j in range(n):\n    v0 = whole0(t, n, s, x, o, i, p, q)",
    "sum": "for j in range(n):\n    v0 += whole0(t, n, s, x, o, i, p, q) * n",
    "effect": "for j in range(n):\n    whole0(t, n, s, x, o, i, p, q)",
    "condition": "for j in range(n):\n    if whole0(t, n, s, x, o, i, p, q) == 3:\n        v0 = 5",
    "while": "v1 = 0\nwhile v1 < n:\n    v0 = whole0(t, n, s, x, o, i, p, q)\n    v1 += 1",
    "branch": "for j in range(n):\n    if n > 2:\n        v0 = whole0(t, n, s, x, o, i, p, q)",
    "passed on": "for j in range(n):\n    v0 = passed_on(t, n, s, x, o, i, p, q)",
    "two": "for j in range(n):\n    v0 = whole0(t, n, s, x, o, i, p, q) + whole0(t, n, s, x, o, i, p, q)",
}


@pytest.mark.parametrize("end", ENDS, ids=("alone", "barrier"))
@pytest.mark.parametrize("call", CALLS)
def test_functions_that_threads_leave_apart(device, call, end):
    """Functions with returns in loops, called in a loop: inlined, the returns are jumps out of branches."""
    check(CALLS[call] + "\n", end, LEFT_APART)


# reads of a thread's own array at places outside it, which no thread comes to
PLACES = {
    "branch": "if y[p[i]] > far[2]:\n    own[places[2]] += y[p[i]]",
    "loop": "for k in range(n):\n    if y[p[i]] > far[k]:\n        own[places[k]] += y[p[i]]",
    "counter": "for k in range(n):\n    if y[p[i]] > far[k + 1] and k < 1:\n        own[k * m] += y[p[i]]",
    "conditional expression": "s += own[places[2]] if y[p[i]] > far[2] else y[p[i]]",
    "and": "if y[p[i]] > far[2] and own[places[2]] > 2:\n    s += 2",
    "or": "if y[p[i]] < far[2] or own[places[2]] > 2:\n    s += 2",
    "function": "if y[p[i]] > far[2]:\n    own[0] += element(own, places[2])",
    "function of a function": "s += chosen(own, places[2], y[p[i]], far[2])",
    "continue": "for k in range(n):\n    if y[p[i]] <= far[k]:\n        continue\n    own[places[k]] += y[p[i]]",
}
PLACES_TEXT = """
@cuda.jit(device=True)
def element(own, k):
    return own[k]


@cuda.jit(device=True)
def chosen(own, k, y, far):
    return element(own, k) if y > far else y


@cuda.jit
def k(y, p, far, places, n, m, out):
    i = cuda.grid(1)
    own = cuda.local.array(4, np.int64)
    for q in range(4):
        own[q] = q + y[i]
    s = y[i]
"""


@pytest.mark.parametrize("name", PLACES)
def test_own_arrays_are_not_read_where_no_thread_is(device, name):
    body = PLACES[name].replace("\n", "\n    ")
    text = f"{PLACES_TEXT}    {body}\n    out[i] = s\n    for q in range(4):\n        out[i] += own[q]\n"
    count = 128
    random_numbers = np.random.default_rng(1)
    y, p = random_numbers.integers(1, 50, count), random_numbers.permutation(count)
    far, places = np.array([5, 20, 1000, 30, 1000, 1000]), np.array([0, 3, 1 << 24, 2, 1 << 26])
    found, wanted = np.zeros(count, np.int64), np.zeros(count, np.int64)
    define(text, "k")[2, 64](y, p, far, places, 5, 1 << 24, found)
    _in_python(text, count, y, p, far, places, 5, 1 << 24, wanted)
    np.testing.assert_array_equal(found, wanted)


def _in_python(text, count, *arguments):
    """The kernel of a text, for each thread in turn, as Python runs it; arrays begin with zeros."""
    scope = {"np": np}
    plain = text.replace("@cuda.jit(device=True)\n", "").replace("@cuda.jit\n", "")
    for i in range(count):
        local = SimpleNamespace(array=lambda size, dtype: np.zeros(size, dtype))
        scope["cuda"] = SimpleNamespace(grid=lambda axes, i=i: i, local=local)
        exec(plain, scope)
        scope["k"](*arguments)
