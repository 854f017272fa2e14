"""Integer ranges: intervals of expressions and variables.

Thread indices are not negative, extents are positive, a mask and a remainder have an upper bound; sums, products,
shifts and conversions carry bounds on. A variable has the interval that holds all that is assigned to it: from
nothing upwards, and a bound that keeps moving goes to infinity (Cousot & Cousot, "Abstract interpretation", 1977).

Two readings of arithmetic, since C and Python part where a result does not fit its type:

- `Ranges(function)`: index arithmetic is promised to stay small (docs/dialect.md), so that it is what Python would
  compute. This is the reading for subscripts. What is no index, and what a program converts by itself, wraps around.
- `Ranges(function, wraps=True)`: what may leave its type may become anything in it. This is the reading where a wrong
  answer would change a result: `//` and `%`, and the way that a loop goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

from portagpu.dtypes import BOOL, Kind
from portagpu.ir.analysis.indices import Slot, index_slots, is_index
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Compare,
    Constant,
    Expr,
    For,
    If,
    Index,
    Logical,
    Negate,
    Not,
    Operation,
    Select,
    Stmt,
    Var,
    While,
)
from portagpu.ir.program import Function, ParameterRole
from portagpu.ir.types import WARP, Scalar, Type
from portagpu.ir.walk import all_expressions, all_statements, blocks, expressions

Term = Slot | tuple[str, int]  # a variable, or a builtin and its axis
Known = Mapping[Term, "Interval"]
Bound = int | float  # floats are the two infinities only


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from ``low`` to ``high``, both included."""

    low: Bound = -math.inf
    high: Bound = math.inf

    @property
    def is_nonnegative(self) -> bool:
        """Whether none is below zero."""
        return self.low >= 0

    @property
    def is_positive(self) -> bool:
        """Whether all are above zero."""
        return self.low > 0

    @property
    def is_negative(self) -> bool:
        """Whether all are below zero."""
        return self.high < 0

    def join(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def within(self, other: Interval) -> bool:
        """Whether the other one holds all of it."""
        return other.low <= self.low and self.high <= other.high

    def meet(self, other: Interval) -> Interval:
        """What both hold; ``self`` where that is nothing, which only happens in code that no thread reaches."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else self


ANYTHING = Interval()
_FLAG = Interval(0, 1)
_INDEX = Interval(0, math.inf)
_EXTENT = Interval(1, math.inf)  # nothing is launched over an axis of no blocks or threads
_BUILTINS = {
    "threadIdx": _INDEX,
    "blockIdx": _INDEX,
    "grid": _INDEX,
    "slice_length": _INDEX,
    "blockDim": _EXTENT,
    "gridDim": _EXTENT,
    "gridsize": _EXTENT,
    "laneid": Interval(0, WARP - 1),
    "popc": Interval(0, 64),
    "clz": Interval(0, 64),
    "ffs": Interval(0, 64),
}
_EVERYWHERE = frozenset({"threadIdx", "blockIdx", "grid", "blockDim", "gridDim", "gridsize"})
_PATIENCE = 3  # rounds in which a bound may move before it is taken for infinite
_ROUNDS = 50  # never reached by widening; a guard against a fault in it


@cache
def of_type(kind: object) -> Interval:
    """What a number of a type can be."""
    if not isinstance(kind, Scalar) or kind.dtype.is_float or kind.dtype.is_complex:
        return ANYTHING
    if kind.dtype is BOOL:
        return _FLAG
    bits = 8 * kind.dtype.size
    if kind.dtype.kind is Kind.UINT:
        return Interval(0, 2**bits - 1)
    return Interval(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class Ranges:
    """The intervals of one function's integers."""

    def __init__(self, function: Function, *, wraps: bool = False) -> None:
        self._wraps = wraps
        self._known: dict[Slot, Interval] = {}  # of slots that are assigned; a missing one has no value yet
        self._fixed = {(p.name, p.type): self._of_parameter(p.role, p.type) for p in function.parameters}
        self._sources = _Sources(function)
        self._indices = frozenset[Slot]() if wraps else index_slots(function)
        self._cut = frozenset[Slot]() if wraps else _cut_slots(function)
        self._assumed: Known = {}
        self._solve()

    def of(self, expr: Expr, known: Known | None = None) -> Interval:
        """The interval of an integer expression; all integers where nothing is known.

        ``known`` holds what conditions say of terms at this place (`term_of`), beside what holds everywhere.
        """
        with self._assuming(known):
            found = self._of(expr)
        return _own(expr.type) if found is None else found

    def of_counter(self, loop: For, known: Known) -> Interval:
        """The interval of a loop's counter in its body, where ``known`` holds before the loop."""
        with self._assuming(known):
            found = _counter(loop)(self)
        return _own(loop.counter.type) if found is None else found

    @contextmanager
    def _assuming(self, known: Known | None) -> Iterator[None]:
        before, self._assumed = self._assumed, known or {}
        try:
            yield
        finally:
            self._assumed = before

    def _of_parameter(self, role: ParameterRole, kind: Type) -> Interval:
        if role is ParameterRole.SHAPE:
            return Interval(0, of_type(kind).high)
        return _own(kind)

    # variables

    def _solve(self) -> None:
        for turn in range(_ROUNDS):
            changed = False
            for slot, values in self._sources.values.items():
                found = self._joined(values)
                if slot in self._sources.zeroed:
                    found = Interval(0, 0) if found is None else found.join(Interval(0, 0))
                if found is None:
                    continue
                before = self._known.get(slot)
                after = found if before is None else before.join(found)
                if before is not None and after != before and turn >= _PATIENCE:
                    after = _widened(before, after, slot[1])
                if after != before:
                    self._known[slot] = after
                    changed = True
            if not changed:
                return
        self._known = {slot: _own(slot[1]) for slot in self._sources.values}

    def _joined(self, values: list[Callable[[Ranges], Interval | None]]) -> Interval | None:
        found: Interval | None = None
        for value in values:
            one = value(self)
            if one is not None:
                found = one if found is None else found.join(one)
        return found

    # expressions

    def _of(self, expr: Expr) -> Interval | None:
        """The interval; None where a variable in it has no value yet."""
        match expr:
            case Constant():
                return Interval(int(expr.value), int(expr.value)) if _is_integer(expr.type) else ANYTHING
            case Var():
                return self._assumed_too((expr.name, expr.type), self._variable(expr))
            case Index():
                return _INDEX
            case Compare() | Logical() | Not():
                return _FLAG
            case Cast():
                return self._cast(expr)
            case Select():
                return self._either(expr.yes, expr.no)
            case Negate() if _is_integer(expr.type):
                inner = self._of(expr.operand)
                if inner is None:
                    return None
                return self._fitted(Interval(-inner.high, -inner.low), expr.type, self.is_promised(expr))
            case Binary() if _is_grid_size(expr):
                return Interval(1, of_type(expr.type).high)
            case Binary() if _is_integer(expr.type):
                is_promised = self.is_promised(expr)
                return self._two(_BINARY.get(expr.op), expr.left, expr.right, expr.type, is_promised)
            case Operation() if _is_integer(expr.type):
                return self._operation(expr)
            case _:
                return _own(expr.type)

    def _variable(self, expr: Var) -> Interval | None:
        slot = (expr.name, expr.type)
        if slot in self._sources.values:
            return self._known.get(slot)
        return self._fixed.get(slot, _own(expr.type))

    def _assumed_too(self, term: Term | None, found: Interval | None) -> Interval | None:
        """With what is assumed of a term where the expression stands."""
        assumed = self._assumed.get(term) if term is not None else None
        return found if assumed is None or found is None else found.meet(assumed)

    def _either(self, first: Expr, second: Expr) -> Interval | None:
        a, b = self._of(first), self._of(second)
        if a is None or b is None:
            return a or b
        return a.join(b)

    def _two(
        self,
        rule: Callable[[Interval, Interval], Interval] | None,
        left: Expr,
        right: Expr,
        kind: Type,
        is_promised: bool,
    ) -> Interval | None:
        a, b = self._of(left), self._of(right)
        if a is None or b is None:
            return None
        return _own(kind) if rule is None else self._fitted(rule(a, b), kind, is_promised)

    def is_promised(self, expr: Expr) -> bool:
        """Whether the result of arithmetic is promised to fit its type: it is an index, and none that was cut to fit.

        Of a number that the program converted by itself, sums count as indices: `np.int32(cuda.grid(1)) + 1`.
        Products do not: `np.int32(i) * np.int32(1640531527)` is a hash.
        """
        if self._wraps or not is_index(expr, self._indices):
            return False
        if isinstance(expr, Binary) and expr.op in (BinaryOp.ADD, BinaryOp.SUB):
            return True
        return not any(_is_cut(e, self._cut) for e in all_expressions(expr))

    def _cast(self, expr: Cast) -> Interval | None:
        source, target = expr.operand.type, expr.type
        if not _is_integer(source) or not _is_integer(target):
            return _own(target)
        inner = self._of(expr.operand)
        if inner is None or inner.within(of_type(target)):
            return inner
        assert isinstance(source, Scalar) and isinstance(target, Scalar)
        is_narrowed = source.dtype.kind is Kind.INT and target.dtype.kind is Kind.INT and target.dtype.size >= 4
        if self._wraps or expr.cuts or not is_narrowed:
            return _own(target)
        return inner  # a Python integer that became a subscript: small, by the dialect's promise

    def _operation(self, expr: Operation) -> Interval | None:
        if expr.name in _BUILTINS:
            found = _BUILTINS[expr.name]
            return self._assumed_too(term_of(expr), Interval(found.low, min(found.high, of_type(expr.type).high)))
        if expr.name in _OPERATIONS and len(expr.args) == 2:
            is_promised = self.is_promised(expr)
            return self._two(_OPERATIONS[expr.name], expr.args[0], expr.args[1], expr.type, is_promised)
        if expr.name == "iabs":
            inner = self._of(expr.args[0])
            return None if inner is None else self._fitted(_absolute(inner), expr.type, self.is_promised(expr))
        if expr.name == "slice_bound":
            bound = self._of(expr.args[2])
            return _INDEX if bound is not None and bound.is_nonnegative else _own(expr.type)
        return _own(expr.type)

    def _fitted(self, found: Interval, kind: Type, is_promised: bool) -> Interval:
        """What arithmetic gives in its type: unsigned integers always wrap around."""
        limits = of_type(kind)
        if found.within(limits):
            return found
        unsigned = isinstance(kind, Scalar) and kind.dtype.kind is not Kind.INT
        small = isinstance(kind, Scalar) and kind.dtype.size < 4
        if not is_promised or unsigned or small:
            return limits
        return Interval(
            found.low if found.low >= limits.low else -math.inf, found.high if found.high <= limits.high else math.inf
        )


def _is_cut(expr: Expr, slots: frozenset[Slot] | set[Slot]) -> bool:
    """Whether an expression is a number that the program converted to another type by itself."""
    return expr.cuts if isinstance(expr, Cast) else isinstance(expr, Var) and (expr.name, expr.type) in slots


def _cut_slots(function: Function) -> frozenset[Slot]:
    """Variables that hold such numbers, or what was computed of them."""
    values = [
        ((s.target.name, s.target.type), tuple(all_expressions(s.value)))
        for s in all_statements(function.body)
        if isinstance(s, Assign) and _is_integer(s.target.type)
    ]
    found: set[Slot] = set()
    changed = True
    while changed:
        new = {slot for slot, parts in values if slot not in found and any(_is_cut(e, found) for e in parts)}
        found |= new
        changed = bool(new)
    return frozenset(found)


def _is_grid_size(expr: Binary) -> bool:
    """Whether it is `cuda.blockDim.x * cuda.gridDim.x`: the threads along an axis, as `cuda.gridsize`."""
    if expr.op is not BinaryOp.MUL:
        return False
    parts = [e.operand if isinstance(e, Cast) and not e.cuts else e for e in (expr.left, expr.right)]
    terms = [term_of(e) for e in parts]
    return {t[0] for t in terms if t} == {"blockDim", "gridDim"} and len({t[1] for t in terms if t}) == 1


def term_of(expr: Expr) -> Term | None:
    """What something can be known of: an integer variable, or a builtin, which is the same each time it is read."""
    match expr:
        case Var() if _is_integer(expr.type):
            return expr.name, expr.type
        case Operation(args=(Constant(value=axis),)) if expr.name in _EVERYWHERE:
            return expr.name, int(axis)
        case _:
            return None


class _Sources:
    """What is assigned to each integer variable of a function."""

    def __init__(self, function: Function) -> None:
        parameters = {(p.name, p.type) for p in function.parameters}
        self.values: dict[Slot, list[Callable[[Ranges], Interval | None]]] = {}
        for statement in all_statements(function.body):
            if isinstance(statement, Assign):
                self._add(statement.target, _value(statement.value))
            elif isinstance(statement, For):
                self._add(statement.counter, _counter(statement))
        for slot in parameters & self.values.keys():  # assigned, too: also what the caller gave
            self.values[slot].append(_given(slot[1]))
        self.zeroed = {slot for slot in self.values if slot not in parameters} - _surely_set(function.body)

    def _add(self, target: Var, value: Callable[[Ranges], Interval | None]) -> None:
        if _is_integer(target.type):
            self.values.setdefault((target.name, target.type), []).append(value)


def _given(kind: Type) -> Callable[[Ranges], Interval | None]:
    """What a caller may pass."""
    return lambda ranges: _own(kind)


def _value(expr: Expr) -> Callable[[Ranges], Interval | None]:
    return lambda ranges: ranges._of(expr)


def _counter(loop: For) -> Callable[[Ranges], Interval | None]:
    """The values that a loop's counter has in the body."""

    def find(ranges: Ranges) -> Interval | None:
        start, stop, step = ranges._of(loop.start), ranges._of(loop.stop), ranges._of(loop.step)
        if start is None or stop is None or step is None:
            return start
        up, down = (
            Interval(start.low, max(start.low, stop.high - 1)),
            Interval(min(start.high, stop.low + 1), start.high),
        )
        if loop.descending is False or step.is_positive:
            return up
        return down if loop.descending or step.is_negative else up.join(down)

    return find


def _surely_set(body: tuple[Stmt, ...]) -> set[Slot]:
    """Variables that are set by the first statement that names them, in the block that holds all their uses.

    All others begin as zero where C declares them.
    """
    firsts: list[tuple[Slot, dict[Slot, int]]] = []

    def visit(block: tuple[Stmt, ...]) -> dict[Slot, int]:
        """How often the block names each variable."""
        counts: dict[Slot, int] = {}
        for statement in block:
            reads = [
                (e.name, e.type) for top in expressions(statement) for e in all_expressions(top) if isinstance(e, Var)
            ]
            target = _target(statement)
            if target is not None and target not in counts and target not in reads:
                firsts.append((target, counts))
            for slot in (*reads, *(() if target is None else (target,))):
                counts[slot] = counts.get(slot, 0) + 1
            for inner in blocks(statement):
                for slot, count in visit(inner).items():
                    counts[slot] = counts.get(slot, 0) + count
        return counts

    total = visit(body)
    return {slot for slot, counts in firsts if counts[slot] == total[slot]}


def _target(statement: Stmt) -> Slot | None:
    if isinstance(statement, Assign):
        return statement.target.name, statement.target.type
    return (statement.counter.name, statement.counter.type) if isinstance(statement, For) else None


# arithmetic of intervals ----------------------------------------------------------------------------------------------


def _is_integer(kind: Type) -> bool:
    return isinstance(kind, Scalar) and (kind.dtype.is_integer or kind.dtype is BOOL)


def _own(kind: Type) -> Interval:
    """What is known of a number by its type alone; 32 bits and more are taken for all integers."""
    found = of_type(kind)
    is_wide = isinstance(kind, Scalar) and kind.dtype.kind is Kind.INT and kind.dtype.size >= 4
    return ANYTHING if is_wide else found


def _widened(before: Interval, after: Interval, kind: Type) -> Interval:
    """The interval with the bounds that moved as far out as the type lets them."""
    limits = _own(kind)
    low, high = before.low, before.high
    if after.low < low:
        low = next((bound for bound in (1, 0, -1) if bound <= after.low), limits.low)
    if after.high > high:
        high = next((bound for bound in (-1, 0) if bound >= after.high), limits.high)
    return Interval(low, high)


def _times(a: Bound, b: Bound) -> Bound:
    return 0 if a == 0 or b == 0 else a * b  # zero times infinity is zero: bounds are reached or passed, never both


def _corners(rule: Callable[[Bound, Bound], Bound], a: Interval, b: Interval) -> Interval:
    """Of an operation that grows or falls with each operand."""
    found = [rule(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(found), max(found))


def _product(a: Interval, b: Interval) -> Interval:
    return _corners(_times, a, b)


def _floor_quotient(a: Interval, b: Interval) -> Interval:
    if not b.is_positive:
        return Interval(0, a.high) if a.is_nonnegative and b.is_nonnegative else ANYTHING
    return _corners(_floored, a, b)


def _floored(x: Bound, y: Bound) -> Bound:
    if math.isinf(x):
        return x
    if math.isinf(y):
        return -1 if x < 0 else 0
    return x // y


def _quotient(a: Interval, b: Interval) -> Interval:
    """C's, which rounds towards zero."""
    return _floor_quotient(a, b) if a.is_nonnegative and b.is_nonnegative else ANYTHING


def _modulo(a: Interval, b: Interval) -> Interval:
    """Python's, which has the divisor's sign."""
    if b.is_nonnegative:  # of a division by zero zero remains
        rest = max(0, b.high - 1)
        return Interval(0, min(a.high, rest) if a.is_nonnegative else rest)
    return Interval(b.low + 1, 0) if b.is_negative else ANYTHING


def _remainder(a: Interval, b: Interval) -> Interval:
    """C's, which has the dividend's sign."""
    if not a.is_nonnegative:
        return ANYTHING
    return Interval(0, min(a.high, b.high - 1) if b.is_positive else a.high)


def _shifted_left(a: Interval, b: Interval) -> Interval:
    if not b.is_nonnegative or b.high > 63:
        return Interval(0, math.inf) if a.is_nonnegative and b.is_nonnegative else ANYTHING
    return _product(a, Interval(2 ** int(b.low), 2 ** int(b.high)))


def _shifted_right(a: Interval, b: Interval) -> Interval:
    if not b.is_nonnegative:
        return ANYTHING
    powers = Interval(2 ** int(min(b.low, 64)), 2 ** int(min(b.high, 64)))
    return _corners(_floored, a, powers)


def _conjunction(a: Interval, b: Interval) -> Interval:
    tops = [i.high for i in (a, b) if i.is_nonnegative]
    return Interval(0, min(tops)) if tops else ANYTHING


def _disjunction(a: Interval, b: Interval) -> Interval:
    if not (a.is_nonnegative and b.is_nonnegative):
        return ANYTHING
    top = max(a.high, b.high)
    return Interval(0, top if math.isinf(top) else 2 ** int(top).bit_length() - 1)


def _absolute(a: Interval) -> Interval:
    low = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Interval(low, max(abs(a.low), abs(a.high)))


def _power(a: Interval, b: Interval) -> Interval:
    return _INDEX if a.is_nonnegative and b.is_nonnegative else ANYTHING


_BINARY: dict[BinaryOp, Callable[[Interval, Interval], Interval]] = {
    BinaryOp.ADD: lambda a, b: Interval(a.low + b.low, a.high + b.high),
    BinaryOp.SUB: lambda a, b: Interval(a.low - b.high, a.high - b.low),
    BinaryOp.MUL: _product,
    BinaryOp.DIV: _quotient,
    BinaryOp.REM: _remainder,
    BinaryOp.AND: _conjunction,
    BinaryOp.OR: _disjunction,
    BinaryOp.XOR: _disjunction,
    BinaryOp.SHL: _shifted_left,
    BinaryOp.SHR: _shifted_right,
}
_OPERATIONS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "min": lambda a, b: Interval(min(a.low, b.low), min(a.high, b.high)),
    "max": lambda a, b: Interval(max(a.low, b.low), max(a.high, b.high)),
    "floordiv": _floor_quotient,
    "mod": _modulo,
    "shl": _shifted_left,
    "shr": _shifted_right,
    "ipow": _power,
}


# loops ----------------------------------------------------------------------------------------------------------------


def directed(function: Function) -> Function:
    """The function, in which loops whose step has one sign, whatever its value, say which way they go.

    A loop whose end is asked for both ways is not unrolled by one GPU compiler, and takes half as long again.
    """
    if not any(isinstance(s, For) and s.descending is None for s in all_statements(function.body)):
        return function
    ranges = Ranges(function, wraps=True)

    def visit(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map(one, body))

    def one(statement: Stmt) -> Stmt:
        match statement:
            case If():
                return replace(statement, then=visit(statement.then), orelse=visit(statement.orelse))
            case While():
                return replace(statement, body=visit(statement.body))
            case For():
                step, descending = ranges.of(statement.step), statement.descending
                if descending is None and (step.is_positive or step.is_negative):
                    descending = step.is_negative
                return replace(statement, descending=descending, body=visit(statement.body))
            case _:
                return statement

    return replace(function, body=visit(function.body))
