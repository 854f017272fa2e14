"""Local arrays that threads choose between, by names or by branches: one vectoriser reads other elements."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.programs import define

from portagpu import cuda

HEAD = """
@cuda.jit(device=True)
def at(c, k):
    return c[k]

@cuda.jit
def k(x, o):
    i = cuda.grid(1)
    a = cuda.local.array(6, {dtype})
    b = cuda.local.array(6, {dtype})
    for q in range(6):
        a[q] = q + i % 5
        b[q] = q * 10
"""
CHOICES = {
    "swapped": "if x[i] > 1:\n    a, b = b, a\no[i] = a[1] * 3 + b[2] + a[i % 6]",
    "swapped in a loop": "for m in range(i % 3):\n    a, b = b, a\no[i] = a[1] * 3 + b[2] + a[i % 6]",
    "a name": "c = a if x[i] > 1 else b\no[i] = c[2] + c[i % 4]",
    "a name that is written": "c = a if x[i] > 1 else b\nc[2] = 7\nc[i % 4] += 1\no[i] = a[2] + b[2] * 3 + c[3]",
    "a name for all": "c = a if x[0] > 1 else b\no[i] = c[2] + c[i % 4]",
    "parts": "if x[i] > 1:\n    c = a[1:]\nelse:\n    c = a[2:]\no[i] = c[1] + c[i % 3]",
    "parts of a length": "c = a[i % 3:]\nc[1] = 9\nc[i % 2] += 5\no[i] = a[0] + 2 * a[1] + 3 * a[2]",
    "smaller parts": "c = a\nfor m in range(x[i]):\n    c = c[1:]\no[i] = c[0] + c[i % 3]",
    "values": "if x[i] > 1:\n    v = a[i % 6]\nelse:\n    v = b[i % 6]\no[i] = v",
    "values at two places": "if x[i] > 1:\n    v = a[i % 6]\nelse:\n    v = b[i % 5]\no[i] = v + a[x[i]]",
    "values of three": "if x[i] > 2:\n    v = a[i % 6]\nelif x[i] > 1:\n    v = b[i % 6]\nelse:\n    v = a[x[i]]\n"
    "o[i] = v",
    "a value replaced": "v = b[i % 6]\nif x[i] > 1:\n    v = a[i % 6]\no[i] = v + 1",
    "a value replaced in a loop": "v = b[i % 6]\nfor q in range(3):\n    if x[i] == q:\n        v = a[i % 6]\n"
    "o[i] = v + 1",
    "an expression": "o[i] = a[i % 6] if x[i] > 1 else b[i % 6]",
    "selp": "o[i] = cuda.selp(x[i] > 1, a[i % 6], b[i % 6])",
    "calls": "if x[i] > 1:\n    v = at(a, i % 6)\nelse:\n    v = at(b, i % 6)\no[i] = v",
    "a call": "c = a if x[i] > 1 else b\no[i] = at(c, i % 6)",
    "the end of a loop": "v = b[i % 6]\nfor q in range(4):\n    if q == x[i]:\n        v = a[i % 6]\n        break\n"
    "o[i] = v",
    "stores": "if x[i] > 1:\n    a[i % 6] = i % 9\nelse:\n    b[i % 6] = i % 9\no[i] = a[i % 6] + b[x[i]] + b[i % 6]",
    "sums": "for q in range(3):\n    if (x[i] + q) % 3 > 1:\n        a[(i + q) % 6] += 2\n    else:\n"
    "        b[(i + q) % 6] += 3\no[i] = a[i % 6] + b[x[i]] + b[i % 6]",
}
DTYPES = [np.int32, np.float64, np.int8]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("choice", CHOICES)
def test_choices(device, choice, dtype):
    lines = "".join(f"    {line}\n" for line in CHOICES[choice].split("\n"))
    text = HEAD.format(dtype=f"np.{dtype.__name__}") + lines
    x = np.arange(64, dtype=np.int64) * 7 % 4
    found, expected = np.zeros((2, x.size), dtype)
    define(text, "k", cuda=cuda)[4, 16](x, found)
    stub = SimpleNamespace(
        jit=lambda function=None, **options: function or (lambda f: f),
        local=SimpleNamespace(array=np.zeros),
        selp=lambda condition, yes, no: yes if condition else no,
    )
    plain = define(text, "k", cuda=stub)
    for i in range(x.size):
        stub.grid = lambda axes, i=i: i
        plain([int(value) for value in x], expected)
    np.testing.assert_array_equal(found, expected, err_msg=text)
