"""The table of how named operations are said in OpenCL C, and what their lowerings see of the printer.

A lowering is a function from an operation to C text with its precedence; modules of lowerings register theirs here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from portagpu.backends.opencl.codegen.analysis import Facts
from portagpu.backends.opencl.codegen.helpers import HelperSet
from portagpu.ir.nodes import Expr, Operation

# C's precedences, higher binds tighter
PRIMARY, POSTFIX, UNARY, PRODUCT, SUM, SHIFT, RELATION, EQUALITY = 16, 15, 14, 13, 12, 11, 10, 9
BIT_AND, BIT_XOR, BIT_OR, AND, OR, TERNARY, LOWEST = 8, 7, 6, 5, 4, 3, 0


class Printing(Protocol):
    """What a lowering sees of the printer of a function's expressions.

    ``facts`` are those of the function, ``helpers`` what the program needs beside it; ``wide``: there may be more
    threads than 32 bits count.
    """

    facts: Facts
    helpers: HelperSet
    wide: bool

    def text(self, expr: Expr, level: int = LOWEST) -> str:
        """C text of an expression, in parentheses where its precedence is below ``level``."""

    def block_size(self, axis: Expr) -> str:
        """The variable that holds an extent of the block."""

    def thread_id(self, axis: Expr) -> str | None:
        """The variable that holds the thread's place along an axis, where the driver must see that it is one number."""


Lowered = tuple[str, int]
Lowering = Callable[[Printing, Operation], Lowered]
LOWERINGS: dict[str, Lowering] = {}


def argument_text(printer: Printing, expr: Operation) -> str:
    """C text of an operation's operands, separated by commas."""
    return ", ".join(printer.text(a) for a in expr.args)


def lower_operation(printer: Printing, expr: Operation) -> Lowered:
    """C text and precedence of an operation. Raises `MissingCapabilityError` where the device cannot do it."""
    return LOWERINGS[expr.name](printer, expr)


def register(*names: str) -> Callable[[Lowering], Lowering]:
    """Register the lowering of operations. Raises `ValueError` where one has a lowering already."""

    def add(function: Lowering) -> Lowering:
        for name in names:
            if LOWERINGS.setdefault(name, function) is not function:
                raise ValueError(f"the operation {name} has C text in {LOWERINGS[name].__module__} already")
        return function

    return add
