"""Pass: products that are divided are opaque to the driver's compiler, except by powers of two.

One compiler takes time exponential in the number of squarings where loops square a number modulo a constant, as powers
modulo a prime are computed, since it writes each remainder as a sum of products of all before it. A product of which it
knows nothing ends the sum.

A parameter may be a constant to that compiler, which makes calls a part of what calls: divisors count whatever they
are. Products may go through variables, results, parameters and memory. A sum of a product and a number does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from portagpu.ir.analysis.intervals import is_integer
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    CallFunction,
    Cast,
    Constant,
    Expr,
    Load,
    Member,
    Negate,
    Operation,
    Return,
    Select,
    Store,
    Var,
)
from portagpu.ir.program import Function, Program
from portagpu.ir.types import Scalar
from portagpu.ir.walk import all_expressions, all_statements, expressions, rebuilt
from portagpu.passes.rewriting import functions_of, replaced

_DIVISIONS = frozenset({"floordiv", "mod"})
_SUMS = frozenset({BinaryOp.ADD, BinaryOp.SUB})
_KEEPING = frozenset({"floordiv", "mod", "shl", "shr", "iabs"})  # what they make of a product harms, too
_MEMORY = ("", "")


def opaque_products(program: Program) -> Program:
    """The program with the operation ``opaque`` around products that it divides."""
    if all(_dividend(expr) is None for function in functions_of(program) for expr in _all(function)):
        return program
    products = _Products(program)

    def changed(function: Function) -> Function:
        def operand(expr: Expr) -> Expr:
            made: Expr = rebuilt(expr, operand)
            if (dividend := _dividend(made)) is None or not products.has(function, dividend):
                return made
            hidden = Operation("opaque", (dividend,), dividend.type, span=dividend.span)
            if isinstance(made, Binary):
                return replace(made, left=hidden)
            assert isinstance(made, Operation)
            return replace(made, args=(hidden, made.args[1]))

        return replace(function, body=replaced(function.body, lambda statement: (statement,), operand))

    return replace(program, kernel=changed(program.kernel), functions=tuple(map(changed, program.functions)))


def _dividend(expr: Expr) -> Expr | None:
    """The dividend of a division of integers; None of others, and where the divisor is known as a power of two."""
    match expr:
        case Binary(op=BinaryOp.DIV | BinaryOp.REM, left=left, right=right):
            pass
        case Operation(args=(left, right)) if expr.name in _DIVISIONS:
            pass
        case _:
            return None
    kind = left.type
    if not isinstance(kind, Scalar) or not is_integer(kind) or kind.dtype.size == 1:  # of bytes there are few values
        return None
    size = abs(int(right.value)) if isinstance(right, Constant) else None
    return left if size is None or size & (size - 1) else None


def _all(function: Function) -> Iterator[Expr]:
    for statement in all_statements(function.body):
        for top in expressions(statement):
            yield from all_expressions(top)


class _Products:
    """Variables, parameters and results of a program's functions that may be products; memory is one of them."""

    def __init__(self, program: Program) -> None:
        self.names: set[tuple[str, str]] = set()  # of functions, and of their variables; "" for their results
        functions = {function.name: function for function in functions_of(program)}
        count = -1
        while count != len(self.names):
            count = len(self.names)
            for function in functions.values():
                self._note(function, functions)

    def _note(self, function: Function, functions: dict[str, Function]) -> None:
        for statement in all_statements(function.body):
            if isinstance(statement, Assign) and self.has(function, statement.value):
                self.names.add((function.name, statement.target.name))
            if (
                isinstance(statement, Store)
                and is_integer(statement.value.type)
                and self.has(function, statement.value)
            ):
                self.names.add(_MEMORY)
            if isinstance(statement, Return) and any(self.has(function, value) for value in statement.values):
                self.names.add((function.name, ""))
        for call in _all(function):
            if isinstance(call, CallFunction):
                for parameter, value in zip(functions[call.function].parameters, call.args, strict=False):
                    if self.has(function, value):
                        self.names.add((call.function, parameter.name))

    def has(self, function: Function, expr: Expr) -> bool:
        """Whether an integer is a product of two values, no constants, perhaps negated, shifted, cut or divided."""
        match expr:
            case Binary(op=BinaryOp.MUL, left=left, right=right):
                both = not isinstance(left, Constant) and not isinstance(right, Constant)
                return is_integer(expr.type) and (both or self.has(function, left) or self.has(function, right))
            case Binary(op=op, left=left, right=right) if op not in _SUMS:
                return self.has(function, left) or self.has(function, right)
            case Var(name=name):
                return (function.name, name) in self.names
            case Cast(operand=operand) | Member(operand=operand) | Negate(operand=operand):
                return self.has(function, operand)
            case Select(yes=yes, no=no):
                return self.has(function, yes) or self.has(function, no)
            case CallFunction(function=callee):
                return (callee, "") in self.names
            case Load():
                return _MEMORY in self.names
            case Operation(args=(left, *_)) if expr.name in _KEEPING:
                return self.has(function, left)
            case Operation(name="min" | "max", args=args):
                return any(self.has(function, arg) for arg in args)
            case _:
                return False
