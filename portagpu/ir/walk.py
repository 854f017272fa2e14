"""Traversals of the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from operator import attrgetter, is_
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

from portagpu.ir.nodes import (
    Assign,
    Binary,
    Break,
    CallFunction,
    Cast,
    Compare,
    Constant,
    Continue,
    Evaluate,
    Expr,
    For,
    If,
    Index,
    Instruction,
    Invert,
    Lane,
    Load,
    Logical,
    MakeVector,
    Member,
    Negate,
    Not,
    Offset,
    Operation,
    Print,
    Return,
    Select,
    Stmt,
    Store,
    Var,
    VectorLoad,
    VectorStore,
    While,
)
from portagpu.ir.types import Type


def unreachable(node: NoReturn) -> NoReturn:
    """The end of a match over all nodes: type checkers see whether one is missing."""
    raise AssertionError(f"unknown node {node!r}")


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct sub-expressions."""
    kind = type(expr)
    return () if kind in _LEAVES else _CHILDREN[kind](expr)


_LEAVES = frozenset({Constant, Var})
# of all others: a table, since compiling asks millions of times, and trying all cases takes several times as long
_CHILDREN: dict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {
    **dict.fromkeys((Binary, Compare, Logical), attrgetter("left", "right")),
    **dict.fromkeys((Negate, Invert, Not, Cast, Lane, Member), lambda expr: (expr.operand,)),
    Select: attrgetter("condition", "yes", "no"),
    Index: attrgetter("operand", "extent"),
    **dict.fromkeys((Load, VectorLoad, Offset), attrgetter("base", "index")),
    MakeVector: attrgetter("items"),
    **dict.fromkeys((Operation, CallFunction), attrgetter("args")),
}


def rebuilt(node: Any, change: Callable[[Expr], Expr]) -> Any:
    """A node with its direct sub-expressions changed; the node itself where none is. Statements inside stay."""
    made: dict[str, Any] = {}
    kind: Any = type(node)
    for name, is_tuple in _operand_fields(kind):
        before = getattr(node, name)
        if is_tuple:
            after: Any = tuple(map(change, before))
            is_same = all(map(is_, after, before))
        else:
            after = change(before)
            is_same = after is before
        if not is_same:
            made[name] = after
    return replace(node, **made) if made else node


@cache
def _operand_fields(kind: Any) -> tuple[tuple[str, bool], ...]:
    """Fields of a node's class that hold an expression, or a tuple of expressions (true)."""
    found: list[tuple[str, bool]] = []
    for name, hint in get_type_hints(kind).items():
        is_tuple = get_origin(hint) is tuple
        if is_tuple:
            hint = get_args(hint)[0]
        if hint == Expr or hint in get_args(Expr):
            found.append((name, is_tuple))
    return tuple(found)


def named_nodes(body: tuple[Stmt, ...]) -> Iterator[Operation | Instruction]:
    """All named operations and instructions of a function's statements, those inside others too."""
    for statement in all_statements(body):
        if isinstance(statement, Instruction):
            yield statement
        for top in expressions(statement):
            yield from (expr for expr in all_expressions(top) if isinstance(expr, Operation))


def is_movable(expr: Expr) -> bool:
    """Whether evaluating the expression later gives the same value: it reads no memory, slot or state."""
    if isinstance(expr, Load | VectorLoad | CallFunction | Var):
        return False
    if isinstance(expr, Operation) and expr.effect:
        return False
    return all(is_movable(child) for child in children(expr))


def has_effect(expr: Expr) -> bool:
    """Whether the expression must be evaluated exactly once, in its place."""
    if isinstance(expr, Operation | CallFunction) and expr.effect:
        return True
    return any(has_effect(child) for child in children(expr))


def expressions(statement: Stmt) -> tuple[Expr, ...]:
    """Expressions of a statement itself, not of the statements inside it."""
    match statement:
        case Assign():
            return (statement.value,)
        case Store() | VectorStore():
            return (statement.base, statement.index, statement.value)
        case Instruction():
            return (*statement.results, *statement.operands)
        case Evaluate():
            return (statement.value,)
        case If() | While():
            return (statement.condition,)
        case For():
            return (statement.start, statement.stop, statement.step)
        case Return():
            return statement.values
        case Print():
            return statement.args
        case Break() | Continue():
            return ()


def blocks(statement: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Blocks inside a statement."""
    match statement:
        case If():
            return (statement.then, statement.orelse)
        case For() | While():
            return (statement.body,)
        case _:
            return ()


def all_statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement, outer before inner."""
    waiting = list(body[::-1])  # not recursive: in a chain of n `elif` the last one is n blocks deep
    while waiting:
        statement = waiting.pop()
        yield statement
        for block in blocks(statement)[::-1]:
            waiting.extend(block[::-1])


def assigned(statements: tuple[Stmt, ...]) -> set[tuple[str, Type]]:
    """The variables that the statements set, loops' counters too."""
    found: set[tuple[str, Type]] = set()
    for statement in all_statements(statements):
        if isinstance(statement, Assign):
            found.add((statement.target.name, statement.target.type))
        elif isinstance(statement, For):
            found.add((statement.counter.name, statement.counter.type))
    return found


def calls_in(body: tuple[Stmt, ...]) -> Iterator[CallFunction]:
    """Calls of device functions in statements, those in their blocks too."""
    for statement in all_statements(body):
        yield from own_calls(statement)


def own_calls(statement: Stmt) -> Iterator[CallFunction]:
    """Calls of device functions in a statement's own expressions, not in its blocks."""
    for top in expressions(statement):
        yield from (e for e in all_expressions(top) if isinstance(e, CallFunction))


def all_expressions(expr: Expr) -> Iterator[Expr]:
    """An expression and everything in it, outer before inner and left before right."""
    waiting = [expr]
    while waiting:
        current = waiting.pop()
        yield current
        kind = type(current)
        if kind not in _LEAVES:
            waiting.extend(_CHILDREN[kind](current)[::-1])
