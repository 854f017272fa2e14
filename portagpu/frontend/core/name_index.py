"""An index of the names in a function's syntax tree: where each is read and written."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterable
from types import UnionType

from portagpu.frontend.core.state import FunctionState


class NameIndex:
    """An index of the names of one syntax tree, made in one walk.

    Nodes are numbered in the order of the text, so what a node contains is an interval of numbers.
    """

    def __init__(self, tree: ast.AST) -> None:
        self.all: dict[str, list[int]] = {}
        self.reads: dict[str, list[int]] = {}
        self.stores: dict[str, list[int]] = {}
        self.loops: list[tuple[ast.For, frozenset[str]]] = []
        self._ends: dict[ast.AST, tuple[int, int]] = {}
        self._count = 0
        self._walk(tree)

    def _walk(self, node: ast.AST) -> None:
        start = self._count
        self._count += 1
        if isinstance(node, ast.Name):
            self.all.setdefault(node.id, []).append(start)
            uses = self.reads if isinstance(node.ctx, ast.Load) else self.stores
            uses.setdefault(node.id, []).append(start)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.reads.setdefault(node.target.id, []).append(start)
        elif isinstance(node, ast.For):
            names = frozenset(n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))
            self.loops.append((node, names))
        for child in ast.iter_child_nodes(node):
            self._walk(child)
        self._ends[node] = (start, self._count)

    def interval(self, node: ast.AST) -> tuple[int, int]:
        """First number in a node, and the first after it."""
        return self._ends[node]


_known: weakref.WeakKeyDictionary[ast.AST, NameIndex] = weakref.WeakKeyDictionary()


def occurrences(tree: ast.AST) -> NameIndex:
    """The index of a tree, made once."""
    found = _known.get(tree)
    if found is None:
        found = _known[tree] = NameIndex(tree)
    return found


def is_read_elsewhere(ctx: FunctionState, node: ast.stmt, name: str) -> bool:
    """Whether a name is read outside the iterations of the loop ``node``.

    The iterations of other loops that set it as their target do not count: they read what they set. What `for` loops
    over is evaluated before, also where it is that of ``node`` and an outer loop comes back to it.
    """
    index = occurrences(ctx.source.tree)
    here = index.interval(node)
    skipped = _iterations(index, node) if isinstance(node, ast.For) else [here]
    for loop, _ in index.loops:
        if isinstance(loop.target, ast.Name) and loop.target.id == name:
            other = index.interval(loop)
            if not (other[0] <= here[0] < other[1]) and not (here[0] <= other[0] < here[1]):
                skipped += _iterations(index, loop)
    return any(not _is_within(n, skipped) for n in index.reads.get(name, ()))


def _iterations(index: NameIndex, loop: ast.For) -> list[tuple[int, int]]:
    """Intervals of a loop's target and body."""
    return [index.interval(part) for part in (loop.target, *loop.body)]


def is_loop_local(ctx: FunctionState, name: str) -> bool:
    """Whether a name occurs only inside loops that set it as their target, and nothing else in them sets it.

    No iteration then sees a value of another one, nor do the branches and the inner loops of an iteration change it.
    """
    known = ctx.loop_local.get(name)
    if known is None:
        index = occurrences(ctx.source.tree)
        loops = [loop for loop, names in index.loops if name in names]
        targets = [index.interval(loop.target) for loop in loops]
        bodies = [index.interval(statement) for loop in loops for statement in loop.body]
        stores, places = index.stores.get(name, []), index.all.get(name, [])
        known = ctx.loop_local[name] = all(
            _is_within(n, targets) and not _is_within(n, bodies) for n in stores
        ) and all(_is_within(n, targets + bodies) for n in places)
    return known


def _is_within(number: int, intervals: list[tuple[int, int]]) -> bool:
    return any(a <= number < b for a, b in intervals)


def mentions(nodes: list[ast.stmt], name: str) -> bool:
    """Whether a name occurs in the statements."""
    return any(isinstance(n, ast.Name) and n.id == name for s in nodes for n in ast.walk(s))


def has_break(body: list[ast.stmt], kinds: type[ast.stmt] | UnionType = ast.Break) -> bool:
    """Whether a loop with this body has a `break` (or another of ``kinds``) of its own."""
    for statement in body:
        if isinstance(statement, kinds):
            return True
        if isinstance(statement, ast.If) and (has_break(statement.body, kinds) or has_break(statement.orelse, kinds)):
            return True
        if isinstance(statement, ast.For | ast.While) and has_break(statement.orelse, kinds):
            return True
    return False


def assigned_names(nodes: Iterable[ast.stmt]) -> tuple[str, ...]:
    """Names that the statements bind, in order of first binding."""
    return tuple(dict.fromkeys(name for node in nodes for name in _names_bound_in(node)))


_bound: weakref.WeakKeyDictionary[ast.stmt, tuple[str, ...]] = weakref.WeakKeyDictionary()


def _names_bound_in(node: ast.stmt) -> tuple[str, ...]:
    """Names that a statement binds; found once, though it is lowered many times, as loops and device functions are."""
    found = _bound.get(node)
    if found is None:
        names: dict[str, None] = {}
        for sub in ast.walk(node):
            if isinstance(sub, ast.Name) and isinstance(sub.ctx, ast.Store):
                names.setdefault(sub.id)
            elif isinstance(sub, ast.FunctionDef):
                names.setdefault(sub.name)
        found = _bound[node] = tuple(names)
    return found
