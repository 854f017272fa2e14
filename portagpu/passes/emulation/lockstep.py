"""Pass: loops around warp operations run in lockstep, where warps are emulated by barriers of the block.

Each warp of a CUDA block runs such a loop as often as it likes; a barrier needs all threads of the block. A loop whose
trip count may differ between threads therefore goes on until every thread of the block is done, and threads that are
done before only walk along:

    while go():          go = condition
        x = shuffle(x)   any = vote(go)
                         while (any) { if (go) { x = shuffle(x); }  if (go) go = condition;  any = vote(go); }

`portagpu.passes.barriers.converge` then takes the ``if (go)`` around the exchange apart.
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.ir.analysis.uniform import EXCHANGES, Uniformity, is_barrier, is_pure, jumps, slots_in
from portagpu.ir.names import GRID_VOTES, WARP_VALUES, own
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Break,
    CallFunction,
    Cast,
    Compare,
    CompareOp,
    Constant,
    Continue,
    Expr,
    For,
    If,
    Operation,
    Return,
    Select,
    Stmt,
    Var,
    While,
)
from portagpu.ir.program import Function, ParameterRole, Program
from portagpu.ir.types import BOOLEAN, INT, Pointer, Scalar, Space
from portagpu.ir.walk import all_statements, blocks, expressions


def lockstep(program: Program) -> Program:
    """The same program with every loop around an emulated warp operation run equally often by all threads."""
    name = WARP_VALUES if program.fused is None else GRID_VOTES
    scratch = next((a for a in program.shared if a.name == name), None)
    if scratch is None:
        return program
    cell = Var(name, Pointer(scratch.element, Space.SHARED), span=scratch.span)
    every = program.fused is not None  # barriers of blocks are barriers of all blocks, too
    callees: frozenset[str] = frozenset()
    functions: list[Function] = []
    for function in program.functions:  # callees come first
        if _exchanges(function.body, callees, every):
            callees |= {function.name}
            function = _Lockstep(function, callees, cell, every, is_kernel=False).run()
        functions.append(function)
    kernel = program.kernel
    if _exchanges(kernel.body, callees, every):
        kernel = _Lockstep(kernel, callees, cell, every, is_kernel=True).run()
    return replace(program, kernel=kernel, functions=tuple(functions))


def _exchanges(body: tuple[Stmt, ...], callees: frozenset[str], every: bool) -> bool:
    """Whether there is a barrier that threads may reach differently often; ``every``: any barrier is one."""
    for statement in all_statements(body):
        if not is_barrier(statement, callees):
            continue
        value = getattr(statement, "value", None)
        if (
            every
            or isinstance(value, CallFunction)
            or (isinstance(value, Operation) and (value.name in EXCHANGES or value.name == "warp_barrier"))
        ):
            return True
    return False


class _Lockstep:
    def __init__(self, function: Function, callees: frozenset[str], cell: Var, every: bool, *, is_kernel: bool) -> None:
        self.function, self.callees, self.cell, self.every = function, callees, cell, every
        self.uniform = Uniformity(function, arguments=is_kernel)
        self.fixed = {
            (p.name, p.type)
            for p in function.parameters
            if is_kernel and p.role in (ParameterRole.SHAPE, ParameterRole.SCALAR)
        }
        self._count = 0

    def run(self) -> Function:
        return replace(self.function, body=tuple(self._block(self.function.body, False)))

    def _fresh(self, word: str, kind: Scalar = BOOLEAN) -> Var:
        self._count += 1
        return Var(own(f"{word}{self._count}"), kind, span=self.function.span)

    def _block(self, body: tuple[Stmt, ...], apart: bool) -> list[Stmt]:
        """Rewrite the loops of a block; ``apart``: some threads of the block may not be here."""
        result: list[Stmt] = []
        for statement in body:
            if not _exchanges((statement,), self.callees, self.every):
                result.append(statement)
            elif isinstance(statement, If):
                inner = apart or not self.uniform.is_uniform(statement.condition)
                then, orelse = (tuple(self._block(part, inner)) for part in blocks(statement))
                result.append(replace(statement, then=then, orelse=orelse))
            elif isinstance(statement, For | While):
                if self._is_common(statement, apart):
                    result.append(replace(statement, body=tuple(self._block(statement.body, apart))))
                else:
                    result += self._voted(statement)
            else:
                result.append(statement)
            apart = apart or self._divides(statement)
        return result

    def _divides(self, statement: Stmt) -> bool:
        """Whether only some threads may return in a statement."""
        if not any(isinstance(s, Return) for s in all_statements((statement,))):
            return False
        if not all(map(self.uniform.is_uniform, expressions(statement))) or isinstance(statement, For | While):
            return True
        return any(self._divides(s) for part in blocks(statement) for s in part)

    def _is_common(self, loop: For | While, apart: bool) -> bool:
        """Whether all threads run the loop equally often, even those that only walk along."""
        heads = expressions(loop)
        if not all(map(self.uniform.is_uniform, heads)) or self.uniform.leaves_apart(loop):
            return False
        if any(self._divides(s) for s in loop.body):
            return False
        if not apart:
            return True
        return not jumps(loop.body) and all(is_pure(e) and slots_in(e) <= self.fixed for e in heads)

    # loops that go on until the last thread is done ---------------------------------------------------------------

    def _voted(self, loop: For | While) -> list[Stmt]:
        span = loop.span
        go, votes = self._fresh("go"), self._fresh("votes", INT)
        head: list[Stmt] = []
        tail: list[Stmt] = []
        if isinstance(loop, For):
            counter = loop.counter
            assert isinstance(counter.type, Scalar)
            head.append(Assign(counter, loop.start, span=span))
            step = Binary(BinaryOp.ADD, counter, loop.step, counter.type, span=span)
            tail.append(Assign(counter, step, span=span))
            condition = _for_condition(loop)
        else:
            condition = loop.condition
        body = self._block(loop.body, True)
        if jumps(loop.body):
            run = self._fresh("run")
            start = Assign(run, Constant(True, BOOLEAN, span=span), span=span)
            body = [start, *_without_jumps(tuple(body), go, run)]
        again: list[Stmt] = [
            If(go, (*body, *tail), (), span=span),
            If(go, (Assign(go, condition, span=span),), (), span=span),
            self._vote(go, votes),
        ]
        more = Compare(CompareOp.NE, votes, Constant(0, INT, span=span), span=span)
        return [*head, Assign(go, condition, span=span), self._vote(go, votes), While(more, tuple(again), span=span)]

    def _vote(self, go: Var, votes: Var) -> Stmt:
        cell = Operation("reinterpret", (self.cell,), Pointer(INT, Space.SHARED), span=go.span)
        vote = Operation("syncthreads_or", (cell, Cast(go, INT, span=go.span)), INT, effect=True, span=go.span)
        return Assign(votes, vote, span=go.span)


def _for_condition(loop: For) -> Expr:
    span, counter = loop.span, loop.counter
    up = Compare(CompareOp.LT, counter, loop.stop, span=span)
    down = Compare(CompareOp.GT, counter, loop.stop, span=span)
    if loop.descending is not None:
        return down if loop.descending else up
    assert isinstance(loop.step.type, Scalar)
    rising = Compare(CompareOp.GT, loop.step, Constant(0, loop.step.type, span=span), span=span)
    return Select(rising, up, down, BOOLEAN, span=span)


def _without_jumps(body: tuple[Stmt, ...], go: Var, run: Var) -> list[Stmt]:
    """The body with ``break`` and ``continue`` as flags: ``run`` for the rest of the iteration, ``go`` for the loop."""
    result: list[Stmt] = []
    for position, statement in enumerate(body):
        span = statement.span
        if isinstance(statement, Break | Continue):
            flags = (go, run) if isinstance(statement, Break) else (run,)
            return [*result, *(Assign(f, Constant(False, BOOLEAN, span=span), span=span) for f in flags)]
        if not jumps((statement,)):
            result.append(statement)
            continue
        assert isinstance(statement, If)
        then, orelse = (tuple(_without_jumps(part, go, run)) for part in blocks(statement))
        result.append(replace(statement, then=then, orelse=orelse))
        rest = _without_jumps(body[position + 1 :], go, run)
        return [*result, If(run, tuple(rest), (), span=span)] if rest else result
    return result
