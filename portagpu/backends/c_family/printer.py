"""Prints IR expressions as C text, in the words of a dialect."""

from __future__ import annotations

from portagpu.backends.c_family.analysis import Facts
from portagpu.backends.c_family.c_types import OPERATORS, c_type
from portagpu.backends.c_family.dialect import Dialect
from portagpu.backends.c_family.helpers import HelperSet
from portagpu.backends.c_family.names import Names
from portagpu.backends.c_family.numbers.complex_numbers import (
    cast_complex,
    compare_complex,
    is_complex,
    multiply_complex,
)
from portagpu.backends.c_family.numbers.literals import literal, wrapped
from portagpu.backends.c_family.numbers.narrow import narrowed
from portagpu.backends.c_family.numbers.negations import hides, is_hidden_constant, negated, rounded
from portagpu.backends.c_family.numbers.overflow import (
    is_part_of_sum,
    is_small,
    is_small_signed,
    wrapped_binary,
    wrapped_negation,
    wrapped_small,
    wraps,
)
from portagpu.backends.c_family.precedence import (
    BINARY_LEVEL,
    COMPARE_LEVEL,
    EQUALITY,
    LOGICAL_LEVEL,
    LOWEST,
    POSTFIX,
    PRIMARY,
    SUM,
    TERNARY,
    UNARY,
)
from portagpu.backends.c_family.registry import Lowered
from portagpu.dtypes import BOOL, INT32, INT64, UINT16, UINT32, UINT64
from portagpu.ir.names import own
from portagpu.ir.nodes import (
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
    Lane,
    Load,
    Logical,
    LogicalOp,
    MakeVector,
    Member,
    Negate,
    Not,
    Offset,
    Operation,
    Select,
    Var,
    VectorLoad,
)
from portagpu.ir.program import MemoryArray
from portagpu.ir.types import INT, Pointer, Scalar, Space, Type, Vector, element_size
from portagpu.ir.walk import unreachable


class Printer:
    """Prints the expressions of one function."""

    def __init__(
        self, dialect: Dialect, facts: Facts, names: Names, helpers: HelperSet, arrays: dict[str, MemoryArray]
    ) -> None:
        self.dialect = dialect
        self.language = dialect.language
        self.facts = facts
        self.names = names
        self.helpers = helpers
        self.arrays = arrays
        self.fixed: frozenset[str] = frozenset()  # names that are declared elsewhere
        self.wide = False  # whether there may be more threads than 32 bits count
        self.hides_ids = False  # whether the driver must not see that a number is the thread's place
        self.in_subscript = False
        self._in_global_subscript = False
        self.used: set[str] = set()  # names that were printed
        self.block_sizes: dict[int, str] = {}  # variables that hold the block's extents, by axis
        self.thread_ids: dict[int, str] = {}  # variables that hold the thread's place in its block, by axis

    def operation(self, expr: Operation) -> Lowered:
        """C text and precedence of an operation. Raises `MissingCapabilityError` where the device cannot do it."""
        return self.dialect.lowerings[expr.name](self, expr)

    def name(self, name: str, kind: Type) -> str:
        """The identifier of a variable or array."""
        return self.names(name, kind)

    def block_size(self, axis: Expr) -> str:
        """The variable that holds an extent of the block, set once at the function's start.

        In the condition of a loop with a barrier, a call of get_local_size makes one CPU driver give wrong
        results (docs/driver-quirks.md).
        """
        assert isinstance(axis, Constant)
        number = int(axis.value)
        return self.block_sizes.setdefault(number, self.names(own(f"blockDim.{'xyz'[number]}"), INT))

    def thread_id(self, axis: Expr) -> str | None:
        """The variable that holds the thread's place along an axis, where the driver is not to see where it is from.

        One CPU's compiler takes sums of two calls of get_local_id for subscripts of other elements, and computes
        64-bit integers that are made of one in 32 bits.
        """
        if not (self._has_block_memory() or self.hides_ids):
            return None
        assert isinstance(axis, Constant)
        number = int(axis.value)
        return self.thread_ids.setdefault(number, self.names(own(f"threadIdx.{'xyz'[number]}"), INT))

    def thread_id_value(self, axis: int) -> str:
        """The value of that variable, along axis 0, whose neighbours share vectors, with a term that is always 0."""
        text = f"(int){self.language.local_id(axis)}"
        return f"{text} + ({self.language.launch_number} == 0u)" if axis == 0 and self.hides_ids else text

    def _guarded(self, expr: Compare, text: str, own: int) -> tuple[str, int]:
        """A comparison, with a term that decides nothing where the driver cannot be trusted with the bare one."""
        dtype = expr.left.type.dtype if isinstance(expr.left.type, Scalar) else None
        if self.helpers.caps.compares_ids or dtype not in (INT64, UINT64):
            return text, own
        if expr.op is CompareOp.EQ:
            return f"({text} | {self.language.launch_number} == 0u)", PRIMARY
        if expr.op is CompareOp.NE:
            return f"({text} & {self.language.launch_number} != 0u)", PRIMARY
        return text, own

    def _may_narrow(self, op: CompareOp) -> bool:
        """Whether a comparison may become one of 32 bits: not where the driver needs a term beside it."""
        return self.helpers.caps.compares_ids or op not in (CompareOp.EQ, CompareOp.NE)

    def _hidden_case(self, expr: Compare, right: str) -> str:
        """What is compared, hidden where it is an integer that is tested for a value."""
        kind = expr.right.type
        is_test = expr.op in (CompareOp.EQ, CompareOp.NE) and isinstance(kind, Scalar) and kind.dtype.is_integer
        return self.helpers.hidden_case(right) if is_test else right

    def text(self, expr: Expr, level: int = LOWEST) -> str:
        """C text of an expression, in parentheses where its precedence is below ``level``."""
        text, own = self._print(expr)
        return f"({text})" if own < level else text

    def subscript(self, expr: Expr, level: int = LOWEST, *, base: Expr | None = None) -> str:
        """C text of a subscript, whose sums and products are plain C: arrays end long before these overflow.

        That holds for the sum itself, not for what it is computed from by other operators: `a[(key * K) >> 20]`.
        ``base`` is the array, where it is one.
        """
        kind = None if base is None else base.type
        is_global = isinstance(kind, Pointer) and kind.space in (Space.GLOBAL, Space.CONSTANT)
        saved = self.in_subscript, self._in_global_subscript
        self.in_subscript, self._in_global_subscript = True, is_global
        text = self.text(expr, level)
        self.in_subscript, self._in_global_subscript = saved
        return text

    def _print(self, expr: Expr) -> tuple[str, int]:
        self.helpers.note(expr.type)
        if self.in_subscript and not is_part_of_sum(expr):
            self.in_subscript = False
            lowered = self._print(expr)
            self.in_subscript = True
            return lowered
        match expr:
            case Constant() if is_hidden_constant(self, expr):
                positive = Constant(-float(expr.value), expr.type, span=expr.span)
                return negated(self, expr.type, literal(positive)[0]), POSTFIX
            case Constant():
                return literal(expr)
            case Var():
                self.used.add(expr.name)
                return self.names(expr.name, expr.type), PRIMARY
            case Binary():
                return self._binary(expr)
            case Negate() if wraps(self, expr):
                return wrapped_negation(self, expr)
            case Negate() if is_small_signed(expr.type):
                helper = self.helpers.use("arithmetic", "ineg_small", c_type(expr.type))
                return f"{helper}({self.text(expr.operand)})", POSTFIX
            case Negate() if hides(self, expr.type):
                return negated(self, expr.type, self.text(expr.operand)), POSTFIX
            case Negate():
                inner = self.text(expr.operand, UNARY)
                return wrapped_small(self, f"-({inner})" if inner.startswith("-") else f"-{inner}", UNARY, expr.type)
            case Invert():
                return wrapped_small(self, f"~{self.text(expr.operand, UNARY)}", UNARY, expr.type)
            case Not():
                return f"!{self.text(expr.operand, UNARY)}", UNARY
            case Compare():
                if is_complex(expr.left.type):
                    return compare_complex(self, expr)
                own = COMPARE_LEVEL[expr.op]
                short = narrowed(expr, self.facts.exact) if self._may_narrow(expr.op) else None
                if short is not None:
                    left, right = (self.text(e, own + 1) for e in short)
                    return f"{left} {OPERATORS[expr.op]} {self._hidden_case(expr, right)}", own
                right = self._hidden_case(expr, self.text(expr.right, own + 1))
                text = f"{self.text(expr.left, own + 1)} {OPERATORS[expr.op]} {right}"
                return self._guarded(expr, text, own)
            case Logical():
                own = LOGICAL_LEVEL[expr.op]
                inner_level = own if expr.op is LogicalOp.AND else own + 2  # compilers warn about `a || b && c`
                return (
                    f"{self.text(expr.left, inner_level)} {OPERATORS[expr.op]} {self.text(expr.right, inner_level)}",
                    own,
                )
            case Select():
                parts = (
                    self.text(expr.condition, TERNARY + 1),
                    self.text(expr.yes, TERNARY + 1),
                    self.text(expr.no, TERNARY + 1),
                )
                condition = expr.condition.type
                lanes = str(condition.lanes) if isinstance(condition, Vector) else ""
                text = self.language.chosen(*parts, lanes=lanes)
                if is_small(expr.type):  # an int in C, for which an overloaded function is another one
                    return f"({c_type(expr.type)})({text})", UNARY
                return text, TERNARY
            case Cast():
                return self._cast(expr)
            case Index():
                return self._index(expr)
            case Load():
                return self._load(expr)
            case VectorLoad():
                return self.vector_load(expr), POSTFIX
            case Offset():
                return f"{self.text(expr.base, SUM)} + {self.subscript(expr.index, SUM + 1, base=expr.base)}", SUM
            case MakeVector():
                return self.language.vector(c_type(expr.type), [self.text(i) for i in expr.items]), POSTFIX
            case Lane() if isinstance(expr.operand.type, Vector) and expr.operand.type.lanes == 1:
                return self._print(expr.operand)
            case Lane():
                return self.language.lane(self.text(expr.operand, POSTFIX), expr.lane), POSTFIX
            case Member():
                return f"{self.text(expr.operand, POSTFIX)}.item{expr.item}", POSTFIX
            case Operation():
                return self.operation(expr)
            case CallFunction():
                return (
                    f"{self.helpers.function_name(expr.function)}({', '.join(self.text(a) for a in expr.args)})",
                    POSTFIX,
                )
            case _:
                unreachable(expr)

    def _binary(self, expr: Binary) -> tuple[str, int]:
        if wraps(self, expr):
            return wrapped_binary(self, expr)
        if expr.op in (BinaryOp.MUL, BinaryOp.DIV) and is_complex(expr.type):
            return multiply_complex(self, expr)
        own = BINARY_LEVEL[expr.op]
        associative = expr.op in (BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR)
        left = self.text(expr.left, own if own >= SUM or associative else SUM)
        right = self.text(expr.right, own + 1 if own >= SUM else SUM)
        if expr.op is BinaryOp.MUL and expr.type == Scalar(UINT16):
            left = f"(uint){self.text(expr.left, UNARY)}"  # 65535 * 65535 is no int
        if expr.op is BinaryOp.SUB:
            left, right = rounded(self, expr.left, left), rounded(self, expr.right, right)
        return wrapped_small(self, f"{left} {OPERATORS[expr.op]} {right}", own, expr.type)

    def _cast(self, expr: Cast) -> tuple[str, int]:
        source, target = expr.operand.type, expr.type
        assert isinstance(source, Scalar | Vector)
        if isinstance(source, Vector):
            assert isinstance(target, Vector)
            if source == target:
                return self._print(expr.operand)
            return self.language.converted(c_type(target), self.text(expr.operand)), POSTFIX
        if isinstance(target, Vector):
            return f"({c_type(target)})({self.text(expr.operand)})", POSTFIX
        if source.dtype is target.dtype:
            return self._print(expr.operand)
        if target.dtype.is_complex:
            return cast_complex(self, expr.operand, target)
        if isinstance(expr.operand, Constant) and target.dtype.is_integer and source.dtype.is_integer:
            return literal(Constant(wrapped(int(expr.operand.value), target.dtype), target, span=expr.span))
        if isinstance(expr.operand, Operation) and expr.operand.name in _INDEX_FUNCTIONS and target.dtype is INT64:
            inner = expr.operand
            return self.operation(Operation(inner.name, inner.args, target, span=inner.span))
        operand = expr.operand
        if (
            isinstance(operand, Cast)
            and isinstance(operand.operand.type, Scalar)
            and operand.operand.type.dtype is target.dtype is INT32
            and isinstance(operand.type, Scalar)
            and operand.type.dtype is INT64
        ):
            return self._print(operand.operand)  # int -> long -> int
        if source.dtype in (INT64, UINT64, UINT32) and target.dtype is INT32 and self._converts_subscripts():
            return self.language.converted("int", self.text(operand)), POSTFIX
        return self.language.number_as(c_type(target), c_type(source), self.text(operand, UNARY)), UNARY

    def _converts_subscripts(self) -> bool:
        """Whether a cast to 32 bits might become a subscript that the driver's compiler mixes up with others."""
        return self._has_block_memory() and not self._in_global_subscript

    def _has_block_memory(self) -> bool:
        """Whether the function has shared memory or local arrays that the driver's compiler mixes up."""
        return not self.helpers.caps.cuts_subscripts and self.facts.block_memory

    def _index(self, expr: Index) -> tuple[str, int]:
        if self.facts.ranges.of(expr.operand).is_nonnegative:
            return self._print(expr.operand)
        if isinstance(expr.operand, Var):
            plain = self.text(expr.operand)
            return f"{plain} < 0 ? {plain} + {self.text(expr.extent, SUM + 1)} : {plain}", TERNARY
        helper = self.helpers.use("arithmetic", "wrap_index", c_type(expr.type))
        return f"{helper}({self.text(expr.operand)}, {self.text(expr.extent)})", POSTFIX

    def _load(self, expr: Load) -> tuple[str, int]:
        if isinstance(expr.base, Var) and expr.base.name in self.facts.split:
            return self.split_name(expr.base, expr.index), PRIMARY
        if expr.packed:
            address = self.address(expr.base, expr.index)
            return self.language.packed_load(c_type(expr.type), element_size(expr.type), address), POSTFIX
        text = f"{self.text(expr.base, POSTFIX)}[{self.subscript(expr.index, base=expr.base)}]"
        if isinstance(expr.type, Scalar) and expr.type.dtype is BOOL:
            return f"{text} != 0", EQUALITY
        return text, POSTFIX

    def split_name(self, base: Var, index: Expr) -> str:
        """The scalar that stands for one element of a split local array."""
        array = self.arrays[base.name]
        assert isinstance(index, Constant)
        position, parts = int(index.value), []
        for extent in reversed(array.shape):
            parts.append(str(position % extent))
            position //= extent
        return f"{self.names(base.name, base.type)}_{'_'.join(reversed(parts))}"

    def vector_load(self, expr: VectorLoad) -> str:
        """C text of a vector load."""
        address = self.address(expr.base, expr.index)
        if expr.aligned and expr.type.lanes != 3:
            assert isinstance(expr.base.type, Pointer)
            return f"*({self.language.pointer(c_type(expr.type), expr.base.type.space, readonly=True)})({address})"
        return self.language.vector_load(expr.type, address)

    def address(self, base: Expr, index: Expr) -> str:
        """``base + index`` as a pointer."""
        if isinstance(index, Constant) and index.value == 0:
            return self.text(base, SUM)
        return f"{self.text(base, SUM)} + {self.subscript(index, SUM + 1, base=base)}"


_INDEX_FUNCTIONS = frozenset({"threadIdx", "blockIdx", "gridDim", "grid", "gridsize"})
