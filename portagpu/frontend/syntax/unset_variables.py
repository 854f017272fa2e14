"""Checks of variables that may have no value: an exception under ``debug=True``, else a warning.

Under ``debug=True`` each of them has a flag beside it, which says whether it has a value. A read that no path to it
sets needs no flag: threads that come there end, as they do at ``raise``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace

from portagpu.frontend.core.exceptions import Raise, check, raise_now
from portagpu.frontend.core.name_index import is_loop_local
from portagpu.frontend.core.state import FunctionState
from portagpu.ir.analysis.definite_assignment import Read, copied, root, unset_reads
from portagpu.ir.names import own
from portagpu.ir.nodes import Assign, Constant, Expr, For, If, Logical, LogicalOp, Not, Stmt, Var, While
from portagpu.ir.program import Remark
from portagpu.ir.types import BOOLEAN, Type
from portagpu.ir.walk import all_statements, has_effect

_HINT = "give it a value before, or on the other paths, too; debug=True raises where it has none"


def with_checks(ctx: FunctionState, body: Iterable[Stmt]) -> tuple[Stmt, ...]:
    """The lowered body of a function, with checks where a variable may have no value; or remarks about that."""
    statements = tuple(body)
    given = {(p.name, p.type) for p in ctx.parameters}
    found = unset_reads(statements, given, ctx.stable)
    if not found:
        return statements
    if not ctx.program.debug:
        for read in found:
            if read.doubtful:
                name = root(read.variable.name)
                text = f"`{name}` has no value here on a path that leads here (it reads as zero): {_HINT}"
                ctx.program.remarks.setdefault((name, read.statement.span.line), Remark(text, read.statement.span))
        return statements
    return _Checks(ctx, found, given).function(statements)


def ends_at_unset(ctx: FunctionState, statement: ast.stmt) -> bool:
    """After an `UnsetVariableError` in a statement under a run-time condition: end the threads that come there.

    False where the read is not certain to be the statement's first fault: in a loop, or in a part of an expression that
    is not always evaluated.
    """
    read, ctx.unset_name = ctx.unset_name, None
    if read is None or is_loop_local(ctx, read.id) or not _evaluates(statement, read):
        return False
    saved = ctx.span
    ctx.span = span = ctx.source.span(read)
    if not ctx.program.debug:
        text = f"`{read.id}` has no value on any path that leads here, where threads end: {_HINT}"
        ctx.program.remarks.setdefault((read.id, span.line), Remark(text, span))
    raise_now(ctx, Raise(kind=UnboundLocalError, args=(_message(read.id),)))
    ctx.span = saved
    return True


_NOT_ALWAYS = (ast.For, ast.While, ast.IfExp, ast.BoolOp, ast.Compare, ast.Lambda, ast.FunctionDef, ast.comprehension)


def _evaluates(node: ast.AST, read: ast.Name) -> bool:
    """Whether what contains a read always evaluates it."""
    if isinstance(node, ast.Name) and (node.lineno, node.col_offset) == (read.lineno, read.col_offset):
        return True  # the same text: `x += 1` is lowered as a read beside a store
    if isinstance(node, _NOT_ALWAYS) and not (isinstance(node, ast.Compare) and len(node.ops) == 1):
        return False
    return any(_evaluates(child, read) for child in ast.iter_child_nodes(node))


def _message(name: str) -> str:
    return f"cannot access local variable '{name}' where it is not associated with a value"


class _Checks:
    """Puts flags beside variables, and asks for them before reads."""

    def __init__(self, ctx: FunctionState, found: list[Read], given: set[tuple[str, Type]]) -> None:
        self._ctx = ctx
        self._given = given
        self._reads: dict[int, list[Read]] = {}
        self._flags: dict[tuple[str, Type], Var] = {}
        for read in found:
            if any(map(has_effect, read.guards)):
                continue  # asking again would do it twice
            self._reads.setdefault(id(read.statement), []).append(read)
            slot = read.variable.name, read.variable.type
            name = own(f"has_{read.variable.name}_{len(self._flags)}")
            self._flags.setdefault(slot, Var(name, BOOLEAN, span=read.variable.span))

    def function(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """A function's body: none of the variables has a value at first."""
        self._with_sources(body)
        start = [Assign(f, Constant(False, BOOLEAN, span=f.span), span=f.span) for f in self._flags.values()]
        return (*start, *self._block(body))

    def _with_sources(self, body: tuple[Stmt, ...]) -> None:
        """Flags for variables, too, whose values are moved to one that has a flag."""
        count = -1
        moves = [s for s in all_statements(body) if isinstance(s, Assign) and copied(s) is not None]
        while count != len(self._flags):
            count = len(self._flags)
            for move in moves:
                source = copied(move)
                if source is None or source in self._given or source[0] in self._ctx.stable:
                    continue
                if (move.target.name, move.target.type) in self._flags:
                    name = own(f"has_{source[0]}_{len(self._flags)}")
                    self._flags.setdefault(source, Var(name, BOOLEAN, span=move.span))

    def _block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for statement in body:
            made += self._checks(statement)
            match statement:
                case If():
                    then, orelse = self._block(statement.then), self._block(statement.orelse)
                    made.append(If(statement.condition, then, orelse, span=statement.span))
                case For():
                    made.append(replace(statement, body=self._block(statement.body)))
                case While():
                    made.append(replace(statement, body=self._block(statement.body)))
                case Assign():
                    made.append(statement)
                    flag = self._flags.get((statement.target.name, statement.target.type))
                    if flag is not None:
                        source = copied(statement)
                        has: Expr = Constant(True, BOOLEAN, span=statement.span)
                        if source is not None:
                            has = self._flags.get(source, has)
                        made.append(Assign(flag, has, span=statement.span))
                case _:
                    made.append(statement)
        return tuple(made)

    def _checks(self, statement: Stmt) -> list[Stmt]:
        ctx, saved = self._ctx, self._ctx.span
        with ctx.nested() as block:
            for read in self._reads.get(id(statement), ()):
                ctx.span = statement.span
                flag = self._flags[read.variable.name, read.variable.type]
                wrong: Expr = Not(flag, span=ctx.span)
                for guard in reversed(read.guards):
                    wrong = Logical(LogicalOp.AND, guard, wrong, span=ctx.span)
                name = root(read.variable.name)
                ctx.reachable = True
                check(ctx, wrong, Raise(kind=UnboundLocalError, args=(_message(name),)))
        ctx.span = saved
        return block
