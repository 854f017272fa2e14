"""Pass: uniform places that guarded loads read, marked for compilers that read them where no thread takes the branch.

One CPU's compiler runs neighbouring threads in the lanes of a vector, and the threads of a block in a loop between two
barriers. It reads once for all threads what they all read at one place, and it does so too early, in front of the
branch that guards it:

    l = cuda.local.array(4, int32)          if n > 9:
    if x[i] > 0:                                first = x[n * 10**9]
        y = l[blockIdx.x % 3]                   syncthreads()
                                                y += first

Where the branch is not taken the place may lie anywhere, and the process ends. So the place depends on the thread's
index, of which it gets bits that are never set.

Of a thread's own arrays these are loads in branches that threads take apart, in conditional expressions, behind `and`
and `or`, and in functions, which may be called in one. Not at subscripts of loops' counters and constants alone:
unrolled, they are constants, and other loops seldom count far behind an array.

Of arrays in global memory these are loads in branches and loops around a barrier, also in those that all threads take,
and behind the jumps out of such. Not at places that change from turn to turn of a loop inside: no load leaves its loop.
Not in the package's own kernels either, which would run slower: they read nothing that is far from its array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count

from portagpu.ir.analysis.uniform import Marks, Slot, Uniformity, callees_with_barriers, leaves, slots_in
from portagpu.ir.nodes import (
    Assign,
    Constant,
    Expr,
    For,
    If,
    Load,
    Logical,
    Operation,
    Select,
    Stmt,
    Var,
    VectorLoad,
    While,
)
from portagpu.ir.program import Function, Program
from portagpu.ir.types import Pointer, Space
from portagpu.ir.walk import all_statements, blocks, children, rebuilt
from portagpu.passes.barriers.marks import is_own, varying

_OF_THE_GRID = frozenset({Space.GLOBAL, Space.CONSTANT})


def mark_guarded_loads(program: Program) -> Program:
    """The program with uniform places of guarded loads marked."""
    callees = callees_with_barriers(program)
    is_exempt = program.library  # from marks of global memory
    waits = bool(callees) or Marks(program.kernel.body, callees).barrier
    counters = frozenset[Slot]() if waits and not is_exempt else None  # in functions, which may be called in a branch
    numbers = count(0, 2)  # of marks, even ones: those of `branch_values` are odd

    def marked(function: Function, *, is_kernel: bool = False) -> Function:
        marks = Marks(() if is_exempt else function.body, callees)
        marker = _PlaceMarker(function, marks, numbers, is_kernel=is_kernel)
        return replace(function, body=marker.block(function.body, not is_kernel, None if is_kernel else counters))

    return replace(
        program, kernel=marked(program.kernel, is_kernel=True), functions=tuple(map(marked, program.functions))
    )


class _PlaceMarker:
    """The statements of one function."""

    def __init__(self, function: Function, marks: Marks, numbers: Iterator[int], *, is_kernel: bool) -> None:
        self._uniform = Uniformity(function, arguments=is_kernel)
        self._data = Uniformity(function, arguments=True, control=False)
        self._marks = marks
        self._numbers = numbers
        statements = list(all_statements(function.body))
        assigned = {(s.target.name, s.target.type) for s in statements if isinstance(s, Assign)}
        self._counters = {
            _counter(s) for s in statements if isinstance(s, For) and isinstance(s.step, Constant)
        }.difference(assigned)

    def block(self, body: tuple[Stmt, ...], apart: bool, counters: frozenset[Slot] | None) -> tuple[Stmt, ...]:
        """The statements of a block.

        ``apart``: whether only some threads may run it. ``counters``: what changes in the turns of loops inside the
        innermost branch around a barrier, or of that loop, None outside of all.
        """
        result: list[Stmt] = []
        for whole in body:
            statement = rebuilt(whole, partial(self._places, apart=apart, counters=counters))
            if isinstance(whole, If | For | While):  # as it was, which analyses know
                inside = apart or self._uniform.runs_apart(whole)
                around = frozenset[Slot]() if self._marks.has_barrier(whole) else counters
                statement = self._inside(statement, inside, around)
                if leaves(whole):
                    apart = inside
                    if counters is None and self._marks.barrier:
                        counters = frozenset()
            result.append(statement)
        return tuple(result)

    def _inside(self, statement: If | For | While, apart: bool, counters: frozenset[Slot] | None) -> Stmt:
        """The statement with its blocks marked."""
        if isinstance(statement, If):
            then, orelse = (self.block(part, apart, counters) for part in blocks(statement))
            return replace(statement, then=then, orelse=orelse)
        if counters is not None:
            counters |= _moving(statement)
        return replace(statement, body=self.block(statement.body, apart, counters))

    def _places(self, value: Expr, *, apart: bool, counters: frozenset[Slot] | None) -> Expr:
        """A value with marked subscripts."""
        inner = apart or isinstance(value, Select | Logical)
        value = rebuilt(value, partial(self._places, apart=inner, counters=counters))
        if isinstance(value, Load | VectorLoad) and self._needs_mark(value, apart, counters):
            return replace(value, index=varying(value.index, next(self._numbers)))
        return value

    def _needs_mark(self, load: Load | VectorLoad, apart: bool, counters: frozenset[Slot] | None) -> bool:
        if is_own(load.base):
            return apart and self._data.is_uniform(load.index) and not self._is_counted(load.index)
        if counters is None or not isinstance(load.base.type, Pointer) or load.base.type.space not in _OF_THE_GRID:
            return False
        place = (load.base, load.index)
        return all(map(self._data.is_uniform, place)) and not any(slots_in(part) & counters for part in place)

    def _is_counted(self, index: Expr) -> bool:
        """Whether a subscript is a constant where loops are unrolled."""
        if isinstance(index, Var):
            return (index.name, index.type) in self._counters
        of_launch = isinstance(index, Operation) and not slots_in(index)
        return not of_launch and all(map(self._is_counted, children(index)))


def _moving(loop: For | While) -> set[Slot]:
    """Variables that change from turn to turn of a loop: its counter, what counts itself, and what is made of these."""
    values: dict[Slot, list[set[Slot]]] = {}
    for s in all_statements(loop.body):
        if isinstance(s, Assign):
            values.setdefault((s.target.name, s.target.type), []).append(slots_in(s.value))
        elif isinstance(s, For):
            values.setdefault(_counter(s), []).append(slots_in(s.start))
    found = set(values)
    if isinstance(loop, For):
        found.add(_counter(loop))
    size = -1
    while size != len(found):  # without what a turn makes of numbers that do not change
        size = len(found)
        found -= {slot for slot in found if not all(slots & found for slots in values.get(slot, ()))}
    return found


def _counter(loop: For) -> Slot:
    return loop.counter.name, loop.counter.type
