"""Expressions in all lanes of a vector at once; see `portagpu.passes.arithmetic.lanes`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from portagpu.dtypes import BOOL, INT32, Kind
from portagpu.ir.names import own
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    CallFunction,
    Cast,
    Compare,
    CompareOp,
    Constant,
    Expr,
    Index,
    Invert,
    Load,
    Logical,
    LogicalOp,
    MakeVector,
    Negate,
    Not,
    Operation,
    Select,
    Stmt,
    Var,
    VectorLoad,
)
from portagpu.ir.program import Function
from portagpu.ir.types import BOOLEAN, Scalar, Type, Vector, in_memory
from portagpu.ir.walk import all_expressions, rebuilt
from portagpu.passes.arithmetic.lane_values import (
    Lanes,
    NotElementwise,
    Shape,
    as_mask,
    lane_of,
    mask_type,
    of_one_size,
    of_size,
    vector_of,
    vector_type,
)
from portagpu.source import Span

# operations of floats that back ends have for vectors, too
_ELEMENTWISE = frozenset(
    """
    sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc tgamma
    lgamma cbrt rsqrt floor ceil trunc rint fabs atan2 copysign fmod hypot pow fma fmin fmax bfloat16_value
    one_plus_erf one_plus_tanh
    """.split()
)
_SUMS = (BinaryOp.ADD, BinaryOp.SUB)
_SMALL = 1 << 30  # a count of lanes, which is an index, plus a smaller constant is not negative as int32
_EXTREMES = {"max": CompareOp.GT, "min": CompareOp.LT, "maximum": CompareOp.GT, "minimum": CompareOp.LT}


@dataclass(frozen=True, slots=True)
class Copy:
    """A function for all lanes, and how its results differ from lane to lane."""

    function: Function
    shape: Shape


Known = dict[tuple[str, Type], Lanes]  # variables, by name and type: what they are in each lane


class LaneExpressions:
    """What expressions of a function become where each lane has numbers of its own: statements go to ``out``."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.taken: tuple[Expr, ...] = ()  # masks: the lanes that are here have all of them
        self.in_subscript = False  # of a load by all lanes: its sums are promised not to overflow
        self.out: list[Stmt] = []
        self.count = 0

    def copy_of(self, name: str, shapes: tuple[Shape, ...]) -> Copy | None:
        """The copy of a function for arguments of these shapes; None where there cannot be one."""
        raise NotImplementedError

    @contextmanager
    def where(self, mask: Expr) -> Iterator[None]:
        """Only lanes of a mask are here."""
        before = self.taken
        self.taken = (*before, mask)
        yield
        self.taken = before

    def held(self, value: Lanes) -> Lanes:
        """The value in a variable."""
        if isinstance(value.expr, Var | Constant):
            return value
        self.count += 1
        target = Var(own(f"lanes{self.count}"), value.expr.type, span=value.expr.span)
        self.out.append(Assign(target, value.expr, span=value.expr.span))
        return Lanes(value.shape, target)

    # expressions ------------------------------------------------------------------------------------------------------

    def value(self, expr: Expr, known: Known) -> Lanes:
        """An expression in each lane."""
        match expr:
            case Constant():
                return Lanes(Shape.SAME, expr)
            case Var():
                if (expr.name, expr.type) not in known:
                    raise NotElementwise
                return known[expr.name, expr.type]
            case Logical():
                return self.logical(expr, known)
            case Select():
                return self.select(expr, known)
        parts = self.operands(expr, known)
        if all(part.shape is Shape.SAME for part in parts) and not (self.taken and _reads(expr)):
            return Lanes(Shape.SAME, _with_operands(expr, [part.expr for part in parts]))
        return self.varying(expr, parts)

    def operands(self, expr: Expr, known: Known) -> list[Lanes]:
        """The operands of an expression in each lane."""
        before = self.in_subscript
        is_sum = isinstance(expr, Cast | Index) or (isinstance(expr, Binary) and expr.op in _SUMS)
        self.in_subscript = isinstance(expr, Load) or (before and is_sum)
        parts = [self.value(child, known) for child in _operands(expr)]
        self.in_subscript = before
        return parts

    def varying(self, expr: Expr, parts: list[Lanes]) -> Lanes:
        """An expression of operands that differ from lane to lane, or that not all lanes evaluate."""
        match expr:
            case Binary():
                return self.binary(expr, *parts)
            case Negate() | Invert():
                kind = vector_of(expr.type, self.lanes)
                return Lanes(Shape.VECTOR, replace(expr, operand=self.vector(parts[0]), type=kind))
            case Not():
                mask = self.mask(parts[0])
                return Lanes(Shape.MASK, Invert(mask.expr, vector_type(mask.expr), span=expr.span))
            case Compare() if expr.left.type == BOOLEAN:
                return self.compare_truths(expr, *parts)
            case Compare():
                return self.compare(expr, *map(self.vector, parts))
            case Cast():
                return self.cast(expr, parts[0])
            case Index():
                if parts[0].shape is Shape.RISING:
                    return parts[0]
                return self.lane_by_lane(expr, parts)
            case Load():
                return self.load(expr, *parts)
            case Operation():
                return self.operation(expr, parts)
            case CallFunction():
                return self.call(expr, parts)
            case _:
                raise NotElementwise

    def binary(self, expr: Binary, left: Lanes, right: Lanes) -> Lanes:
        """Two operands: a sum of what counts up and what is the same for all lanes counts up, too."""
        if expr.op in _SUMS:
            counting = (Shape.RISING, Shape.STEPPING)
            if expr.op is BinaryOp.ADD and right.shape in counting:
                left, right = right, left
            if left.shape in counting and right.shape is Shape.SAME:
                first = replace(expr, left=left.expr, right=right.expr)
                offset = right.expr.value if isinstance(right.expr, Constant) else -1
                up = expr.op is BinaryOp.ADD and 0 <= offset < _SMALL
                return Lanes(left.shape if up else Shape.STEPPING, first)
        if expr.op in (BinaryOp.SHL, BinaryOp.SHR, BinaryOp.REM):
            return self.lane_by_lane(expr, [left, right])
        kind = vector_of(expr.type, self.lanes)
        if kind.dtype.is_integer and expr.op is BinaryOp.DIV:
            return self.lane_by_lane(expr, [left, right])
        return Lanes(Shape.VECTOR, replace(expr, left=self.vector(left), right=self.vector(right), type=kind))

    def compare(self, expr: Compare, left: Expr, right: Expr) -> Lanes:
        """A comparison of vectors: a mask."""
        kind = left.type
        assert isinstance(kind, Vector)
        if kind.dtype.size < 4:
            raise NotElementwise
        return Lanes(Shape.MASK, Compare(expr.op, left, right, mask_type(kind), span=expr.span))

    def compare_truths(self, expr: Compare, left: Lanes, right: Lanes) -> Lanes:
        """A comparison of bools: as their numbers, which have the width of the masks that they come from."""
        first, second = of_one_size(self.mask(left).expr, self.mask(right).expr)
        return self.compare(expr, *(self.vector(Lanes(Shape.MASK, mask)) for mask in (first, second)))

    def cast(self, expr: Cast, operand: Lanes) -> Lanes:
        """A conversion: of what counts up, to integers that are wide enough, it counts up.

        Wider integers do not where the sums of the lanes may wrap around: 2**32 - 1 of uint32 is followed by 0.
        """
        target = expr.type
        if not isinstance(target, Scalar):
            raise NotElementwise
        if target.dtype is BOOL:
            return self.mask(operand)
        counts = operand.shape in (Shape.RISING, Shape.STEPPING)
        if counts and target.dtype.is_integer and target.dtype.size >= 4 and not self._may_wrap(operand, target):
            return Lanes(operand.shape, replace(expr, operand=operand.expr))
        kind = vector_of(target, self.lanes)
        return Lanes(Shape.VECTOR, Cast(self.vector(operand), kind, expr.cuts, span=expr.span))

    def _may_wrap(self, operand: Lanes, target: Scalar) -> bool:
        """Whether the lanes' numbers as a wider integer may not count up."""
        source = operand.expr.type
        assert isinstance(source, Scalar)
        return target.dtype.size > source.dtype.size and (not self.in_subscript or bool(self.taken))

    def load(self, expr: Load, base: Lanes, index: Lanes) -> Lanes:
        """An element: a vector where subscripts count up."""
        if base.shape is not Shape.SAME or expr.packed:
            raise NotElementwise
        if self.taken or index.shape in (Shape.VECTOR, Shape.MASK) or expr.type == BOOLEAN:
            return self.lane_by_lane(expr, [base, index])
        kind = vector_of(expr.type, self.lanes)
        return Lanes(Shape.VECTOR, VectorLoad(base.expr, index.expr, False, kind, span=expr.span))

    def logical(self, expr: Logical, known: Known) -> Lanes:
        """``and`` and ``or``: the second operand is for lanes that the first one leaves open."""
        left = self.value(expr.left, known)
        if left.shape is Shape.SAME and not any(map(_reads, all_expressions(expr.right))):
            right = self.value(expr.right, known)
            if right.shape is Shape.SAME:
                return Lanes(Shape.SAME, replace(expr, left=left.expr, right=right.expr))
        mask = self.held(self.mask(left)).expr
        both = expr.op is LogicalOp.AND
        with self.where(mask if both else Invert(mask, vector_type(mask), span=expr.span)):
            other = self.mask(self.value(expr.right, known)).expr
        first, second = of_one_size(mask, other)
        op = BinaryOp.AND if both else BinaryOp.OR
        return Lanes(Shape.MASK, Binary(op, first, second, vector_type(first), span=expr.span))

    def select(self, expr: Select, known: Known) -> Lanes:
        """A value that a condition selects: each side is for its lanes."""
        condition = self.value(expr.condition, known)
        if condition.shape is Shape.SAME and not any(
            map(_reads, (*all_expressions(expr.yes), *all_expressions(expr.no)))
        ):
            yes, no = self.value(expr.yes, known), self.value(expr.no, known)
            if yes.shape is Shape.SAME and no.shape is Shape.SAME:
                return Lanes(Shape.SAME, replace(expr, condition=condition.expr, yes=yes.expr, no=no.expr))
        mask = self.held(self.mask(condition)).expr
        with self.where(mask):
            yes = self.value(expr.yes, known)
        with self.where(Invert(mask, vector_type(mask), span=expr.span)):
            no = self.value(expr.no, known)
        return self.chosen(mask, yes, no, expr.span)

    def chosen(self, mask: Expr, yes: Lanes, no: Lanes, span: Span) -> Lanes:
        """One value in the lanes of a mask, another in the others."""
        if Shape.MASK in (yes.shape, no.shape) or yes.expr.type == BOOLEAN:
            first, second = of_one_size(self.mask(yes).expr, self.mask(no).expr)
            shape = Shape.MASK
        else:
            first, second, shape = self.vector(yes), self.vector(no), Shape.VECTOR
        kind = vector_type(first)
        return Lanes(shape, Select(of_size(mask, kind.dtype.size), first, second, kind, span=span))

    def operation(self, expr: Operation, parts: list[Lanes]) -> Lanes:
        """A named operation: back ends have many for vectors."""
        if expr.effect:
            raise NotElementwise
        if not isinstance(expr.type, Scalar) or any(not isinstance(a.type, Scalar) for a in expr.args):
            raise NotElementwise
        is_float = expr.type.dtype.kind is Kind.FLOAT
        if is_float and expr.name in _EXTREMES:
            return self.extreme(expr, *(self.held(Lanes(Shape.VECTOR, self.vector(p))).expr for p in parts))
        operand = expr.args[0].type if expr.args else None
        if expr.name == "isnan" and isinstance(operand, Scalar) and not operand.dtype.is_complex:
            value = self.held(Lanes(Shape.VECTOR, self.vector(parts[0]))).expr
            return self.compare(Compare(CompareOp.NE, value, value, span=expr.span), value, value)
        if is_float and expr.name in _ELEMENTWISE:
            kind = vector_of(expr.type, self.lanes)
            return Lanes(Shape.VECTOR, replace(expr, args=tuple(map(self.vector, parts)), type=kind))
        return self.lane_by_lane(expr, parts)

    def extreme(self, expr: Operation, x: Expr, y: Expr) -> Lanes:
        """``y if y > x else x``, or with ``<``; `maximum` and `minimum` are NaN where y is, too."""
        found = self.compare(Compare(_EXTREMES[expr.name], y, x, span=expr.span), y, x).expr
        if expr.name in ("maximum", "minimum"):
            nan = self.compare(Compare(CompareOp.NE, y, y, span=expr.span), y, y).expr
            found = Binary(BinaryOp.OR, found, nan, vector_type(found), span=expr.span)
        return Lanes(Shape.VECTOR, Select(found, y, x, vector_type(x), span=expr.span))

    def call(self, expr: CallFunction, parts: list[Lanes]) -> Lanes:
        """A call: of a copy, where there can be one."""
        if expr.effect:
            raise NotElementwise
        parts = [self.held(p) if isinstance(p.expr.type, Scalar | Vector) else p for p in parts]
        if not self.taken and not any(p.shape is Shape.MASK for p in parts):
            copy = self.copy_of(expr.function, tuple(p.shape for p in parts))
            if copy is not None:
                made, args = copy.function, tuple(p.expr for p in parts)
                return Lanes(copy.shape, replace(expr, function=made.name, args=args, type=made.result))
        return self.lane_by_lane(expr, parts)

    # lanes ------------------------------------------------------------------------------------------------------------

    def lane_by_lane(self, expr: Expr, parts: list[Lanes]) -> Lanes:
        """An expression that has no form for vectors: that of each lane, of loads only where the lane is here."""
        held = [p if p.shape is Shape.SAME else self.held(p) for p in parts]
        guard = None
        if self.taken and _reads(expr):
            mask = self.taken[0]
            for more in self.taken[1:]:
                first, second = of_one_size(mask, more)
                mask = Binary(BinaryOp.AND, first, second, vector_type(first), span=expr.span)
            guard = self.held(Lanes(Shape.MASK, mask))
        kind = expr.type
        if not isinstance(kind, Scalar) or kind.dtype.is_complex:
            raise NotElementwise
        items = []
        for lane in range(self.lanes):
            item = _with_operands(expr, [lane_of(p, lane) for p in held])
            if guard is not None:
                nothing = Constant(False if kind.dtype is BOOL else 0, kind, span=expr.span)
                item = Select(lane_of(guard, lane), item, nothing, kind, span=expr.span)
            if kind.dtype is BOOL:
                item = as_mask(item)
            items.append(item)
        stored = in_memory(kind) if kind.dtype is not BOOL else Scalar(INT32)
        return self.held(
            Lanes(
                Shape.MASK if kind.dtype is BOOL else Shape.VECTOR,
                MakeVector(tuple(items), Vector(stored.dtype, self.lanes), span=expr.span),
            )
        )

    def vector(self, value: Lanes) -> Expr:
        """All lanes as a vector."""
        expr, span = value.expr, value.expr.span
        if value.shape is Shape.VECTOR:
            return expr
        if value.shape is Shape.MASK:  # as a bool's number
            return Negate(expr, vector_type(expr), span=span)
        if expr.type == BOOLEAN:
            return self.vector(Lanes(Shape.MASK, self.mask(value).expr))
        kind = vector_of(expr.type, self.lanes)
        spread = Cast(expr, kind, span=span)
        if value.shape is Shape.SAME:
            return spread
        number = Scalar(kind.dtype)
        steps = MakeVector(tuple(Constant(n, number, span=span) for n in range(self.lanes)), kind, span=span)
        return Binary(BinaryOp.ADD, spread, steps, kind, span=span)

    def mask(self, value: Lanes) -> Lanes:
        """A bool, or whether a number is not 0, as a mask."""
        expr = value.expr
        if value.shape is Shape.MASK:
            return value
        if value.shape is Shape.SAME and expr.type == BOOLEAN:
            return Lanes(Shape.MASK, Cast(as_mask(expr), Vector(INT32, self.lanes), span=expr.span))
        found = self.vector(value)
        zero = Cast(Constant(0, Scalar(vector_type(found).dtype), span=expr.span), vector_type(found), span=expr.span)
        return self.compare(Compare(CompareOp.NE, found, zero, span=expr.span), found, zero)


def _operands(expr: Expr) -> tuple[Expr, ...]:
    found: list[Expr] = []

    def note(child: Expr) -> Expr:
        found.append(child)
        return child

    rebuilt(expr, note)
    return tuple(found)


def _with_operands(expr: Expr, operands: list[Expr]) -> Expr:
    """The expression of other operands, in the order of `_operands`."""
    following = iter(operands)
    made: Expr = rebuilt(expr, lambda child: next(following))
    return made


def _reads(expr: Expr) -> bool:
    """Whether only lanes that are here may evaluate it: it reads memory at a place, or may."""
    return isinstance(expr, Load | VectorLoad | CallFunction)
