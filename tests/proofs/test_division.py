"""Division as the proofs take it: Python's quotient and remainder, and the facts that stand for C's quotient.

z3 decides these with its own division of 8 bits, and of 32 where 8-bit numbers are divided as C divides them. No fact
depends on the width, so that wider types rest on the same statements.
"""

from __future__ import annotations

import pytest
import shapes
import z3
from c_values import quotient, quotient_fact
from ir_values import bits, floor_division, signed, wide

INT8, UINT8 = shapes.INTEGERS[0], shapes.INTEGERS[4]


def divided(x, y, is_signed):
    """z3's own quotient, which is C's."""
    return x / y if is_signed else z3.UDiv(x, y)


def with_quotients(term, width, is_signed):
    """A term in which C's quotient is no unknown function."""
    x, y = z3.Var(0, z3.BitVecSort(width)), z3.Var(1, z3.BitVecSort(width))
    function = quotient(z3.BitVec("x", width), z3.BitVec("y", width), is_signed).decl()
    return z3.substitute_funs(term, (function, divided(x, y, is_signed)))


def decided(goal, *assumptions):
    solver = z3.SolverFor("QF_BV")
    solver.add(*assumptions, z3.Not(goal))
    return solver.check() == z3.unsat


@pytest.mark.parametrize("is_signed", [True, False])
def test_facts_of_quotients(is_signed):
    """The facts hold of C's quotient, and of no other number."""
    x, y, other = z3.BitVecs("x y other", 8)
    assert decided(quotient_fact(divided(x, y, is_signed), x, y, is_signed))
    defined = z3.And(y != 0, z3.Not(z3.And(is_signed, x == -128, y == -1)))
    assert decided(other == divided(x, y, is_signed), defined, quotient_fact(other, x, y, is_signed))


@pytest.mark.parametrize("kind", [pytest.param(INT8, id="int8", marks=pytest.mark.thorough), UINT8], ids=str)
def test_python_s_division(kind):
    """x == quotient * y + rest, with a rest between 0 and y; a quotient fits but for the smallest number by -1."""
    x, y = z3.BitVecs("x y", 8)
    is_signed = signed(kind)
    q, r = (with_quotients(part, 32, is_signed or bits(kind) < 32) for part in floor_division(x, y, kind))
    wide_x, wide_y, wide_q, wide_r = (wide(part, kind, 18) for part in (x, y, q, r))
    between = z3.If(wide_y > 0, z3.And(wide_r >= 0, wide_r < wide_y), z3.And(wide_r <= 0, wide_r > wide_y))
    leaves = z3.And(is_signed, x == -128, y == -1)
    assert decided(z3.And(wide_x == wide_q * wide_y + wide_r, between), y != 0, z3.Not(leaves))
    assert decided(z3.And(q == x, r == 0), leaves) if is_signed else True
    assert decided(z3.And(q == 0, r == 0), y == 0)
