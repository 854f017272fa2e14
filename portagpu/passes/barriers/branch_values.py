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

The same vectoriser reads an array of the thread at a uniform subscript (`l[blockIdx.x % 3]`) also where no lane takes
the branch, at whatever place. Such subscripts are marked: in branches, in conditional expressions, behind `and` and
`or`, and in functions, which may be called in one. Not those of loops' counters and constants alone: unrolled, they
are constants, and other loops seldom count far behind an array.

Addresses that are assigned there are marked as well: it takes them for uniform, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count

from portagpu.ir.analysis.uniform import Uniformity, is_pure, mentions, slots_in
from portagpu.ir.names import own
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Break,
    CallFunction,
    Cast,
    Constant,
    Continue,
    Expr,
    For,
    If,
    Load,
    Logical,
    Offset,
    Operation,
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
from portagpu.ir.walk import all_expressions, all_statements, blocks, children, expressions, rebuilt
from portagpu.passes.barriers.marks import is_own, varying

_JOINED = frozenset({BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR})


def mark_branch_values(program: Program) -> Program:
    """The program with uniform values that divergent control flow assigns or returns marked."""
    numbers = count(1, 2)  # of marks in all functions, odd ones: those of `divergence` are even

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
        self._is_kernel = is_kernel
        self._counters = {
            (s.counter.name, s.counter.type) for s in statements if isinstance(s, For) and isinstance(s.step, Constant)
        }.difference(self._assigned)

    def block(self, body: tuple[Stmt, ...], divergent: bool, *, looped: bool = False) -> list[Stmt]:
        """The statements of a block.

        ``divergent``: whether only some threads may run it. ``looped``: a loop's body, in which all threads that run an
        iteration count alike: such counters stay uniform, so that neighbouring threads load neighbouring elements.
        """
        result: list[Stmt] = []
        used = mentions((body,)) if divergent else {}
        with_marked_places = partial(self._with_marked_places, apart=divergent or not self._is_kernel)
        for whole in body:
            statement = rebuilt(whole, with_marked_places)
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
                    apart = self._runs_apart(statement)
                    inner = divergent or (apart and not _is_select(statement))
                    result.append(self._inside(statement, inner))
                    if _jumps(statement):
                        divergent, looped = divergent or apart, False
                case _:
                    result.append(statement)
        return result

    def _inside(self, statement: If | For | While, divergent: bool) -> Stmt:
        if isinstance(statement, If):
            then, orelse = (tuple(self.block(part, divergent)) for part in blocks(statement))
            return replace(statement, then=then, orelse=orelse)
        return replace(statement, body=tuple(self.block(statement.body, divergent, looped=True)))

    def _runs_apart(self, statement: If | For | While) -> bool:
        """Whether only some threads may run a part of a statement, or some more often."""
        if not all(map(self._uniform.is_uniform, expressions(statement))):
            return True
        return not isinstance(statement, If) and self._uniform.leaves_apart(statement, Break)

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

    def _with_marked_places(self, value: Expr, *, apart: bool) -> Expr:
        """A value with marked subscripts; ``apart``: whether only some threads may compute it."""
        inside = partial(self._with_marked_places, apart=apart or isinstance(value, Select | Logical))
        value = rebuilt(value, inside)
        if apart and isinstance(value, Load) and is_own(value.base) and self._needs_marked_place(value.index):
            return replace(value, index=self._mark(value.index))
        return value

    def _needs_marked_place(self, index: Expr) -> bool:
        return not isinstance(index, Constant) and self._data.is_uniform(index) and not self._is_counted(index)

    def _is_counted(self, index: Expr) -> bool:
        """Whether a subscript is a constant where loops are unrolled."""
        if isinstance(index, Var):
            return (index.name, index.type) in self._counters
        of_launch = isinstance(index, Operation) and not slots_in(index)
        return not of_launch and all(map(self._is_counted, children(index)))

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
        if isinstance(value, CallFunction):
            return all(map(self._data.is_uniform, value.args))
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


def _jumps(statement: Stmt) -> bool:
    """Whether threads may leave a function or an iteration in a statement, so that only some go on behind it."""
    return any(isinstance(s, Return | Break | Continue) for s in all_statements((statement,)))


def _array(base: Expr) -> str:
    """The name of an array, "" of others."""
    return base.name if isinstance(base, Var) else ""
