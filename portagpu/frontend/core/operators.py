"""Lowering of Python's operators to typed IR."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.dtypes import BOOL, FLOAT32, UINT64, Kind, integer_range
from portagpu.errors import KernelValueError, UnsupportedSyntaxError
from portagpu.frontend.core.conditions import negate
from portagpu.frontend.core.convert import (
    as_element,
    as_number,
    common_type,
    constant,
    convert,
    describe,
    number_type,
    truth,
)
from portagpu.frontend.core.exceptions import Raise, check
from portagpu.frontend.core.powers import once, power
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, TupleValue, Value
from portagpu.ir.nodes import Binary, BinaryOp, Cast, Constant, Expr, Invert, Negate, Operation
from portagpu.ir.types import PYINT, PYINT_NARROW, Element, Scalar, Vector

PYTHON: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
}
_UNARY: dict[type[ast.AST], tuple[str, Callable[..., Any]]] = {
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
}
_RING = {ast.Add: BinaryOp.ADD, ast.Sub: BinaryOp.SUB, ast.Mult: BinaryOp.MUL}
_OF_BITS = ast.BitAnd | ast.BitOr | ast.BitXor | ast.LShift | ast.RShift
_BITS = {ast.BitAnd: BinaryOp.AND, ast.BitOr: BinaryOp.OR, ast.BitXor: BinaryOp.XOR}


_ZERO_HINT = "the divisor is a constant; write math.inf or math.nan where you mean one, or `if` around the division"


def fold(ctx: FunctionState, function: Callable[..., Any], *args: Any, what: str = "this expression") -> Const:
    """Evaluate with Python at compile time."""
    try:
        if args and all(type(a) is int for a in args):  # to silence NumPy costs more than the sum
            return Const(function(*args))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of overflow, and of names that NumPy will drop
            return Const(function(*args))
    except Exception as error:
        hint = _ZERO_HINT if isinstance(error, ZeroDivisionError) else None
        raise ctx.error(
            f"{what} fails while compiling: {type(error).__name__}: {error}", kind=KernelValueError, hint=hint
        ) from error


def _refuse_zero(ctx: FunctionState, op: ast.operator, left: Value, right: Value) -> None:
    """Raise `KernelValueError` where a number is divided by a constant that is zero."""
    if not isinstance(op, ast.Div | ast.FloorDiv | ast.Mod) or not isinstance(right, Const):
        return
    numbers = (int, float, complex, np.number, np.bool_)  # a bool is an int
    if isinstance(right.value, numbers) and right.value == 0 and number_type(ctx, left) is not None:
        symbol = PYTHON[type(op)][0]
        shown = f"{left.value!r} {symbol} {right.value!r}" if isinstance(left, Const) else f"{symbol} {right.value!r}"
        ctx.fail(
            f"`{shown}` divides by zero",
            kind=KernelValueError,
            hint=_ZERO_HINT,
        )


def _refuse_mixed_signs(ctx: FunctionState, symbol: str, left: Value, right: Value) -> None:
    """Raise `KernelTypeError` for bits of uint64 and a signed dtype, which NumPy promotes to float64."""
    kinds = number_type(ctx, left), number_type(ctx, right)
    dtypes = {kind.dtype for kind in kinds if isinstance(kind, Scalar) and not kind.weak}
    if UINT64 in dtypes and any(dtype.kind is Kind.INT for dtype in dtypes):
        ctx.fail(
            f"`{symbol}` of {describe(ctx, left)} and {describe(ctx, right)}: no integer type holds both",
            hint="convert one of them, np.int64(...) or np.uint64(...)",
        )


def _as_integer(value: Any) -> Any:
    """A NumPy bool as Python's, which is an integer in arithmetic as bools of kernels are."""
    return bool(value) if isinstance(value, np.bool_) else value


def binary(ctx: FunctionState, op: ast.operator, left: Value, right: Value, *, checked: bool = True) -> Value:
    """``left op right``; where exceptions are reported and it is ``checked``, division by zero is one."""
    symbol, python = PYTHON.get(type(op), ("@", operator.matmul))
    _refuse_zero(ctx, op, left, right)
    if isinstance(op, _OF_BITS):
        _refuse_mixed_signs(ctx, symbol, left, right)
    if isinstance(left, Const) and isinstance(right, Const):
        what = f"`{left.value!r} {symbol} {right.value!r}`"
        return fold(ctx, python, _as_integer(left.value), _as_integer(right.value), what=what)
    if isinstance(op, ast.MatMult):
        ctx.fail(
            "`@` works on the host, not inside a kernel",
            kind=UnsupportedSyntaxError,
            hint="call portagpu.matmul(a, b) outside, or write the loops",
        )
    if isinstance(left, TupleValue | Const) and isinstance(right, TupleValue | Const) and isinstance(op, ast.Add):
        joined = _join(left, right)
        if joined is not None:
            return joined
    if isinstance(left, ArrayValue) or isinstance(right, ArrayValue):
        ctx.fail(
            f"`{symbol}` on whole arrays: {describe(ctx, left)} {symbol} {describe(ctx, right)}",
            hint="a kernel works on elements: index the array, e.g. a[i]",
        )
    if number_type(ctx, left) is None or number_type(ctx, right) is None:
        ctx.fail(f"unsupported operands for `{symbol}`: {describe(ctx, left)} and {describe(ctx, right)}")
    kind = common_type(ctx, left, right)
    if kind == PYINT and isinstance(op, ast.BitAnd | ast.FloorDiv | ast.Mod) and _stays_narrow(ctx, op, left, right):
        kind = PYINT_NARROW
    checked = checked and ctx.program.debug
    if isinstance(op, ast.Div):
        return _divide(ctx, left, right, kind, checked)
    if isinstance(op, ast.LShift | ast.RShift):
        return _shift(ctx, op, left, right, kind)
    if isinstance(op, ast.Pow):
        return power(ctx, left, right, kind)
    if type(op) in _BITS:
        if kind.dtype.is_inexact:
            ctx.fail(f"`{symbol}` needs integers or bools, not {describe(ctx, left)} and {describe(ctx, right)}")
        return Binary(_BITS[type(op)], convert(ctx, left, kind), convert(ctx, right, kind), kind, span=ctx.span)
    if kind.dtype is BOOL:  # NumPy adds bools as logical or; Python and CUDA-Python add them as integers
        kind = PYINT
    a, b = convert(ctx, left, kind), convert(ctx, right, kind)
    if type(op) in _RING:
        return ring(ctx, _RING[type(op)], a, b)
    if checked:
        b = _nonzero(ctx, b, "modulo by zero" if isinstance(op, ast.Mod) else "division by zero")
    return _floor(ctx, isinstance(op, ast.Mod), a, b, kind)


def is_narrow(ctx: FunctionState, value: Value) -> bool:
    """Whether a Python integer is known to fit 32 bits."""
    if isinstance(value, Const):
        return type(value.value) is int and abs(value.value) < 2**31
    kind = number_type(ctx, value)
    return isinstance(kind, Scalar) and kind == PYINT_NARROW


def _stays_narrow(ctx: FunctionState, op: ast.operator, left: Value, right: Value) -> bool:
    """Whether ``&``, ``//`` or ``%`` of 32-bit Python integers has a 32-bit result."""
    if not (is_narrow(ctx, left) and is_narrow(ctx, right)):
        return False
    return not isinstance(op, ast.FloorDiv) or (isinstance(right, Const) and right.value > 0)


def _join(left: Value, right: Value) -> Value | None:
    def items(value: Value) -> tuple[Value, ...] | None:
        if isinstance(value, TupleValue):
            return value.items
        if isinstance(value, Const) and isinstance(value.value, tuple):
            return tuple(Const(v) for v in value.value)
        return None

    a, b = items(left), items(right)
    return None if a is None or b is None else TupleValue(a + b)


def ring(ctx: FunctionState, op: BinaryOp, a: Expr, b: Expr) -> Expr:
    """Addition, subtraction or multiplication of two expressions of one type, without the trivial cases of integers."""
    kind = as_element(a.type)
    if kind.dtype.is_integer and isinstance(kind, Scalar):
        ca = a.value if isinstance(a, Constant) else None
        cb = b.value if isinstance(b, Constant) else None
        if ca is not None and cb is not None:
            value = ca + cb if op is BinaryOp.ADD else ca - cb if op is BinaryOp.SUB else ca * cb
            return constant(ctx, value, kind, wrap=True)
        if cb == 0 and op is not BinaryOp.MUL:
            return a
        if ca == 0 and op is BinaryOp.ADD:
            return b
        if op is BinaryOp.MUL and 0 in (ca, cb):
            return constant(ctx, 0, kind)
        if op is BinaryOp.MUL and cb == 1:
            return a
        if op is BinaryOp.MUL and ca == 1:
            return b
    return Binary(op, a, b, kind, span=ctx.span)


def _nonzero(ctx: FunctionState, divisor: Expr, message: str) -> Expr:
    """The divisor, of which zero raises ZeroDivisionError."""
    kind = divisor.type
    if not isinstance(kind, Scalar) or (isinstance(divisor, Constant) and divisor.value != 0):
        return divisor
    held = once(ctx, divisor)
    if kind.dtype.is_integer:
        message = f"integer {message}"
    check(ctx, negate(ctx, truth(ctx, held)), Raise(kind=ZeroDivisionError, args=(message,)))
    return held


def _divide(ctx: FunctionState, left: Value, right: Value, kind: Element, checked: bool) -> Expr:
    if not kind.dtype.is_inexact:
        if isinstance(kind, Vector):
            ctx.fail(f"`/` on {kind}", hint="use `//`, or convert the vectors to floats")
        kind = ctx.program.py_float
    top, divisor = convert(ctx, left, kind), convert(ctx, right, kind)
    if checked and not (ctx.program.fast and kind.dtype is FLOAT32):
        divisor = _nonzero(ctx, divisor, "division by zero")
    return Binary(BinaryOp.DIV, top, divisor, kind, span=ctx.span)


def _floor(ctx: FunctionState, modulo: bool, a: Expr, b: Expr, kind: Element) -> Expr:
    """``//`` and ``%`` with Python's signs; by zero they give zero for integers, as NumPy does."""
    name = "mod" if modulo else "floordiv"
    if isinstance(kind, Vector):
        ctx.fail(f"`{'%' if modulo else '//'}` on {kind}", hint="use lanes, or `/` and floor")
    if kind.dtype.is_complex:
        ctx.fail(f"`{'%' if modulo else '//'}` on complex numbers", hint="they have no floor: use `/`")
    if kind.dtype.is_float:
        return Operation(name, (a, b), kind, span=ctx.span)
    if isinstance(b, Constant) and b.value > 0:
        divisor = int(b.value)
        if divisor & (divisor - 1) == 0:  # shifting and masking have Python's signs
            if modulo:
                return Binary(BinaryOp.AND, a, constant(ctx, divisor - 1, kind), kind, span=ctx.span)
            count = constant(ctx, divisor.bit_length() - 1, kind)
            return a if divisor == 1 else Binary(BinaryOp.SHR, a, count, kind, span=ctx.span)
        if integer_range(kind.dtype)[0] == 0:
            return Binary(BinaryOp.REM if modulo else BinaryOp.DIV, a, b, kind, span=ctx.span)
    return Operation(name, (a, b), kind, span=ctx.span)


def _shift(ctx: FunctionState, op: ast.operator, left: Value, right: Value, kind: Element) -> Expr:
    if kind.dtype.is_inexact:
        ctx.fail(f"shifts need integers, not {describe(ctx, left)} and {describe(ctx, right)}")
    if kind.dtype is BOOL:
        kind = PYINT
    a, count = convert(ctx, left, kind), convert(ctx, right, kind)
    is_left = isinstance(op, ast.LShift)
    inner = count.operand if isinstance(count, Cast) else count
    if isinstance(inner, Constant) and 0 <= inner.value < kind.dtype.bits:
        return Binary(BinaryOp.SHL if is_left else BinaryOp.SHR, a, count, kind, span=ctx.span)
    if isinstance(kind, Vector):
        ctx.fail("vectors are shifted by constants only", hint="shift lane by lane")
    return Operation("shl" if is_left else "shr", (a, count), kind, span=ctx.span)


def unary(ctx: FunctionState, op: ast.unaryop, value: Value) -> Value:
    """``op value``."""
    if isinstance(op, ast.Not):
        return negate(ctx, truth(ctx, value))
    symbol, python = _UNARY[type(op)]
    if isinstance(value, Const):
        number = value.value if isinstance(op, ast.Invert) else _as_integer(value.value)
        return fold(ctx, python, number, what=f"`{symbol}{value.value!r}`")
    kind = number_type(ctx, value)
    if kind is None:
        ctx.fail(f"`{symbol}` needs a number, not {describe(ctx, value)}")
    if kind.dtype is BOOL:
        if isinstance(op, ast.Invert):
            return negate(ctx, as_number(ctx, value))
        kind = PYINT
    operand = convert(ctx, value, kind)
    if isinstance(op, ast.UAdd):
        return operand
    if isinstance(op, ast.USub):
        return Negate(operand, kind, span=ctx.span)
    if kind.dtype.is_inexact:
        ctx.fail(f"`~` needs an integer, not {describe(ctx, value)}")
    return Invert(operand, kind, span=ctx.span)
