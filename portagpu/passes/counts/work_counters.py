"""Pass: threads count their work, and add it up at their end.

A thread has a count of each kind in memory of its own; statements that are carried out together add to it once. It is
not among the passes of every kernel, but before all others where a launch is to be counted, so that the program counts
as it was written.

    while s < limit:               work[0] += 4 (bytes of x[0]: the first question)
        s += x[i]                  while s < x[0]:
                                       work[0] += 4; work[1] += 1
                                       s += x[i]
                                       work[0] += 4 (the next question)
                                   add_work(totals, 2, work[0]) ...

Totals have 64 bits in two words of 32, which every device adds to atomically: whoever makes the low word overflow
carries one to the high word. There are several rows of totals, so that threads seldom wait for each other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from portagpu.dtypes import UINT32, UINT64
from portagpu.ir.analysis.work import Cost, Count, cost_of
from portagpu.ir.names import WORK, WORK_TOTALS, own
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
    Load,
    Offset,
    Operation,
    Return,
    Stmt,
    Store,
    Var,
    While,
)
from portagpu.ir.program import Function, MemoryArray, Parameter, ParameterRole, Program
from portagpu.ir.types import INT, VOID, Pointer, Scalar, Space
from portagpu.ir.walk import all_expressions, all_statements, expressions, rebuilt
from portagpu.passes.rewriting import calls_one_of, handed_down, replaced
from portagpu.source import Span

ROWS = 64  # of totals
HEAD = 2  # words of totals before the first row; the first one is not 0 where an access was at an unknown place
TOTALS, TABLE, MARKS = range(3)  # places of the memory that a launch is given for its counts
ADD_WORK = own("add_work")
_UINT, _ULONG = Scalar(UINT32), Scalar(UINT64)
_OWN, _ALL = Pointer(_ULONG, Space.THREAD), Pointer(_UINT, Space.GLOBAL)
_JUMPS = (Return, Break, Continue)


def work_counters(program: Program) -> Program:
    """The program whose threads count. Raises `UncountedWorkError` for what cannot be counted."""
    counting = _Counting()
    functions = [counting.function(f) for f in program.functions]  # callees come first
    kernel = program.kernel
    body = counting.function(kernel).body
    counts = tuple(counting.places)
    quiet = _quiet_functions(program.functions, counting)
    functions = [f for made in functions for f in (*quiet.get(made.name, ()), made)]
    kernel = replace(
        kernel,
        body=_with_ends(body, kernel.span, counts),
        locals=(*kernel.locals, *_memory(kernel.span, counts)),
        parameters=(*kernel.parameters, totals_parameter()),
    )
    counted = replace(program, functions=tuple(functions), kernel=kernel, counted=counts)
    handed = Parameter(name=WORK, type=_OWN, role=ParameterRole.SHARED)
    counted = handed_down(counted, (handed,), _counts)
    return replace(counted, functions=(_add_work(kernel.span), *counted.functions))


def totals_parameter() -> Parameter:
    """The parameter of a kernel that has the totals of all threads."""
    return Parameter(name=WORK_TOTALS, type=_ALL, role=ParameterRole.COUNTS, axis=TOTALS)


def _counts(function: Function) -> bool:
    return any(
        isinstance(expr, Var) and expr.name == WORK
        for statement in all_statements(function.body)
        for top in expressions(statement)
        for expr in all_expressions(top)
    )


class _Counting:
    """Functions' statements with what they add."""

    def __init__(self) -> None:
        self.places: dict[Count, int] = {}
        self.counting: set[str] = set()  # functions that count: a call of them has an effect from now on
        self.quiet: set[str] = set()  # those that are needed as they were, too
        self._span: Span

    def function(self, function: Function) -> Function:
        """One function, after those that it calls."""
        self._span = function.span
        body = replaced(self._block(function.body, None), lambda statement: (statement,), self._with_effects)
        made = replace(function, body=body)
        if _counts(made) or calls_one_of(made, self.counting):
            self.counting.add(function.name)
            made = replace(made, effect=True)
        return made

    def _with_effects(self, expr: Expr) -> Expr:
        made: Expr = rebuilt(expr, self._with_effects)
        if isinstance(made, CallFunction) and made.function in self.counting:
            return replace(made, effect=True)
        return made

    def _asked_again(self, expr: Expr) -> Expr:
        """A condition that is evaluated for a count, without counting itself."""
        made: Expr = rebuilt(expr, self._asked_again)
        if isinstance(made, CallFunction) and made.function in self.counting:
            self.quiet.add(made.function)
            return replace(made, function=_quiet(made.function))
        return made

    def _block(self, body: tuple[Stmt, ...], question: Cost | None, *, repeats: bool = False) -> tuple[Stmt, ...]:
        """A block; ``question``: what it costs to ask the condition of the innermost loop, where that is a `while`.

        ``repeats``: this is the loop's body, at whose end the condition is asked again.
        """
        made: list[Stmt] = []
        together: list[Stmt] = []  # statements that are carried out together, and what they add in all
        always: Counter[Count] = Counter()

        def add(cost: Cost, span: Span) -> None:
            always.update(cost.always)
            together.extend(self._where(cost, span))

        def close(span: Span) -> None:
            made.extend([*self._sums(always, span), *together])
            together.clear()
            always.clear()

        for statement in body:
            cost, span = cost_of(statement), statement.span
            if isinstance(statement, Continue) and question is not None:
                add(question, span)
            add(cost, span)
            together.append(self._inside(statement, cost, question))
            if isinstance(statement, If | For | While | Return | Break | Continue):
                close(span)
        span = body[-1].span if body else self._span
        if repeats and question is not None and not (body and isinstance(body[-1], _JUMPS)):
            add(question, span)
        close(span)
        return tuple(made)

    def _inside(self, statement: Stmt, cost: Cost, question: Cost | None) -> Stmt:
        match statement:
            case If():
                then, orelse = (self._block(part, question) for part in (statement.then, statement.orelse))
                return replace(statement, then=then, orelse=orelse)
            case For():
                return replace(statement, body=self._block(statement.body, None))
            case While():
                return replace(statement, body=self._block(statement.body, cost, repeats=True))
            case _:
                return statement

    def _where(self, cost: Cost, span: Span) -> list[Stmt]:
        """What is added under conditions."""
        made: list[Stmt] = []
        for condition, inner in cost.where:
            then = (*self._sums(inner.always, span), *self._where(inner, span))
            made.append(If(self._asked_again(condition), then, (), span=span))
        return made

    def _sums(self, counts: Counter[Count], span: Span) -> list[Stmt]:
        made: list[Stmt] = []
        for count, amount in counts.items():
            place = Constant(self.places.setdefault(count, len(self.places)), INT, span=span)
            base = Var(WORK, _OWN, span=span)
            old = Load(base, place, _ULONG, span=span)
            new = Binary(BinaryOp.ADD, old, Constant(amount, _ULONG, span=span), _ULONG, span=span)
            made.append(Store(base, place, new, span=span))
        return made


# functions that do not count ----------------------------------------------------------------------------------------


def _quiet(name: str) -> str:
    return f"{name}.quiet"


def _quiet_functions(functions: tuple[Function, ...], counting: _Counting) -> dict[str, tuple[Function]]:
    """The functions that conditions call which are asked again, and those that these call: as they were, by name."""

    def renamed(expr: Expr) -> Expr:
        made: Expr = rebuilt(expr, renamed)
        if isinstance(made, CallFunction) and made.function in counting.counting:
            counting.quiet.add(made.function)
            return replace(made, function=_quiet(made.function))
        return made

    made: dict[str, tuple[Function]] = {}
    for function in reversed(functions):  # callers say which callees they need
        if function.name in counting.quiet:
            body = replaced(function.body, lambda statement: (statement,), renamed)
            made[function.name] = (replace(function, name=_quiet(function.name), body=body),)
    return made


# the kernel's ends --------------------------------------------------------------------------------------------------


def _memory(span: Span, counts: tuple[Count, ...]) -> list[MemoryArray]:
    if not counts:
        return []
    return [MemoryArray(name=WORK, element=_ULONG, shape=(len(counts),), space=Space.THREAD, span=span)]


def _with_ends(body: tuple[Stmt, ...], span: Span, counts: tuple[Count, ...]) -> tuple[Stmt, ...]:
    """A kernel's body that begins with counts of 0 and adds them up wherever it ends."""
    row = Var(own("work_row"), INT, span=span)
    thread = Operation("grid", (Constant(0, INT, span=span),), INT, span=span)
    chosen = Binary(BinaryOp.AND, thread, Constant(ROWS - 1, INT, span=span), INT, span=span)
    start: list[Stmt] = []
    end: list[Stmt] = []
    if counts:
        size = Constant(2 * len(counts), INT, span=span)
        first = Binary(BinaryOp.MUL, chosen, size, INT, span=span)
        start.append(Assign(row, first, span=span))
    for n in range(len(counts)):
        base, place = Var(WORK, _OWN, span=span), Constant(n, INT, span=span)
        start.append(Store(base, place, Constant(0, _ULONG, span=span), span=span))
        word = Binary(BinaryOp.ADD, row, Constant(HEAD + 2 * n, INT, span=span), INT, span=span)
        args = (Var(WORK_TOTALS, _ALL, span=span), word, Load(base, place, _ULONG, span=span))
        end.append(Evaluate(CallFunction(ADD_WORK, args, VOID, effect=True, span=span), span=span))
    ended = _before_returns(body, end)
    return (*start, *ended) if body and isinstance(body[-1], Return) else (*start, *ended, *end)


def _before_returns(body: tuple[Stmt, ...], end: list[Stmt]) -> tuple[Stmt, ...]:
    made: list[Stmt] = []
    for statement in body:
        match statement:
            case Return():
                made += [*end, statement]
            case If():
                then, orelse = (_before_returns(part, end) for part in (statement.then, statement.orelse))
                made.append(replace(statement, then=then, orelse=orelse))
            case For() | While():
                made.append(replace(statement, body=_before_returns(statement.body, end)))
            case _:
                made.append(statement)
    return tuple(made)


def _add_work(span: Span) -> Function:
    """The function that adds a thread's count to a total of two words."""
    totals, word, value = Var(own("totals"), _ALL, span=span), Var("word", INT, span=span), Var("n", _ULONG, span=span)
    low, high = Var("low", _UINT, span=span), Var("high", _UINT, span=span)
    old, whole = Var("old", _UINT, span=span), Var("sum", _UINT, span=span)

    def added(place: Expr, amount: Var) -> Operation:
        return Operation("atomic_add", (Offset(totals, place, _ALL, span=span), amount), _UINT, effect=True, span=span)

    upper = Binary(BinaryOp.SHR, value, Constant(32, _ULONG, span=span), _ULONG, span=span)
    carry = Cast(Compare(CompareOp.LT, whole, low, span=span), _UINT, span=span)
    above = Cast(upper, _UINT, True, span=span)
    second = Binary(BinaryOp.ADD, word, Constant(1, INT, span=span), INT, span=span)

    def none(of: Var) -> Compare:
        return Compare(CompareOp.NE, of, Constant(0, _UINT, span=span), span=span)

    body: tuple[Stmt, ...] = (
        Assign(low, Cast(value, _UINT, True, span=span), span=span),
        Assign(old, added(word, low), span=span),
        Assign(whole, Binary(BinaryOp.ADD, old, low, _UINT, span=span), span=span),
        Assign(high, Binary(BinaryOp.ADD, above, carry, _UINT, span=span), span=span),
        If(none(high), (Evaluate(added(second, high), span=span),), (), span=span),
    )
    some = Compare(CompareOp.NE, value, Constant(0, _ULONG, span=span), span=span)
    return Function(
        name=ADD_WORK,
        parameters=tuple(Parameter(name=v.name, type=v.type, role=ParameterRole.SHARED) for v in (totals, word, value)),
        result=VOID,
        body=(If(some, body, (), span=span),),
        locals=(),
        span=span,
        effect=True,
    )
