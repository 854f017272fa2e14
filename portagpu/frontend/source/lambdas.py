"""Source text of lambdas, found among those of their line."""

from __future__ import annotations

import ast
import dis
import inspect
from types import CodeType, FunctionType
from typing import Any

from portagpu.errors import SourceUnavailableError, UnsupportedSyntaxError
from portagpu.frontend.source.text import whole_text
from portagpu.source import parsed

NAME = "<lambda>"


def lambda_tree(function: FunctionType, text: str | None = None) -> tuple[ast.FunctionDef, list[str]]:
    """A lambda as the ``def`` that it stands for, with its places in the file, and the file's lines.

    ``text`` is the file's, where Python need not look for it.
    Raises `SourceUnavailableError`, and `UnsupportedSyntaxError` where a line has lambdas that cannot be told apart.
    """
    code = function.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    try:
        lines = inspect.findsource(code)[0] if text is None else text.splitlines(keepends=True)
    except OSError:
        lines = whole_text(code)
    found: list[ast.Lambda] = []
    if lines:
        tree = parsed("".join(lines))
        found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    if len(found) > 1:
        found = _at_positions(found, code) or [node for node in found if _is_of(node, code)]
    if not found:
        raise SourceUnavailableError(f"the text of a lambda cannot be found ({where})", hint="write a `def` function")
    if len({ast.dump(node) for node in found}) > 1:
        raise UnsupportedSyntaxError(
            f"the line has several lambdas that cannot be told apart ({where})", hint="write each on a line of its own"
        )
    node = found[0]
    return as_def(node), lines


def as_def(node: ast.Lambda) -> ast.FunctionDef:
    """The ``def`` that a lambda stands for, with its places."""
    body: list[ast.stmt] = [ast.copy_location(ast.Return(value=node.body), node.body)]
    made = ast.FunctionDef(name="anonymous", args=node.args, body=body, decorator_list=[])
    return ast.copy_location(made, node)


def _at_positions(nodes: list[ast.Lambda], code: CodeType) -> list[ast.Lambda]:
    """The lambda whose body has the places that the code's instructions tell, from Python 3.11 on.

    The place of the return is no help: Python 3.12 says column 0, others the body's.
    """
    if not hasattr(code, "co_positions"):
        return []
    places = {((p[0], p[2]), (p[1], p[3])) for p in code.co_positions() if None not in p}
    places = {(start, end) for start, end in places if start < end}
    if not places:
        return []
    first, last = min(start for start, _ in places), max(end for _, end in places)
    around = {_place(n.body): n for n in nodes if _place(n.body)[0] <= first and last <= _place(n.body)[1]}
    return [around[max(around)]] if around else []  # of nested ones the innermost, which begins last


def _place(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)


def _is_of(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda compiles to this code, as far as names, constants and operators tell."""
    fresh = compile(ast.Expression(body=node), code.co_filename, "eval")
    inner = next(c for c in fresh.co_consts if isinstance(c, CodeType))
    return _summary(inner) == _summary(code)


def _summary(code: CodeType) -> tuple[Any, ...]:
    """What does not depend on the text around a lambda: there, names may be globals or of an outer function."""
    kinds = ("BINARY", "COMPARE", "UNARY", "CALL", "LOAD")
    steps = [i for i in dis.get_instructions(code) if i.opname.startswith(kinds)]
    order = [("LOAD", i.argval) if i.opname.startswith("LOAD") else (i.opname, i.argrepr) for i in steps]
    return {*code.co_names, *code.co_freevars}, code.co_varnames, code.co_consts, order
