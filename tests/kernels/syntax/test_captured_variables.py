"""Nested functions that capture variables: where they are called, their values are Python's."""

from __future__ import annotations

import itertools
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import UnsupportedSyntaxError

pytestmark = pytest.mark.one_device

_HELPERS = """
y = 90.0  # captured variables have this name, too

@cuda.jit
def apply(f, *arguments):
    return f(*arguments)

@cuda.jit
def apply_first(functions, a):
    return functions[0](a) + functions[1](a)

@cuda.jit
def adder(y):
    def add(a):
        return a + y
    return add

@cuda.jit
def doubled(y):
    def twice(a=y):
        return a * 2
    return twice()
"""

_DEFINITIONS = {
    "def": "def f(a):\n    return a + y",
    "lambda": "f = lambda a: a + y",
    "default": "def f(a, b=y):\n    return a + b",
    "inside": "def f(a):\n    def g(b):\n        return b + y\n    return g(a)",
    "inside with a variable of its own": (
        "def f(a):\n    def g(b):\n        y = 3.0\n        return b + y\n    return g(a) + y"
    ),
    "through another": "h = lambda b: b + y\nf = lambda a: h(a) * 2",
    "array": "def f(a):\n    return a + x[1] + y",
    "local array": "t = cuda.local.array(2, np.float64)\nt[0] = 3\nf = lambda a: a + t[0] + y",
}
_VALUES = {"constant": "2", "float": "2.5", "run time": "x[0] + 1", "tuple": "(2, x[0])[1]"}
_CALLS = {
    "call": "f(1)",
    "passed on": "apply(f, 1)",
    "passed on twice": "apply(apply, f, 1)",
    "in a tuple": "apply_first((f, f), 1)",
    "in another function": "apply(lambda a: f(a) + 1, 1)",
}


def _run(body: str) -> tuple[list[float], list[float]]:
    """Results of a kernel of these statements, and those of Python."""
    text = f"{_HELPERS}\n@cuda.jit\ndef kernel(x, out):\n{textwrap.indent(body, '    ')}\n"
    here: dict[str, object] = {"cuda": cuda, "np": np}
    exec(text, here)
    out = np.zeros(4)
    here["kernel"][1, 1](np.array([5.0, 7.0]), out)
    local = SimpleNamespace(array=lambda shape, dtype: np.zeros(shape, dtype))
    there: dict[str, object] = {
        "cuda": SimpleNamespace(jit=lambda function: function, local=local, unroll=lambda items: items),
        "np": np,
    }
    exec(text, there)
    wanted = np.zeros(4)
    there["kernel"](np.array([5.0, 7.0]), wanted)
    return out.tolist(), wanted.tolist()


@pytest.mark.parametrize("definition", list(_DEFINITIONS))
@pytest.mark.parametrize("value", list(_VALUES))
def test_a_captured_variable(device, definition, value):
    """The variable changes between the calls; a function sees what it is when it is called."""
    lines = [f"y = {_VALUES[value]}", _DEFINITIONS[definition]]
    lines += [f"out[0] += {call}" for call in _CALLS.values()]
    lines += ["y = 30"]
    lines += [f"out[1] = out[1] * 2 + {call}" for call in _CALLS.values()]
    lines += ["for y in range(2, 4):", *(f"    out[2] = out[2] * 2 + {call}" for call in _CALLS.values())]
    out, wanted = _run("\n".join(lines))
    assert out == wanted


@pytest.mark.parametrize(
    "body",
    [
        "out[0] = doubled(5)\nout[1] = doubled(5.5)\nout[2] = doubled(x[0])\nout[3] = doubled(6)",
        "for i in cuda.unroll(range(4)):\n    f = lambda a=i: a\n    out[i] = f()",
        "y = 1.0\nf = lambda a=y: a\nfor i in range(4):\n    y += 1.0\n    out[i] = f() + y",
        "out[0] = adder(1)(2)\nout[1] = adder(1.5)(2)\nout[2] = apply(adder(x[0]), 3)\nout[3] = adder(2)(2)",
        "for i in range(4):\n    y = i * 0.5\n    def f(a, b=y):\n        return a + b * y\n    out[i] = apply(f, i)",
        "y = x[0]\nif y > 2:\n    f = lambda a: a + y\nelse:\n    f = lambda a: a - y\nout[0] = 1",
    ],
    ids=["defaults by call", "unrolled", "default before a loop", "returned", "defined in a loop", "two paths"],
)
def test_functions_that_are_defined_again(device, body):
    out, wanted = _run(body)
    assert out == wanted


@pytest.mark.parametrize(
    "body",
    [
        "y = x[0]\nf = lambda a: a + y\ng = lambda a: f(a) * 2\nf = lambda a: a - y\nout[0] = g(1) + apply(g, 1)",
        "y = x[0]\nf = lambda a: a + y\ng = lambda a, h=f: h(a) * 2\ny = 100\nout[0] = g(1) + apply(g, 1)",
        "y = x[0]\nf = lambda a, *rest: a + len(rest) * y\nout[0] = f(1) + apply(f, 1, 2, 3)",
        "y = x[0]\ng = lambda a, b=y, c=2: a + b * c\nout[0] = g(1, c=3) + apply(g, 1)",
        "y = 1j * x[0]\nf = lambda a: (a * y + t[0] * t[1]).imag\nt = (y * 2, x[1])\nout[0] = apply(f, 1)",
        "f = lambda a: a + n\nfor n in range(4):\n    out[n] = f(1)\n    if n == 2:\n        n = 10\n"
        "    out[0] += apply(f, 1)",
        "def pair(a):\n    y = a + 1\n    return (lambda b: b + y), (lambda b: b * y)\n"
        "p, q = pair(x[0])\nr, s = pair(x[1])\nout[0] = p(1) + q(2) + r(100) * s(1)",
        "y = None\nif x[0] > 2:\n    y = x[0]\nf = lambda a: a if y is None else y\nout[0] = apply(f, 1.0)",
    ],
    ids=[
        "rebound",
        "default",
        "rest",
        "keywords",
        "complex",
        "changed in a loop",
        "several returned",
        "None or a number",
    ],
)
def test_values_that_functions_capture(device, body):
    out, wanted = _run(body)
    assert out == wanted


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("f = lambda a: f(a)\nout[0] = f(1)", "calls itself"),
        ("f = lambda a: g(a)\ng = lambda a: f(a)\nout[0] = apply(g, 1)", "calls itself"),
        ("y = 1\nf = lambda a: a + y\ng = apply(lambda h: h, f)\ny = 2\nout[0] = g(1)", "which `kernel` defines"),
    ],
    ids=["itself", "each other", "given back"],
)
def test_functions_that_cannot_be(device, body, message):
    with pytest.raises(UnsupportedSyntaxError, match=message):
        _run(body)


@pytest.mark.parametrize("definitions", list(itertools.permutations(["f = lambda a: a + y", "y = 1"])))
def test_a_variable_without_a_value(device, definitions):
    """Only a call reads the variable."""
    body = "\n".join((definitions[0], "out[0] = {}", definitions[1], "out[1] = f(1)"))
    out, wanted = _run(body.format("3"))
    assert out == wanted
