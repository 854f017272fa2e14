"""Returns before a barrier: flags in their place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from portagpu.ir.analysis.uniform import Marks, Uniformity
from portagpu.ir.nodes import Assign, Break, Constant, For, If, Not, Return, Stmt, Var, While
from portagpu.ir.types import BOOLEAN
from portagpu.ir.walk import blocks, expressions


def leaves_early(body: tuple[Stmt, ...], marks: Marks, uniform: Uniformity, *, apart: bool) -> bool:
    """Whether a return comes before a barrier; if ``apart``, one that threads may take apart."""

    def visit(block: tuple[Stmt, ...], divergent: bool) -> tuple[bool, bool]:
        """(a divergent return was seen, a barrier follows one)."""
        seen = False
        for statement in block:
            if seen and marks.has_barrier(statement):
                return True, True
            if isinstance(statement, Return):
                return divergent or seen, False
            inner = divergent
            if isinstance(statement, If):
                inner = divergent or not uniform.is_uniform(statement.condition)
            elif isinstance(statement, For | While):
                inner = divergent or not all(map(uniform.is_uniform, expressions(statement)))
            earlier = False  # a branch that is taken apart runs before its else
            for part in blocks(statement):
                left, problem = visit(part, inner)
                waits = marks.has_barrier(*part)
                if problem or (earlier and waits) or (left and waits and isinstance(statement, For | While)):
                    return True, True
                earlier = earlier or left
            seen = seen or earlier
        return seen, False

    return visit(body, not apart)[1]


def divides(statement: Stmt, marks: Marks, uniform: Uniformity) -> bool:
    """Whether only some threads of a block may take a return in a statement."""
    leaving = [part for part in blocks(statement) if marks.has_return(*part)]
    if leaving and not all(map(uniform.is_uniform, expressions(statement))):
        return True
    return any(divides(s, marks, uniform) for part in leaving for s in part if marks.has_return(s))


def strip(
    body: tuple[Stmt, ...],
    flags: tuple[Var, ...],
    marks: Marks,
    results: Callable[[], tuple[Var, ...]],
    *,
    looped: bool = False,
) -> list[Stmt]:
    """Statements without a barrier, with returns that put the flags down and skip the rest.

    The last of the ``flags`` is down as soon as a thread has left; ``results`` names what takes returned values.
    """
    made: list[Stmt] = []
    for position, statement in enumerate(body):
        if not marks.has_return(statement):
            made.append(statement)
            continue
        span, rest = statement.span, body[position + 1 :]
        match statement:
            case Return():
                return made + _leave(statement, flags, results, looped)
            case If():
                then, orelse = (tuple(strip(p, flags, marks, results, looped=looped)) for p in blocks(statement))
                made.append(replace(statement, then=then, orelse=orelse))
            case For() | While():
                inner = strip(statement.body, flags, marks, results, looped=True)
                made.append(replace(statement, body=tuple(inner)))
                if looped:
                    made.append(If(Not(flags[-1], span=span), (Break(span=span),), (), span=span))
            case _:
                raise AssertionError(statement)
        lines = strip(rest, flags, marks, results, looped=looped)
        if looped or not lines:
            return made + lines
        return [*made, If(flags[-1], tuple(lines), (), span=rest[0].span)]
    return made


def _leave(
    statement: Return, flags: tuple[Var, ...], results: Callable[[], tuple[Var, ...]], looped: bool
) -> list[Stmt]:
    span = statement.span
    made: list[Stmt] = []
    if statement.values:
        made += [Assign(r, v, span=span) for r, v in zip(results(), statement.values, strict=True)]
    made += [Assign(flag, Constant(False, BOOLEAN, span=span), span=span) for flag in flags]
    return [*made, Break(span=span)] if looped else made
