"""What the IR's types of numbers and operators are called in all languages of the family.

They are OpenCL C's names; SYCL has the same ones, of vectors too. What differs, pointers above all, a `Language` says.
"""

from __future__ import annotations

from portagpu import dtypes
from portagpu.dtypes import DType
from portagpu.ir.nodes import BinaryOp, CompareOp, LogicalOp
from portagpu.ir.types import Element, Pointer, Scalar, Space, Struct, Type, Vector, Void

SPACE_WORDS = {
    Space.GLOBAL: "global",
    Space.SHARED: "local",
    Space.THREAD: "private",
    Space.CONSTANT: "constant",
    Space.CLUSTER: "cluster",
}
"""Address spaces in generated names."""
OPERATORS: dict[BinaryOp | CompareOp | LogicalOp, str] = {
    BinaryOp.ADD: "+",
    BinaryOp.SUB: "-",
    BinaryOp.MUL: "*",
    BinaryOp.DIV: "/",
    BinaryOp.REM: "%",
    BinaryOp.AND: "&",
    BinaryOp.OR: "|",
    BinaryOp.XOR: "^",
    BinaryOp.SHL: "<<",
    BinaryOp.SHR: ">>",
    CompareOp.LT: "<",
    CompareOp.LE: "<=",
    CompareOp.GT: ">",
    CompareOp.GE: ">=",
    CompareOp.EQ: "==",
    CompareOp.NE: "!=",
    LogicalOp.AND: "&&",
    LogicalOp.OR: "||",
}
# the type of a value, and what ends a literal of it; in memory a bool is a byte, and a bfloat16 is its bits
_VALUES: dict[DType, tuple[str, str]] = {
    dtypes.BOOL: ("bool", ""),
    dtypes.INT8: ("char", ""),
    dtypes.INT16: ("short", ""),
    dtypes.INT32: ("int", ""),
    dtypes.INT64: ("long", "L"),
    dtypes.UINT8: ("uchar", ""),
    dtypes.UINT16: ("ushort", ""),
    dtypes.UINT32: ("uint", "u"),
    dtypes.UINT64: ("ulong", "UL"),
    dtypes.FLOAT16: ("half", "h"),
    dtypes.FLOAT32: ("float", "f"),
    dtypes.FLOAT64: ("double", ""),
    dtypes.COMPLEX64: ("float2", "f"),
    dtypes.COMPLEX128: ("double2", ""),
    dtypes.BFLOAT16: ("ushort", ""),
}


def c_name(dtype: DType) -> str:
    """Name of the type of a value."""
    return _VALUES[dtype][0]


def suffix(dtype: DType) -> str:
    """What ends a literal of a type."""
    return _VALUES[dtype][1]


def c_type(kind: Type) -> str:
    """Name of a type that is no pointer: see `Language.type` for those."""
    match kind:
        case Scalar():
            return c_name(kind.dtype)
        case Vector():
            return f"{c_name(kind.dtype)}{kind.lanes}" if kind.lanes > 1 else c_name(kind.dtype)
        case Pointer():
            raise AssertionError("a pointer's name depends on the language")
        case Struct():
            return "pg_tuple_" + "_".join(map(short, kind.items))
        case Void():
            return "void"


def storage(element: Element) -> str:
    """Name of an element in memory."""
    return "uchar" if isinstance(element, Scalar) and element.dtype is dtypes.BOOL else c_type(element)


def short(element: Element | Pointer) -> str:
    """A short name of a type for generated identifiers."""
    if isinstance(element, Pointer):
        space = SPACE_WORDS[element.space]
        return f"{space}_{'const_' if element.readonly else ''}{short(element.element)}"
    base = element.dtype.short
    if isinstance(element, Vector):
        return f"{base}x{element.lanes}"
    return ("p" + base) if element.weak else base
