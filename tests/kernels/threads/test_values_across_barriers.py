"""Values that control flow sets in some threads of a block, and that all of them read behind a barrier.

Generated: each shape of control flow sets a variable, each kind of value is what it sets, and barriers stand in each
place. One driver took many of these variables for the same in all threads (docs/driver-quirks.md).
"""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.device import working_devices
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import FLOAT32, INT32, INT64, UINT32
from portagpu.ir.types import ArrayType, Layout, Scalar

BLOCK, GRID = 32, 3
N = BLOCK * GRID
# `x[i]` is 0 to 3 and differs between threads, `z` is 2 in all of them; v starts as OLD, and becomes NEW
SHAPES = {
    "for": "for j in range(x[i]):\n    v = NEW",
    "for_down": "for j in range(x[i], 0, -1):\n    v = NEW",
    "while": "n = 0\nwhile n < x[i]:\n    v = NEW\n    n += 1",
    "while_true": "n = 0\nwhile True:\n    if n >= x[i]:\n        break\n    v = NEW\n    n += 1",
    "searched": "n = 0\nwhile x[(i + n) % 96] != 3:\n    n += 1\n    v = NEW\nv = NEW if n > 1 else v",
    "break": "for j in range(3):\n    if x[i] <= j:\n        break\n    v = NEW",
    "broken": "for j in range(3):\n    if x[i] == j:\n        v = NEW\n        break",
    "for_else": "for j in range(3):\n    if x[i] == j:\n        break\nelse:\n    v = NEW",
    "while_else": "n = 0\nwhile n < 2:\n    if x[i] == n:\n        break\n    n += 1\nelse:\n    v = NEW",
    "continue": "for j in range(3):\n    if x[i] <= j:\n        continue\n    v = NEW",
    "late": "for j in range(x[i] + 1):\n    if j > 0:\n        v = NEW",
    "uniform_if": "for j in range(x[i]):\n    if z == 2:\n        v = NEW\n        r[i] += 1",
    "nested": "for j in range(x[i]):\n    for k in range(x[i] - j):\n        v = NEW",
    "in_uniform_loop": "for j in range(z):\n    for k in range(x[i]):\n        v = NEW",
    "uniform_in_loop": "for j in range(x[i]):\n    for k in range(z):\n        v = NEW",
    "two_loops": "for j in range(x[i] - 2):\n    v = NEW\nfor j in range(x[i] - 1):\n    v = NEW",
    "in_branch": "if i % 3 != 1:\n    for j in range(x[i]):\n        v = NEW",
    "in_uniform_branch": "if z == 2:\n    for j in range(x[i]):\n        v = NEW",
    "if": "if x[i] > 0:\n    v = NEW\n    r[i] += 1",
    "or": "if z == 5 or x[i] > 0:\n    v = NEW\n    r[i] += 1",
    "and_else": "if z == 2 and x[i] > 0:\n    r[i] += 1\nelse:\n    v = NEW\n    r[i] += 2",
    "and_or": "if (z == 2 and x[i] > 0) or i == 5:\n    v = NEW\n    r[i] += 1",
    "elif": "if z == 5:\n    v = NEW\n    r[i] += 1\nelif x[i] > 0:\n    v = NEW\n    r[i] += 1",
    "flag": "f = z == 5\nif not f:\n    f = x[i] > 0\nif f:\n    v = NEW\n    r[i] += 1",
    "choice": "v = (NEW if z == 5 or x[i] > 0 else v)",
    "function": "v = chosen(x, i, v, NEW)",
    "found_by_function": "if found(x, i) > 1:\n    v = NEW",
}
FUNCTIONS = """
@cuda.jit(device=True)
def chosen(x, i, old, new):
    for j in range(3):
        if x[i] == j:
            return old
    return new


@cuda.jit(device=True)
def found(x, i):
    n = 0
    while x[(i + n) % 96] != 3:
        n += 1
    return n
"""
KINDS = {  # what the variable is, and what it is set to
    "int": ("np.int32(7)", "np.int32(3)"),
    "python": ("7", "3"),
    "long": ("np.int64(7)", "np.int64(1) << 40"),
    "byte": ("np.uint8(7)", "np.uint8(3)"),
    "float": ("np.float32(7)", "np.float32(-0.0)"),
    "double": ("7.25", "3.5"),
    "bool": ("False", "True"),
    "argument": ("p", "q"),
    "float_argument": ("f", "g"),
    "block": ("cuda.blockIdx.x + 7", "cuda.blockIdx.x + 3"),
    "load": ("y[0]", "y[1]"),
    "count": ("0", "v + 1"),
    "product": ("1", "v * 3"),
    "sum": ("p", "v + q"),
    "array": ("7", "3"),  # an element of a local array
}
BARRIERS = {  # lines behind the shape
    "next": "cuda.syncthreads()\no[CASE, i] = VALUE",
    "twice": "cuda.syncthreads()\nr[i] += 1\ncuda.syncthreads()\no[CASE, i] = VALUE",
    "in_loop": "for q_ in range(z):\n    cuda.syncthreads()\n    r[i] += 1\no[CASE, i] = VALUE",
    "derived": "w = VALUE + 1\ncuda.syncthreads()\no[CASE, i] = w",
    "in_branch": "cuda.syncthreads()\nif i % 2 == 0:\n    o[CASE, i] = VALUE",
    "in_uniform_branch": "if z == 2:\n    cuda.syncthreads()\n    o[CASE, i] = VALUE",
    "condition": "cuda.syncthreads()\nif VALUE > 3:\n    o[CASE, i] = 1\n    r[i] += 1",
    "vote": "if cuda.syncthreads_or(z == 2):\n    o[CASE, i] = VALUE",
    "warp": "cuda.syncwarp()\nr[i] += cuda.shfl_sync(0xFFFFFFFF, z, 0)\no[CASE, i] = VALUE",
    "turns": None,  # all in a loop that has the barrier
}


def lines_of(case: int, shape: str, kind: str, barrier: str) -> list[str]:
    """The lines of one case."""
    old, new = KINDS[kind]
    name = "l[1]" if kind == "array" else "v"
    lines = [f"{name} = {old}", *SHAPES[shape].replace("NEW", new).replace("v =", f"{name} =").split("\n")]
    if kind == "array":
        lines = ["l = cuda.local.array(3, np.int32)", *(line.replace("else v", "else l[1]") for line in lines)]
        lines = [line.replace(" v,", " l[1],") for line in lines]
    behind = BARRIERS[barrier]
    if behind is None:
        inner = [*lines, "cuda.syncthreads()", f"s = s * 2 + {name}", "cuda.syncthreads()"]
        lines = ["s = 0.0", "for turn in range(z):", *(f"    {line}" for line in inner), f"o[{case}, i] = s"]
    else:
        lines += behind.replace("CASE", str(case)).replace("VALUE", name).split("\n")
    # the types of one name differ between cases
    return [re.sub(r"\b[vwnsl]\b", rf"\g<0>{case}", line) for line in lines]


def program(cases: list[tuple[str, str, str]]) -> str:
    """The text of a kernel with some cases, one after the other."""
    lines = [line for n, case in enumerate(cases) for line in lines_of(n, *case)]
    body = "\n".join(f"    {line}" for line in lines)
    head = "@cuda.jit\ndef k(x, y, z, p, q, f, g, r, o):\n    i = cuda.grid(1)\n"
    return f"{FUNCTIONS}\n\n{head}{body}\n"


def arguments(cases: int) -> tuple:
    """Arguments of the kernel."""
    x = np.array([(i * 7 + i // 5) % 4 for i in range(N)], np.int32)
    y = np.array([7, 3], np.int32)
    counts, out = np.zeros(N, np.int64), np.zeros((cases, N), np.float64)
    return x, y, np.int32(2), np.int32(7), np.int32(3), np.float32(7.5), np.float32(-2.5), counts, out


def in_python(text: str, values: tuple) -> None:
    """Run the kernel's text as Python, thread after thread: no thread reads what another one wrote."""
    here = SimpleNamespace()
    stub = SimpleNamespace(
        jit=lambda function=None, **options: function or (lambda f: f),
        grid=lambda axes: here.i,
        syncthreads=lambda: None,
        syncthreads_or=bool,
        syncwarp=lambda: None,
        shfl_sync=lambda mask, value, lane: value,
        local=SimpleNamespace(array=np.zeros),
    )
    kernel = define(text, "k", cuda=stub)
    for here.i in range(N):
        stub.blockIdx = SimpleNamespace(x=here.i // BLOCK)
        kernel(*values)


def check(cases: list[tuple[str, str, str]]) -> None:
    """Compare a kernel of some cases on the current device with Python."""
    text = program(cases)
    got, want = arguments(len(cases)), arguments(len(cases))
    in_python(text, want)
    define(text, "k")[GRID, BLOCK](*got)
    wrong = [case for case, a, b in zip(cases, got[-1], want[-1], strict=True) if not np.array_equal(a, b)]
    assert not wrong, f"{wrong}\n{text}"
    np.testing.assert_array_equal(got[-2], want[-2])


MIXED = [  # few a kernel: where threads have gone their own ways once, the driver takes less for uniform
    [("for", "int", "next"), ("searched", "count", "twice"), ("late", "float", "in_loop"), ("if", "bool", "vote")],
    [("or", "argument", "next"), ("elif", "load", "warp"), ("break", "product", "next"), ("nested", "long", "next")],
    [("in_uniform_loop", "argument", "turns"), ("found_by_function", "load", "derived")],
    [("choice", "argument", "condition"), ("flag", "float_argument", "in_branch"), ("while_else", "block", "next")],
    [("if", "int", "turns"), ("if", "python", "turns"), ("if", "long", "turns")],  # PoCL 5.0 joined their ways in
    [("and_else", "array", "in_uniform_branch"), ("while", "double", "next"), ("function", "sum", "next")],
]


def test_each_shape_on_all_devices():
    """Some cases a kernel."""
    for device in working_devices():
        with cuda.select_device(device.index):
            for cases in MIXED:
                check(cases)


@pytest.mark.exhaustive
@pytest.mark.parametrize("barrier", BARRIERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_all(device, shape, barrier):
    """Each shape with each kind of value and barriers in each place."""
    kinds = list(KINDS)
    for first in range(0, len(kinds), 3):  # few a kernel: its compilation takes time that grows fast
        check([(shape, kind, barrier) for kind in kinds[first : first + 3]])


USED = (
    "3",
    "np.int8(value)",
    "np.uint32(value)",
    "np.int64(value) & 15",
    "np.float16(value)",
    "np.int64(value) >> 3",
    "value",
)
_FOLLOWING = """\
@cuda.jit(device=True)
def following(cells, t, value):
    cells[t] = value
    cuda.syncthreads()
    found = cells[(t + 1) % len(cells)]
    cuda.syncthreads()
    return found
@cuda.jit
def kernel(x, out):
    cells = cuda.shared.array(64, np.DTYPE)
    near = cuda.local.array(4, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cells[t] = 5
    for k in range(4):
        near[k] = x[(i + k) % x.size]
    cuda.syncthreads()
    if x[i] < 0:
        return
    part = near[1:]
    value = following(cells, t, np.DTYPE(x[i]))
    got = USED
    part[int(got) % 3] = x[i] + got
    cuda.syncthreads()
    for k in range(4):
        out[i, k] = near[k]
"""


def _following(dtype: str, used: str):
    return define(_FOLLOWING.replace("DTYPE", dtype).replace("USED", used), "kernel")


@pytest.mark.parametrize("used", USED)
@pytest.mark.parametrize("dtype", ["int64", "uint32", "float16"])
def test_parts_of_what_functions_with_barriers_return(device, dtype, used):
    """No pass takes a call for one without a barrier because less of its result is used."""
    kernel = _following(dtype, used)
    x = np.random.default_rng(3).integers(-60, 120, 192).astype(np.int32)
    out = np.full((192, 4), -1, np.float32)
    kernel[3, 64](x, out)
    expected = np.full((192, 4), -1, np.float32)
    for i in np.flatnonzero(x >= 0):
        after = x[i // 64 * 64 + (i + 1) % 64]
        got = eval(used, {"np": np, "value": np.array(after if after >= 0 else 5).astype(dtype)[()]})
        expected[i] = [x[(i + k) % 192] for k in range(4)]
        expected[i, 1 + int(got) % 3] = x[i] + got
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("used", USED)
@pytest.mark.parametrize("dtype", [INT64, UINT32])
def test_no_branch_stands_around_such_functions(dtype, used):
    """Calls of functions with barriers stay out of the branches that a driver needs around divergent statements."""
    caps = dataclasses.replace(IDEAL, sees_divergence=False, conditional_barriers=False)
    kinds = ArrayType(Scalar(INT32), 1, Layout.C), ArrayType(Scalar(FLOAT32), 2, Layout.C)
    text = generate(lower_kernel(_following(dtype.name, used).source, kinds, caps), caps).source
    (line,) = (line for line in text.splitlines() if "following" in line and line.endswith(";") and "(cells" in line)
    assert line.startswith("    ") and not line.startswith("     ")
