"""Tables of how a language says named operations, and what their lowerings see of the printer.

A lowering is a function from an operation to C text with its precedence. `SHARED` has those that read alike in all
languages of the family; a language adds a table of its own to it (its folder's ``lowerings.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from portagpu.backends.c_family.analysis import Facts
from portagpu.backends.c_family.helpers import HelperSet
from portagpu.backends.c_family.language import Language
from portagpu.backends.c_family.precedence import LOWEST
from portagpu.ir.nodes import Expr, Operation

Lowered = tuple[str, int]


class Printing(Protocol):
    """What a lowering sees of the printer of a function's expressions.

    ``facts`` are those of the function, ``helpers`` what the program needs beside it, ``language`` says values and
    memory; ``wide``: there may be more threads than 32 bits count; ``in_subscript``: what is printed is a sum of a
    subscript, or a part of that sum.
    """

    facts: Facts
    helpers: HelperSet
    language: Language
    wide: bool
    in_subscript: bool

    def text(self, expr: Expr, level: int = LOWEST) -> str:
        """C text of an expression, in parentheses where its precedence is below ``level``."""

    def operation(self, expr: Operation) -> Lowered:
        """C text and precedence of an operation. Raises `MissingCapabilityError` where the device cannot do it."""

    def block_size(self, axis: Expr) -> str:
        """The variable that holds an extent of the block."""

    def thread_id(self, axis: Expr) -> str | None:
        """The variable that holds the thread's place along an axis, where the driver must see that it is one number."""


Lowering = Callable[[Printing, Operation], Lowered]


class LoweringTable(dict[str, Lowering]):
    """Lowerings by the names of operations."""

    def register(self, *names: str) -> Callable[[Lowering], Lowering]:
        """Register the lowering of operations. Raises `ValueError` where one has a lowering already."""

        def add(function: Lowering) -> Lowering:
            for name in names:
                if self.setdefault(name, function) is not function:
                    raise ValueError(f"the operation {name} has C text in {self[name].__module__} already")
            return function

        return add


SHARED = LoweringTable()
"""Operations that read alike in all languages of the family."""


def argument_text(printer: Printing, expr: Operation) -> str:
    """C text of an operation's operands, separated by commas."""
    return ", ".join(printer.text(a) for a in expr.args)
