"""Negated floats that no compiler sees, for drivers whose threads lose them over barriers (docs/driver-quirks.md).

LLVM's fneg comes of a minus sign, of products that are subtracted or subtracted from (`a - b * c` is a fused
multiply-add of -b), of products with -1, and of flipping the sign by a constant mask. So signs are flipped by a mask
that only the launch tells, products are rounded before a difference, -1 and -0 get their sign at run time, and where a
constant array has them, nobody knows which element a load is of.
"""

from __future__ import annotations

import math

import numpy as np

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.registry import Printing
from portagpu.dtypes import BFLOAT16
from portagpu.ir.nodes import Binary, BinaryOp, Cast, Constant, Expr
from portagpu.ir.program import ConstantArray
from portagpu.ir.types import Scalar, Type, Vector


def hides(printer: Printing, kind: Type) -> bool:
    """Whether negated values of a type must be hidden from the driver's compiler."""
    if not printer.helpers.hides_negations or not isinstance(kind, Scalar | Vector):
        return False
    return (kind.dtype.is_float or kind.dtype.is_complex) and kind.dtype is not BFLOAT16


def negated(printer: Printing, kind: Type, text: str) -> str:
    """The negated value of a type that is hidden."""
    return f"{printer.helpers.use('arithmetic', 'negated', c_type(kind))}({text})"


def rounded(printer: Printing, expr: Expr, text: str) -> str:
    """An operand of a difference: a product becomes a call's result, which is not fused with the difference."""
    while isinstance(expr, Cast) and expr.operand.type == expr.type:
        expr = expr.operand
    if not (isinstance(expr, Binary) and expr.op is BinaryOp.MUL and hides(printer, expr.type)):
        return text
    return f"{printer.helpers.use('arithmetic', 'rounded', c_type(expr.type))}({text})"


def is_hidden_constant(printer: Printing, expr: Constant) -> bool:
    """Whether a constant would make a negation of a product, quotient or difference."""
    if not expr.type.dtype.is_float or not hides(printer, expr.type):
        return False
    return _negates(float(expr.value))


def has_hidden_constants(array: ConstantArray) -> bool:
    """Whether an element would make a negation of a product, quotient or difference."""
    if not array.element.dtype.is_inexact:
        return False
    values = np.array(array.data, np.complex128)
    return any(map(_negates, (*values.real, *values.imag)))


def _negates(value: float) -> bool:
    return value == -1 or (value == 0 and math.copysign(1, value) < 0)
