"""Choices between shared or local arrays: ``c = a if x else b``, or ``v = a[i]`` in a branch, else ``v = b[i]``.

Of loads in two branches, or of one that a branch replaces, compilers make one load at an address that was chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from portagpu.ir.analysis.uniform import Uniformity
from portagpu.ir.nodes import Assign, CallFunction, Expr, If, Load, Offset, Operation, Select, Stmt, Var, VectorLoad
from portagpu.ir.program import Function, ParameterRole, Program
from portagpu.ir.types import Pointer, Space
from portagpu.ir.walk import all_expressions, all_statements, blocks, expressions


def chooses_arrays(program: Program) -> bool:
    """Whether threads choose between arrays: by a variable that names one or the other, or by loads in two branches."""
    return any(choices.names_several() or choices.loads_one_or_other() for choices in _of_functions(program))


def reads_local_arrays_apart(program: Program) -> bool:
    """Whether some threads alone read one local array, others another one, or all read one from behind its start."""
    return any(choices.reads_several() for choices in _of_functions(program))


def _of_functions(program: Program) -> Iterator[_Choices]:
    functions = (program.kernel, *program.functions)
    has_dynamic = any(p.role is ParameterRole.DYNAMIC_SHARED for p in program.kernel.parameters)
    if not (program.shared or has_dynamic or any(function.locals for function in functions)):
        return  # there are no such arrays: nothing has to be found out of any function
    for function in functions:
        yield _Choices(function, is_kernel=function is program.kernel)


@dataclass(frozen=True, slots=True)
class _Load:
    """A load; ``block``: the id of its statements. ``varies``: whether threads load from different places."""

    array: str
    kind: Pointer
    varies: bool
    block: int
    apart: bool

    def may_be(self, other: _Load) -> bool:
        """Whether a compiler may make one load of this one and another."""
        alike = self.kind.element == other.kind.element and (self.varies or other.varies)
        return alike and self.array != other.array


class _Choices:
    def __init__(self, function: Function, *, is_kernel: bool) -> None:
        self.body = function.body
        self.uniform = Uniformity(function, arguments=is_kernel)
        assigns = [s for s in all_statements(self.body) if isinstance(s, Assign) and _is_of_block(s.target.type)]
        self.targets = [s.target for s in assigns]
        self.named = Counter(target.name for target in self.targets)
        self.values = {s.target.name: s.value for s in assigns}

    def names_several(self) -> bool:
        """Whether an address differs between threads by more than a subscript."""
        if any(self.named[target.name] > 1 and not self.uniform.is_uniform(target) for target in self.targets):
            return True
        return any(_is_of_block(choice.type) for choice in self._selects())

    def loads_one_or_other(self) -> bool:
        """Whether loads of two arrays stand in branches, or in parts of an expression, of which threads take one."""
        sides = [tuple(self._of(side, 0, True) for side in (choice.yes, choice.no)) for choice in self._selects()]
        for branch in all_statements(self.body):
            if isinstance(branch, If) and not self.uniform.is_uniform(branch.condition):
                sides.append(tuple(self._of_block(part, True) for part in blocks(branch)))
        return any(a.may_be(b) for yes, no in (tuple(map(set, pair)) for pair in sides) for a in yes for b in no)

    def reads_several(self) -> bool:
        """Whether loads of two local arrays stand in different blocks, or one is not from its first element on."""
        if any(_is_part(target.type, self.values[target.name]) for target in self.targets):
            return True
        loads = {load for load in self._of_block(self.body, False) if load.kind.space is Space.THREAD}
        return any(a.may_be(b) and a.block != b.block and (a.apart or b.apart) for a, b in combinations(loads, 2))

    def _selects(self) -> Iterator[Select]:
        for statement in all_statements(self.body):
            for top in expressions(statement):
                for expr in all_expressions(top):
                    if isinstance(expr, Select) and not self.uniform.is_uniform(expr.condition):
                        yield expr

    def _of_block(self, body: tuple[Stmt, ...], apart: bool) -> Iterator[_Load]:
        for statement in body:
            heads = expressions(statement)
            for top in heads:
                yield from self._of(top, id(body), apart)
            inner = apart or (bool(blocks(statement)) and not all(map(self.uniform.is_uniform, heads)))
            for block in blocks(statement):
                yield from self._of_block(block, inner)

    def _of(self, top: Expr, block: int, apart: bool) -> Iterator[_Load]:
        """The loads of an expression, and those of functions that get an array."""
        for expr in all_expressions(top):
            bases: tuple[Expr, ...] = ()
            varies = True
            if isinstance(expr, CallFunction):
                bases = expr.args
            elif isinstance(expr, Load | VectorLoad):
                bases, varies = (expr.base,), not self.uniform.is_uniform(expr.index)
            for base in bases:
                array, kind = self._array(base), base.type
                if array and isinstance(kind, Pointer):
                    yield _Load(array, kind, varies, block, apart)

    def _array(self, base: Expr) -> str:
        """The name of the array that an address is of; an empty text for other memory."""
        while _is_of_block(getattr(base, "type", None)):
            if isinstance(base, Var):
                if self.named[base.name] != 1:  # an array, or one of several
                    return base.name
                base = self.values[base.name]
            elif isinstance(base, Offset):
                base = base.base
            elif isinstance(base, Operation) and base.args:
                base = base.args[0]
            else:
                break
        return ""


def _is_of_block(kind: object) -> bool:
    """Whether an address is of a shared or local array."""
    return isinstance(kind, Pointer) and kind.space in (Space.SHARED, Space.THREAD)


def _is_part(kind: object, value: Expr) -> bool:
    """Whether an address is of a part of a local array."""
    return isinstance(kind, Pointer) and kind.space is Space.THREAD and not isinstance(value, Var)
