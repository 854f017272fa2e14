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

from portagpu.dtypes import Kind
from portagpu.ir.analysis.indices import Slot, index_slots, is_index
from portagpu.ir.analysis.intervals import (
    ANYTHING,
    FLAG,
    FUNCTIONS,
    INDEX,
    OPERATORS,
    Interval,
    absolute,
    by_type,
    is_integer,
    of_type,
    widened,
)
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Compare,
    Constant,
    Expr,
    For,
    Index,
    Logical,
    Negate,
    Not,
    Operation,
    Select,
    Stmt,
    Var,
)
from portagpu.ir.program import Function, ParameterRole
from portagpu.ir.types import WARP, Scalar, Type
from portagpu.ir.walk import all_expressions, all_statements, blocks, expressions

Term = Slot | tuple[str, int]  # a variable, or a builtin and its axis
Known = Mapping[Term, "Interval"]
_EXTENT = Interval(1, math.inf)  # nothing is launched over an axis of no blocks or threads
_BUILTINS = {
    "threadIdx": INDEX,
    "blockIdx": INDEX,
    "grid": INDEX,
    "slice_length": INDEX,
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
        return by_type(expr.type) if found is None else found

    def of_counter(self, loop: For, known: Known) -> Interval:
        """The interval of a loop's counter in its body, where ``known`` holds before the loop."""
        with self._assuming(known):
            found = _counter(loop)(self)
        return by_type(loop.counter.type) if found is None else found

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
        return by_type(kind)

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
                    after = widened(before, after, slot[1])
                if after != before:
                    self._known[slot] = after
                    changed = True
            if not changed:
                return
        self._known = {slot: by_type(slot[1]) for slot in self._sources.values}

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
                return Interval(int(expr.value), int(expr.value)) if is_integer(expr.type) else ANYTHING
            case Var():
                return self._assumed_too((expr.name, expr.type), self._variable(expr))
            case Index():
                return INDEX
            case Compare() | Logical() | Not():
                return FLAG
            case Cast():
                return self._cast(expr)
            case Select():
                return self._either(expr.yes, expr.no)
            case Negate() if is_integer(expr.type):
                inner = self._of(expr.operand)
                if inner is None:
                    return None
                return self._fitted(Interval(-inner.high, -inner.low), expr.type, self.is_promised(expr))
            case Binary() if _is_grid_size(expr):
                return Interval(1, of_type(expr.type).high)
            case Binary() if is_integer(expr.type):
                is_promised = self.is_promised(expr)
                return self._two(OPERATORS.get(expr.op), expr.left, expr.right, expr.type, is_promised)
            case Operation() if is_integer(expr.type):
                return self._operation(expr)
            case _:
                return by_type(expr.type)

    def _variable(self, expr: Var) -> Interval | None:
        slot = (expr.name, expr.type)
        if slot in self._sources.values:
            return self._known.get(slot)
        return self._fixed.get(slot, by_type(expr.type))

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
        return by_type(kind) if rule is None else self._fitted(rule(a, b), kind, is_promised)

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
        if not is_integer(source) or not is_integer(target):
            return by_type(target)
        inner = self._of(expr.operand)
        if inner is None or inner.within(of_type(target)):
            return inner
        assert isinstance(source, Scalar) and isinstance(target, Scalar)
        is_narrowed = source.dtype.kind is Kind.INT and target.dtype.kind is Kind.INT and target.dtype.size >= 4
        if self._wraps or expr.cuts or not is_narrowed:
            return by_type(target)
        return inner  # a Python integer that became a subscript: small, by the dialect's promise

    def _operation(self, expr: Operation) -> Interval | None:
        if expr.name in _BUILTINS:
            found = _BUILTINS[expr.name]
            return self._assumed_too(term_of(expr), Interval(found.low, min(found.high, of_type(expr.type).high)))
        if expr.name in FUNCTIONS and len(expr.args) == 2:
            is_promised = self.is_promised(expr)
            return self._two(FUNCTIONS[expr.name], expr.args[0], expr.args[1], expr.type, is_promised)
        if expr.name == "iabs":
            inner = self._of(expr.args[0])
            return None if inner is None else self._fitted(absolute(inner), expr.type, self.is_promised(expr))
        if expr.name == "opaque":
            return self._of(expr.args[0])
        if expr.name == "slice_bound":
            bound = self._of(expr.args[2])
            return INDEX if bound is not None and bound.is_nonnegative else by_type(expr.type)
        return by_type(expr.type)

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
        if isinstance(s, Assign) and is_integer(s.target.type)
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
        case Var() if is_integer(expr.type):
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
        if is_integer(target.type):
            self.values.setdefault((target.name, target.type), []).append(value)


def _given(kind: Type) -> Callable[[Ranges], Interval | None]:
    """What a caller may pass."""
    return lambda ranges: by_type(kind)


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
