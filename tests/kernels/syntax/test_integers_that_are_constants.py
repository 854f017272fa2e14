"""Operators of integers of all pairs of dtypes: constants, which are folded, and variables give NumPy's results."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelTypeError, KernelValueError

_DTYPES = "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()
_OPERATORS = "+ - * // % & | ^ << >> < <= > >= == !=".split()
_OF_BITS = "& | ^ << >>".split()
_FORMS = [(a, b) for a in ("A", "x[0]") for b in ("B", "y[0]")]


def _kernel(lines, a, b):
    """A kernel of lines that has two captured constants."""
    names = {"A": a, "B": b, "np": np}
    exec("def kernel(x, y, r):\n" + "\n".join(f"    {line}" for line in lines), names)
    return cuda.jit(names["kernel"])


def _is_mixed(*dtypes):
    """Whether NumPy promotes two dtypes to float64."""
    return "uint64" in dtypes and any(dtype.startswith("int") for dtype in dtypes)


def _values(first, second):
    """Operands whose results are exact in float64 where both dtypes meet there."""
    if _is_mixed(first, second):
        return [(np.dtype(first).type(77), np.dtype(second).type(5))]
    a, b = np.iinfo(first), np.iinfo(second)
    return [(np.dtype(first).type(a.max), np.dtype(second).type(3)), (np.dtype(first).type(a.min), b.dtype.type(b.max))]


@pytest.mark.one_device
@pytest.mark.in_turn(12)
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize(("first", "second"), list(itertools.product(_DTYPES, _DTYPES)))
def test_folded_and_computed(device, first, second):
    operators = [op for op in _OPERATORS if not (_is_mixed(first, second) and op in _OF_BITS)]
    expressions = [f"{a} {op} {b}" for op in operators for a, b in _FORMS]
    lines = [f"r[{n}] = np.int64({expression})" for n, expression in enumerate(expressions)]
    for a, b in _values(first, second):
        expected = [int(eval(e, {"A": a, "B": b, "x": [a], "y": [b]})) for e in expressions]
        expected = np.array([(x + 2**63) % 2**64 - 2**63 for x in expected])
        found = np.zeros(len(lines), np.int64)
        _kernel(lines, a, b)[1, 1](np.array([a]), np.array([b]), found)
        differing = [(expressions[n], found[n], expected[n]) for n in np.flatnonzero(found != expected)]
        assert not differing, (a, b, differing)


@pytest.mark.one_device
@pytest.mark.parametrize("op", _OF_BITS)
def test_bits_of_mixed_signs_are_refused(device, op):
    """As by NumPy, whichever operand is a constant."""
    for a, b in ((np.int64(1), np.uint64(2)), (np.uint64(1), np.int64(2)), (np.int8(1), np.uint64(2))):
        with pytest.raises(TypeError):
            eval(f"a {op} b")
        for form in _FORMS:
            kernel = _kernel([f"r[0] = {form[0]} {op} {form[1]}"], a, b)
            with pytest.raises(KernelTypeError, match="no integer type holds both"):
                kernel[1, 1](np.array([a]), np.array([b]), np.zeros(1, np.int64))


_EDGES = [0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]


@pytest.mark.one_device
@pytest.mark.parametrize("first", ["int64", "uint64"])
def test_comparisons_are_exact(device, first):
    """int64 and uint64 are compared as integers, beyond float64's 53 bits, too."""
    signed = [x for x in _EDGES if x < 2**63] + [-1, -(2**63)]
    lists = (signed, _EDGES) if first == "int64" else (_EDGES, signed)
    dtypes = (np.int64, np.uint64) if first == "int64" else (np.uint64, np.int64)
    x, y = (np.array(v, dtype) for v, dtype in zip(zip(*itertools.product(*lists), strict=True), dtypes, strict=True))
    names = {"cuda": cuda}
    comparisons = ["<", "<=", ">", ">=", "==", "!="]
    lines = ["i = cuda.grid(1)", "if i < x.size:"]
    lines += [f"    r[i, {n}] = x[i] {op} y[i]" for n, op in enumerate(comparisons)]
    exec("def kernel(x, y, r):\n" + "\n".join(f"    {line}" for line in lines), names)
    found = np.zeros((x.size, len(comparisons)), bool)
    cuda.jit(names["kernel"])[1, 128](x, y, found)
    for n, op in enumerate(comparisons):
        expected = [eval(f"{int(a)} {op} {int(b)}") for a, b in zip(x, y, strict=True)]
        np.testing.assert_array_equal(found[:, n], expected, op)


@pytest.mark.one_device
@pytest.mark.parametrize("number", [-(2**63), -1, 300, 2**31, 2**63 - 1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("dtype", _DTYPES)
def test_the_hint_for_a_constant_that_does_not_fit_names_a_dtype_that_holds_it(device, dtype, number):
    if np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        return
    x = np.zeros(1, dtype)
    with pytest.raises(KernelValueError) as caught:
        _kernel([f"r[0] = x[0] + {number}"], 0, 0)[1, 1](x, x, np.zeros(1, np.int64))
    wide = re.search(r"e\.g\. np\.(\w+)\(x\)", str(caught.value)).group(1)
    found = np.zeros(1, wide)
    _kernel([f"r[0] = np.{wide}(x[0]) + {number}"], 0, 0)[1, 1](x, x, found)
    assert found[0] == number
