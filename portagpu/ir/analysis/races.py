"""Data races of programs that count on lockstep: reads of another thread's writes with no barrier between.

A kernel is run here on paper, by the first threads of a block's first row, with numbers where they are known: indices
of threads, constants and what is computed from them. Whatever else decides, such as arguments and memory, is unknown.
Only what certainly happens is reported:

- accesses whose subscripts are known in each of these threads,
- in branches whose conditions are known, or are the same in all threads (then only together with accesses under the
  same conditions), or compare a thread's own number with an unknown one: ``i < n`` is taken to hold, ``i >= n`` not to,
- in the first two iterations of a loop.

Barriers, and everything else that may order threads (atomic operations, fences, exchanges in warps, calls with
effects), end the span of code in which accesses are compared. Threads that write the same element themselves are left
out, and so are those that write what they have read there.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.ir.analysis.first_threads import DIVERGENT, THREADS, UNIFORM, Sketch, is_known, is_uniform, joined, same
from portagpu.ir.names import is_own
from portagpu.ir.nodes import (
    Assign,
    Break,
    CallFunction,
    Compare,
    CompareOp,
    Continue,
    Expr,
    For,
    If,
    Instruction,
    Load,
    Logical,
    LogicalOp,
    Operation,
    Return,
    Select,
    Stmt,
    Store,
    Var,
    VectorLoad,
    VectorStore,
    While,
)
from portagpu.ir.program import Program, Remark
from portagpu.ir.types import Pointer, Space
from portagpu.ir.walk import all_statements, children, expressions
from portagpu.source import Span

PAGE = "docs/lockstep.md#programs-that-count-on-lockstep"
_BUDGET = 4000  # statements that are looked at
_MANY = 64  # accesses that are compared with
_TURNS = 2  # iterations of a loop

Guards = frozenset[tuple[int, int, bool]]


@dataclass(frozen=True, slots=True)
class _Path:
    """Threads that certainly come here, and what the others' coming depends on, which is the same for all."""

    threads: Any
    guards: Guards = frozenset()

    def of(self, threads: Any) -> _Path:
        return _Path(self.threads & threads, self.guards)

    def under(self, condition: object, holds: bool, turn: int = 0) -> _Path:
        return _Path(self.threads, self.guards | {(id(condition), turn, holds)})

    @property
    def is_taken(self) -> bool:
        return bool(self.threads.any())


_NOBODY = _Path(np.zeros(THREADS, bool))


@dataclass(frozen=True, slots=True)
class _Access:
    array: tuple[str, Space]
    write: bool
    place: Any  # the subscript in each thread
    path: _Path
    span: Span


class _TooLongError(Exception):
    """The program is too long to look at."""


def races(program: Program) -> tuple[Remark, ...]:
    """Remarks about a kernel whose threads read what others write, one for each line."""
    walk = _Walk(program)
    with contextlib.suppress(_TooLongError):
        walk.run(program.kernel.body, _Path(np.ones(THREADS, bool)))
    return tuple(walk.found.values())


class _Walk:
    def __init__(self, program: Program) -> None:
        self.found: dict[int, Remark] = {}
        self._sketch = Sketch()
        body = program.kernel.body
        self._sketch.assigned = {
            (s.target.name, s.target.type) for s in all_statements(body) if isinstance(s, Assign)
        } | {(s.counter.name, s.counter.type) for s in all_statements(body) if isinstance(s, For)}
        self._origins: dict[Any, tuple[Any, Any]] = {}  # places in memory that variables were read from
        self._recent: list[_Access] = []
        self._barriers = 0
        self._left = _BUDGET

    def run(self, body: tuple[Stmt, ...], path: _Path) -> _Path:
        """Run a block; what goes on after it."""
        for statement in body:
            self._left -= 1
            if self._left < 0:
                raise _TooLongError
            if isinstance(statement, Break | Continue | Return):
                for top in expressions(statement):
                    self._visit(top, path)
                return _NOBODY
            if isinstance(statement, For | While):
                path = self._loop(statement, path)
                continue
            for top in expressions(statement):
                self._visit(top, path)
            match statement:
                case If():
                    path = self._if(statement, path)
                case Assign():
                    self._assign(statement, path)
                case Store() | VectorStore():
                    self._access(statement, path)
                case Instruction():
                    self._order()
                case _:
                    pass
        return path

    # conditions -----------------------------------------------------------------------------------------------------

    def _if(self, branch: If, path: _Path) -> _Path:
        which = self._sketch.value(branch.condition)
        if is_known(which):
            which = which.astype(bool)
            # the other threads' values stay: assignments are made for the threads of the path
            then, orelse = path.of(which), path.of(~which)
            ends = [
                self.run(block, part) if part.is_taken else part
                for block, part in ((branch.then, then), (branch.orelse, orelse))
            ]
            common = [e.guards for e in ends if e.is_taken]
            guards: Guards = frozenset().union(*common) if common else path.guards
            return _Path(ends[0].threads | ends[1].threads, guards)
        uniform = which is UNIFORM
        start, recent, barriers = self._state(), list(self._recent), self._barriers
        sides = []
        for block, holds in ((branch.then, True), (branch.orelse, False)):
            self._restore(start)
            self._recent = list(recent)
            end = self.run(block, path.under(branch, holds) if uniform else _NOBODY)
            sides.append((end, self._state(), self._recent))
        (then, values, first), (orelse, others, second) = sides
        self._join(values, others, uniform=uniform)
        known = {id(a) for a in first}
        self._recent = [] if self._barriers != barriers else [*first, *(a for a in second if id(a) not in known)]
        if not uniform:
            leaves = any(isinstance(s, Return | Break | Continue) for s in all_statements((branch,)))
            return _NOBODY if leaves else path
        if then.is_taken and orelse.is_taken:
            return path
        return then if then.is_taken else orelse

    def _state(self) -> tuple[dict[Any, Any], dict[Any, Any]]:
        return dict(self._sketch.values), dict(self._sketch.places)

    def _restore(self, state: tuple[dict[Any, Any], dict[Any, Any]]) -> None:
        self._sketch.values, self._sketch.places = dict(state[0]), dict(state[1])

    def _join(self, a: tuple[dict[Any, Any], dict[Any, Any]], b: Any, *, uniform: bool) -> None:
        values = {}
        for slot in a[0].keys() | b[0].keys():
            one, other = a[0].get(slot, DIVERGENT), b[0].get(slot, DIVERGENT)
            values[slot] = one if one is other else joined(one, other, uniform=uniform)
        places = {s: p for s, p in a[1].items() if s in b[1] and b[1][s][0] == p[0] and same(b[1][s][1], p[1])}
        self._sketch.values, self._sketch.places = values, places

    def _origin(self, value: Expr) -> tuple[Any, Any] | None:
        """The array and the subscripts that a value was read from as it is."""
        if isinstance(value, Load):
            place, index = self._sketch.place(value.base), self._sketch.value(value.index)
            return (place[0], place[1] + index) if place and is_known(place[1]) and is_known(index) else None
        return self._origins.get((value.name, value.type)) if isinstance(value, Var) else None

    def _assign(self, statement: Assign, path: _Path) -> None:
        slot = (statement.target.name, statement.target.type)
        origin = self._origin(statement.value)
        self._origins.pop(slot, None)
        if origin is not None:
            self._origins[slot] = origin
        if isinstance(statement.target.type, Pointer):
            place = self._sketch.place(statement.value)
            self._sketch.places.pop(slot, None)
            if place is not None:
                self._sketch.places[slot] = place
            return
        new, values = self._sketch.value(statement.value), self._sketch.values
        if path.threads.all() or not path.is_taken or slot not in values or is_own(slot[0]):
            values[slot] = new
            return
        old = values.get(slot, DIVERGENT)
        values[slot] = np.where(path.threads, new, old) if is_known(new) and is_known(old) else DIVERGENT

    # loops ----------------------------------------------------------------------------------------------------------

    def _loop(self, loop: For | While, path: _Path) -> _Path:
        inside = path
        if isinstance(loop, For):
            for top in expressions(loop):
                self._visit(top, path)
            self._set_counter(loop, self._sketch.value(loop.start))
        for turn in range(_TURNS):
            condition = self._condition(loop)
            if isinstance(loop, While):
                self._visit(condition, inside)
            which = self._sketch.value(condition)
            if is_known(which):
                inside = inside.of(which.astype(bool))
            else:
                inside = inside.under(loop, True, turn) if which is UNIFORM else _NOBODY
            if is_known(which) and not inside.is_taken:
                break
            end = self.run(loop.body, inside)
            inside = end if not end.is_taken else _Path(inside.threads & end.threads, end.guards)
            if isinstance(loop, For):
                counter = self._sketch.values.get((loop.counter.name, loop.counter.type), DIVERGENT)
                step = self._sketch.value(loop.step)
                both = is_known(counter) and is_known(step)
                self._set_counter(loop, counter + step if both else joined(counter, step, uniform=True))
        self._forget(loop)
        returns = any(isinstance(s, Return) for s in all_statements(loop.body))
        return _NOBODY if returns and not inside.is_taken else path

    def _condition(self, loop: For | While) -> Expr:
        if isinstance(loop, While):
            return loop.condition
        op = CompareOp.GT if loop.descending else CompareOp.LT
        return Compare(op, loop.counter, loop.stop, span=loop.span)

    def _set_counter(self, loop: For, value: Any) -> None:
        self._sketch.values[loop.counter.name, loop.counter.type] = value

    def _forget(self, loop: For | While) -> None:
        """What the loop sets is unknown after it: it may have gone on."""
        for statement in all_statements(loop.body):
            if isinstance(statement, Assign):
                slot = (statement.target.name, statement.target.type)
                now = self._sketch.values.get(slot, DIVERGENT)
                self._sketch.values[slot] = UNIFORM if is_uniform(now) else DIVERGENT
                self._sketch.places.pop(slot, None)

    # accesses -------------------------------------------------------------------------------------------------------

    def _order(self) -> None:
        self._recent = []
        self._barriers += 1

    def _visit(self, expr: Expr, path: _Path) -> None:
        """The reads of an expression, and what in it orders threads."""
        if isinstance(expr, Select | Logical):
            first = expr.condition if isinstance(expr, Select) else expr.left
            self._visit(first, path)
            which = self._sketch.value(first)
            yes, no = path.under(expr, True), path.under(expr, False)
            if is_known(which):
                yes, no = path.of(which.astype(bool)), path.of(~which.astype(bool))
            elif which is not UNIFORM:
                yes = no = _NOBODY
            if isinstance(expr, Select):
                self._visit(expr.yes, yes)
                self._visit(expr.no, no)
            else:
                self._visit(expr.right, yes if expr.op is LogicalOp.AND else no)
            return
        for child in children(expr):
            self._visit(child, path)
        if isinstance(expr, Load | VectorLoad):
            self._access(expr, path)
        elif isinstance(expr, Operation | CallFunction) and expr.effect and not _is_record(expr):
            self._order()

    def _access(self, access: Load | VectorLoad | Store | VectorStore, path: _Path) -> None:
        kind = access.base.type
        if not path.is_taken or not isinstance(kind, Pointer) or kind.space not in (Space.GLOBAL, Space.SHARED):
            return
        place = self._sketch.place(access.base)
        if place is None:
            return
        start, index = place[1], self._sketch.value(access.index)
        if not (is_known(start) and is_known(index)):
            return
        moved = start + index
        write = isinstance(access, Store | VectorStore)
        if isinstance(access, Store):
            origin = self._origin(access.value)
            if origin is not None and origin[0] == place[0]:  # who writes what is there changes nothing
                path = path.of(origin[1] != moved)
        new = _Access(place[0], write, moved, path, access.span)
        for old in self._recent:
            if old.array == new.array and old.write != new.write:
                self._compare(old, new)
        if len(self._recent) < _MANY:
            self._recent.append(new)

    def _compare(self, old: _Access, new: _Access) -> None:
        if not (old.path.guards <= new.path.guards or new.path.guards <= old.path.guards):
            return
        read, written = (old, new) if new.write else (new, old)
        meets = (written.place[:, None] == read.place[None, :]) & written.path.threads[:, None]
        meets &= read.path.threads[None, :]
        own = meets.diagonal()
        meets = meets & ~own[None, :]  # who writes it himself, too, reads his own
        if not meets.any():
            return
        writers, readers = np.nonzero(meets)
        width = int(np.maximum(writers, readers).min()) + 1
        name = read.array[0].partition(".")[0]
        line = written.span.line
        there = "here" if line == read.span.line else f"in line {line}"
        text = (
            f"threads read elements of `{name}` that others write {there}, with no barrier between: right only where"
            f" threads run in lockstep, wrong on CPUs ({PAGE}); put cuda.syncthreads() between"
        )
        known = self.found.get(read.span.line)
        if known is None or known.needs_width > width:
            self.found[read.span.line] = Remark(text, read.span, width)


def _is_record(expr: Operation | CallFunction) -> bool:
    """Whether this notes an exception, which orders nothing."""
    return isinstance(expr, Operation) and expr.name == "claim_fault"
