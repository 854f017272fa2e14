"""Complex numbers: vectors of two lanes, real part first."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import OPERATORS, c_name, c_type
from portagpu.backends.c_family.precedence import EQUALITY, POSTFIX, UNARY
from portagpu.backends.c_family.registry import SHARED, Lowered, Printing
from portagpu.ir.nodes import Binary, BinaryOp, Compare, CompareOp, Expr, Operation
from portagpu.ir.types import Scalar, Type


def is_complex(kind: Type) -> bool:
    """Whether a type is that of complex numbers."""
    return isinstance(kind, Scalar) and kind.dtype.is_complex


def compare_complex(printer: Printing, expr: Compare) -> Lowered:
    """Equality of both parts."""
    function = "all" if expr.op is CompareOp.EQ else "any"
    left, right = (printer.text(side, EQUALITY + 1) for side in (expr.left, expr.right))
    return f"{function}({left} {OPERATORS[expr.op]} {right}) != 0", EQUALITY


def multiply_complex(printer: Printing, expr: Binary) -> Lowered:
    """Product or quotient; sums, differences and negation are those of vectors."""
    assert isinstance(expr.type, Scalar)
    name = "complex_mul" if expr.op is BinaryOp.MUL else "complex_div"
    helper = printer.helpers.use("complex", name, c_type(expr.type))
    return f"{helper}({printer.text(expr.left)}, {printer.text(expr.right)})", POSTFIX


def cast_complex(printer: Printing, operand: Expr, target: Scalar) -> Lowered:
    """A number as a complex one."""
    if is_complex(operand.type):
        return printer.language.converted(c_type(target), printer.text(operand)), POSTFIX
    part = c_name(target.dtype.real)
    real = printer.language.number_as(part, c_type(operand.type), printer.text(operand, UNARY))
    return printer.language.vector(c_type(target), (real, "0")), UNARY


@SHARED.register("complex")
def _complex(printer: Printing, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar)
    return printer.language.vector(c_type(expr.type), [printer.text(a) for a in expr.args]), UNARY


@SHARED.register("real", "imag")
def _part(printer: Printing, expr: Operation) -> Lowered:
    return printer.language.part(printer.text(expr.args[0], POSTFIX), expr.name == "real"), POSTFIX
