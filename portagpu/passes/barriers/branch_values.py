"""Pass: values that branches of some threads leave in variables, marked for vectorisers that take them for uniform.

A CPU compiler that runs neighbouring threads in the lanes of a vector keeps one number for all lanes where it takes a
variable for uniform. One vectoriser does so where branches that threads take apart set a variable to uniform values,
if there are branches inside of them, with a barrier behind them or without:

    if t != 0:                              # lanes take both sides
        o[i] = x[i] if n > 3 else t         # a branch inside
        v = 3                               # v = varying(3, 1)
    else: ...

So what is assigned there depends on the thread's index, of which it gets bits that are never set, each value other
ones. (The compiler joins values with the same bits, uniform ones, and adds these behind the branches. Of choices by a
condition that always holds it makes branches, and of several choices one, in which the other values are uniform.)
Values that depend on the thread themselves stay as they are, as do those of branches that only assign, which become
selects. But where several statements write a variable or an array, compilers join `o[i] += 89` and `o[i] += 81` of two
branches to one addition of a number that the branches set. So the uniform operands of what they write are marked.

Addresses that are assigned there are marked as well: it takes them for uniform, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from portagpu.ir.analysis.uniform import Uniformity, is_pure, leaves, mentions, slots_in
from portagpu.ir.names import own
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Expr,
    For,
    If,
    Load,
    Offset,
    Return,
    Select,
    Stmt,
    Store,
    Var,
    VectorLoad,
    While,
)
from portagpu.ir.program import Function, Program
from portagpu.ir.types import INT, Pointer, Scalar
from portagpu.ir.walk import all_expressions, all_statements, blocks
from portagpu.passes.barriers.marks import is_own, varying

_JOINED = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR})


def mark_branch_values(program: Program) -> Program:
    """The program with uniform values that divergent control flow assigns or returns marked."""
    numbers = count(1, 2)  # of marks in all functions, odd ones: those of other passes are even

    def marked(function: Function, *, is_kernel: bool = False) -> Function:
        marker = _ValueMarker(function, is_kernel, numbers)
        return replace(function, body=tuple(marker.block(function.body, False)))

    return replace(
        program, kernel=marked(program.kernel, is_kernel=True), functions=tuple(map(marked, program.functions))
    )


class _ValueMarker:
    """The statements of one function."""

    def __init__(self, function: Function, is_kernel: bool, numbers: Iterator[int]) -> None:
        self._uniform = Uniformity(function, arguments=is_kernel)
        self._data = Uniformity(function, arguments=True, control=False)
        self._mentions = mentions((function.body,))
        self._numbers = numbers
        self._count = 0
        statements = list(all_statements(function.body))
        self._writes = Counter(_array(s.base) for s in statements if isinstance(s, Store))
        self._assigned = Counter((s.target.name, s.target.type) for s in statements if isinstance(s, Assign))

    def block(self, body: tuple[Stmt, ...], divergent: bool, *, looped: bool = False) -> list[Stmt]:
        """The statements of a block.

        ``divergent``: whether only some threads may run it. ``looped``: a loop's body, in which all threads that run an
        iteration count alike: such counters stay uniform, so that neighbouring threads load neighbouring elements.
        """
        result: list[Stmt] = []
        used = mentions((body,)) if divergent else {}
        for statement in body:
            match statement:
                case Assign(target=target) if divergent or self._chooses(statement.value):
                    slot = target.name, target.type
                    outside = self._mentions.get(slot, 0) > used.get(slot, 0)
                    counts = looped and slot in slots_in(statement.value)
                    result += self._assignment(statement) if outside and not counts else [statement]
                case Store(base=base) if divergent and (is_own(base) or self._writes[_array(base)] > 1):
                    before, value = self._marked(statement.value)
                    result += [*before, replace(statement, value=value)]
                case Return(values=values) if divergent and values:
                    parts = [self._marked(value) for value in values]
                    result += [s for before, _ in parts for s in before]
                    result.append(replace(statement, values=tuple(value for _, value in parts)))
                case If() | For() | While():
                    apart = self._uniform.runs_apart(statement)
                    inner = divergent or (apart and not _is_select(statement))
                    result.append(self._inside(statement, inner))
                    if leaves(statement):
                        divergent, looped = divergent or apart, False
                case _:
                    result.append(statement)
        return result

    def _inside(self, statement: If | For | While, divergent: bool) -> Stmt:
        if isinstance(statement, If):
            then, orelse = (tuple(self.block(part, divergent)) for part in blocks(statement))
            return replace(statement, then=then, orelse=orelse)
        return replace(statement, body=tuple(self.block(statement.body, divergent, looped=True)))

    def _chooses(self, value: Expr) -> bool:
        """Whether threads choose between two arrays."""
        if not isinstance(value, Select) or not isinstance(value.type, Pointer):
            return False
        return not self._uniform.is_uniform(value.condition)

    def _assignment(self, statement: Assign) -> list[Stmt]:
        value = statement.value
        if not self._needs_mark(value):
            slot = statement.target.name, statement.target.type
            several = self._assigned[slot] > 2  # beside the first one
            return [replace(statement, value=self._with_marked_operands(value))] if several else [statement]
        if _is_free(value):
            return [replace(statement, value=self._mark(value))]
        return [statement, replace(statement, value=self._mark(statement.target))]

    def _marked(self, value: Expr) -> tuple[list[Stmt], Expr]:
        """A value marked, and the statement that computes it before where it costs something."""
        if not self._needs_mark(value):
            return [], self._with_marked_operands(value)
        if _is_free(value):
            return [], self._mark(value)
        self._count += 1
        target = Var(own(f"branch{self._count}"), value.type, span=value.span)
        return [Assign(target, value, span=value.span)], self._mark(target)

    def _with_marked_operands(self, value: Expr) -> Expr:
        """A value of the thread's own, its uniform operands marked: compilers join such values of two branches.

        Not those of a choice: of marks there the vectoriser made wrong choices.
        """
        marked = self._with_marked_operands
        if self._needs_mark(value):
            return self._mark(value) if _is_free(value) else value
        match value:
            case Binary(op=op, left=left, right=right) if op in _JOINED:
                return replace(value, left=marked(left), right=marked(right))
            case Cast(operand=operand):
                return replace(value, operand=marked(operand))
        return value

    def _mark(self, value: Expr) -> Expr:
        """The value, in a form that no compiler takes for the same in all threads."""
        number = next(self._numbers)
        if isinstance(value.type, Pointer):
            nothing = varying(Constant(0, INT, span=value.span), number)
            return Offset(value, nothing, value.type, span=value.span)
        return varying(value, number)

    def _needs_mark(self, value: Expr) -> bool:
        kind = value.type
        if isinstance(kind, Pointer):
            return True
        if not isinstance(kind, Scalar) or kind.dtype.is_complex:
            return False
        return self._data.is_uniform(value)


def _is_free(value: Expr) -> bool:
    """Whether a value may be computed under a condition: a compiler makes no branch of it."""
    return is_pure(value) and not any(isinstance(e, Load | VectorLoad) for e in all_expressions(value))


def _is_select(statement: Stmt) -> bool:
    """Whether a branch only assigns numbers that cost nothing, so that compilers make selects of it."""
    if not isinstance(statement, If):
        return False
    return all(
        isinstance(s, Assign) and _is_free(s.value) and not isinstance(s.target.type, Pointer)
        for part in blocks(statement)
        for s in part
    )


def _array(base: Expr) -> str:
    """The name of an array, "" of others."""
    return base.name if isinstance(base, Var) else ""
