"""Recursion that no device could run: without an end, or with a result that has no type."""

from __future__ import annotations

import ast

_NOT_ALWAYS = (ast.Lambda, ast.FunctionDef, ast.comprehension)


def is_endless(function: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a function reaches a call like ``call``, of itself, on every path."""
    return _always_calls(function.body, ast.dump(call.func))


def is_nested(function: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether a function returns what ``call``, of itself, gives inside a tuple: a tuple that contains its own type."""
    returned = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    name = ast.dump(call.func)
    return any(_has_item(value, name, inside=False) for value in returned)


def _has_item(node: ast.expr, name: str, *, inside: bool) -> bool:
    if isinstance(node, ast.Tuple):
        return any(_has_item(item, name, inside=True) for item in node.elts)
    if isinstance(node, ast.IfExp):
        return any(_has_item(side, name, inside=inside) for side in (node.body, node.orelse))
    return inside and isinstance(node, ast.Call) and ast.dump(node.func) == name


def _always_calls(body: list[ast.stmt], name: str) -> bool:
    for statement in body:
        match statement:
            case ast.If():
                sides = (statement.body, statement.orelse)
                if _evaluates(statement.test, name) or all(_always_calls(side, name) for side in sides):
                    return True
                if any(isinstance(n, ast.Return | ast.Raise) for n in ast.walk(statement)):
                    return False
            case ast.For() | ast.While():  # it may have no iteration, or leave the function in one
                if any(isinstance(n, ast.Return | ast.Raise) for n in ast.walk(statement)):
                    return False
            case _:
                if _evaluates(statement, name):
                    return True
                if isinstance(statement, ast.Return | ast.Raise):
                    return False
    return False


def _evaluates(node: ast.AST, name: str) -> bool:
    """Whether a call is always made where a node is evaluated."""
    if isinstance(node, ast.IfExp | ast.BoolOp):
        return _evaluates(node.test if isinstance(node, ast.IfExp) else node.values[0], name)
    if isinstance(node, _NOT_ALWAYS):
        return False
    if isinstance(node, ast.Call) and ast.dump(node.func) == name:
        return True
    return any(_evaluates(child, name) for child in ast.iter_child_nodes(node))
