"""Pass: ``1 + tanh(x)`` and ``1 + erf(x)`` in float32 as functions of their own.

Activations of neural networks are made of these sums (GELU, in both of its forms). Each is a power, where `tanh` and
`erf` need one way for arguments near 0 and another for all others: a third of the instructions. It is the more exact
result, too: near -1 the function's rounding is most of the sum. D. Hendrycks and K. Gimpel, "Gaussian error linear
units", 2016.
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.dtypes import FLOAT32
from portagpu.ir.nodes import Binary, BinaryOp, Constant, Expr, Operation
from portagpu.ir.program import Function
from portagpu.ir.types import Scalar, Vector
from portagpu.ir.walk import rebuilt
from portagpu.passes.rewriting import replaced

_FUNCTIONS = {"tanh": "one_plus_tanh", "erf": "one_plus_erf"}


def sums_with_one(function: Function) -> Function:
    """The function with such sums as one operation each."""
    return replace(function, body=replaced(function.body, lambda statement: (statement,), _joined))


def _joined(expr: Expr) -> Expr:
    made: Expr = rebuilt(expr, _joined)
    if not isinstance(made, Binary) or made.op is not BinaryOp.ADD or not _is_float32(made):
        return made
    for one, other in ((made.left, made.right), (made.right, made.left)):
        if isinstance(other, Operation) and other.name in _FUNCTIONS and _is_one(one):
            return replace(other, name=_FUNCTIONS[other.name])
    return made


def _is_float32(expr: Expr) -> bool:
    kind = expr.type
    return isinstance(kind, Scalar | Vector) and kind.dtype is FLOAT32


def _is_one(expr: Expr) -> bool:
    return isinstance(expr, Constant) and expr.value == 1
