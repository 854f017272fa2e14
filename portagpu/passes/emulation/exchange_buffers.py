"""Pass: two buffers in turns for emulated warp operations that follow each other, which saves a barrier.

An exchange writes cells, waits at a barrier, and reads cells of others. The next one must not write what is still being
read. Where nothing but an exchange, or another barrier, can come next, it has the other buffer, which its own barrier
parts from the exchange before. Elsewhere (at the end of a loop's body, before a call) a second barrier follows.

    cells[id] = v         cells[id] = v
    barrier()             barrier()
    x = cells[other]      x = cells[other]
    barrier()
    cells[id] = x         cells[n + id] = x
    barrier()             barrier()
    y = cells[other]      y = cells[n + other]
    barrier()
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.ir.analysis.uniform import BARRIERS, EXCHANGES, Marks
from portagpu.ir.names import WARP_VALUES
from portagpu.ir.nodes import (
    Assign,
    Break,
    Constant,
    Continue,
    Evaluate,
    Expr,
    For,
    If,
    Offset,
    Operation,
    Return,
    Stmt,
    While,
)
from portagpu.ir.program import Function, Program
from portagpu.ir.types import INT, VOID, Pointer
from portagpu.ir.walk import all_statements

BUFFERS = 2  # parts of the arrays of emulated warps


def in_turns(program: Program) -> Program:
    """The same program with buffers chosen, and barriers where an exchange's buffer may be used again."""
    scratch = next((a for a in program.shared if a.name == WARP_VALUES), None)
    if scratch is None:
        return program
    threads = scratch.shape[1]
    callees: frozenset[str] = frozenset()
    functions: list[Function] = []
    for function in program.functions:  # callees come first
        marks = Marks(function.body, callees)
        if marks.barrier:
            callees |= {function.name}
            function = replace(function, body=tuple(_Turns(marks, threads).block(function.body, ends=False)))
        functions.append(function)
    kernel, marks = program.kernel, Marks(program.kernel.body, callees)
    kernel = replace(kernel, body=tuple(_Turns(marks, threads).block(kernel.body, ends=True)))
    return replace(program, kernel=kernel, functions=tuple(functions))


class _Turns:
    def __init__(self, marks: Marks, threads: int) -> None:
        self._marks, self._threads = marks, threads
        self._turn = 0

    def block(self, body: tuple[Stmt, ...], *, ends: bool) -> list[Stmt]:
        """Rewrite a block; ``ends``: nothing comes after it."""
        result: list[Stmt] = []
        reading: Stmt | None = None  # the last exchange, if threads may still read what it passed on

        def wait() -> None:
            nonlocal reading
            if reading is not None:
                barrier = Operation("warp_barrier", (), VOID, effect=True, span=reading.span)
                result.append(Evaluate(barrier, span=reading.span))
                reading = None

        for statement in body:
            operation = _barrier(statement)
            if operation is not None and operation.name in EXCHANGES:
                result.append(self._exchange(statement, operation))
                reading = statement
                continue
            if operation is not None:  # all begin with a barrier
                reading = None
            elif self._marks.has_barrier(statement) or _leaves(statement):
                wait()
            result.append(self._inside(statement))
        if not ends:
            wait()
        return result

    def _inside(self, statement: Stmt) -> Stmt:
        if not self._marks.has_barrier(statement):
            return statement
        match statement:
            case If():
                then, orelse = (tuple(self.block(part, ends=False)) for part in (statement.then, statement.orelse))
                return replace(statement, then=then, orelse=orelse)
            case For() | While():
                return replace(statement, body=tuple(self.block(statement.body, ends=False)))
            case _:
                return statement

    def _exchange(self, statement: Stmt, operation: Operation) -> Stmt:
        assert isinstance(statement, Assign | Evaluate)
        self._turn = 1 - self._turn
        cells, flags, *others = operation.args
        args = (self._part(cells), self._part(flags), *others)
        return replace(statement, value=replace(operation, args=args))

    def _part(self, array: Expr) -> Expr:
        assert isinstance(array.type, Pointer)
        if not self._turn:
            return array
        return Offset(array, Constant(self._threads, INT, span=array.span), array.type, span=array.span)


def _barrier(statement: Stmt) -> Operation | None:
    """The barrier that a statement is."""
    value = statement.value if isinstance(statement, Assign | Evaluate) else None
    return value if isinstance(value, Operation) and value.name in BARRIERS else None


def _leaves(statement: Stmt) -> bool:
    """Whether the block may be left here."""
    return any(isinstance(s, Return | Break | Continue) for s in all_statements((statement,)))
