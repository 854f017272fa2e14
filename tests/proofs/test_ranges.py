"""Ranges of integers: what the analysis says of an expression holds for all values, and so do the passes that ask it.

Interval rules run on unknown bounds: each comparison of a rule is decided both ways, and each way is proved.
"""

from __future__ import annotations

import itertools
import math
from collections import deque

import pytest
import shapes
import z3
from ir_values import Evaluation, bits, in_interval, less, variable
from proof import SPAN, RefutedError, const, function_of, prove, var, variables

from portagpu.ir import nodes as ir
from portagpu.ir.analysis import intervals
from portagpu.ir.analysis.indices import index_slots
from portagpu.ir.analysis.intervals import Interval
from portagpu.ir.analysis.ranges import Ranges
from portagpu.ir.program import ParameterRole
from portagpu.ir.types import INT, LONG, PYINT, PYINT_NARROW, Pointer, Scalar, Space
from portagpu.passes.arithmetic.bare_subscripts import unwrapped
from portagpu.passes.arithmetic.loop_directions import directed

NAMES = [str(kind) for kind in shapes.INTEGERS]


def scalars(exprs):
    return [(n, t) for n, t in variables(exprs) if isinstance(t, Scalar)]


def prove_ranges(exprs, *, wraps, roles=None):
    """Every expression is in the range that is told of it."""
    for expr in exprs:
        function = function_of([ir.Evaluate(expr, span=SPAN)], scalars([expr]), roles)
        interval = Ranges(function, wraps=wraps).of(expr)
        evaluation = Evaluation(slots=index_slots(function), promised=not wraps, cast_promises=not wraps)
        term = evaluation.value(expr)
        extents = [
            evaluation.value(var(p.name, p.type)) >= 0 for p in function.parameters if p.role is ParameterRole.SHAPE
        ]
        known = [*evaluation.promises, *evaluation.needs, *extents]
        prove(in_interval(term, expr.type, interval), known, f"{ir_text(expr)} in {interval}")


def ir_text(expr):
    from portagpu.ir.text import expression_text

    return f"{expression_text(expr)}: {expr.type}"


def bounded(kind):
    """Operands about which something is known."""
    x, high = var("x", kind), kind.dtype.limits[1]
    yield from (x, const(5, kind), const(high, kind), const(kind.dtype.limits[0] or 2, kind))
    yield shapes.binary(ir.BinaryOp.AND, x, const(7, kind))
    yield shapes.binary(ir.BinaryOp.SHR, x, const(1, kind))
    yield shapes.operation("max", x, const(1, kind))
    yield shapes.operation("iabs", x)
    yield from (shapes.cast(var("w", other), kind) for other in (shapes.INTEGERS[0], shapes.INTEGERS[4]))


def of_bounded(kind):
    for a, b in itertools.product(bounded(kind), repeat=2):
        for expr in shapes.one_operator(kind, a, b):
            if in_reach(expr):
                yield expr
                yield from shapes.conversions(expr)


def in_reach(expr):
    """Whether solvers decide it: no product or quotient, but those of 8 bits with a constant."""
    kind = expr.type.dtype
    is_hard = isinstance(expr, ir.Binary) and expr.op is ir.BinaryOp.MUL
    is_hard = is_hard or (isinstance(expr, ir.Operation) and expr.name in ("floordiv", "mod"))
    parts = expr.args if isinstance(expr, ir.Operation) else (expr.left, expr.right) if is_hard else ()
    return not is_hard or (kind.size == 1 and any(isinstance(part, ir.Constant) for part in parts))


@pytest.mark.parametrize("wraps", [True, False])
def test_some_ranges(wraps):
    for kind in (*shapes.INTEGERS, PYINT, PYINT_NARROW):
        prove_ranges(itertools.islice(of_bounded(kind), 0, None, 997), wraps=wraps)


@pytest.mark.parametrize("kind", [INT, LONG], ids=str)
def test_counts_of_bits(kind):
    """From 0 to the bits of the type, by their definitions."""
    prove_ranges([shapes.operation(name, var("x", kind), kind=INT) for name in ("popc", "clz", "ffs")], wraps=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("wraps", [True, False])
@pytest.mark.parametrize("kind", [*shapes.INTEGERS, PYINT, PYINT_NARROW], ids=[*NAMES, "weak int64", "weak int32"])
def test_all_ranges(kind, wraps):
    prove_ranges(of_bounded(kind), wraps=wraps)


# interval rules on unknown bounds -----------------------------------------------------------------------------------


class Decisions:
    """The comparisons of one run: the first ones as they were chosen, those after them true."""

    def __init__(self, chosen):
        self.chosen, self.conditions = list(chosen), []

    def decide(self, condition):
        number = len(self.conditions)
        if number == len(self.chosen):
            self.chosen.append(True)
        self.conditions.append(condition if self.chosen[number] else z3.Not(condition))
        return self.chosen[number]


class Unknown(int):
    """A bound that nothing is known of: an integer of z3 that decides comparisons through `Decisions`."""

    def __new__(cls, term, run):
        self = super().__new__(cls, 0)
        self.term, self.run = term, run
        return self

    def _with(self, other, rule):
        other = other.term if isinstance(other, Unknown) else z3.IntVal(int(other)) if not math.isinf(other) else other
        return rule(self.term, other)

    def _made(self, other, rule):
        if not isinstance(other, Unknown) and math.isinf(other):
            return rule(0, other)
        return Unknown(self._with(other, rule), self.run)

    def _asked(self, other, rule):
        if not isinstance(other, Unknown) and math.isinf(other):
            return rule(0, other)
        return self.run.decide(self._with(other, rule))

    def __add__(self, other):
        return self._made(other, lambda x, y: x + y)

    __radd__ = __add__

    def __sub__(self, other):
        return self._made(other, lambda x, y: x - y)

    def __rsub__(self, other):
        return (-self) + other

    def __mul__(self, other):
        if not isinstance(other, Unknown) and math.isinf(other):
            return other if self > 0 else -other
        return self._made(other, lambda x, y: x * y)

    __rmul__ = __mul__

    def __floordiv__(self, other):  # by positive numbers
        return self._made(other, lambda x, y: x / y)

    def __neg__(self):
        return Unknown(-self.term, self.run)

    def __abs__(self):
        return self if self >= 0 else -self

    def __lt__(self, other):
        return self._asked(other, lambda x, y: x < y)

    def __le__(self, other):
        return self._asked(other, lambda x, y: x <= y)

    def __gt__(self, other):
        return self._asked(other, lambda x, y: x > y)

    def __ge__(self, other):
        return self._asked(other, lambda x, y: x >= y)

    def __eq__(self, other):
        return self._asked(other, lambda x, y: x == y)

    def __ne__(self, other):
        return not self == other

    __hash__ = int.__hash__


def inside(term, interval):
    found = []
    for bound, is_low in ((interval.low, True), (interval.high, False)):
        if isinstance(bound, Unknown) or not math.isinf(bound):
            bound = bound.term if isinstance(bound, Unknown) else z3.IntVal(int(bound))
            found.append(bound <= term if is_low else term <= bound)
        elif (bound > 0) == is_low:
            return z3.BoolVal(False)
    return z3.And(*found) if found else z3.BoolVal(True)


def prove_rule(rule, result, operands=2, second=None):
    """Prove an interval rule for all bounds, infinite ones too; ``second``: the intervals of the second operand."""
    terms = z3.Ints("x y")[:operands]
    ends = list(itertools.product((False, True), repeat=2))  # which bounds are infinite
    cases = itertools.product(ends, repeat=operands) if second is None else itertools.product(ends, second)
    for case in cases:
        waiting = deque([()])
        while waiting:
            run = Decisions(waiting.popleft())
            given, known = [], []
            for number, which in enumerate(case):
                if isinstance(which, Interval):
                    interval = which
                else:
                    low, high = (Unknown(z3.Int(f"{end}{number}"), run) for end in ("low", "high"))
                    interval = Interval(-math.inf if which[0] else low, math.inf if which[1] else high)
                    if not any(which):
                        known.append(low.term <= high.term)
                given.append(interval)
                known.append(inside(terms[number], interval))
            first = len(run.chosen)
            found = rule(*given)
            for n in range(first, len(run.chosen)):
                waiting.append((*run.chosen[:n], False))
            solver_goal = inside(result(*terms), found)
            prove(solver_goal, [*known, *run.conditions], f"{rule} of {case}")


ADD, SUB, MUL = (intervals.OPERATORS[op] for op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL))


def test_interval_rules_for_all_bounds():
    prove_rule(ADD, lambda x, y: x + y)
    prove_rule(SUB, lambda x, y: x - y)
    prove_rule(intervals.FUNCTIONS["min"], lambda x, y: z3.If(x < y, x, y))
    prove_rule(intervals.FUNCTIONS["max"], lambda x, y: z3.If(x > y, x, y))
    prove_rule(intervals.absolute, lambda x: z3.If(x < 0, -x, x), 1)
    prove_rule(Interval.join, lambda x, y: x)
    prove_rule(Interval.join, lambda x, y: y)


@pytest.mark.exhaustive
def test_interval_rules_with_known_divisors_and_counts():
    sizes = [Interval(a, b) for a, b in ((1, 1), (1, 7), (3, 8), (2, math.inf))]
    for rule in (intervals._floor_quotient, intervals._quotient):
        known = [s for s in sizes if not math.isinf(s.high) and s.low == s.high]
        prove_rule(rule, lambda x, y: x / y, second=[*known, Interval(3, 3), Interval(1024, 1024)])
    prove_rule(intervals._modulo, lambda x, y: x % y, second=[Interval(n, n) for n in (1, 3, 8, 1000)])
    counts = [Interval(a, a) for a in (0, 1, 5, 31, 63)]
    prove_rule(intervals._shifted_left, lambda x, y: x * power(y), second=counts)
    prove_rule(intervals._shifted_right, lambda x, y: x / power(y), second=counts)


def power(y):
    found = z3.IntVal(1)
    for n in (1, 5, 31, 63):
        found = z3.If(y == n, z3.IntVal(2**n), found)
    return found


def test_interval_rules_of_small_intervals():
    """Products, quotients, remainders, shifts and bits of all intervals of few numbers, number by number."""
    small = [Interval(a, b) for a in range(-4, 5) for b in range(a, 5)]
    for a, b in itertools.product(small, repeat=2):
        for x, y in itertools.product(range(a.low, a.high + 1), range(b.low, b.high + 1)):
            results = {
                intervals._product: x * y,
                intervals._floor_quotient: x // y if y else 0,
                intervals._modulo: x % y if y else 0,
                intervals._conjunction: x & y,
                intervals._disjunction: x | y,
            }
            if y:
                rest = math.fmod(x, y)
                results |= {intervals._quotient: (x - rest) / y, intervals._remainder: rest}
            if y >= 0:
                results |= {intervals._shifted_left: x << y, intervals._shifted_right: x >> y}
                results[intervals._power] = x**y
            for rule, value in results.items():
                interval = rule(a, b)
                assert interval.low <= value <= interval.high, (rule, a, b, x, y)
            value, interval = x ^ y, intervals._disjunction(a, b)
            assert interval.low <= value <= interval.high


@pytest.mark.parametrize("kind", [*shapes.INTEGERS, PYINT_NARROW], ids=[*NAMES, "weak int32"])
def test_bounds_that_keep_moving(kind):
    """A widened interval holds the one that moved, for all its shapes in and at the ends of the type."""
    low, high = kind.dtype.limits
    numbers = sorted({low, low + 1, 0, 1, 7, high - 1, high})
    some = [Interval(a, b) for a, b in itertools.combinations_with_replacement(numbers, 2)]
    for before, moved in itertools.product(some, repeat=2):
        after = before.join(moved)
        interval = intervals.widened(before, after, kind)
        assert after.within(interval), (before, after, interval)


def test_a_rule_without_its_condition_is_refuted():
    with pytest.raises(RefutedError):
        prove_rule(lambda a, b: Interval(a.low + b.low, a.high), lambda x, y: x + y)


# loops --------------------------------------------------------------------------------------------------------------


def loops():
    for kind in (INT, LONG, PYINT, PYINT_NARROW, shapes.INTEGERS[6]):
        x, y, s = (var(n, kind) for n in "xys")
        low = shapes.binary(ir.BinaryOp.AND, x, const(15, kind))
        steps = [const(1, kind), const(3, kind), s, shapes.operation("max", s, const(2, kind))]
        steps += [const(-2, kind), shapes.operation("min", s, const(-1, kind))] if kind.dtype.limits[0] else []
        for start, stop, step in itertools.product((x, low, const(0, kind)), (y, low, const(9, kind)), steps):
            sign = step.value < 0 if isinstance(step, ir.Constant) else None
            yield ir.For(var("i", kind), start, stop, step, sign, (), span=SPAN)


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 7))])
def test_counters_of_loops(part):
    """In a loop's body the counter is between start and stop, on the side that the step goes to."""
    for loop in itertools.islice(loops(), part, None, 7):
        function = function_of([loop], scalars([loop.start, loop.stop, loop.step]))
        for wraps in (True, False):
            interval = Ranges(function, wraps=wraps).of_counter(loop, {})
            evaluation = Evaluation(promised=False)
            start, stop, step = (evaluation.value(e) for e in (loop.start, loop.stop, loop.step))
            counter, kind = variable("i", loop.counter.type), loop.counter.type
            up = z3.And(z3.Or(counter == start, less(start, counter, kind)), less(counter, stop, kind))
            down = z3.And(z3.Or(counter == start, less(counter, start, kind)), less(stop, counter, kind))
            zero = z3.BitVecVal(0, bits(kind))
            runs = z3.If(less(zero, step, kind), up, z3.And(step != 0, down))
            prove(in_interval(counter, kind, interval), [runs], f"{ir_text(loop.start)} to {ir_text(loop.stop)}")


def test_directions_of_loops():
    directions = 0
    for loop in loops():
        function = function_of([loop], scalars([loop.start, loop.stop, loop.step]))
        after = directed(function).body[0]
        if loop.descending is None and after.descending is not None:
            directions += 1
            step = Evaluation(promised=False).value(loop.step)
            zero = z3.BitVecVal(0, step.size())
            prove(less(step, zero, loop.step.type) if after.descending else less(zero, step, loop.step.type))
    assert directions > 5


# subscripts ---------------------------------------------------------------------------------------------------------


def conditions(kind):
    x, y = var("x", kind), var("y", kind)
    for op, c in itertools.product(ir.CompareOp, (-2, -1, 0, 1, 5)):
        yield shapes.compare(op, x, const(c, kind))
        yield shapes.compare(op, const(c, kind), x)
        yield shapes.compare(op, shapes.binary(ir.BinaryOp.ADD, x, const(2, kind), kind), const(c, kind))
    for op, c in itertools.product(ir.CompareOp, (-1, 0, 5)):
        yield shapes.compare(op, shapes.cast(x, LONG, False), const(c, LONG))
        total = shapes.binary(ir.BinaryOp.ADD, x, const(2, kind), kind)
        yield shapes.compare(op, shapes.cast(total, LONG, False), const(c, LONG))
    for op, logical in itertools.product((ir.CompareOp.LT, ir.CompareOp.GE), ir.LogicalOp):
        first, second = shapes.compare(op, x, const(3, kind)), shapes.compare(op, y, x)
        yield ir.Logical(logical, first, second, span=SPAN)
        yield ir.Not(ir.Logical(logical, first, second, span=SPAN), span=SPAN)


def wrapped_stores(kind):
    """Branches, with a store in each whose subscript may be bare there."""
    n = var("n", INT)
    for condition in conditions(kind):
        for offset in (-1, 0, 1):
            total = shapes.binary(ir.BinaryOp.ADD, var("x", kind), const(offset, kind), kind)
            index = ir.Index(total if kind.dtype.size == 4 else shapes.cast(total, INT, False), n, span=SPAN)
            store = ir.Store(var("a", Pointer(INT, Space.GLOBAL)), index, const(1, INT), span=SPAN)
            yield [ir.If(condition, (store,), (store,), span=SPAN)]
            yield [ir.If(condition, (ir.Return((), span=SPAN),), (), span=SPAN), store]


def prove_bare(body):
    """Bare subscripts are not negative. Returns how many became bare."""
    from portagpu.ir.walk import all_expressions, all_statements, expressions

    kinds = [
        (e.name, e.type)
        for s in all_statements(body)
        for top in expressions(s)
        for e in all_expressions(top)
        if isinstance(e, ir.Var)
    ]
    function = function_of(body, dict.fromkeys(kinds), {"n": ParameterRole.SHAPE})
    before, after = Evaluation(slots=index_slots(function), cast_promises=True), Evaluation(promised=False)
    before.run(function.body)
    after.values = dict(before.inputs)
    after.run(unwrapped(function).body)
    bare = 0
    for (path, _, index, _), (_, _, other, _) in zip(before.stores, after.stores, strict=True):
        bare += not z3.eq(index, other)
        prove(z3.Implies(path, index == other), [*before.promises, *before.needs], "bare subscript")
    return bare


@pytest.mark.parametrize("kind", [INT, PYINT], ids=str)
def test_some_bare_subscripts(kind):
    assert sum(map(prove_bare, itertools.islice(wrapped_stores(kind), 0, None, 11))) > 5


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [INT, LONG, PYINT, PYINT_NARROW], ids=["int32", "int64", "weak int64", "weak int32"])
def test_all_bare_subscripts(kind):
    assert sum(map(prove_bare, wrapped_stores(kind))) > 50
