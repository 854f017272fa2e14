"""Names bound to every kind of value in pairs of places, and read afterwards: generated programs, run by Python, too.

No warning where each path that can be taken binds the name, and the same results with and without ``debug=True``.
"""

from __future__ import annotations

import itertools
import warnings
from collections import namedtuple

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import PortaGPUPerformanceWarning

pytestmark = pytest.mark.one_device

Pair = namedtuple("Pair", "first second")
RECORD = np.dtype([("a", np.float32), ("b", np.int32)])


@cuda.jit(device=True)
def doubled(v):
    return v * 2


# a name's value, with a number in it; a number that is read from it
KINDS = {
    "integer": ("{n}", "{name} + 1"),
    "float": ("x[{n}] + 0.5", "{name} + 1"),
    "mixed": ("({n} if x[0] > 5 else {n}.5)", "{name} + 1"),
    "bool": ("x[{n}] > 2", "(1 if {name} else 2)"),
    "complex": ("complex(x[{n}], {n})", "{name}.imag"),
    "array": ("x", "{name}[1]"),
    "slice": ("x[{n}:]", "{name}[1]"),
    "rows": ("m[{n}]", "{name}[1]"),
    "tuple": ("(x[{n}], {n})", "{name}[0] + {name}[1]"),
    "nested": ("((x[{n}], {n}), 3)", "{name}[0][1] + {name}[1]"),
    "namedtuple": ("Pair(x[{n}], {n})", "{name}.second"),
    "arrays": ("(x[{n}:], {n})", "{name}[0][0] + {name}[1]"),
    "record": ("r[{n}]", "{name}.a"),
    "function": ("doubled", "{name}(3)"),
    "dtype": ("np.float32", "{name}(3.5)"),
    "none": ("None", "(1 if {name} is None else 2)"),
    "text": ("'a'", "(1 if {name} == 'a' else 2)"),
    "slice_object": ("slice({n}, 4)", "x[{name}][1]"),
    "local": ("cuda.local.array(3, np.float32)", "{name}[1]"),
    "shared": ("cuda.shared.array(3, np.float32)", "{name}[1]"),
}
WRITTEN = {"local", "shared"}  # elements are given a value in the next statement

# statements around a binding, which is {0}; {1} is another one that takes the name on the other path
ONE_PLACE = {
    "straight": "{0}",
    "first": "if x[0] == 0:\n    {0}\nelse:\n    {1}",
    "second": "if x[0] > 0:\n    {1}\nelse:\n    {0}",
    "elif_": "if x[0] > 0:\n    {1}\nelif x[1] == 1:\n    {0}\nelse:\n    {1}",
    "for_": "for k in range(2):\n    {0}",
    "for_else": "for k in range(n):\n    if x[k] > 9:\n        {1}\n        break\nelse:\n    {0}",
    "while_": "k = 0\nwhile k < 2:\n    {0}\n    k += 1",
    "broken": "while True:\n    {0}\n    if x[1] > 0:\n        break",
    "inner": "if x[0] == 0:\n    if x[1] > 0:\n        {0}\n    else:\n        {1}\nelse:\n    {1}",
    "returns": "if x[0] > 0:\n    return -1\nelse:\n    {0}",
}
# bound only on the paths that are taken: may be told, must run
ONE_PATH = {
    "only_first": "if x[0] == 0:\n    {0}",
    "only_loop": "for k in range(n):\n    {0}",
    "only_else": "if x[0] > 0:\n    x[3] = 1\nelse:\n    {0}",
    "only_while": "k = 0\nwhile k < n:\n    {0}\n    k += 1",
}


def binding(kind: str, number: int, name: str = "v") -> str:
    value = f"{name} = {KINDS[kind][0].format(n=number)}"
    return f"{value}\n{name}[1] = {number + 5}" if kind in WRITTEN else value


def placed(template: str, *bindings: str) -> str:
    lines = []
    for line in template.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        filled = line.strip().format(*bindings) if line.strip() in ("{0}", "{1}") else line.strip()
        lines += [f"{indent}{part}" for part in filled.split("\n")]
    return "\n".join(lines)


def program(kind: str, places: tuple[str, ...], templates: dict[str, str], name: str) -> str:
    body = [placed(templates[p], binding(kind, 1 + i), binding(kind, 2 - i)) for i, p in enumerate(places)]
    body.append(f"return {KINDS[kind][1].format(name='v')}")
    inside = "\n".join(body).replace("\n", "\n    ")
    return f"def {name}(x, m, r, n):\n    {inside}\n"


def programs(kind: str, pairs: list[tuple[str, ...]], templates: dict[str, str]) -> str:
    functions = [program(kind, p, templates, f"f{i}") for i, p in enumerate(pairs)]
    calls = [f"    out[{i}] = f{i}(x, m, r, n)\n" for i in range(len(pairs))]
    return (
        "".join(f"@cuda.jit(device=True)\n{f}" for f in functions) + "def kernel(x, m, r, n, out):\n" + "".join(calls)
    )


class OnTheHost:
    """The part of `cuda` that programs use, for Python."""

    class local:
        @staticmethod
        def array(shape, dtype):
            return np.zeros(shape, dtype)

    shared = local

    @staticmethod
    def jit(device):
        return lambda function: function


def expected(text: str, count: int) -> np.ndarray:
    scope = {"cuda": OnTheHost, "np": np, "doubled": lambda v: v * 2, "Pair": Pair}
    exec(text, scope)
    out = np.zeros(count)
    scope["kernel"](*arguments(), out)
    return out


def arguments() -> tuple:
    r = np.recarray(4, RECORD)
    r["a"] = np.arange(4) + 0.25
    return np.arange(4, dtype=np.float32), np.arange(16, dtype=np.float32).reshape(4, 4), r, 2


def results(text: str, count: int, debug: bool) -> np.ndarray:
    scope = {"cuda": cuda, "np": np, "doubled": doubled, "Pair": Pair}
    exec(text, scope)
    out = np.zeros(count)
    cuda.jit(scope["kernel"], debug=debug, opt=not debug)[1, 1](*arguments(), out)
    return out


def compare(kind: str, templates: dict[str, str], debug: bool, step: int) -> None:
    pairs = list(itertools.product(templates, repeat=2))
    picked = [(p,) for p in templates] + pairs[list(KINDS).index(kind) % step :: step]
    text = programs(kind, picked, templates)
    got, want = results(text, len(picked), debug), expected(text, len(picked))
    assert not [(picked[i], got[i], want[i]) for i in np.flatnonzero(got != want)]


# each kind in one of the two modes, the other one with --all-combinations
MODES = [
    pytest.param(kind, debug, marks=[pytest.mark.exhaustive] if n % 2 == debug else [])
    for n, kind in enumerate(KINDS)
    for debug in (False, True)
]


@pytest.mark.parametrize(("kind", "debug"), MODES)
def test_on_all_paths(device, telling, request, kind, debug):
    """A warning is an error."""
    step = 1 if request.config.getoption("--all-combinations") else 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PortaGPUPerformanceWarning)
        compare(kind, ONE_PLACE, debug, step)


@pytest.mark.parametrize(("kind", "debug"), MODES[::3])
def test_on_the_path_taken(device, kind, debug):
    """A path without a value may be warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(kind, ONE_PATH, debug, 5)
