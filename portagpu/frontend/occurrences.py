"""Where names occur in a function's text."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from portagpu.frontend.state import FunctionState


def is_read_elsewhere(ctx: FunctionState, node: ast.stmt, name: str) -> bool:
    """Whether a name is read outside the loop ``node`` (other loops that set it as their target do not count)."""
    inside = {id(n) for n in ast.walk(node)}
    for other in ast.walk(ctx.source.tree):
        if (
            isinstance(other, ast.For)
            and isinstance(other.target, ast.Name)
            and other.target.id == name
            and id(other) not in inside
            and not _contains(other, node)
            and not mentions(other.orelse, name)
        ):
            inside |= {id(n) for n in ast.walk(other)}
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside
        for n in ast.walk(ctx.source.tree)
    ) or any(
        isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and n.target.id == name and id(n) not in inside
        for n in ast.walk(ctx.source.tree)
    )


def is_loop_local(ctx: FunctionState, name: str) -> bool:
    """Whether a name occurs only inside loops that set it as their target, so that no iteration sees an old value."""
    known = ctx.loop_local.get(name)
    if known is None:
        total = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(ctx.source.tree))
        covered: set[int] = set()
        for loop in ast.walk(ctx.source.tree):
            if isinstance(loop, ast.For) and any(
                isinstance(t, ast.Name) and t.id == name for t in ast.walk(loop.target)
            ):
                for part in (loop.target, *loop.body):
                    covered |= {id(n) for n in ast.walk(part) if isinstance(n, ast.Name) and n.id == name}
        known = ctx.loop_local[name] = len(covered) == total
    return known


def _contains(outer: ast.AST, inner: ast.AST) -> bool:
    return any(n is inner for n in ast.walk(outer))


def mentions(nodes: list[ast.stmt], name: str) -> bool:
    """Whether a name occurs in the statements."""
    return any(isinstance(n, ast.Name) and n.id == name for s in nodes for n in ast.walk(s))


def has_break(body: list[ast.stmt]) -> bool:
    """Whether a loop with this body has a `break` of its own."""
    for statement in body:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.If) and (has_break(statement.body) or has_break(statement.orelse)):
            return True
        if isinstance(statement, ast.For | ast.While) and has_break(statement.orelse):
            return True
    return False


def assigned_names(nodes: Iterable[ast.stmt]) -> tuple[str, ...]:
    """Names that the statements bind, in order of first binding."""
    found: dict[str, None] = {}
    for node in nodes:
        for sub in ast.walk(node):
            if isinstance(sub, ast.Name) and isinstance(sub.ctx, ast.Store):
                found.setdefault(sub.id)
            elif isinstance(sub, ast.FunctionDef):
                found.setdefault(sub.name)
    return tuple(found)
