"""Every expression inside every other one, in every place of a statement: generated programs, run by Python, too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device

# expressions with one inside, {e}; each of them is a number
EXPRESSIONS = {
    "condition": "({e} if x[i] > 1 else n)",
    "chosen_by": "(n if {e} > 2 else 5)",
    "same": "(v if {e} < 3 else v)",
    "chain": "(1 if 0 <= {e} < 4 else 2)",
    "chain_of_three": "(1 if 0 < n <= {e} != 7 else 2)",
    "and": "(1 if x[i] > 0 and {e} > 1 else 3)",
    "or": "(1 if x[i] > 9 or {e} > 1 else 3)",
    "not": "(1 if not {e} > 2 else 3)",
    "walrus": "((w := {e}) + w)",
    "call": "twice({e})",
    "call_twice": "added({e}, b=x[i])",
    "tuple": "({e}, n)[0]",
    "tuple_of": "(n, {e}, 4)[1]",
    "choice_of_tuples": "(({e}, 1) if 0 < x[i] < 3 else (2, n))[0]",
    "choice_of_arrays": "(x[1:] if 0 < {e} < 3 else x)[0]",
    "subscript": "x[int({e}) % 4]",
    "slice": "x[int({e}) % 3:][1]",
    "size": "x[int({e}) % 3:].size",
    "operand": "({e} - n * 2)",
    "in": "(1 if {e} in (1, 2, n) else 4)",
    "max": "max({e}, x[i], 2)",
    "abs": "abs({e} - 3)",
    "lambda": "(lambda q: q + {e})(2)",
    "minus": "(-({e}))",
}
LEAVES = ["x[i]", "n", "v"]
# statements with an expression; the result is r
PLACES = {
    "assigned": "r = {e}",
    "if_": "if {e} > 2:\n    r = 1\nelse:\n    r = 2",
    "while_": "while r < 3 and {e} > -50:\n    r += 1",
    "elif_": "if x[i] > 50:\n    r = 1\nelif {e} > 1:\n    r = 3",
    "augmented": "r += {e}",
    "subscript": "o[i, int({e}) % 3] = 7",
    "augmented_subscript": "o[i, int({e}) % 3] += {e}",
    "range_": "for k in range(int({e}) % 3, 5, 1 + int({e}) % 2):\n    r = r * 2 + k",
    "unpacked": "a, r = n, {e}\nr += a",
    "starred": "a, *b = n, {e}, 3\nr = a + b[0] + b[1]",
    "returned": "r = returned(x, i, n, v, {e})",
    "keyword": "r = added(1, b={e})",
    "raised": "if n > 90:\n    raise ValueError({e})\nr = 1",
    "annotated": "r: float = {e}",
    "asserted": "assert {e} > -1000",
}


def twice(q):
    return q * 2


def added(a, b=1):
    return a + b


def returned(x, i, n, v, q):
    return q if 0 < x[i] <= 2 else (q + 1 if n > q else v)


ON_DEVICE = {f.__name__: cuda.jit(device=True)(f) for f in (twice, added, returned)}
ON_HOST = {f.__name__: f for f in (twice, added, returned)}


def expressions() -> list[str]:
    pairs = itertools.product(EXPRESSIONS, repeat=2)
    return [
        EXPRESSIONS[outer].format(e=EXPRESSIONS[inner].format(e=LEAVES[k % len(LEAVES)]))
        for k, (outer, inner) in enumerate(pairs)
        if "w :=" not in EXPRESSIONS[inner] or outer != "lambda"  # a walrus there binds the lambda's name
    ]


def program(statements: list[str]) -> str:
    lines = ["def kernel(x, o, results, n, v):", "    i = 1"]
    for k, statement in enumerate(statements):
        body = "\n".join(["r = 0", *statement.split("\n"), f"results[{k}] = r"])
        lines += [f"    {line}" for line in body.split("\n")]
    return "\n".join(lines) + "\n"


def run(statements: list[str]) -> list[tuple[str, float, float]]:
    """Statements of which the kernel and Python differ."""
    text, outputs = program(statements), []
    for names in (ON_HOST, ON_DEVICE):
        scope = dict(names)
        exec(text, scope)
        function = scope["kernel"]
        o, results = np.zeros((4, 3)), np.zeros(len(statements))
        arguments = np.array([0.5, 2.0, 3.0, 1.0]), o, results, 3, 1.5
        (function if names is ON_HOST else cuda.jit(function)[1, 1])(*arguments)
        outputs.append((o, results))
    (o, want), (other, got) = outputs
    problems = [(statements[k], got[k], want[k]) for k in np.flatnonzero(~np.isclose(got, want, rtol=1e-12))]
    return problems + ([] if np.allclose(o, other) else [("o", other, o)])


@pytest.mark.parametrize("place", PLACES)
def test_expressions_in_places(device, request, place):
    every = 1 if request.config.getoption("--all-combinations") else 24
    found = [PLACES[place].format(e=e) for e in expressions()[list(PLACES).index(place) % every :: every]]
    assert not run(found)
