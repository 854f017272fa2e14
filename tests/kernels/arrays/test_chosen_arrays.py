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


RECORDS = {
    "packed": np.dtype([("a", "i4"), ("b", "f8")]),
    "aligned": np.dtype([("a", "i4"), ("b", "f8")], align=True),
    "odd": np.dtype([("c", "i1"), ("a", "i4"), ("b", "f4")]),
    "long": np.dtype([("a", "i8"), ("v", "f4", 5), ("b", "f8"), ("c", "i2")]),
}
RECORD_HEAD = """
@cuda.jit
def k(g, o):
    i = cuda.grid(1)
    n = cuda.local.array(3, RECORD)
    n[0] = g[i]
    n[1] = g[(i + 1) % 16]
    n[2] = g[(i + 2) % 16]
"""
RECORD_CHOICES = {
    "exchanged": "r = n[0] if i % 2 else n[1]\ns = n[1] if i % 2 else n[0]\nr.b, s.b = s.b, r.b\n"
    "o[i] = n[0].b * 3 + n[1].b + r.a",
    "one of three": "r = n[i % 3]\nif i % 4 == 1:\n    r = n[1]\nr.a += 5\n"
    "o[i] = n[0].a + n[1].a * 10 + n[2].a * 100 + r.b",
    "copied": "r = n[0] if i % 3 else n[2]\nn[1] = r\nn[1].a += 1\no[i] = n[1].a + r.a * 50 + n[1].b * 1000",
    "in a loop": "for q in range(i % 3):\n    r = n[q] if (q + i) % 2 else n[q + 1]\n    r.b += q + 1\n"
    "o[i] = n[0].b + n[1].b * 30 + n[2].b * 900",
}


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("choice", RECORD_CHOICES)
def test_records(device, choice, record):
    text = RECORD_HEAD + "".join(f"    {line}\n" for line in RECORD_CHOICES[choice].split("\n"))
    dtype = RECORDS[record]
    given = np.zeros(16, dtype)
    given["a"], given["b"] = np.arange(16), np.arange(16) % 7
    found, expected = np.zeros((2, 16))
    define(text, "k", cuda=cuda, RECORD=dtype)[2, 8](given, found)
    stub = SimpleNamespace(
        jit=lambda function: function,
        local=SimpleNamespace(array=lambda size, dtype: np.zeros(size, dtype).view(np.recarray)),
    )
    plain = define(text, "k", cuda=stub, RECORD=dtype)
    for i in range(16):
        stub.grid = lambda axes, i=i: i
        plain(given, expected)
    np.testing.assert_array_equal(found, expected, err_msg=text)
