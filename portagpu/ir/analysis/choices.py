"""Choices of threads between local arrays: ``c = a if x else b``, or ``v = a[i]`` in a branch, else ``v = b[i]``.

Of loads in two branches, or of one that a branch replaces, compilers make one load at an address that was chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from portagpu.ir.analysis.uniform import Uniformity
from portagpu.ir.nodes import (
    Assign,
    CallFunction,
    Expr,
    Load,
    Offset,
    Operation,
    Select,
    Stmt,
    Store,
    Var,
    VectorLoad,
    VectorStore,
)
from portagpu.ir.program import Function, Program
from portagpu.ir.types import Pointer, Space, Type
from portagpu.ir.walk import all_expressions, all_statements, blocks, expressions


def chooses_local_arrays(program: Program) -> bool:
    """Whether threads may choose between local arrays, or parts of one, in some function."""
    functions = (program.kernel, *program.functions)
    return any(_Choices(function, is_kernel=function is program.kernel).found() for function in functions)


@dataclass(frozen=True, slots=True)
class _Access:
    """An access of a local array at a subscript that differs between threads; ``block``: the id of its statements."""

    array: str
    element: Type
    stores: bool
    block: int
    apart: bool


class _Choices:
    def __init__(self, function: Function, *, is_kernel: bool) -> None:
        self.body = function.body
        self.uniform = Uniformity(function, arguments=is_kernel)
        values = [
            (s.target.name, s.value)
            for s in all_statements(self.body)
            if isinstance(s, Assign) and _is_local(s.target.type)
        ]
        self.named = Counter(name for name, _ in values)
        self.pointers = dict(values)

    def found(self) -> bool:
        if any(count > 1 for count in self.named.values()):
            return True
        tops = (top for s in all_statements(self.body) for top in expressions(s))
        if any(isinstance(e, Select) and self._selects(e) for top in tops for e in all_expressions(top)):
            return True
        accesses = set(self._of_block(self.body, False))
        return any(
            a.array != b.array
            and (a.element, a.stores) == (b.element, b.stores)
            and a.block != b.block
            and (a.apart or b.apart)
            for a, b in combinations(accesses, 2)
        )

    def _selects(self, choice: Select) -> bool:
        if _is_local(choice.type):
            return True
        yes, no = ({a for a, _ in self._loads(side)} for side in (choice.yes, choice.no))
        return not self.uniform.is_uniform(choice.condition) and any(a != b for a in yes for b in no)

    def _of_block(self, body: tuple[Stmt, ...], apart: bool) -> Iterator[_Access]:
        for statement in body:
            heads = expressions(statement)
            for top in heads:
                for array, element in self._loads(top):
                    yield _Access(array, element, False, id(body), apart)
            if isinstance(statement, Store | VectorStore):
                for array, element in self._at(statement):
                    yield _Access(array, element, True, id(body), apart)
            inner = apart or (bool(blocks(statement)) and not all(map(self.uniform.is_uniform, heads)))
            for block in blocks(statement):
                yield from self._of_block(block, inner)

    def _loads(self, top: Expr) -> Iterator[tuple[str, Type]]:
        """Arrays that an expression reads at subscripts that differ, or hands to functions."""
        for expr in all_expressions(top):
            if isinstance(expr, Load | VectorLoad):
                yield from self._at(expr)
            elif isinstance(expr, CallFunction):
                yield from ((array, _element(a)) for a in expr.args if (array := self._array(a)))

    def _at(self, access: Load | VectorLoad | Store | VectorStore) -> Iterator[tuple[str, Type]]:
        array = self._array(access.base)
        if array and not self.uniform.is_uniform(access.index):
            yield array, _element(access.base)

    def _array(self, base: Expr) -> str:
        """The name of the local array that an address is of; an empty text for other memory."""
        while _is_local(getattr(base, "type", None)):
            if isinstance(base, Var):
                if base.name not in self.pointers:
                    return base.name
                base = self.pointers[base.name]
            elif isinstance(base, Offset):
                base = base.base
            elif isinstance(base, Operation) and base.args:
                base = base.args[0]
            else:
                break
        return ""


def _element(base: Expr) -> Type:
    assert isinstance(base.type, Pointer)
    return base.type.element


def _is_local(kind: object) -> bool:
    return isinstance(kind, Pointer) and kind.space is Space.THREAD
