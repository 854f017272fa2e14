"""Lowering of exchanges between the threads of a warp through shared memory, between barriers of the block."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import SHARED, Lowered, Printing
from portagpu.ir.nodes import Constant, Operation
from portagpu.ir.types import Scalar

_VALUES = {"warp_shuffle": 2, "warp_match": 3}  # which operand is exchanged


@SHARED.register(*_VALUES, "warp_ballots")
def _exchange(printer: Printing, expr: Operation) -> Lowered:
    """A call of the helper; where all threads of the block take part, of one that need not ask who does."""
    kind = "uint"
    if expr.name in _VALUES:
        value = expr.args[_VALUES[expr.name]].type
        assert isinstance(value, Scalar)
        kind = c_type(value)
    everybody = isinstance(expr.args[-1], Constant)
    helper = printer.helpers.use("exchanges", expr.name if everybody else f"{expr.name}_some", kind)
    return f"{helper}({', '.join(map(printer.text, expr.args[:-1] if everybody else expr.args))})", POSTFIX
