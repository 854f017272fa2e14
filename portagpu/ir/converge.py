"""Makes all threads of a block reach each barrier, as OpenCL demands.

CUDA lets threads return before a barrier that the others wait at; on OpenCL's CPU drivers that corrupts memory. Here
such a return, and an ``if`` around a barrier whose condition differs between threads, become flags: a thread whose flag
is down walks along to every barrier and does nothing else.

    if i >= n: return          live = true; if (i >= n) live = false;
    tile[t] = x[i]             if (live) tile[t] = x[i];
    cuda.syncthreads()         barrier();
    y[i] = tile[0]             if (live) y[i] = tile[0];

Returns and branches that are uniform in the block, or that no barrier follows, stay what they are. Variables that steer
a loop around a barrier ("control") are also kept up by threads that have left. What cannot be carried out so is an
`UnsupportedSyntaxError` at the barrier's loop. For compilers that copy what follows a branch with a barrier, uniform
branches are taken apart, too, where there are many.
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.errors import UnsupportedSyntaxError
from portagpu.ir.control import control_slots
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
from portagpu.ir.program import Function, Parameter, ParameterRole, Program
from portagpu.ir.types import BOOLEAN, VOID, Scalar
from portagpu.ir.uniform import EXCHANGES, Marks, Uniformity, is_pure, jumps, mentions
from portagpu.ir.walk import all_expressions, all_statements, blocks, expressions

FLAG_PREFIXES = ("pg.live", "pg.in")
_ACTIVE = "pg.active"  # hidden parameter of a device function that is called behind a flag


def converge(program: Program, branches: int = 0) -> Program:
    """The same program with every barrier reached by all threads; a function may keep so many uniform ``branches``."""
    callees: frozenset[str] = frozenset()
    for function in program.functions:  # callees come first
        if Marks(function.body, callees).barrier:
            callees |= {function.name}
    if not callees and not Marks(program.kernel.body, callees).barrier:
        return program
    wanted: set[str] = set()  # functions that are called behind a flag
    kernel = _Converger(program.kernel, callees, wanted, branches, is_kernel=True).run()
    functions: list[Function] = []
    for function in reversed(program.functions):  # callers first: they say which variants of callees they want
        if function.name in callees:
            functions.append(_Converger(function, callees, wanted, branches).run())
            if function.name in wanted:
                functions.append(_Converger(function, callees, wanted, branches, behind_flag=True).run())
        else:
            functions.append(function)
    return replace(program, kernel=kernel, functions=tuple(reversed(functions)))


def _variant(name: str) -> str:
    return f"{name}_active"


class _Converger:
    def __init__(
        self,
        function: Function,
        callees: frozenset[str],
        wanted: set[str],
        branches: int,
        *,
        is_kernel: bool = False,
        behind_flag: bool = False,
    ) -> None:
        self.function, self.wanted, self.behind_flag = function, wanted, behind_flag
        self.marks = Marks(function.body, callees)
        self.uniform = Uniformity(function, arguments=is_kernel)
        self.control = control_slots(function.body, self.marks)
        around = [s for s in all_statements(function.body) if isinstance(s, If) and self.marks.has_barrier(s)]
        self.all_apart = 0 < branches < len(around)
        self.results: tuple[Var, ...] = ()
        self._count = 0

    def run(self) -> Function:
        function = self.function
        body = function.body
        flags: tuple[Var, ...] = ()
        head: list[Stmt] = []
        parameters = function.parameters
        if self.behind_flag:
            active = Var(_ACTIVE, BOOLEAN, span=function.span)
            parameters = (*parameters, Parameter(name=_ACTIVE, type=BOOLEAN, role=ParameterRole.SCALAR))
            live = self._fresh("live")
            head.append(Assign(live, active, span=function.span))
            flags = (live,)
        elif self._leaves_early(body):
            live = self._fresh("live")
            head.append(Assign(live, Constant(True, BOOLEAN, span=function.span), span=function.span))
            flags = (live,)
        new, _ = self._block(body, flags, self.behind_flag, False)
        tail: list[Stmt] = []
        if self.results or (self.behind_flag and function.result is not VOID):
            if not self.results:
                self._make_results()
            tail.append(Return(self.results, span=function.span))
        name = _variant(function.name) if self.behind_flag else function.name
        return replace(function, name=name, parameters=parameters, body=(*head, *new, *tail))

    def _fresh(self, word: str) -> Var:
        self._count += 1
        return Var(f"pg.{word}{self._count}", BOOLEAN, span=self.function.span)

    # what is needed -------------------------------------------------------------------------------------------------

    def _leaves_early(self, body: tuple[Stmt, ...]) -> bool:
        """Whether a return that threads may take apart comes before a barrier."""

        def visit(block: tuple[Stmt, ...], divergent: bool) -> tuple[bool, bool]:
            """(a divergent return was seen, a barrier follows one)."""
            seen = False
            for statement in block:
                if seen and self.marks.has_barrier(statement):
                    return True, True
                if isinstance(statement, Return):
                    return divergent or seen, False
                inner = divergent
                if isinstance(statement, If):
                    inner = divergent or not self.uniform.is_uniform(statement.condition)
                elif isinstance(statement, For | While):
                    inner = divergent or not all(map(self.uniform.is_uniform, expressions(statement)))
                earlier = False  # a branch that is taken apart runs before its else
                for part in blocks(statement):
                    left, problem = visit(part, inner)
                    waits = self.marks.has_barrier(*part)
                    if problem or (earlier and waits) or (left and waits and isinstance(statement, For | While)):
                        return True, True
                    earlier = earlier or left
                seen = seen or earlier
            return seen, False

        return visit(body, False)[1]

    def _steers(self, statement: Stmt) -> bool:
        """Whether threads that have left must take part in a statement without a barrier."""
        if jumps((statement,)):
            return True
        return any(
            isinstance(s, Assign) and (s.target.name, s.target.type) in self.control
            for s in all_statements((statement,))
        )

    # blocks -----------------------------------------------------------------------------------------------------------

    def _block(
        self, body: tuple[Stmt, ...], flags: tuple[Var, ...], guarded: bool, follows: bool
    ) -> tuple[list[Stmt], bool]:
        """Rewrite a block.

        ``flags`` are set to false by a return, the innermost last; ``guarded``: some may be down already;
        ``follows``: a barrier may come after this block, so that returns must become flags.
        """
        result: list[Stmt] = []
        waiting: list[Stmt] = []  # for one common `if (live)`

        def flush() -> None:
            if waiting:
                result.append(If(flags[-1], tuple(waiting), (), span=waiting[0].span))
                waiting.clear()

        last = max((n for n, s in enumerate(body) if self.marks.has_barrier(s)), default=-1)
        for position, statement in enumerate(body):
            after = follows or position < last
            if self.marks.has_barrier(statement):
                flush()
                made, guarded = self._with_barrier(statement, flags, guarded, after)
                result += made
            elif self.marks.has_return(statement) and after and flags and (guarded or self._divides(statement)):
                if guarded and self._steers(statement):
                    raise self._refusal(statement)
                stripped = self._strip((statement,), flags)
                if guarded:
                    waiting += stripped
                    flush()
                else:
                    result += stripped
                guarded = True
            elif not guarded:
                result.append(statement)
            elif self._steers(statement):
                flush()
                result += self._steering(statement, flags)
            else:
                waiting.append(statement)
        flush()
        return result, guarded

    def _divides(self, statement: Stmt) -> bool:
        """Whether only some threads of a block may take a return in a statement."""
        leaving = [part for part in blocks(statement) if self.marks.has_return(*part)]
        if leaving and not all(map(self.uniform.is_uniform, expressions(statement))):
            return True
        return any(self._divides(s) for part in leaving for s in part if self.marks.has_return(s))

    def _steering(self, statement: Stmt, flags: tuple[Var, ...]) -> list[Stmt]:
        """A statement without a barrier that all threads carry out, whatever their flag."""
        match statement:
            case Assign() if is_pure(statement.value):
                return [statement]
            case Break() | Continue():
                return [statement]
            case If() if is_pure(statement.condition):
                then, _ = self._block(statement.then, flags, True, False)
                orelse, _ = self._block(statement.orelse, flags, True, False)
                return [replace(statement, then=tuple(then), orelse=tuple(orelse))]
            case For() | While() if all(map(is_pure, expressions(statement))):
                body, _ = self._block(statement.body, flags, True, False)
                return [replace(statement, body=tuple(body))]
            case _:
                raise self._refusal(statement)

    def _refusal(self, statement: Stmt) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(
            "this decides how often a loop reaches cuda.syncthreads(), but some threads may have left before it",
            span=statement.span,
            hint="compute it before the early `return`, or put the code between the barriers under `if` instead",
        )

    # barriers -------------------------------------------------------------------------------------------------------

    def _with_barrier(
        self, statement: Stmt, flags: tuple[Var, ...], guarded: bool, after: bool
    ) -> tuple[list[Stmt], bool]:
        match statement:
            case Evaluate() | Assign():
                return (self._barrier(statement, flags[-1]) if guarded else [statement]), guarded
            case If():
                return self._branch(statement, flags, guarded, after)
            case For() | While():
                return self._loop(statement, flags, guarded, after)
            case _:
                raise AssertionError(statement)

    def _barrier(self, statement: Evaluate | Assign, flag: Var) -> list[Stmt]:
        """A barrier that threads with their flag down also reach: they vote neutrally and pass no data."""
        value, span = statement.value, statement.span
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
        self.wanted.add(value.function)
        call = replace(value, function=_variant(value.function), args=(*args, flag))
        return [*made, replace(statement, value=call)]

    def _evaluated(self, values: tuple[Expr, ...], flag: Var) -> tuple[list[Stmt], list[Expr]]:
        """Arguments that threads with their flag down do not compute where memory is read, and the lines that do."""
        made: list[Stmt] = []
        args: list[Expr] = []
        for arg in values:
            if not is_pure(arg) or any(isinstance(e, Load | VectorLoad) for e in all_expressions(arg)):
                self._count += 1
                held = Var(f"pg.arg{self._count}", arg.type, span=arg.span)
                made.append(If(flag, (Assign(held, arg, span=arg.span),), (), span=arg.span))
                arg = held
            args.append(arg)
        return made, args

    def _branch(self, statement: If, flags: tuple[Var, ...], guarded: bool, after: bool) -> tuple[list[Stmt], bool]:
        condition = statement.condition
        stays = self.uniform.is_uniform(condition) and (not guarded or is_pure(condition))
        if stays and self.all_apart and self._is_plain(statement):
            stays = False
        if not stays and self._escapes(statement):
            if guarded:
                raise self._refusal(statement)
            stays = True  # cannot be taken apart; the condition is taken to be uniform, as CUDA demands
        if stays:
            then, left = self._block(statement.then, flags, guarded, after)
            orelse, right = self._block(statement.orelse, flags, guarded, after)
            return [replace(statement, then=tuple(then), orelse=tuple(orelse))], guarded or left or right
        span = statement.span
        held = self._fresh("in")
        first: Expr = Logical(LogicalOp.AND, flags[-1], condition, span=span) if guarded else condition
        made: list[Stmt] = [Assign(held, first, span=span)]
        if statement.orelse:
            other = self._fresh("in")
            second: Expr = Not(held, span=span)
            second = Logical(LogicalOp.AND, flags[-1], second, span=span) if guarded else second
            made.append(Assign(other, second, span=span))
        waits = after or self.marks.has_barrier(*statement.orelse)
        lines, _ = self._block(statement.then, (*flags, held), True, waits)
        made += lines
        if statement.orelse:
            lines, _ = self._block(statement.orelse, (*flags, other), True, after)
            made += lines
        return made, guarded or self.marks.has_return(statement)

    def _is_plain(self, statement: If) -> bool:
        """Whether a uniform branch can be taken apart: its barriers stand in no loop and no other function."""
        if self.marks.has_return(statement) or self._escapes(statement):
            return False
        waiting = [s for s in all_statements((statement,)) if self.marks.has_barrier(s)]
        return not any(
            isinstance(s, For | While) or isinstance(getattr(s, "value", None), CallFunction) for s in waiting
        )

    def _escapes(self, statement: If) -> bool:
        """Whether threads outside a branch would notice that they keep up its control variables, or its jumps."""
        if jumps((statement,)):
            return True
        inside = {
            (s.target.name, s.target.type)
            for part in blocks(statement)
            for s in all_statements(part)
            if isinstance(s, Assign)
        } & self.control
        if not inside:
            return False
        within = mentions(blocks(statement))
        whole = mentions((self.function.body,))
        return any(whole[slot] > within.get(slot, 0) for slot in inside)

    def _loop(
        self, statement: For | While, flags: tuple[Var, ...], guarded: bool, after: bool
    ) -> tuple[list[Stmt], bool]:
        body, left = self._block(statement.body, flags, guarded, True)
        if left and not guarded:  # a later iteration starts with flags down
            body, left = self._block(statement.body, flags, True, True)
        if (guarded or left) and not all(map(is_pure, expressions(statement))):
            raise self._refusal(statement)
        return [replace(statement, body=tuple(body))], guarded or left

    # returns ----------------------------------------------------------------------------------------------------------

    def _make_results(self) -> None:
        kind = self.function.result
        types = getattr(kind, "items", (kind,))
        span = self.function.span
        self.results = tuple(Var(f"pg.result{n}", t, span=span) for n, t in enumerate(types))

    def _strip(self, body: tuple[Stmt, ...], flags: tuple[Var, ...], looped: bool = False) -> list[Stmt]:
        """Statements without a barrier, with returns that put the flags down and skip the rest."""
        result: list[Stmt] = []
        for position, statement in enumerate(body):
            if not self.marks.has_return(statement):
                result.append(statement)
                continue
            span, rest = statement.span, body[position + 1 :]
            down = Not(flags[-1], span=span)
            match statement:
                case Return():
                    return result + self._leave(statement, flags, looped)
                case If():
                    then, orelse = (tuple(self._strip(part, flags, looped)) for part in blocks(statement))
                    result.append(replace(statement, then=then, orelse=orelse))
                case For() | While():
                    result.append(replace(statement, body=tuple(self._strip(statement.body, flags, True))))
                    if looped:
                        result.append(If(down, (Break(span=span),), (), span=span))
                case _:
                    raise AssertionError(statement)
            lines = self._strip(rest, flags, looped)
            if looped or not lines:
                return result + lines
            return [*result, If(flags[-1], tuple(lines), (), span=rest[0].span)]
        return result

    def _leave(self, statement: Return, flags: tuple[Var, ...], looped: bool) -> list[Stmt]:
        span = statement.span
        if statement.values and not self.results:
            self._make_results()
        result: list[Stmt] = []
        if statement.values:
            result += [Assign(r, v, span=span) for r, v in zip(self.results, statement.values, strict=True)]
        result += [Assign(flag, Constant(False, BOOLEAN, span=span), span=span) for flag in flags]
        return [*result, Break(span=span)] if looped else result
