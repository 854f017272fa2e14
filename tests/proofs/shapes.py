"""Shapes of integer expressions: every operator of the IR on operands of every kind, to a depth of two."""

from __future__ import annotations

import itertools

from proof import SPAN, const, var

from portagpu.dtypes import BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64
from portagpu.ir import nodes as ir
from portagpu.ir.types import BOOLEAN, INT, PYINT, PYINT_NARROW, Pointer, Scalar, Space

INTEGERS = tuple(map(Scalar, (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)))
OPERATORS = tuple(op for op in ir.BinaryOp if op not in (ir.BinaryOp.DIV, ir.BinaryOp.REM))
FUNCTIONS = ("min", "max", "shl", "shr", "floordiv", "mod")


def binary(op, left, right, kind=None):
    return ir.Binary(op, left, right, kind or left.type, span=SPAN)


def operation(name, *args, kind=None):
    return ir.Operation(name, args, kind or args[0].type, span=SPAN)


def cast(operand, kind, cuts=True):
    return ir.Cast(operand, kind, cuts, span=SPAN)


def compare(op, left, right):
    return ir.Compare(op, left, right, span=SPAN)


def select(condition, yes, no):
    return ir.Select(condition, yes, no, yes.type, span=SPAN)


def load(name, kind, index):
    return ir.Load(var(name, Pointer(kind, Space.GLOBAL)), index, kind, span=SPAN)


def one_operator(kind, x, y):
    """Each operator on two operands of a type; shifts by operators are by constants, quotients of unsigned numbers."""
    width = kind.dtype.bits
    for op in OPERATORS:
        if op in (ir.BinaryOp.SHL, ir.BinaryOp.SHR):
            yield from (binary(op, x, const(n, kind)) for n in (1, width - 1))
        else:
            yield binary(op, x, y)
    if kind.dtype.limits[0] == 0:
        yield from (binary(op, x, const(7, kind)) for op in (ir.BinaryOp.DIV, ir.BinaryOp.REM))
    yield ir.Negate(x, kind, span=SPAN)
    yield ir.Invert(x, kind, span=SPAN)
    yield from (operation(name, x, y) for name in FUNCTIONS)
    yield operation("iabs", x)
    yield select(compare(ir.CompareOp.LT, x, y), y, x)


def conversions(x):
    """The number as each other type."""
    return [cast(x, kind) for kind in INTEGERS if kind != x.type]


def ends(kind):
    """Constants at the ends of a type and about zero."""
    low, high = kind.dtype.limits
    return [const(n, kind) for n in dict.fromkeys((low, low + 1, -1, 0, 1, 255, high)) if low <= n <= high]


def singles(kind):
    """Expressions of one operator: of variables, of constants, and of what other types became."""
    x, y = var("x", kind), var("y", kind)
    yield from one_operator(kind, x, y)
    yield from conversions(x)
    for end in ends(kind):
        yield from one_operator(kind, x, end)
        yield from one_operator(kind, end, x)
        yield from conversions(end)
    for op in ir.CompareOp:
        yield compare(op, x, y)
    yield from (operation(name, x, kind=INT) for name in ("popc", "clz", "ffs") if kind.dtype in (INT32, INT64))
    yield operation("brev", x)
    if kind.dtype.size >= 4:
        yield from (operation(name, x, y) for name in ("mul_hi", "hadd", "rhadd"))
    yield operation("as_type", x, kind=_other_sign(kind))


def pairs(kind):
    """Expressions of two operators, the inner one on either side, and with a conversion between them."""
    x, y, z = (var(name, kind) for name in "xyz")
    for inner in one_operator(kind, x, y):
        yield from one_operator(kind, inner, z)
        yield from one_operator(kind, z, inner)
        for wide in conversions(inner):
            yield from (compare(op, wide, var("w", wide.type)) for op in ir.CompareOp)
        yield from conversions(inner)
        yield from (compare(op, inner, z) for op in ir.CompareOp)


def _other_sign(kind):
    index = INTEGERS.index(kind)
    return INTEGERS[(index + 4) % 8]


def widened_comparisons():
    """Comparisons of int64 sums of narrower numbers: those that may become comparisons of 32 bits."""
    for small in (*INTEGERS[:3], *INTEGERS[4:7], BOOLEAN):
        x = var("x", small)
        leaves = [x] if small.dtype is BOOL else [x, *one_operator(small, x, var("y", small))]
        for leaf, op in itertools.product(leaves, (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL)):
            if op is ir.BinaryOp.MUL and leaf is not x:
                continue  # a product of any number of the type is one of x
            for other in (const(3, PYINT), const(2**31 - 1, PYINT), cast(var("z", INTEGERS[0]), PYINT, False)):
                total = binary(op, cast(leaf, PYINT, False), other, PYINT)
                yield compare(ir.CompareOp.LT, total, cast(var("w", INT), PYINT, False))
                yield compare(ir.CompareOp.NE, const(5, PYINT), total)
                yield compare(ir.CompareOp.GE, binary(ir.BinaryOp.SUB, total, const(1, PYINT), PYINT), const(-7, PYINT))


def subscripts():
    """Loads whose subscripts are sums, and have other operators in them."""
    for kind in (INTEGERS[2], INTEGERS[3], PYINT, PYINT_NARROW, INTEGERS[6]):
        x, y = var("x", kind), var("y", kind)
        index = (lambda e: e) if kind in (INT, PYINT_NARROW) else (lambda e: cast(e, INT, False))
        for inner in one_operator(kind, x, y):
            yield load("a", INT, index(inner))
            yield load("a", INT, index(binary(ir.BinaryOp.ADD, inner, const(1, kind), kind)))
            yield load("a", INT, index(select(compare(ir.CompareOp.GT, inner, x), const(1, kind), y)))
            if kind == INT:
                yield load("a", INT, ir.Index(inner, var("n", INT), span=SPAN))
                for name in ("min", "floordiv", "iabs"):
                    yield load("a", INT, operation(name, *(inner, y)[: 1 if name == "iabs" else 2]))
