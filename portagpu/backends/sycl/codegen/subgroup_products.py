"""Lowering of matrix units of subgroups: functions of the driver's compiler, which the program imports by name.

SYCL's own `joint_matrix` cannot be what these operations are: its fragments are opaque, while those of the dialect are
numbers of each lane (docs/decisions.md).
"""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.c_family.subgroup_products import OPERATIONS, function_of
from portagpu.backends.sycl.codegen.table import SYCL
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar, Vector


@SYCL.register(*OPERATIONS)
def _mad(printer: Printing, expr: Operation) -> Lowered:
    """The function takes vectors of the compiler's own, by which its name in the driver is told."""
    function = function_of(expr)
    types = [f"pg_lanes<{element}, {lanes}>" if lanes > 1 else element for element, lanes in function.types]
    printer.helpers.declare(
        f"SYCL_EXTERNAL {types[2]} {function.name}({', '.join(types)}) __attribute__((convergent));"
    )
    operands = []
    for operand, wanted in zip(expr.args, types, strict=True):
        assert isinstance(operand.type, Scalar | Vector)
        text = printer.text(operand)
        operands.append(text if c_type(operand.type) == wanted else printer.language.bits_as(wanted, text))
    called = f"{function.name}({', '.join(operands)})"
    return (called if c_type(expr.type) == types[2] else printer.language.bits_as(c_type(expr.type), called)), POSTFIX
