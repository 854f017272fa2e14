"""Pass: all threads of a block run loops around barriers equally often.

CUDA lets each warp run a loop around warp operations as often as it likes, and on its GPUs threads that are done with a
loop around barriers let the others go on. Elsewhere a barrier needs all threads of the block, also the barriers that
emulate warp operations. A loop whose trip count may differ between threads therefore goes on until every thread of the
block is done, and threads that are done before only walk along:

    while go():          go = condition
        x = shuffle(x)   any = vote(go)
                         while (any) { if (go) { x = shuffle(x); }  if (go) go = condition;  any = vote(go); }

`portagpu.passes.barriers.converge` then takes the ``if (go)`` around the exchange apart.
"""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum

from portagpu.dtypes import UINT32, UINT64
from portagpu.ir.analysis.uniform import EXCHANGES, Uniformity, is_barrier, is_pure, jumps, slots_in
from portagpu.ir.names import VOTES, own
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
    Evaluate,
    Expr,
    For,
    If,
    Operation,
    Return,
    Stmt,
    Var,
    While,
)
from portagpu.ir.program import Function, MemoryArray, Parameter, ParameterRole, Program
from portagpu.ir.types import BOOLEAN, INT, Pointer, Scalar, Space
from portagpu.ir.walk import all_statements, blocks, expressions
from portagpu.passes.rewriting import begins, by_direction, handed_down

_NUMBER = Pointer(INT, Space.SHARED)


class Around(IntEnum):
    """The loops that must run equally often: those around warp operations, or around any barrier.

    Threads that have left before keep up what steers loops around other barriers, says
    `portagpu.passes.barriers.converge`; with ``LEFT`` they need not.
    """

    WARPS = 0
    BARRIERS = 1
    LEFT = 2


def lockstep(program: Program, around: Around = Around.WARPS) -> Program:
    """The same program with loops around barriers run equally often by all threads."""
    if program.fused is not None:
        around = Around.LEFT  # barriers of blocks are barriers of all blocks, which are apart
    waits = _Waits(around)
    voting: set[str] = set()
    functions: list[Function] = []
    for function in (*program.functions, program.kernel):  # callees come first
        made = _Lockstep(function, waits, is_kernel=function is program.kernel)
        functions.append(made.run())
        waits.note(function)
        if made.votes:
            voting.add(function.name)
    if not voting:
        return program
    *others, kernel = functions
    array = MemoryArray(name=VOTES, element=INT, shape=(1,), space=Space.SHARED, span=kernel.span)
    program = replace(program, kernel=kernel, functions=tuple(others), shared=(*program.shared, array))
    cell = Parameter(name=VOTES, type=_NUMBER, role=ParameterRole.SHARED)
    return handed_down(program, (cell,), lambda function: function.name in voting)


class _Waits:
    """The statements that hold a barrier; ``exchanges``: one of warps, which threads may reach as they like."""

    def __init__(self, around: Around) -> None:
        self.around = around
        self._callees: frozenset[str] = frozenset()
        self._exchanging: frozenset[str] = frozenset()

    def note(self, function: Function) -> None:
        """Know a function that others call."""
        if self.anywhere(function.body):
            self._callees |= {function.name}
        if self.exchanges(function.body):
            self._exchanging |= {function.name}

    def anywhere(self, body: tuple[Stmt, ...]) -> bool:
        if self.around is Around.WARPS:
            return self.exchanges(body)
        return any(is_barrier(s, self._callees) for s in all_statements(body))

    def exchanges(self, body: tuple[Stmt, ...]) -> bool:
        return any(is_barrier(s, self._exchanging) and _is_of_warps(s) for s in all_statements(body))


def _is_of_warps(barrier: Stmt) -> bool:
    value = barrier.value if isinstance(barrier, Assign | Evaluate) else None
    return isinstance(value, CallFunction) or (
        isinstance(value, Operation) and (value.name in EXCHANGES or value.name == "warp_barrier")
    )


class _Lockstep:
    def __init__(self, function: Function, waits: _Waits, *, is_kernel: bool) -> None:
        self.function, self.waits, self.is_kernel = function, waits, is_kernel
        self.uniform = Uniformity(function, arguments=is_kernel)
        self.fixed = {
            (p.name, p.type)
            for p in function.parameters
            if is_kernel and p.role in (ParameterRole.SHAPE, ParameterRole.SCALAR)
        }
        self.votes = 0
        self._count = 0

    def run(self) -> Function:
        if not self.waits.anywhere(self.function.body):
            return self.function
        return replace(self.function, body=tuple(self._block(self.function.body, not self.is_kernel)))

    def _fresh(self, word: str, kind: Scalar = BOOLEAN) -> Var:
        self._count += 1
        return Var(own(f"{word}{self._count}"), kind, span=self.function.span)

    def _block(self, body: tuple[Stmt, ...], apart: bool) -> list[Stmt]:
        """Rewrite the loops of a block; ``apart``: some threads of the block may not be here."""
        result: list[Stmt] = []
        for statement in body:
            if not self.waits.anywhere((statement,)):
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
        returns = any(self._divides(s) for s in loop.body)
        if self.waits.around is Around.BARRIERS and not self.waits.exchanges((loop,)):
            return isinstance(loop, For) or not returns  # a loop of turns that are counted ends by itself
        if returns or not apart:
            return not returns
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
            head += [Assign(counter, loop.start, span=span), Assign(go, begins(loop), span=span)]
            step = Binary(BinaryOp.ADD, counter, loop.step, counter.type, span=span)
            tail += [Assign(go, _goes_on(loop), span=span), Assign(counter, step, span=span)]
        else:
            head.append(Assign(go, loop.condition, span=span))
            tail.append(Assign(go, loop.condition, span=span))
        body = self._block(loop.body, True)
        if jumps(loop.body):
            run = self._fresh("run")
            start = Assign(run, Constant(True, BOOLEAN, span=span), span=span)
            body = [start, *_without_jumps(tuple(body), go, run)]
        again = (If(go, tuple(body), (), span=span), If(go, tuple(tail), (), span=span), self._vote(go, votes))
        more = Compare(CompareOp.NE, votes, Constant(0, INT, span=span), span=span)
        return [*head, self._vote(go, votes), While(more, again, span=span)]

    def _vote(self, go: Var, votes: Var) -> Stmt:
        self.votes += 1
        cell = Var(VOTES, _NUMBER, span=go.span)
        vote = Operation("syncthreads_or", (cell, Cast(go, INT, span=go.span)), INT, effect=True, span=go.span)
        return Assign(votes, vote, span=go.span)


def _goes_on(loop: For) -> Expr:
    """Whether there is a turn after one: the way to the end is longer than a step, whatever their sum would be."""
    assert isinstance(loop.counter.type, Scalar)
    kind, span = Scalar(UINT64 if loop.counter.type.dtype.size == 8 else UINT32), loop.span
    counter, stop, step = (Cast(e, kind, span=span) for e in (loop.counter, loop.stop, loop.step))

    def less(left: Expr, right: Expr) -> Expr:
        return Binary(BinaryOp.SUB, left, right, kind, span=span)

    up = Compare(CompareOp.GT, less(stop, counter), step, span=span)
    down = Compare(CompareOp.GT, less(counter, stop), less(Constant(0, kind, span=span), step), span=span)
    return by_direction(loop, up, down)


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
