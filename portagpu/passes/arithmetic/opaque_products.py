"""Pass: products that are divided by constants are opaque to the driver's compiler.

One compiler takes time exponential in the number of squarings where loops square a number modulo a constant, as powers
modulo a prime are computed, since it writes each remainder as a sum of products of all before it. A product of which it
knows nothing ends the sum.
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
    Operation,
    Return,
    Select,
    Var,
)
from portagpu.ir.program import Function, Program
from portagpu.ir.types import Scalar
from portagpu.ir.walk import all_expressions, all_statements, expressions, rebuilt
from portagpu.passes.rewriting import functions_of, replaced

_DIVISIONS = frozenset({"floordiv", "mod"})
_SUMS = frozenset({BinaryOp.ADD, BinaryOp.SUB})
_KEEPING = frozenset({"floordiv", "mod", "shl", "shr"})  # of a product they make what does as much harm


def opaque_products(program: Program) -> Program:
    """The program with the operation ``opaque`` around products that it divides by constants."""
    if not any(_dividends(function) for function in functions_of(program)):
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
    """What a division of integers divides by a constant that is no power of two."""
    match expr:
        case Binary(op=BinaryOp.DIV | BinaryOp.REM, left=left, right=Constant(value=divisor)):
            pass
        case Operation(args=(left, Constant(value=divisor))) if expr.name in _DIVISIONS:
            pass
        case _:
            return None
    kind = left.type
    fits = isinstance(kind, Scalar) and is_integer(kind) and kind.dtype.size > 1  # of bytes there are few values
    return left if fits and abs(int(divisor)) & (abs(int(divisor)) - 1) else None


def _dividends(function: Function) -> list[Expr]:
    return [d for e in _all(function) if (d := _dividend(e)) is not None]


def _all(function: Function) -> Iterator[Expr]:
    for statement in all_statements(function.body):
        for top in expressions(statement):
            yield from all_expressions(top)


class _Products:
    """Which variables, parameters and results of a program's functions may be products of two values."""

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
            if isinstance(statement, Return) and any(self.has(function, value) for value in statement.values):
                self.names.add((function.name, ""))
        for call in _all(function):
            if isinstance(call, CallFunction):
                for parameter, value in zip(functions[call.function].parameters, call.args, strict=False):
                    if self.has(function, value):
                        self.names.add((call.function, parameter.name))

    def has(self, function: Function, expr: Expr) -> bool:
        """Whether an integer is a product of two values that are not constants, perhaps shifted, cut or divided."""
        if not is_integer(expr.type):
            return False
        match expr:
            case Binary(op=BinaryOp.MUL, left=left, right=right):
                both = not isinstance(left, Constant) and not isinstance(right, Constant)
                return both or self.has(function, left) or self.has(function, right)
            case Binary(op=op, left=left, right=right) if op not in _SUMS:
                return self.has(function, left) or self.has(function, right)
            case Var(name=name):
                return (function.name, name) in self.names
            case Cast(operand=operand):
                return self.has(function, operand)
            case Select(yes=yes, no=no):
                return self.has(function, yes) or self.has(function, no)
            case CallFunction(function=callee):
                return (callee, "") in self.names
            case Operation(args=(left, *_)) if expr.name in _KEEPING:
                return self.has(function, left)
            case _:
                return False
