"""Helpers of passes that replace statements and loops, or hand something of the kernel's down to functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from portagpu.ir.nodes import (
    CallFunction,
    Compare,
    CompareOp,
    Constant,
    Expr,
    For,
    If,
    Operation,
    Select,
    Stmt,
    Var,
    While,
)
from portagpu.ir.program import Function, Parameter, Program
from portagpu.ir.types import BOOLEAN, Scalar
from portagpu.ir.walk import calls_in, named_nodes, rebuilt

Change = Callable[[Stmt], Iterable[Stmt]]


def functions_of(program: Program) -> tuple[Function, ...]:
    """All functions, the kernel last."""
    return (*program.functions, program.kernel)


def operations(function: Function) -> Iterator[Operation]:
    """All named operations of a function."""
    return (node for node in named_nodes(function.body) if isinstance(node, Operation))


def replaced(
    body: tuple[Stmt, ...], change: Change, operand: Callable[[Expr], Expr] = lambda expr: expr
) -> tuple[Stmt, ...]:
    """The statements with each one that holds no others replaced by what ``change`` makes of it.

    ``operand`` changes the expressions of each statement before: values, conditions, ranges of loops.
    """
    made: list[Stmt] = []
    for statement in body:
        match statement := rebuilt(statement, operand):
            case If():
                then, orelse = (replaced(part, change, operand) for part in (statement.then, statement.orelse))
                made.append(replace(statement, then=then, orelse=orelse))
            case For() | While():
                made.append(replace(statement, body=replaced(statement.body, change, operand)))
            case _:
                made += change(statement)
    return tuple(made)


def with_bodies(program: Program, change: Change) -> Program:
    """The program with `replaced` statements in all its functions."""

    def changed(function: Function) -> Function:
        return replace(function, body=replaced(function.body, change))

    return replace(program, kernel=changed(program.kernel), functions=tuple(map(changed, program.functions)))


def handed_down(program: Program, parameters: tuple[Parameter, ...], needs: Callable[[Function], bool]) -> Program:
    """The program with parameters for functions that need something of the kernel's, and for those that call such."""
    needing: set[str] = set()
    functions: list[Function] = []
    for function in program.functions:  # callees come first
        calls_one = calls_one_of(function, needing)
        if calls_one:
            function = _with_arguments(function, needing, parameters)
        if calls_one or needs(function):
            needing.add(function.name)
            function = replace(function, parameters=(*function.parameters, *parameters))
        functions.append(function)
    kernel = program.kernel
    if calls_one_of(kernel, needing):
        kernel = _with_arguments(kernel, needing, parameters)
    return replace(program, kernel=kernel, functions=tuple(functions))


def calls_one_of(function: Function, names: set[str]) -> bool:
    """Whether a function calls any of these."""
    return any(call.function in names for call in calls_in(function.body))


def _with_arguments(function: Function, needing: set[str], parameters: tuple[Parameter, ...]) -> Function:
    """The function with the parameters passed on in calls of functions that need them."""

    def extended(expr: Expr) -> Expr:
        expr = rebuilt(expr, extended)
        if isinstance(expr, CallFunction) and expr.function in needing:
            passed = tuple(Var(p.name, p.type, span=expr.span) for p in parameters)
            return replace(expr, args=(*expr.args, *passed))
        return expr

    return replace(function, body=replaced(function.body, lambda statement: (statement,), extended))


def begins(loop: For) -> Expr:
    """Condition of an iteration, for the counter's present value."""
    counter, stop = loop.counter, loop.stop
    up, down = (Compare(op, counter, stop, span=loop.span) for op in (CompareOp.LT, CompareOp.GT))
    return by_direction(loop, up, down)


def by_direction(loop: For, up: Expr, down: Expr) -> Expr:
    """One of two conditions, by the sign of the step."""
    if loop.descending is not None:
        return down if loop.descending else up
    assert isinstance(loop.step.type, Scalar)
    rising = Compare(CompareOp.GT, loop.step, Constant(0, loop.step.type, span=loop.span), span=loop.span)
    return Select(rising, up, down, BOOLEAN, span=loop.span)
