"""Ends of loops: the counter's next value is defined, and the loop ends where Python's range does."""

from __future__ import annotations

import itertools

import pytest
import shapes
import z3
from c_values import CValue, Machine, Parser
from ir_values import bits, signed, wide
from proof import SPAN, RefutedError, const, executed_heads, function_of, prove, var

from portagpu.backends.c_family import emitter
from portagpu.backends.c_family.c_types import c_type
from portagpu.ir import nodes as ir
from portagpu.ir.types import INT, LONG

KINDS = (INT, LONG, shapes.INTEGERS[6], shapes.INTEGERS[7])


def loops(kind):
    x, y, s = (var(n, kind) for n in "xys")
    small = shapes.binary(ir.BinaryOp.AND, y, const(1023, kind))
    steps = [const(n, kind) for n in (1, 2, 7)] + [s, shapes.binary(ir.BinaryOp.AND, s, const(15, kind))]
    steps += [const(n, kind) for n in (-1, -3)] if signed(kind) else []
    for stop, step in itertools.product((y, small), steps):
        sign = step.value < 0 if isinstance(step, ir.Constant) else None
        yield ir.For(var("i", kind), x, stop, step, sign, (), span=SPAN)


def prove_step(loop):
    """In each turn the next value is defined, and goes on as Python's range goes on."""
    kind = loop.counter.type
    names = [("x", kind), ("y", kind), ("s", kind)]
    _, test, advance = executed_heads(function_of([loop], names))
    machine = Machine()
    machine.names = {n: CValue(c_type(kind), z3.BitVec(n, bits(kind))) for n in ("x", "y", "s", "i")}
    counter = wide(machine.names["i"].term, kind, bits(kind) + 2)
    stop, step = (
        wide(Machine(names=dict(machine.names)).value(Parser(text).expression()).term, kind, bits(kind) + 2)
        for text in (shown(loop.stop), shown(loop.step))
    )
    runs = z3.If(step > 0, counter < stop, counter > stop)
    known = [step != 0]
    condition = machine.truth(Parser(test).expression())
    prove(condition == runs, known, test)
    machine.execute([Parser(advance).simple()])
    for fault, where in machine.faults:
        prove(z3.Not(where), [*known, runs], f"{fault} in {advance}")
    after = wide(machine.names["i"].term, kind, bits(kind) + 2)
    goes_on = z3.If(step > 0, counter + step < stop, counter + step > stop)
    ends = machine.truth(Parser(test).expression()) == goes_on
    for way in (step > 0, step < 0):  # by sign: z3 decides neither of both at once for 64 bits
        prove(ends, [*known, runs, way], advance)
        prove(z3.Implies(goes_on, after == counter + step), [*known, runs, way], advance)


def shown(expr):
    if isinstance(expr, ir.Constant):
        return f"({c_type(expr.type)})({expr.value})"
    return expr.name if isinstance(expr, ir.Var) else f"({expr.left.name} & {expr.right.value})"


@pytest.mark.parametrize(
    "kind", [pytest.param(k, id=str(k), marks=[] if k == KINDS[2] else [pytest.mark.exhaustive]) for k in KINDS]
)
def test_a_step_beyond_the_end(kind):
    for loop in loops(kind):
        prove_step(loop)


def test_a_counter_that_is_only_added_to_is_refuted(monkeypatch):
    monkeypatch.setattr(emitter, "may_pass_end", lambda facts, loop: False)
    with pytest.raises(RefutedError):
        for loop in loops(INT):
            prove_step(loop)
