"""Functions that call themselves: which of them no device could run."""

from __future__ import annotations

import itertools
import linecache

import pytest

from portagpu import cuda, types
from portagpu.errors import KernelTypeError, UnsupportedError, UnsupportedSyntaxError

pytestmark = pytest.mark.one_device

ENDLESS = [
    "return f(n)",
    "return 1 + f(n - 1)",
    "m = f(n)\nreturn 1",
    "if f(n) > 1:\n    return 2\nreturn 1",
    "if n > 1:\n    return f(1)\nelse:\n    return f(2)",
    "if n > 1:\n    n = 2\nreturn f(n)",
    "for k in range(n):\n    n += k\nreturn f(n)",
    "return f(n) if f(n) > 1 else 1",
    "return f(n) > 1 and n > 2",
]
NESTED = ["if n < 1:\n    return None\nreturn n, f(n - 1)", "return (1, (2, f(n))) if n > 1 else None"]
ENDING = [
    "if n < 2:\n    return n\nreturn f(n - 1) + f(n - 2)",
    "return f(n - 1) if n > 0 else n",
    "return n > 1 and f(n - 1)",
    "while n > 1:\n    return n\nreturn f(n - 1)",
    "if n > 1:\n    raise ValueError\nreturn f(n - 1)",
    "if n < 2:\n    return 0\nm = (f(n - 1), 2)\nreturn m[0]",
    "for k in range(n):\n    n += f(k)\nreturn n",
]


_numbers = itertools.count()


def _kernel(body):
    """A function for a kernel that calls a function with this body."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = f"@cuda.jit(device=True)\ndef f(n):\n{lines}\n\ndef kernel(x):\n    f(x[0])\n"
    name = f"<recursion {next(_numbers)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    names = {"cuda": cuda}
    exec(compile(text, name, "exec"), names)
    return names["kernel"]


KINDS = [*((b, "every path", "runaway recursion") for b in ENDLESS), *((b, "no type", "converge") for b in NESTED)]


@pytest.mark.parametrize(("body", "words", "original"), KINDS, ids=[b for b, _, _ in KINDS])
def test_a_mistake_is_told_at_once(body, words, original):
    with pytest.raises(KernelTypeError, match=f"`f` calls itself .*{words}") as caught:
        cuda.jit(types.void(types.int64[:]))(_kernel(body))
    assert not isinstance(caught.value, UnsupportedError)
    assert original in str(caught.value)


@pytest.mark.parametrize("body", ENDING)
def test_other_recursion_is_an_error_of_the_launch(device, body):
    kernel = cuda.jit(types.void(types.int64[:]))(_kernel(body))
    with pytest.raises(UnsupportedSyntaxError, match="`f` calls itself"):
        kernel[1, 1](cuda.device_array(2, "int64"))
