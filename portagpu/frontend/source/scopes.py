"""Scopes of Python's functions: the nodes of one, without the functions inside of it, and the names that it reads."""

from __future__ import annotations

import ast


def walk_scope(function: ast.FunctionDef | ast.Lambda) -> list[ast.AST]:
    """Nodes of a function's body in the order of the text. Of a function inside only itself and its defaults."""
    nodes: list[ast.AST] = []
    waiting: list[ast.AST] = [*(function.body[::-1] if isinstance(function.body, list) else (function.body,))]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            inner: list[ast.AST] = [d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
        else:
            inner = list(ast.iter_child_nodes(node))
        waiting += inner[::-1]
    return nodes


def bound_names(function: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Names that a function's body assigns, deletes or defines; its parameters are not among them."""
    nodes = walk_scope(function)
    names = {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
    return names | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store | ast.Del)}


def free_names(function: ast.FunctionDef | ast.Lambda) -> tuple[str, ...]:
    """Names that a function reads and does not bind, also those of functions inside of it."""
    reads: list[str] = []
    for node in walk_scope(function):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            reads += free_names(node)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            reads.append(node.id)
    own = bound_names(function) | {n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)}
    return tuple(dict.fromkeys(name for name in reads if name not in own))
