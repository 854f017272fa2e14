"""Facts of a dtype, such as that no integer is NaN, are values and no constants: numbers may be divided by them.

Branches that it decides against are not compiled, though: they may have no meaning for the dtype."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda

QUESTIONS = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "isposinf": np.isposinf,
    "isneginf": np.isneginf,
    "signbit": np.signbit,
    "is less": lambda x: x < 100_000,
    "is more": lambda x: x >= 100_000,
    "is equal": lambda x: x == 70_000,
}
DIVISIONS = {
    "/": lambda y, known: y / known,
    "//": lambda y, known: y // known,
    "%": lambda y, known: y % known,
    "power": lambda y, known: np.abs(y) ** known,
    "reciprocal": lambda y, known: y * np.reciprocal(known.astype(np.float32)),
    "shift": lambda y, known: np.rint(y).astype(np.int8) << known,
}


@pytest.mark.one_device
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("dtype", [np.bool_, np.int16])
def test_arrays_divided_by_what_is_known(device, dtype, question):
    x = np.array([0, 1, 2, 100]).astype(dtype)
    for n, divide in enumerate(DIVISIONS.values()):
        y = np.array([3, 0, 7, 5], [np.int32, np.float32, np.uint8][n % 3])  # powers of floats are no exact ones
        with np.errstate(all="ignore"):
            wanted = divide(y, QUESTIONS[question](x))
        found = divide(cuda.to_device(y), QUESTIONS[question](cuda.to_device(x)))
        np.testing.assert_array_equal(np.asarray(found), wanted, strict=True)


@pytest.mark.one_device
def test_kernels_divide_by_what_is_known(device):
    @cuda.jit
    def kernel(x, small, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            out[i] = x[i] / np.isnan(small[i]) if np.isfinite(small[i]) else 0.0
            out[i] += x[i] % (small[i] < 300)

    out = np.zeros(3, np.float32)
    kernel[1, 3](np.array([1.5, -1.0, 0.0], np.float32), np.arange(3, dtype=np.uint8), out)
    np.testing.assert_array_equal(out, [np.inf, -np.inf, np.nan])


BRANCHES = {
    "if": """
    if {yes}:
        kept = 5
    else:
        kept = x.nothing
    out[0] = kept""",
    "if not": """
    if not {yes}:
        out[0] = x.nothing
    else:
        out[0] = 5""",
    "one branch": """
    if {yes}:
        kept = 5
    out[0] = kept""",
    "types": """
    if {yes}:
        kept = (5, 1)
    else:
        kept = 3.0
    out[0] = kept[0]""",
    "conditional expression": """
    out[0] = 5 if {yes} else x.nothing""",
    "and": """
    out[0] = 5 + (not {yes} and x.nothing)""",
    "or": """
    out[0] = 4 + ({yes} or x.nothing)""",
    "and then": """
    if not ({yes} and x[0] == 3) or not {yes}:
        out[0] = 6
    else:
        out[0] = 5""",
    "while": """
    while not {yes}:
        x.nothing
    n = 0
    while {yes}:
        n += 1
        if n == 5:
            break
    out[0] = n""",
    "variable of a loop": """
    n, goes_on = 0, {yes}
    while goes_on:
        n += 1
        goes_on = n < 5
    out[0] = n""",
    "shape": """
    held = cuda.local.array(5 if {yes} else x[0], np.float32)
    out[0] = held.size""",
    "variable": """
    known = {yes}
    kept = 5 if known else x.nothing
    out[0] = kept if known and (known or x.nothing) else x.nothing""",
    "variables of variables": """
    known, other = {yes}, 5
    again = more = not known
    held = cuda.local.array(x[0] if more else other, np.float32)
    for k in range(held.size):
        if again:
            x.nothing
        out[0] += 1""",
    "variable of two values": """
    known = {yes}
    for k in range(9):
        if k == 5:
            known = x[0] == 0
        if known:
            out[0] += 1""",
    "variable with a value of its own": """
    known = {yes}
    if x[0] == 3:
        known = not known
    out[0] = 4 if known else 5""",
}
TRUE = ("np.isfinite(x[0])", "(not math.isnan(x[0]))", "(not np.signbit(x[0]))", "(x[0] < 300)", "(300 != x[0])")


@pytest.mark.one_device
@pytest.mark.parametrize("name", BRANCHES)
def test_branches_without_meaning_are_not_compiled(device, name):
    for yes in TRUE:
        text = f"def kernel(x, out):{BRANCHES[name].format(yes=yes)}\n"
        out = np.zeros(1, np.float32)
        cuda.jit(define(text, "kernel", math=math))[1, 1](np.array([3], np.uint8), out)
        assert out[0] == 5, yes


FLOWS = {
    "if": "if i > 1:\n    c = {answer}\no[i] = c",
    "else": "if i > 1:\n    pass\nelse:\n    c = {answer}\no[i] = c",
    "while": "while k < i:\n    k += 1\n    c = {answer}\no[i] = c",
    "for, break": "for k in range(4):\n    if k == i:\n        break\n    c = {answer}\no[i] = c",
    "for, else": "for k in range(4):\n    if k == i - 1:\n        break\nelse:\n    c = {answer}\no[i] = c",
    "again": "for k in range(3):\n    if k > 1:\n        o[i] += c\n    if k == 1 and i > 2:\n        c = {answer}",
    "another": "if i > 1:\n    c = {answer}\nelif i == 1:\n    c = x[i] == 1\no[i] = c",
    "integer": "if i > 1:\n    c = {answer}\nelse:\n    c = 7\no[i] = c",
    "float": "c = {answer}\nfor k in range(3):\n    if k == i:\n        c = 2.5\no[i] = c",
    "tuple": "c = ({answer}, 3)\nif i > 1:\n    c = (i > 2, 4)\no[i] = c[0] * 10 + c[1]",
    "negated": "c = {answer}\nd = c\nc = not c\nwhile c or d:\n    d = c and d\n    c = False\n    o[i] += 1",
}


@pytest.mark.one_device
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("name", FLOWS)
def test_names_of_known_answers_are_variables(device, name, debug):
    """On paths that do not set them they have no value, as names of comparisons that threads make."""
    for known, computed in (("x[i] < 300", "x[i] < limit"), ("np.isnan(x[i])", "x[i] > limit")):
        outcomes = []
        for answer in (known, computed):
            body = FLOWS[name].format(answer=answer).replace("\n", "\n    ")
            text = f"def kernel(x, limit, o):\n    i = cuda.grid(1)\n    k = 0\n    {body}\n"
            outcomes.append(_outcome(cuda.jit(define(text, "kernel"), debug=debug)))
        assert outcomes[0] == outcomes[1], known


def _outcome(kernel):
    """The elements that a kernel leaves, or its error, and the number of its warnings."""
    o = np.zeros(4)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            kernel[1, 4](np.arange(4, dtype=np.uint8), 300, o)
            cuda.synchronize()
        except UnboundLocalError:
            return "unset"
    return o.tolist(), len([w for w in found if "no value" in str(w.message)])
