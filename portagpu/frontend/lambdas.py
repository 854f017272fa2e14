"""The text of lambdas: Python tells only the line where one begins, so it is looked up among the file's."""

from __future__ import annotations

import ast
import dis
import inspect
from types import CodeType, FunctionType
from typing import Any

from portagpu.errors import SourceUnavailableError, UnsupportedSyntaxError

NAME = "<lambda>"


def lambda_tree(function: FunctionType) -> tuple[ast.FunctionDef, list[str]]:
    """A lambda as the ``def`` that it stands for, with its places in the file, and the file's lines.

    Raises `SourceUnavailableError`, and `UnsupportedSyntaxError` where a line holds several lambdas of one kind.
    """
    code = function.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    try:
        lines, _ = inspect.findsource(code)
        tree = ast.parse("".join(lines))
    except (OSError, SyntaxError) as error:
        raise SourceUnavailableError(
            f"the text of a lambda cannot be found ({where})", hint="write a `def` function"
        ) from error
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno]
    if len(found) > 1:
        found = [node for node in found if _is_of(node, code)]
    if not found:
        raise SourceUnavailableError(f"the text of a lambda cannot be found ({where})", hint="write a `def` function")
    if len({ast.dump(node) for node in found}) > 1:
        raise UnsupportedSyntaxError(
            f"the line has several lambdas that cannot be told apart ({where})", hint="write each on a line of its own"
        )
    return _as_def(found[0]), lines


def _is_of(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda was compiled to this code, as far as names and constants tell."""
    fresh = compile(ast.Expression(body=node), code.co_filename, "eval")
    inner: Any = next(c for c in fresh.co_consts if isinstance(c, CodeType))
    names = set(inner.co_names) | set(inner.co_varnames) | set(inner.co_freevars)
    theirs = set(code.co_names) | set(code.co_varnames) | set(code.co_freevars)
    return names == theirs and inner.co_consts == code.co_consts and _operations(inner) == _operations(code)


def _operations(code: CodeType) -> list[Any]:
    """The arithmetic of a function: which operators, in order. How names are loaded depends on what is around it."""
    kinds = ("BINARY", "COMPARE", "UNARY", "CALL")
    return [(i.opname, i.argrepr) for i in dis.get_instructions(code) if i.opname.startswith(kinds)]


def _as_def(node: ast.Lambda) -> ast.FunctionDef:
    result = ast.copy_location(ast.Return(value=node.body), node.body)
    made = ast.FunctionDef(name="lambda_", args=node.args, body=[result], decorator_list=[])
    return ast.fix_missing_locations(ast.copy_location(made, node))
