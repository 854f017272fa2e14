"""Pass: loops whose step has one sign say which way they go.

A loop whose end is asked for both ways is not unrolled by one GPU compiler, and takes half as long again.
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.ir.analysis.ranges import Ranges
from portagpu.ir.nodes import For, If, Stmt, While
from portagpu.ir.program import Function
from portagpu.ir.walk import all_statements


def directed(function: Function) -> Function:
    """The function, in which loops whose step has one sign, whatever its value, say which way they go."""
    if not any(isinstance(s, For) and s.descending is None for s in all_statements(function.body)):
        return function
    ranges = Ranges(function, wraps=True)

    def visit(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map(one, body))

    def one(statement: Stmt) -> Stmt:
        match statement:
            case If():
                return replace(statement, then=visit(statement.then), orelse=visit(statement.orelse))
            case While():
                return replace(statement, body=visit(statement.body))
            case For():
                step, descending = ranges.of(statement.step), statement.descending
                if descending is None and (step.is_positive or step.is_negative):
                    descending = step.is_negative
                return replace(statement, descending=descending, body=visit(statement.body))
            case _:
                return statement

    return replace(function, body=visit(function.body))
