"""Delta debugging of a program's syntax tree: the smallest text that still fails in the same way.

Statements are deleted, compound statements replaced by their bodies, expressions by their operands or by constants,
as long as ``fails`` says yes. The steps that remove most come first; all are repeated until none helps.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

_LISTS = ("body", "orelse", "finalbody")
_CONSTANTS = (0, 1, 2, 3)
Path = tuple[tuple[str, int | None], ...]
Step = Callable[[], ast.Module]


def minimised(
    program: Any, fails: Callable[[Any], bool], smaller: Callable[[Any], Iterable[Any]], seconds: float
) -> Any:
    """The smallest program that was reached in some seconds; ``program`` itself must fail."""
    end = time.monotonic() + seconds
    tried: set[Any] = set()

    def better(candidate: Any) -> bool:
        if candidate in tried or time.monotonic() > end:
            return False
        tried.add(candidate)
        return fails(candidate)

    families = (_deletions, _unwrapped, _operands, _constants)
    if not getattr(program, "EXPRESSIONS", True):  # whose operands matter for whether a result is exact
        families = families[:2]
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        while (simpler := next((c for c in smaller(program) if better(c)), None)) is not None:
            program, changed = simpler, True
        for steps in families:
            program, helped = _exhausted(program, steps, better)
            changed |= helped
    return program


def _exhausted(
    program: Any, steps: Callable[[ast.Module], Iterator[Step]], better: Callable[[Any], bool]
) -> tuple[Any, bool]:
    """Take steps of a kind, from the place of the last one onwards, until none helps."""
    helped, skip = False, 0
    while True:
        tree = ast.parse(program.source)
        for n, step in enumerate(steps(tree)):
            if n < skip:
                continue
            try:
                smaller = replace(program, source=ast.unparse(ast.fix_missing_locations(step())) + "\n")
                ast.parse(smaller.source)
            except (SyntaxError, ValueError):
                continue
            if better(smaller):
                program, helped, skip = smaller, True, n
                break
        else:
            return program, helped


def _places(node: ast.AST, path: Path = ()) -> Iterator[tuple[Path, ast.AST]]:
    """All nodes, with the way to them, outer ones first."""
    yield path, node
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield from _places(value, (*path, (name, None)))
        elif isinstance(value, list):
            for n, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _places(item, (*path, (name, n)))


def _at(tree: ast.AST, path: Path) -> Any:
    for name, n in path:
        tree = getattr(tree, name) if n is None else getattr(tree, name)[n]
    return tree


def _with(tree: ast.Module, path: Path, new: Any) -> ast.Module:
    """A copy of a tree with another node at a place; a list of statements takes the place of one."""
    tree = copy.deepcopy(tree)
    owner, (name, n) = _at(tree, path[:-1]), path[-1]
    new = copy.deepcopy(new)
    if n is None:
        setattr(owner, name, new)
    elif isinstance(new, list):
        getattr(owner, name)[n : n + 1] = new
    else:
        getattr(owner, name)[n] = new
    return tree


def _statements(tree: ast.Module) -> list[tuple[Path, str, list[ast.stmt]]]:
    return [
        (path, name, getattr(node, name))
        for path, node in _places(tree)
        for name in _LISTS
        if isinstance(getattr(node, name, None), list) and getattr(node, name)
    ]


def _without(tree: ast.Module, path: Path, name: str, first: int, last: int) -> ast.Module:
    tree = copy.deepcopy(tree)
    body = getattr(_at(tree, path), name)
    del body[first:last]
    if not body and name == "body":
        body.append(ast.Pass())
    return tree


def _deletions(tree: ast.Module) -> Iterator[Step]:
    """Runs of statements, the longest first, the last ones first."""
    lists = _statements(tree)
    longest = max(len(body) for _, _, body in lists)
    size = 1 << (longest.bit_length() - 1)
    while size:
        for path, name, body in lists:
            if len(body) < size or (len(body) == 1 and isinstance(body[0], ast.Pass)):
                continue
            for first in range(len(body) - size, -1, -size):
                yield partial(_without, tree, path, name, first, first + size)
        size //= 2


def _unwrapped(tree: ast.Module) -> Iterator[Step]:
    """Bodies in place of compound statements."""
    for path, node in _places(tree):
        if isinstance(node, ast.If | ast.For | ast.While | ast.With):
            yield partial(_with, tree, path, node.body)
            if getattr(node, "orelse", None):
                yield partial(_with, tree, path, node.orelse)


def _expressions(tree: ast.Module) -> Iterator[tuple[Path, ast.expr]]:
    for path, node in _places(tree):
        if not isinstance(node, ast.expr) or any(name == "decorator_list" for name, _ in path):
            continue
        if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) or path[-1][0] == "func":
            continue
        if isinstance(node, ast.Constant | ast.Slice):
            continue
        yield path, node


def _operands(tree: ast.Module) -> Iterator[Step]:
    """Operands in place of expressions: `a` for `a + b`, `f(a)`, `a if c else b`."""
    for path, node in _expressions(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            continue
        for child in ast.walk(node):
            if child is node or not isinstance(child, ast.expr) or isinstance(child, ast.Slice | ast.Constant):
                continue
            if isinstance(node, ast.Call) and child is node.func:
                continue
            yield partial(_with, tree, path, child)
        if isinstance(node, ast.BoolOp | ast.Compare) and len(getattr(node, "values", ())) > 2:
            for n in range(len(node.values)):
                yield partial(_with, tree, path, ast.BoolOp(node.op, node.values[:n] + node.values[n + 1 :]))


def _constants(tree: ast.Module) -> Iterator[Step]:
    """Small constants in place of expressions and of larger constants."""
    for path, node in _places(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            for value in _CONSTANTS:
                if abs(value) < abs(node.value):
                    yield partial(_with, tree, path, ast.Constant(value))
    for path, node in _expressions(tree):
        if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            continue
        if isinstance(node, ast.Tuple | ast.List | ast.Slice):
            continue
        yield partial(_with, tree, path, ast.Constant(1))
        if isinstance(node, ast.Compare | ast.BoolOp):
            yield partial(_with, tree, path, ast.Constant(True))
            yield partial(_with, tree, path, ast.Constant(False))
