"""Loops around barriers for compilers that allow no barrier after a branch: flags in place of jumps, and of the way in.

    for k in range(n):         gate = true
        if f(k): continue      for k in range(gate ? n : 0):
        if g(k): break             turn = true
        barrier()                  if (f(k)) turn = false
                                   if (turn) { if (g(k)) { turn = false; gate = false; }
                                               if (turn) barrier(); }

`portagpu.passes.barriers.converge` then takes the branches apart. Jumps that threads may take apart stay what they are.

The way into a loop is a branch around its barriers, too. One such compiler copies what follows it, once for each side,
so that it is never done with eight loops in a row. Where there are many, the first turn always comes, behind a flag:

    for k in range(n):         k = 0; turn = k < n
        barrier()              while (true) { if (turn) { barrier(); k += 1; turn = k < n; }  if (!turn) break; }
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from portagpu.ir.analysis.uniform import Marks, Uniformity, jumps
from portagpu.ir.names import GATE, is_gate
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Break,
    Compare,
    CompareOp,
    Constant,
    Expr,
    For,
    If,
    Logical,
    LogicalOp,
    Not,
    Select,
    Stmt,
    Var,
    While,
)
from portagpu.ir.types import BOOLEAN, INT, Scalar
from portagpu.ir.walk import blocks
from portagpu.passes.rewriting import begins

Fresh = Callable[[str], Var]


def without_exits(body: tuple[Stmt, ...], marks: Marks, uniform: Uniformity, fresh: Fresh) -> tuple[Stmt, ...]:
    """The statements with flags in place of the jumps that all threads of a block take in a loop around a barrier."""
    made: list[Stmt] = []
    for statement in body:
        if not marks.has_barrier(statement):
            made.append(statement)
        elif isinstance(statement, If):
            then, orelse = (without_exits(part, marks, uniform, fresh) for part in blocks(statement))
            made.append(replace(statement, then=then, orelse=orelse))
        elif isinstance(statement, For | While):
            inner = without_exits(statement.body, marks, uniform, fresh)
            if jumps(statement.body) and not uniform.leaves_apart(statement):
                made += _flagged(replace(statement, body=inner), fresh)
            else:
                made.append(replace(statement, body=inner))
        else:
            made.append(statement)
    return tuple(made)


def may_be_empty(loop: For | While) -> bool:
    """Whether no compiler sees that a loop has a turn, where no gate stands before it."""
    match loop:
        case For(start=Constant(), stop=Constant()) | While(condition=Constant()):
            return False
        case _:
            return True


def entered(loop: For | While, turn: Var, gate: Var | None) -> tuple[list[Stmt], While]:
    """A loop whose first turn always comes, behind what sets it up; its body asks ``turn``. ``gate``: as of `gated`."""
    span = loop.span
    first: list[Stmt] = []
    following: list[Stmt] = []
    if isinstance(loop, For):
        counter, kind = loop.counter, loop.counter.type
        assert isinstance(kind, Scalar)
        first.append(Assign(counter, loop.start, span=span))
        following.append(Assign(counter, Binary(BinaryOp.ADD, counter, loop.step, kind, span=span), span=span))
        goes_on: Expr = begins(loop)
    else:
        goes_on = loop.condition
    if gate is not None:
        goes_on = Logical(LogicalOp.AND, gate, goes_on, span=span)
        first = [If(gate, tuple(first), (), span=span)] if first else []  # the start may read what the gate guards
    asked = Assign(turn, goes_on, span=span)
    zero = Constant(0, INT, span=span)
    hidden = Compare(CompareOp.EQ, zero, zero, span=span)  # printed so that no compiler knows the last turn
    asked_again = Assign(turn, Logical(LogicalOp.AND, hidden, goes_on, span=span), span=span)
    again = If(turn, (*following, asked_again), (), span=span)
    leave = If(Not(turn, span=span), (Break(span=span),), (), span=span)
    endless = While(Constant(True, BOOLEAN, span=span), (*loop.body, again, leave), span=span)
    return [*first, asked], endless


def _flagged(loop: For | While, fresh: Fresh) -> list[Stmt]:
    gate, turn = fresh(GATE), fresh(GATE)
    start = Assign(gate, Constant(True, BOOLEAN, span=loop.span), span=loop.span)
    body: list[Stmt] = [Assign(turn, Constant(True, BOOLEAN, span=loop.span), span=loop.span)]
    body += _skipping(loop.body, gate, turn)
    held, loop = gated(loop, gate, fresh)
    return [start, *held, replace(loop, body=tuple(body))]


def _skipping(body: tuple[Stmt, ...], gate: Var, turn: Var) -> list[Stmt]:
    """The statements of a turn with its jumps as flags; what follows a jump is skipped."""
    made: list[Stmt] = []
    for position, statement in enumerate(body):
        if not jumps((statement,)):
            made.append(statement)
            continue
        span, rest = statement.span, body[position + 1 :]
        if isinstance(statement, If):
            then, orelse = (tuple(_skipping(part, gate, turn)) for part in blocks(statement))
            made.append(replace(statement, then=then, orelse=orelse))
            lines = _skipping(rest, gate, turn)
            return [*made, If(turn, tuple(lines), (), span=rest[0].span)] if lines else made
        flags = (gate, turn) if isinstance(statement, Break) else (turn,)
        return made + [Assign(flag, Constant(False, BOOLEAN, span=span), span=span) for flag in flags]
    return made


def gated(loop: For | While, gate: Var, fresh: Callable[[str], Var]) -> tuple[list[Assign], For | While]:
    """A loop that goes on while its gate is open, and what must be held before it."""
    if isinstance(loop, While):
        return [], replace(loop, condition=Logical(LogicalOp.AND, gate, loop.condition, span=loop.span))
    stop = loop.stop
    if isinstance(stop, Select) and isinstance(stop.condition, Var) and is_gate(stop.condition.name):
        both = Logical(LogicalOp.AND, gate, stop.condition, span=stop.span)  # asked again before each turn
        return [], replace(loop, stop=replace(stop, condition=both))
    held: list[Assign] = []
    bounds: list[Expr] = []
    for bound in (loop.start, loop.stop, loop.step):
        if not isinstance(bound, Constant):
            target = replace(fresh("bound"), type=bound.type)
            held.append(Assign(target, bound, span=bound.span))
            bound = target
        bounds.append(bound)
    start, stop, step = bounds
    stop = Select(gate, stop, start, stop.type, span=stop.span)
    return held, replace(loop, start=start, stop=stop, step=step)
