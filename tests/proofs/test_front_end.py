"""Rules of the front end that rewrite integers while kernels are lowered: constants, powers of two, subscripts."""

from __future__ import annotations

import ast
import itertools
from types import SimpleNamespace

import pytest
import shapes
import z3
from ir_values import Evaluation, bits, overflows, wide
from proof import SPAN, RefutedError, const, prove, prove_rewrite, var

from portagpu.device.ideal_device import IDEAL
from portagpu.frontend.arrays import addressing, bounds, indexing
from portagpu.frontend.core import operators, powers
from portagpu.frontend.core.convert import constant
from portagpu.frontend.core.values import Const
from portagpu.frontend.operations.comparisons import compare
from portagpu.ir import nodes as ir
from portagpu.ir.types import INT, LONG, PYFLOAT, PYINT, PYINT_NARROW

KINDS = (*shapes.INTEGERS, PYINT)
NAMES = [*map(str, shapes.INTEGERS), "Python's"]
COMPARISONS = {
    ast.Lt: lambda x, y: x < y,
    ast.LtE: lambda x, y: x <= y,
    ast.Gt: lambda x, y: x > y,
    ast.GtE: lambda x, y: x >= y,
    ast.Eq: lambda x, y: x == y,
    ast.NotEq: lambda x, y: x != y,
}


class Lowering:
    """As much of a function's state as expressions need."""

    def __init__(self):
        self.span, self.block, self.stable, self.effect = SPAN, [], set(), False
        self.program = SimpleNamespace(
            caps=IDEAL,
            py_float=PYFLOAT,
            index_type=INT,
            shape_type=PYINT_NARROW,
            debug=False,
            bounds=False,
            fast=False,
        )

    def fail(self, message, **details):
        raise ValueError(message)

    def temp(self, expr):
        target = var(f"t{len(self.block)}", expr.type)
        self.block.append(ir.Assign(target, expr, span=SPAN))
        return target


CTX = Lowering()


def numbers(kind):
    low, high = kind.dtype.limits
    return [n for n in (low, -8, -3, -1, 0, 1, 2, 3, 4, 7, 8, 64, 100, high - 1, high) if low <= n <= high]


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_sums_and_products_with_constants(kind):
    x = var("x", kind)
    for op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL):
        for n in numbers(kind):
            c = const(n, kind)
            for a, b in ((x, c), (c, x), (c, const(3, kind))):
                prove_rewrite(shapes.binary(op, a, b), operators.ring(CTX, op, a, b), promised=False)


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[] if k == INT else [pytest.mark.exhaustive], id=str(k)) for k in KINDS]
)
def test_division_by_powers_of_two(kind):
    x = var("x", kind)
    for node, name in ((ast.FloorDiv(), "floordiv"), (ast.Mod(), "mod")):
        for n in numbers(kind):
            if n:
                after = operators.binary(CTX, node, x, Const(n))
                if isinstance(after, ir.Binary):
                    prove_rewrite(shapes.operation(name, x, const(n, kind)), after, promised=False)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_shifts_by_constants(kind):
    x = var("x", kind)
    for node, name in ((ast.LShift(), "shl"), (ast.RShift(), "shr")):
        for n in numbers(kind):
            after = operators.binary(CTX, node, x, Const(n))
            prove_rewrite(shapes.operation(name, x, const(n, kind)), after, promised=False)


def test_python_integers_that_stay_narrow():
    x, y = var("x", PYINT_NARROW), var("y", PYINT_NARROW)
    wide_x = shapes.cast(x, PYINT, False)
    for n in (-(2**31) + 1, -7, -1, 1, 3, 8, 255, 2**31 - 1):
        for node, before in (
            (ast.BitAnd(), lambda b: shapes.binary(ir.BinaryOp.AND, wide_x, b)),
            (ast.FloorDiv(), lambda b: shapes.operation("floordiv", wide_x, b)),
            (ast.Mod(), lambda b: shapes.operation("mod", wide_x, b)),
        ):
            if n > 0 and n & (n - 1) and not isinstance(node, ast.BitAnd):
                continue  # divisions of both widths: their numbers are those of the smaller one
            if n < 0 and not isinstance(node, ast.BitAnd):
                continue
            prove_rewrite(before(const(n, PYINT)), operators.binary(CTX, node, x, Const(n)), promised=False)
    after = operators.binary(CTX, ast.BitAnd(), x, y)
    assert after.type == PYINT_NARROW
    before = shapes.binary(ir.BinaryOp.AND, wide_x, shapes.cast(y, PYINT, False))
    prove_rewrite(before, after, promised=False)


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 11))])
def test_comparisons_are_those_of_numbers(part):
    """Of every two types, and of each type with Python integers inside and outside of it."""
    pairs = itertools.product(shapes.INTEGERS, repeat=2)
    for (a, b), node in itertools.islice(itertools.product(pairs, COMPARISONS), part, None, 11):
        after = compare(CTX, node(), var("x", a), var("y", b))
        if not _of_floats(after):
            _prove_comparison(node, after, wide_var("x", a), wide_var("y", b))
    for kind, node in itertools.islice(itertools.product(shapes.INTEGERS, COMPARISONS), part, None, 11):
        for n in (-(2**70), -1, 0, 1, 127, 128, 255, 256, 300, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 2**64, 2**70):
            number = z3.BitVecVal(n, 128)
            _prove_comparison(node, compare(CTX, node(), var("x", kind), Const(n)), wide_var("x", kind), number)
            _prove_comparison(node, compare(CTX, node(), Const(n), var("x", kind)), number, wide_var("x", kind))


def wide_var(name, kind):
    return wide(z3.BitVec(name, bits(kind)), kind, 128)


def _of_floats(expr):
    return isinstance(expr, ir.Compare) and expr.left.type.dtype.is_float


def _prove_comparison(node, after, x, y):
    got = z3.BoolVal(after.value) if isinstance(after, Const) else Evaluation(promised=False).value(after)
    prove(got == COMPARISONS[node](x, y), (), str(after))


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_constants_wrap_as_numpy_s(kind):
    low, high = kind.dtype.limits
    for n in (low - 1, high + 1, 2**64 + 5, -(2**64) - 5, 2**31, -(2**31) - 1, low, high):
        made = constant(CTX, n, kind, wrap=True)
        assert low <= made.value <= high and (made.value - n) % (high - low + 1) == 0


def test_subscripts_of_32_bits_are_the_lower_half():
    x, y = var("x", PYINT), var("y", LONG)
    small = shapes.cast(var("z", INT), PYINT, False)
    leaves = (x, y, small, const(5, PYINT), const(2**40 + 1, PYINT), const(-1, PYINT))
    ring = (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL)
    for first, second, a, b in itertools.product(ring, ring, leaves, leaves):
        inner = shapes.binary(first, a, b, PYINT)
        before = shapes.binary(second, inner, x, PYINT)
        prove_rewrite(shapes.cast(before, INT), indexing.to_index(CTX, before), promised=False)
    for kind in shapes.INTEGERS:
        prove_rewrite(shapes.cast(var("x", kind), INT), indexing.to_index(CTX, var("x", kind)), promised=False)


def test_strides_in_elements():
    """A multiple of an element's size, divided by it: a shift, or a factor less."""
    for size in (1, 2, 4, 8, 16):
        n = z3.BitVec("n", 32)
        product = z3.Not(overflows(ir.BinaryOp.MUL, n, z3.BitVecVal(size, 32), INT))
        for stride in (var("s", INT), shapes.binary(ir.BinaryOp.MUL, var("m", INT), const(16, INT))):
            evaluation = Evaluation(promised=False)
            after = evaluation.value(addressing._divided(CTX, stride, size))
            before = Evaluation(promised=False)
            known = [product, before.value(stride) == n * size]
            if isinstance(stride, ir.Binary):  # the bytes of a row, which do not overflow
                known.append(z3.Not(overflows(ir.BinaryOp.MUL, z3.BitVec("m", 32), z3.BitVecVal(16, 32), INT)))
            prove(after == n, known, f"stride over {size}")


@pytest.mark.parametrize("kind", shapes.INTEGERS, ids=map(str, shapes.INTEGERS))
def test_checked_subscripts(kind):
    """Subscripts that a check lets pass are inside: -extent <= index < extent."""
    after = bounds._inside(CTX, var("x", kind), kind, var("n", LONG))
    evaluation = Evaluation(promised=False)
    got, n = evaluation.value(after), wide_var("n", LONG)
    x = wide_var("x", kind)
    prove(got == z3.And(-n <= x, x < n), [n >= 0], str(kind))


def test_powers_are_products():
    for kind in (shapes.INTEGERS[0], shapes.INTEGERS[4]):
        for exponent in range(2, 33):
            ctx, x = Lowering(), var("x", kind)
            after = powers.power(ctx, x, Const(exponent), kind)
            evaluation = Evaluation(promised=False)
            evaluation.run(ctx.block)
            meant = term = z3.BitVec("x", 8)
            for _ in range(exponent - 1):
                meant = meant * term
            prove(evaluation.value(after) == meant, (), f"x ** {exponent}")


def test_a_power_of_two_that_is_none_is_refuted(monkeypatch):
    def careless(ctx, modulo, a, b, kind):
        return shapes.binary(ir.BinaryOp.AND, a, const(b.value - 1, kind))

    monkeypatch.setattr(operators, "_floor", careless)
    x = var("x", INT)
    with pytest.raises(RefutedError):
        prove_rewrite(shapes.operation("mod", x, const(3, INT)), operators.binary(CTX, ast.Mod(), x, Const(3)))
