"""Rewriting of one function so that all threads reach its barriers: `converge` says how, and of which functions."""

from __future__ import annotations

from dataclasses import replace

from portagpu.ir.analysis.liveness import Liveness
from portagpu.ir.analysis.uniform import EXCHANGES, Marks, Uniformity, is_pure, jumps, slots_in
from portagpu.ir.names import GATE, INSIDE, LIVE, own, word_of
from portagpu.ir.nodes import (
    Assign,
    Break,
    CallFunction,
    Constant,
    Continue,
    Evaluate,
    Expr,
    For,
    If,
    Load,
    Logical,
    LogicalOp,
    Not,
    Operation,
    Return,
    Select,
    Stmt,
    Var,
    VectorLoad,
    While,
)
from portagpu.ir.program import Function, Parameter, ParameterRole
from portagpu.ir.types import BOOLEAN, VOID, Scalar
from portagpu.ir.walk import all_expressions, all_statements, blocks, expressions
from portagpu.passes.barriers.control import Control, unassigned_slots
from portagpu.passes.barriers.early_returns import divides, leaves_early, strip
from portagpu.passes.barriers.guards import Guard, Level
from portagpu.passes.barriers.loop_exits import entered, gated, may_be_empty, without_exits

# hidden parameters of a device function: whether this thread, and whether any thread of the block, takes part in a call
_ACTIVE, _OPEN = own("active"), own("open")
Behind = tuple[str, ...]  # which of them a variant of a function has


def _variant(name: str, behind: Behind) -> str:
    return "_".join((name, *(word_of(part) for part in behind)))


class Converger:
    """Rewrites a function; for a kernel, or a function that is called ``behind`` flags.

    ``callees``: functions with a barrier. What is found goes to ``wanted``, variants of these that are called behind
    flags, and to ``refused``, statements that threads which have left could not carry out. ``gates``: no branch stands
    around a barrier; ``enters``: the way into a loop is none either.
    """

    def __init__(
        self,
        function: Function,
        callees: frozenset[str],
        wanted: set[tuple[str, Behind]],
        refused: list[Stmt],
        gates: bool,
        *,
        enters: bool = False,
        is_kernel: bool = False,
        behind: Behind = (),
    ) -> None:
        self.function, self.wanted, self.refused, self.gates, self.behind = function, wanted, refused, gates, behind
        self.enters = enters
        self.results: tuple[Var, ...] = ()
        self._count = 0
        self.marks = Marks(function.body, callees)
        self.uniform = Uniformity(function, arguments=is_kernel)
        if gates:
            self.function = replace(function, body=without_exits(function.body, self.marks, self.uniform, self._fresh))
            self.marks = Marks(self.function.body, callees)
            self.uniform = Uniformity(self.function, arguments=is_kernel)
        self.control = Control(self.function.body, self.marks)
        self.unassigned = unassigned_slots(self.function.body)
        self.live = Liveness(self.function.body)

    def run(self) -> Function:
        """The function whose barriers all threads reach."""
        function, span = self.function, self.function.span
        body = function.body
        head: list[Stmt] = []

        def root(word: str, *parameters: str) -> tuple[Var, ...]:
            """A flag that a return puts down: set, or as the caller hands it over."""
            given: list[Expr] = [Var(name, BOOLEAN, span=span) for name in parameters if name in self.behind]
            flag = self._fresh(word)
            head.append(Assign(flag, given[0] if given else Constant(True, BOOLEAN, span=span), span=span))
            return (flag,)

        level = Level.THREAD if _ACTIVE in self.behind else Level.BLOCK if self.behind else Level.NONE
        flags: tuple[Var, ...] = ()
        gates: tuple[Var, ...] = ()
        if _ACTIVE in self.behind or leaves_early(body, self.marks, self.uniform, apart=True):
            flags = root(LIVE, _ACTIVE, _OPEN)
        if _OPEN in self.behind or (self.gates and leaves_early(body, self.marks, self.uniform, apart=False)):
            gates = root(GATE, _OPEN)
        new, _ = self._block(body, Guard(flags, gates, level), False)
        tail: list[Stmt] = []
        if self.results or (self.behind and function.result is not VOID):
            tail.append(Return(self._results(), span=span))
        parameters = [Parameter(name=name, type=BOOLEAN, role=ParameterRole.SCALAR) for name in self.behind]
        return replace(
            function,
            name=_variant(function.name, self.behind),
            parameters=(*function.parameters, *parameters),
            body=(*head, *new, *tail),
        )

    def _fresh(self, word: str) -> Var:
        self._count += 1
        return Var(own(f"{word}{self._count}"), BOOLEAN, span=self.function.span)

    def _results(self) -> tuple[Var, ...]:
        if not self.results:
            kind = self.function.result
            types = getattr(kind, "items", (kind,))
            self.results = tuple(Var(own(f"result{n}"), t, span=self.function.span) for n, t in enumerate(types))
        return self.results

    def _strip(self, statement: Stmt, flags: tuple[Var, ...]) -> list[Stmt]:
        return strip((statement,), flags, self.marks, self._results)

    def _steers(self, statement: Stmt) -> bool:
        """Whether threads that have left must take part in a statement without a barrier."""
        if jumps((statement,)):
            return True
        steering = self.control.ahead_of(statement)
        return any(
            isinstance(s, Assign) and (s.target.name, s.target.type) in steering for s in all_statements((statement,))
        )

    # blocks -----------------------------------------------------------------------------------------------------------

    def _block(self, body: tuple[Stmt, ...], guard: Guard, follows: bool) -> tuple[list[Stmt], Level]:
        """Rewrite a block, and say which threads may have left in it by flags.

        ``follows``: a barrier may come after this block, so that returns must become flags.
        """
        result: list[Stmt] = []
        waiting: list[Stmt] = []  # for one common `if (live)`

        def flush() -> None:
            if waiting:
                result.append(If(guard.var, tuple(waiting), (), span=waiting[0].span))
                waiting.clear()

        left = Level.NONE
        last = max((n for n, s in enumerate(body) if self.marks.has_barrier(s)), default=-1)
        for position, statement in enumerate(body):
            after = follows or position < last
            steering = guard.level is Level.THREAD and self._steers(statement)
            if self.marks.has_barrier(statement):
                flush()
                made, gone = self._with_barrier(statement, guard, after)
                result += made
                guard, left = guard.at(gone), max(left, gone)
            elif self.marks.has_return(statement) and after and (leaving := self._leaving(statement, guard)):
                if steering:
                    self.refused.append(statement)
                flags = guard.flags if leaving is Level.THREAD else (*guard.flags, *guard.gates)
                stripped = self._strip(statement, flags)
                if guard.level > Level.NONE:
                    waiting += stripped
                    flush()
                else:
                    result += stripped
                guard, left = guard.at(leaving), max(left, leaving)
            elif guard.level is Level.NONE:
                result.append(statement)
            elif steering:
                flush()
                lines = self._steering(statement, guard.without_gates())
                gate = guard.gate
                result += lines if gate is None else [If(gate, tuple(lines), (), span=statement.span)]
            else:
                waiting.append(statement)
        flush()
        return result, left

    def _leaving(self, statement: Stmt, guard: Guard) -> Level:
        """Which threads of those that are here may take the return in a statement; NONE: it stays a return."""
        if guard.flags and (guard.level is Level.THREAD or divides(statement, self.marks, self.uniform)):
            return Level.THREAD
        return Level.BLOCK if guard.gates else Level.NONE

    def _steering(self, statement: Stmt, guard: Guard) -> list[Stmt]:
        """A statement without a barrier that all threads carry out, whatever their flag."""
        match statement:
            case Assign() if is_pure(statement.value):
                return [statement]
            case Break() | Continue():
                return [statement]
            case If() if is_pure(statement.condition):
                then, _ = self._block(statement.then, guard, False)
                orelse, _ = self._block(statement.orelse, guard, False)
                return [replace(statement, then=tuple(then), orelse=tuple(orelse))]
            case For() | While() if all(map(is_pure, expressions(statement))):
                body, _ = self._block(statement.body, guard, False)
                return [replace(statement, body=tuple(body))]
            case _:
                self.refused.append(statement)
                return [statement]

    # barriers -------------------------------------------------------------------------------------------------------

    def _with_barrier(self, statement: Stmt, guard: Guard, after: bool) -> tuple[list[Stmt], Level]:
        match statement:
            case Evaluate() | Assign():
                guarded = guard.level > Level.NONE
                return (self._barrier(statement, guard) if guarded else [statement]), Level.NONE
            case If():
                return self._branch(statement, guard, after)
            case For() | While():
                return self._loop(statement, guard)
            case _:
                raise AssertionError(statement)

    def _barrier(self, statement: Evaluate | Assign, guard: Guard) -> list[Stmt]:
        """A barrier that threads with their flag down also reach: they vote neutrally and pass no data."""
        value, span, flag = statement.value, statement.span, guard.var
        if isinstance(value, Operation):
            if not value.args or value.name == "grid_sync":
                return [statement]
            if value.name in EXCHANGES:
                made, args = self._evaluated(value.args[:-1], flag)
                return [*made, replace(statement, value=replace(value, args=(*args, flag)))]
            cell, condition = value.args
            assert isinstance(condition.type, Scalar)
            neutral = Constant(int(value.name == "syncthreads_and"), condition.type, span=span)
            vote = Select(flag, condition, neutral, condition.type, span=span)
            return [replace(statement, value=replace(value, args=(cell, vote)))]
        assert isinstance(value, CallFunction)
        made, args = self._evaluated(value.args, flag)
        behind: dict[str, Var] = {}
        if guard.level is Level.THREAD:
            behind[_ACTIVE] = guard.flags[-1]
        if guard.gate is not None:
            behind[_OPEN] = guard.gate
        key = tuple(behind)
        self.wanted.add((value.function, key))
        call = replace(value, function=_variant(value.function, key), args=(*args, *behind.values()))
        return [*made, replace(statement, value=call)]

    def _evaluated(self, values: tuple[Expr, ...], flag: Var) -> tuple[list[Stmt], list[Expr]]:
        """Arguments that threads with their flag down do not compute where memory is read, and the lines that do."""
        made: list[Stmt] = []
        args: list[Expr] = []
        for arg in values:
            if not is_pure(arg) or any(isinstance(e, Load | VectorLoad) for e in all_expressions(arg)):
                held = self._hold(arg)
                made.append(If(flag, (held,), (), span=arg.span))
                arg = held.target
            args.append(arg)
        return made, args

    def _hold(self, value: Expr) -> Assign:
        self._count += 1
        return Assign(Var(own(f"arg{self._count}"), value.type, span=value.span), value, span=value.span)

    def _branch(self, statement: If, guard: Guard, after: bool) -> tuple[list[Stmt], Level]:
        condition = statement.condition
        kept = self.unassigned | self.control.ahead_of(statement)  # by threads that have left, too
        known = is_pure(condition) and slots_in(condition) <= kept
        together = self.uniform.is_uniform(condition) and (guard.level < Level.THREAD or known)
        if not together and self._escapes(statement):
            if guard.level > Level.NONE:
                self.refused.append(statement)
            together = True  # cannot be taken apart; the condition is taken to be uniform, as CUDA demands
        if together and self.gates:
            return self._gates(statement, guard, after)
        if together:
            then, left = self._block(statement.then, guard, after)
            orelse, right = self._block(statement.orelse, guard, after)
            return [replace(statement, then=tuple(then), orelse=tuple(orelse))], max(left, right)
        made, flag, other = self._sides(statement, INSIDE, guard.var if guard.level > Level.NONE else None)
        waits = after or self.marks.has_barrier(*statement.orelse)
        lines, left = self._block(statement.then, self._inside(guard, flag), waits)
        made += lines
        if other is not None:
            lines, right = self._block(statement.orelse, self._inside(guard, other), after)
            made += lines
            left = max(left, right)
        return made, left

    @staticmethod
    def _inside(guard: Guard, flag: Var) -> Guard:
        return replace(guard, flags=(*guard.flags, flag), level=Level.THREAD)

    def _sides(self, statement: If, word: str, outer: Var | None) -> tuple[list[Stmt], Var, Var | None]:
        """Flags for both sides of a branch: what sets them, and one for each side that there is."""
        span = statement.span

        def within(value: Expr) -> Expr:
            return value if outer is None else Logical(LogicalOp.AND, outer, value, span=span)

        flag = self._fresh(word)
        made: list[Stmt] = [Assign(flag, within(statement.condition), span=span)]
        if not statement.orelse:
            return made, flag, None
        other = self._fresh(word)
        made.append(Assign(other, within(Not(flag, span=span)), span=span))
        return made, flag, other

    def _gates(self, statement: If, guard: Guard, after: bool) -> tuple[list[Stmt], Level]:
        """A branch that all threads of a block take, or none: one gate for each side."""
        made, gate, other = self._sides(statement, "gate", guard.gate)
        waits = after or self.marks.has_barrier(*statement.orelse)
        left = Level.NONE
        for side, body, follows in ((gate, statement.then, waits), (other, statement.orelse, after)):
            if side is None:
                continue
            inner = replace(guard, gates=(*guard.gates, side)).at(Level.BLOCK)
            if guard.level is Level.THREAD or self.marks.has_return(*body):
                flag = self._fresh(INSIDE)
                inside: Expr = side
                if guard.level is Level.THREAD:
                    inside = Logical(LogicalOp.AND, guard.var, side, span=statement.span)
                made.append(Assign(flag, inside, span=statement.span))
                inner = replace(inner, flags=(*guard.flags, flag) if guard.flags else ())
            lines, gone = self._block(body, inner, follows)
            made += lines
            left = max(left, gone)
        return made, left

    def _escapes(self, statement: If) -> bool:
        """Whether threads outside a branch would notice that they keep up its control variables, or its jumps."""
        if jumps((statement,)):
            return True
        inside = {
            (s.target.name, s.target.type)
            for part in blocks(statement)
            for s in all_statements(part)
            if isinstance(s, Assign)
        } & self.control.ahead_of(statement)
        return not inside.isdisjoint(self.live.after(statement))

    def _loop(self, statement: For | While, guard: Guard) -> tuple[list[Stmt], Level]:
        body, left, turn = self._turn(statement, guard)
        if left > guard.level:  # a later iteration starts with flags down
            guard = guard.at(left)
            body, left, turn = self._turn(statement, guard)
        if guard.level is Level.THREAD and not all(map(is_pure, expressions(statement))):
            self.refused.append(statement)
        statement = replace(statement, body=tuple(body))
        gate = guard.gate
        if turn is not None:
            before, statement = entered(statement, turn, gate)
        elif gate is None:
            return [statement], left
        else:
            held, statement = gated(statement, gate, self._fresh)
            before = [If(gate, tuple(held), (), span=statement.span)] if held else []
        # compilers do not join what stands before a barrier with the ways into a loop
        wait = Operation("syncthreads", (), VOID, effect=True, span=statement.span)
        return [*before, Evaluate(wait, span=statement.span), statement], left

    def _turn(self, loop: For | While, guard: Guard) -> tuple[list[Stmt], Level, Var | None]:
        """A loop's body, and what it asks if the first turn always comes."""
        if not self.enters or jumps(loop.body) or not (guard.gate or may_be_empty(loop)):
            return *self._block(loop.body, guard, True), None
        turn = self._fresh(GATE)
        return *self._gates(If(turn, loop.body, (), span=loop.span), guard, True), turn
