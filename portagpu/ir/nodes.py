"""Nodes of the typed IR. Expressions have a type and a span; statements have a span."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from portagpu.ir.types import BOOLEAN, INT, Element, Pointer, Scalar, Type, Vector
from portagpu.source import Span


class BinaryOp(Enum):
    """Operators whose operands have the result's type."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    REM = "rem"  # with the dividend's sign: only for unsigned operands and non-zero constants
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHL = "shl"
    SHR = "shr"


class CompareOp(Enum):
    """Comparisons."""

    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    EQ = "eq"
    NE = "ne"


class LogicalOp(Enum):
    """Short-circuit operators on bools."""

    AND = "and"
    OR = "or"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Common part of all nodes."""

    span: Span = field(kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Node):
    """A literal of a scalar type."""

    value: int | float | bool
    type: Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Var(Node):
    """A variable: a slot, parameter, local or shared array."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """Arithmetic on two operands of the same type (shift counts may differ)."""

    op: BinaryOp
    left: Expr
    right: Expr
    type: Element


@dataclass(frozen=True, slots=True, eq=False)
class Negate(Node):
    """Arithmetic negation."""

    operand: Expr
    type: Element


@dataclass(frozen=True, slots=True, eq=False)
class Invert(Node):
    """Bitwise complement of an integer."""

    operand: Expr
    type: Element


@dataclass(frozen=True, slots=True, eq=False)
class Not(Node):
    """Logical negation of a bool."""

    operand: Expr
    type: Scalar = BOOLEAN


@dataclass(frozen=True, slots=True, eq=False)
class Compare(Node):
    """Comparison of two scalars of one type; of two vectors a mask, of integers as wide as their lanes: -1 or 0."""

    op: CompareOp
    left: Expr
    right: Expr
    type: Element = BOOLEAN


@dataclass(frozen=True, slots=True, eq=False)
class Logical(Node):
    """Short-circuit and/or of two bools."""

    op: LogicalOp
    left: Expr
    right: Expr
    type: Scalar = BOOLEAN


@dataclass(frozen=True, slots=True, eq=False)
class Select(Node):
    """``condition ? yes : no``; both have the result's type. The condition of vectors may be a mask of their lanes."""

    condition: Expr
    yes: Expr
    no: Expr
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Node):
    """Conversion between scalar types, or of a scalar to all lanes of a vector.

    ``cuts``: the program asked for it, so that of an integer the lower bits are meant; else it is known to fit.
    """

    operand: Expr
    type: Element
    cuts: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Index(Node):
    """A subscript that Python would wrap when negative; proven ones are printed bare."""

    operand: Expr
    extent: Expr
    type: Scalar = INT


@dataclass(frozen=True, slots=True, eq=False)
class Load(Node):
    """``base[index]``.

    A packed element begins at any byte: ``base`` then points to bytes, and ``index`` counts them.
    """

    base: Expr
    index: Expr
    type: Element
    packed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class VectorLoad(Node):
    """Consecutive elements from ``base[index]`` on, as a vector."""

    base: Expr
    index: Expr
    aligned: bool
    type: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Offset(Node):
    """``base + index``: a pointer into the same array."""

    base: Expr
    index: Expr
    type: Pointer


@dataclass(frozen=True, slots=True, eq=False)
class MakeVector(Node):
    """A vector from its lanes."""

    items: tuple[Expr, ...]
    type: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Lane(Node):
    """One lane of a vector."""

    operand: Expr
    lane: int
    type: Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Member(Node):
    """One item of a struct that a device function returned."""

    operand: Expr
    item: int
    type: Element | Pointer


@dataclass(frozen=True, slots=True, eq=False)
class Operation(Node):
    """A named operation, whose lowering a back end decides: `portagpu.ir.operations` has them all.

    ``effect`` says that it may not be dropped, repeated or moved.
    """

    name: str
    args: tuple[Expr, ...]
    type: Type
    effect: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CallFunction(Node):
    """A call of a device function."""

    function: str
    args: tuple[Expr, ...]
    type: Type
    effect: bool


Expr = (
    Constant
    | Var
    | Binary
    | Negate
    | Invert
    | Not
    | Compare
    | Logical
    | Select
    | Cast
    | Index
    | Load
    | VectorLoad
    | Offset
    | MakeVector
    | Lane
    | Member
    | Operation
    | CallFunction
)


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Node):
    """Set a slot."""

    target: Var
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Store(Node):
    """``base[index] = value``; packed as in `Load`."""

    base: Expr
    index: Expr
    value: Expr
    packed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class VectorStore(Node):
    """Store a vector to consecutive elements from ``base[index]`` on."""

    base: Expr
    index: Expr
    value: Expr
    aligned: bool


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate(Node):
    """An expression for its effect."""

    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    """Branch."""

    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class For(Node):
    """``for (counter = start; counter < stop; counter += step)``; ``>`` when the step is negative.

    ``stop`` and ``step`` do not change in the loop. With a step of unknown sign, ``descending`` is None and the
    condition asks for both.
    """

    counter: Var
    start: Expr
    stop: Expr
    step: Expr
    descending: bool | None
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class While(Node):
    """Loop while the condition holds."""

    condition: Expr
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Break(Node):
    """Leave the innermost loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Continue(Node):
    """Next iteration of the innermost loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Return(Node):
    """Leave the function; several values become a struct."""

    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Print(Node):
    """Print to standard output: a text, an argument, a text and so on, so that there is a text more than arguments.

    Arguments are 64-bit integers and floats.
    """

    texts: tuple[str, ...]
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Instruction(Node):
    """A named instruction of a kind of hardware: matrix products, asynchronous copies, barriers of parts of a block.

    `portagpu.ir.operations` has them all.
    ``attributes`` are the constants that choose its form. ``results`` are elements of local arrays: they are set, and
    read before if ``updates``. ``operands`` are numbers that are only read. It may not be dropped, repeated or moved,
    and touches memory.
    """

    name: str
    attributes: tuple[str | int | bool | None, ...]
    results: tuple[Load, ...]
    operands: tuple[Expr, ...]
    updates: bool = False


Stmt = Assign | Store | VectorStore | Instruction | Evaluate | If | For | While | Break | Continue | Return | Print
