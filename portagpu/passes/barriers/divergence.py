"""Pass: divergent control flow in programs with barriers, marked for compilers whose uniformity analysis misses it.

A CPU compiler that runs the threads of a block in a loop between two barriers keeps one copy a thread of each value
that is used behind the barrier, unless the value is uniform. One analysis takes a variable for uniform where uniform
values are assigned in code that it takes for uniform: code that every thread of the block reaches, however often, and
code that a uniform branch leads to, though a divergent one does as well:

    hit = 0                                  if z == 2 or x[i] > 0:
    for j in range(x[i]): hit = 1                hit = 1
    syncthreads()                            syncthreads()

So such a statement is put under a branch whose condition reads bits of the thread's index that are never set. Nothing
under a divergent branch is uniform. Later optimisation removes the branch: the index is the counter of the loop over
threads. Each condition reads other bits, or compilers would join branches.

Only statements that contain no barrier are marked, and only where a variable that they set is used outside of them. A
call of a function with early returns is one: where it is inlined, its returns are jumps out of branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from portagpu.ir.analysis.uniform import Marks, Uniformity, callees_with_barriers, mentions
from portagpu.ir.nodes import (
    Assign,
    Break,
    CallFunction,
    Compare,
    CompareOp,
    Constant,
    Expr,
    For,
    If,
    Instruction,
    Load,
    Logical,
    Return,
    Select,
    Stmt,
    Store,
    VectorLoad,
    VectorStore,
    While,
)
from portagpu.ir.program import Function, Program
from portagpu.ir.types import BOOLEAN, INT, VOID
from portagpu.ir.walk import (
    all_expressions,
    all_statements,
    assigned,
    blocks,
    calls_in,
    children,
    expressions,
    own_calls,
)
from portagpu.passes.barriers.marks import is_own, varying
from portagpu.passes.rewriting import calls_one_of
from portagpu.source import Span


def mark_divergence(program: Program) -> Program:
    """The program with its divergent statements under divergent branches, if it has a barrier."""
    callees = callees_with_barriers(program)
    if not callees and not Marks(program.kernel.body, callees).barrier:
        return program
    parameters = {f.name: tuple(p.name for p in f.parameters) for f in program.functions}
    numbers = count(0, 2)  # of marks, even ones: those of `branch_values` are odd
    with_early_returns = _with_early_returns(program)
    divergent: dict[str, set[str]] = {name: set() for name in parameters}  # parameters, by function

    def marked(function: Function, *, is_kernel: bool = False) -> Function:
        names = None if is_kernel else frozenset(divergent[function.name])
        uniform = Uniformity(function, arguments=is_kernel, divergent=names)
        marker = _BranchMarker(function, callees, with_early_returns, uniform, numbers)
        for call in calls_in(function.body):
            for name, value in zip(parameters[call.function], call.args, strict=True):
                if not marker.uniform.is_uniform(value):
                    divergent[call.function].add(name)
        return replace(function, body=tuple(marker.block(function.body)))

    kernel = marked(program.kernel, is_kernel=True)
    functions = [marked(function) for function in reversed(program.functions)]  # callers first
    return replace(program, kernel=kernel, functions=tuple(reversed(functions)))


class _BranchMarker:
    """The statements of one function."""

    def __init__(
        self,
        function: Function,
        callees: frozenset[str],
        with_early_returns: frozenset[str],
        uniform: Uniformity,
        numbers: Iterator[int],
    ) -> None:
        self.uniform = uniform
        self._with_early_returns = with_early_returns
        self._numbers = numbers
        self._marks = Marks(function.body, callees)
        self._mentions = mentions((function.body,))
        self._has_result = function.result is not VOID

    def block(self, body: tuple[Stmt, ...]) -> list[Stmt]:
        """The statements of a block, neighbours that are marked under one branch."""
        result: list[Stmt] = []
        run: list[Stmt] = []

        def flush() -> None:
            if run:
                result.append(If(self._mark(run[0].span), tuple(run), (), span=run[0].span))
                run.clear()

        for statement in body:
            if self._needs_mark(statement):
                run.append(statement)
                continue
            flush()
            result.append(self._inside(statement))
        flush()
        return result

    def _mark(self, span: Span) -> Compare:
        """A condition that always holds, in a form that no compiler takes for the same in all threads."""
        zero, one = (Constant(n, INT, span=span) for n in (0, 1))
        return Compare(CompareOp.LT, varying(zero, next(self._numbers)), one, BOOLEAN, span=span)

    def _needs_mark(self, statement: Stmt) -> bool:
        if isinstance(statement, Return) or self._marks.has_barrier(statement):
            return False
        if not self._diverges(statement) or not self._is_used_outside(statement):
            return False
        return not isinstance(statement, For | While) or not self._is_run_alike(statement)

    def _inside(self, statement: Stmt) -> Stmt:
        """A statement that is not marked itself."""
        match statement:
            case If() if self._marks.has_barrier(statement):
                then, orelse = map(tuple, map(self.block, blocks(statement)))
                return replace(statement, then=then, orelse=orelse)
            case For() | While() if self._marks.has_barrier(statement) or self._is_run_alike(statement):
                return replace(statement, body=tuple(self.block(statement.body)))
            case _:
                return statement

    def _is_run_alike(self, loop: For | While) -> bool:
        """Whether all threads that come to a loop run it equally often."""
        if not all(map(self.uniform.is_uniform, expressions(loop))) or self._marks.has_return(loop):
            return False
        return not self.uniform.leaves_apart(loop, Break)

    def _diverges(self, statement: Stmt) -> bool:
        """Whether threads go apart in a statement."""
        if any(call.function in self._with_early_returns for call in own_calls(statement)):
            return True
        match statement:
            case Assign():
                return _may_branch(statement.value) and not self.uniform.is_uniform(statement.value)
            case If() | While():
                apart = not self.uniform.is_uniform(statement.condition)
            case For():
                apart = not all(map(self.uniform.is_uniform, expressions(statement)))
            case _:
                return False
        return apart or any(self._diverges(inner) for part in blocks(statement) for inner in part)

    def _is_used_outside(self, statement: Stmt) -> bool:
        """Whether what a statement sets may be used elsewhere: variables, elements of a thread's arrays, results."""
        if self._has_result and self._marks.has_return(statement):
            return True
        if any(_sets_elements(inner) for inner in all_statements((statement,))):
            return True
        if any(call.function in self._with_early_returns for call in calls_in((statement,))):
            return True
        within = mentions(((statement,),))
        return any(self._mentions.get(slot, 0) > within.get(slot, 0) for slot in assigned((statement,)))


def _with_early_returns(program: Program) -> frozenset[str]:
    """Functions with a return in a branch or a loop, which only some threads may take, and those that call one."""
    found: set[str] = set()
    for function in program.functions:  # callees come first
        early = any(isinstance(s, Return) and s not in function.body for s in all_statements(function.body))
        if early or calls_one_of(function, found):
            found.add(function.name)
    return frozenset(found)


def _may_branch(value: Expr) -> bool:
    """Whether a value is computed on several ways that meet: one choice by several conditions, of what costs more."""
    inside = tuple(all_expressions(value))
    choices = [e for e in inside if isinstance(e, Select)]
    if not choices or sum(isinstance(e, Select | Logical) for e in inside) < 2:
        return False
    return any(isinstance(e, Load | VectorLoad | CallFunction) for choice in choices for e in _below(choice))


def _below(expr: Expr) -> Iterable[Expr]:
    return (e for child in children(expr) for e in all_expressions(child))


def _sets_elements(statement: Stmt) -> bool:
    """Whether a statement may set elements of a thread's own arrays, which compilers keep as variables."""
    if isinstance(statement, Store | VectorStore) and is_own(statement.base):
        return True
    if isinstance(statement, Instruction) and statement.results:
        return True
    return any(is_own(value) for call in calls_in((statement,)) for value in call.args)
