"""Values of the IR: expressions and statements as bit-vectors, as `portagpu.ir.nodes` and `operations` define them.

This is the meaning against which rules are proved; it shares no code with the printer. Integers wrap around. What
docs/dialect.md promises of indices is collected in ``promises``, each with the condition under which it is evaluated:
rules may rely on them. ``needs`` are conditions that the IR itself demands, such as a divisor that is not zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import z3
from c_values import half_sum, leading_zeros, ones, upper_half
from c_values import quotient as c_quotient

from portagpu.dtypes import BOOL, Kind
from portagpu.ir import nodes as ir
from portagpu.ir.analysis.indices import is_index
from portagpu.ir.types import Vector

RING = (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL)


def signed(kind):
    return kind.dtype.kind is Kind.INT


def bits(kind):
    return kind.dtype.bits


def is_bool(kind):
    return kind.dtype is BOOL


def wide(term, kind, width=64):
    """A number of a type, or a bool, in a width that holds it."""
    if is_bool(kind):
        return z3.If(term, z3.BitVecVal(1, width), z3.BitVecVal(0, width))
    more = width - term.size()
    if more <= 0:
        return term if more == 0 else z3.Extract(width - 1, 0, term)
    return z3.SignExt(more, term) if signed(kind) else z3.ZeroExt(more, term)


def constant(value, kind):
    return z3.BoolVal(bool(value)) if is_bool(kind) else z3.BitVecVal(int(value), bits(kind))


def variable(name, kind):
    """An unknown number of a type."""
    if isinstance(kind, Vector):
        return tuple(z3.BitVec(f"{name}.{lane}", kind.dtype.bits) for lane in range(kind.lanes))
    return z3.Bool(name) if is_bool(kind) else z3.BitVec(name, bits(kind))


def less(x, y, kind):
    return x < y if signed(kind) else z3.ULT(x, y)


def at_most(x, y, kind):
    return x <= y if signed(kind) else z3.ULE(x, y)


def floor_division(x, y, kind):
    """Python's quotient and remainder; both 0 where y is 0.

    Narrow numbers are divided in 32 bits, and remainders are what a quotient leaves, as C defines both: solvers prove
    little of two divisions that differ. A quotient fits its type but for the smallest number by -1 (test_division.py).
    """
    width = max(32, bits(kind))
    x, y = wide(x, kind, width), wide(y, kind, width)
    nothing = z3.BitVecVal(0, width)
    if signed(kind):
        quotient = wide(wide(c_quotient(x, y, True), kind, bits(kind)), kind, width)
        rest = x - quotient * y
        is_below = z3.And(rest != 0, (rest < 0) != (y < 0))
        is_minus_one = y == -1
        quotient = z3.If(is_minus_one, -x, z3.If(is_below, quotient - 1, quotient))
        rest = z3.If(is_minus_one, nothing, z3.If(is_below, rest + y, rest))
    else:
        quotient = c_quotient(x, y, width > bits(kind))
        rest = x - quotient * y
    found = (z3.If(y == 0, nothing, quotient), z3.If(y == 0, nothing, rest))
    return tuple(z3.Extract(bits(kind) - 1, 0, each) for each in found)


def overflows(op, x, y, kind):
    """Whether a sum, difference or product leaves its type."""
    sign = signed(kind)
    above, below = {
        ir.BinaryOp.ADD: (z3.BVAddNoOverflow(x, y, sign), z3.BVAddNoUnderflow(x, y) if sign else z3.BoolVal(True)),
        ir.BinaryOp.SUB: (z3.BVSubNoOverflow(x, y) if sign else z3.BoolVal(True), z3.BVSubNoUnderflow(x, y, sign)),
        ir.BinaryOp.MUL: (z3.BVMulNoOverflow(x, y, sign), z3.BVMulNoUnderflow(x, y) if sign else z3.BoolVal(True)),
    }[op]
    return z3.Not(z3.And(above, below))


@dataclass
class Evaluation:
    """Evaluation of expressions and straight-line statements.

    ``slots``: variables that are index arithmetic (`index_slots`); ``promised``: whether their promise is collected.
    """

    slots: frozenset = frozenset()
    promised: bool = True
    cast_promises: bool = (
        False  # of subscripts: int64 numbers that became int32 fit, and shifts to the left lose nothing
    )
    values: dict = field(default_factory=dict)
    inputs: dict = field(default_factory=dict)  # variables that were read before they were set
    promises: list = field(default_factory=list)
    needs: list = field(default_factory=list)
    stores: list = field(default_factory=list)  # (condition, array, subscript, value)
    path: z3.BoolRef = field(default_factory=lambda: z3.BoolVal(True))
    builtins: dict = field(default_factory=dict)
    observed: list = field(default_factory=list)  # (node, value, condition) of subexpressions that `observe` chooses
    observe: object = None
    summing: bool = False  # whether what is evaluated is a part of a subscript's sum

    def under(self, condition, action):
        before, self.path = self.path, z3.And(self.path, condition)
        found = action()
        self.path = before
        return found

    def promise(self, condition):
        self.promises.append(z3.Implies(self.path, condition))

    def need(self, condition):
        self.needs.append(z3.Implies(self.path, condition))

    def subscript(self, expr):
        """A subscript, whose sums and products are promised not to overflow."""
        before, self.summing = self.summing, True
        found = wide(self.value(expr), expr.type)
        self.summing = before
        return found

    def value(self, expr):
        part = isinstance(expr, ir.Index | ir.Negate | ir.Cast) or (isinstance(expr, ir.Binary) and expr.op in RING)
        before, self.summing = self.summing, self.summing and part
        found = getattr(self, f"_{type(expr).__name__.lower()}")(expr)
        self.summing = before
        if self.observe is not None and self.observe(expr):
            self.observed.append((expr, found, self.path))
        return found

    def plain(self, expr):
        """Whether the arithmetic of a node is promised not to overflow."""
        return self.promised and (self.summing or is_index(expr, self.slots))

    def _constant(self, expr):
        return constant(expr.value, expr.type)

    def _var(self, expr):
        key = (expr.name, expr.type)
        if key not in self.values:
            self.values[key] = self.inputs[key] = variable(expr.name, expr.type)
        return self.values[key]

    def _binary(self, expr):
        x, y = self.value(expr.left), self.value(expr.right)
        if isinstance(expr.type, Vector):
            return tuple(self._of_two(expr, a, b, expr.type, expr.type) for a, b in zip(x, y, strict=True))
        return self._of_two(expr, x, y, expr.type, expr.right.type)

    def _of_two(self, expr, x, y, kind, right_kind):
        op = expr.op
        if is_bool(kind):
            return {ir.BinaryOp.AND: z3.And, ir.BinaryOp.OR: z3.Or, ir.BinaryOp.XOR: z3.Xor}[op](x, y)
        if op in RING and signed(kind) and self.plain(expr) and bits(kind) >= 32:
            self.promise(z3.Not(overflows(op, x, y, kind)))
        if op in (ir.BinaryOp.DIV, ir.BinaryOp.REM):
            self.need(y != 0)
            assert not signed(kind)  # others are Python's `floordiv` and `mod`
            return floor_division(x, y, kind)[op is ir.BinaryOp.REM]
        if op in (ir.BinaryOp.SHL, ir.BinaryOp.SHR):
            count = wide(y, right_kind)
            self.need(z3.ULT(count, bits(kind)))
            count = z3.Extract(bits(kind) - 1, 0, count)
            if op is ir.BinaryOp.SHL:
                if self.cast_promises and self.plain(expr) and signed(kind):
                    self.promise((x << count) >> count == x)
                return x << count
            return x >> count if signed(kind) else z3.LShR(x, count)
        return {
            ir.BinaryOp.ADD: lambda: x + y,
            ir.BinaryOp.SUB: lambda: x - y,
            ir.BinaryOp.MUL: lambda: x * y,
            ir.BinaryOp.AND: lambda: x & y,
            ir.BinaryOp.OR: lambda: x | y,
            ir.BinaryOp.XOR: lambda: x ^ y,
        }[op]()

    def _negate(self, expr):
        x = self.value(expr.operand)
        if isinstance(expr.type, Vector):
            return tuple(-lane for lane in x)
        if signed(expr.type) and bits(expr.type) >= 32 and self.plain(expr):
            self.promise(x != 1 << (bits(expr.type) - 1))
        return -x

    def _invert(self, expr):
        x = self.value(expr.operand)
        return tuple(~lane for lane in x) if isinstance(expr.type, Vector) else ~x

    def _not(self, expr):
        return z3.Not(self.value(expr.operand))

    def _compare(self, expr):
        x, y, kind = self.value(expr.left), self.value(expr.right), expr.left.type
        if isinstance(kind, Vector):
            width = expr.type.dtype.bits
            return tuple(
                z3.If(self._compared(expr.op, a, b, kind), z3.BitVecVal(-1, width), z3.BitVecVal(0, width))
                for a, b in zip(x, y, strict=True)
            )
        if is_bool(kind):
            x, y, kind = wide(x, kind, 8), wide(y, kind, 8), kind
        return self._compared(expr.op, x, y, kind)

    def _compared(self, op, x, y, kind):
        return {
            ir.CompareOp.LT: lambda: less(x, y, kind),
            ir.CompareOp.LE: lambda: at_most(x, y, kind),
            ir.CompareOp.GT: lambda: less(y, x, kind),
            ir.CompareOp.GE: lambda: at_most(y, x, kind),
            ir.CompareOp.EQ: lambda: x == y,
            ir.CompareOp.NE: lambda: x != y,
        }[op]()

    def _logical(self, expr):
        first = self.value(expr.left)
        both = expr.op is ir.LogicalOp.AND
        second = self.under(first if both else z3.Not(first), lambda: self.value(expr.right))
        return (z3.And if both else z3.Or)(first, second)

    def _select(self, expr):
        test = self.value(expr.condition)
        if isinstance(expr.condition.type, Vector):
            yes, no = self.value(expr.yes), self.value(expr.no)
            return tuple(z3.If(c < 0, a, b) for c, a, b in zip(test, yes, no, strict=True))
        yes = self.under(test, lambda: self.value(expr.yes))
        no = self.under(z3.Not(test), lambda: self.value(expr.no))
        return z3.If(test, yes, no)

    def _cast(self, expr):
        x, source, target = self.value(expr.operand), expr.operand.type, expr.type
        if isinstance(target, Vector):
            lanes = x if isinstance(source, Vector) else (x,) * target.lanes
            return tuple(wide(lane, source, target.dtype.bits) for lane in lanes)
        narrows = signed(source) and signed(target) and 32 <= bits(target) < bits(source)
        if self.cast_promises and narrows and not expr.cuts:
            self.promise(z3.SignExt(bits(source) - bits(target), wide(x, source, bits(target))) == x)
        return wide(x, source, bits(target))

    def _index(self, expr):
        x, extent = self.value(expr.operand), self.value(expr.extent)
        self.promise(extent >= 0)
        return z3.If(x < 0, x + extent, x)

    def _load(self, expr):
        index = self.subscript(expr.index)
        width = 8 if is_bool(expr.type) else bits(expr.type)
        term = z3.Function(f"load {expr.base.name} {width}", z3.BitVecSort(64), z3.BitVecSort(width))(index)
        return term != 0 if is_bool(expr.type) else term

    def _makevector(self, expr):
        return tuple(map(self.value, expr.items))

    def _lane(self, expr):
        return self.value(expr.operand)[expr.lane]

    def _operation(self, expr):
        if expr.name in self.builtins:
            return self.builtins[expr.name](expr)
        args = [self.value(a) for a in expr.args]
        kind, operand = expr.type, expr.args[0].type
        if expr.name == "shl" and self.cast_promises and self.plain(expr) and signed(kind):
            self.promise(z3.And(z3.ULT(args[1], bits(kind)), (args[0] << args[1]) >> args[1] == args[0]))
        if expr.name == "iabs" and self.cast_promises and self.plain(expr) and signed(kind):
            self.promise(args[0] != 1 << (bits(kind) - 1))
        if expr.name.startswith("compare_"):
            x, y = (wide(a, e.type, 128) for a, e in zip(args, expr.args, strict=True))
            return self._compared(ir.CompareOp(expr.name[-2:]), x, y, _WIDEST)
        return _OPERATIONS[expr.name](kind, operand, *args)

    # statements

    def run(self, body):
        """Straight-line statements and branches."""
        for statement in body:
            match statement:
                case ir.Assign():
                    key = (statement.target.name, statement.target.type)
                    value = self.value(statement.value)
                    before = self.values.get(key)
                    self.values[key] = value if before is None else z3.If(self.path, value, before)
                case ir.Store():
                    index, value = self.subscript(statement.index), self.value(statement.value)
                    self.stores.append((self.path, statement.base.name, index, value))
                case ir.If():
                    test = self.value(statement.condition)
                    self.under(test, lambda s=statement: self.run(s.then))
                    self.under(z3.Not(test), lambda s=statement: self.run(s.orelse))
                    if _leaves(statement.then) or _leaves(statement.orelse):
                        stays = z3.Not(test) if _leaves(statement.then) else test
                        self.path = z3.And(self.path, stays)
                case ir.Return():
                    if statement.values:
                        self.stores.append((self.path, "result", None, self.value(statement.values[0])))
                case ir.Evaluate():
                    self.value(statement.value)
                case _:
                    raise AssertionError(statement)


def _leaves(body):
    return bool(body) and isinstance(body[-1], ir.Return)


class _Widest:
    """A signed type in which all 64-bit numbers meet."""

    class dtype:
        kind, bits = Kind.INT, 128


_WIDEST = _Widest()


def _in_place(term, kind):
    width = bits(kind)
    return z3.Extract(width - 1, 0, term) if term.size() > width else z3.ZeroExt(width - term.size(), term)


def _shift(left):
    def rule(kind, operand, x, count):
        """All bits leave where the count is that of the type or more, or negative."""
        gone = z3.UGE(count, bits(kind))
        sign = x >> (bits(kind) - 1) if signed(kind) else z3.BitVecVal(0, bits(kind))
        if left:
            return z3.If(gone, z3.BitVecVal(0, bits(kind)), x << count)
        return z3.If(gone, sign, x >> count if signed(kind) else z3.LShR(x, count))

    return rule


def _ffs(kind, operand, x):
    found = z3.BitVecVal(0, bits(kind))
    for place in reversed(range(bits(operand))):
        found = z3.If(z3.Extract(place, place, x) == 1, z3.BitVecVal(place + 1, bits(kind)), found)
    return found


def _reversed(kind, operand, x):
    return z3.Concat(*(z3.Extract(n, n, x) for n in range(bits(kind))))


def slice_bound(kind, operand, bound, extent, low, high):
    """Python's clamping (`slice.indices`)."""
    wrapped = z3.If(bound < 0, bound + extent, bound)
    inside = z3.If(wrapped > high, high, wrapped)
    return z3.If(inside < low, low, inside)


def slice_length(kind, operand, distance, step):
    """The steps from 0 up to a distance: the smallest n with n * step >= distance."""
    return z3.If(distance > 0, c_quotient(distance - 1, step, True) + 1, z3.BitVecVal(0, bits(kind)))


_OPERATIONS = {
    "min": lambda kind, operand, x, y: z3.If(less(y, x, kind), y, x),
    "max": lambda kind, operand, x, y: z3.If(less(x, y, kind), y, x),
    "floordiv": lambda kind, operand, x, y: floor_division(x, y, kind)[0],
    "mod": lambda kind, operand, x, y: floor_division(x, y, kind)[1],
    "shl": _shift(True),
    "shr": _shift(False),
    "iabs": lambda kind, operand, x: z3.If(x < 0, -x, x) if signed(kind) else x,
    "popc": lambda kind, operand, x: _in_place(ones(x), kind),
    "clz": lambda kind, operand, x: _in_place(leading_zeros(x), kind),
    "ffs": _ffs,
    "brev": _reversed,
    "mul_hi": lambda kind, operand, x, y: upper_half(signed(kind), x, y),
    "hadd": lambda kind, operand, x, y: half_sum(signed(kind), x, y),
    "rhadd": lambda kind, operand, x, y: half_sum(signed(kind), x, y, 1),
    "slice_bound": slice_bound,
    "slice_length": slice_length,
    "as_type": lambda kind, operand, x: x,
}


def in_interval(term, kind, interval):
    """Whether a number of a type is in an interval of `portagpu.ir.analysis.intervals`."""
    if is_bool(kind):
        term, width, sign = wide(term, kind, 8), 8, False
    else:
        width, sign = bits(kind), signed(kind)
    lowest, highest = (-(1 << width - 1), (1 << width - 1) - 1) if sign else (0, (1 << width) - 1)
    if interval.low > highest or interval.high < lowest:
        return z3.BoolVal(False)
    conditions = []
    if not math.isinf(interval.low) and interval.low > lowest:
        bound = z3.BitVecVal(int(interval.low), width)
        conditions.append(bound <= term if sign else z3.ULE(bound, term))
    if not math.isinf(interval.high) and interval.high < highest:
        bound = z3.BitVecVal(int(interval.high), width)
        conditions.append(term <= bound if sign else z3.ULE(term, bound))
    return z3.And(*conditions) if conditions else z3.BoolVal(True)
