"""Lowering of ``raise`` and ``assert``.

Under ``debug=True`` the exception is raised on the host after the launch. Without it, ``raise`` ends the thread and
``assert`` is not checked.
"""

from __future__ import annotations

import ast

from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.core.conditions import negate
from portagpu.frontend.core.convert import as_number, describe, number_type, truth
from portagpu.frontend.core.exceptions import Raise, check, raise_now
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, TupleValue, Value
from portagpu.frontend.operations.environment import tuple_items
from portagpu.frontend.syntax.expressions import lower
from portagpu.ir.nodes import Expr
from portagpu.ir.program import Recorded
from portagpu.ir.types import Scalar


def lower_raise(ctx: FunctionState, node: ast.Raise) -> None:
    """``raise Error``, ``raise Error("message", number)``."""
    if node.exc is None or node.cause is not None:
        ctx.fail(
            "`raise` without an exception" if node.exc is None else "`raise ... from ...`",
            kind=UnsupportedSyntaxError,
            hint='kernels have no exception handlers; write `raise ValueError("message")`',
        )
    if isinstance(node.exc, ast.Call):
        found, arguments = lower(ctx, node.exc.func), [lower(ctx, a) for a in node.exc.args]
        if node.exc.keywords:
            ctx.fail("an exception with keyword arguments", kind=UnsupportedSyntaxError, hint="pass them by position")
    else:
        found, arguments = lower(ctx, node.exc), []
    value = found.value if isinstance(found, Const) else None
    if isinstance(value, BaseException):
        kind, arguments = type(value), [Const(a) for a in value.args]
    elif isinstance(value, type) and issubclass(value, BaseException):
        kind = value
    else:
        ctx.fail(f"only exceptions can be raised, not {describe(ctx, found)}", hint='raise ValueError("message")')
    raise_now(ctx, _with_arguments(ctx, kind, arguments))


def lower_assert(ctx: FunctionState, node: ast.Assert) -> None:
    """``assert condition, message``: the names and types are checked always, the condition under ``debug=True``."""
    condition = truth(ctx, lower(ctx, node.test))
    if not ctx.program.debug or (isinstance(condition, Const) and condition.value):
        return
    wrong = negate(ctx, condition)
    with ctx.nested() as block:
        arguments = [] if node.msg is None else [lower(ctx, node.msg)]
    raised = _with_arguments(ctx, AssertionError, arguments)
    for statement in block:
        ctx.emit(statement)
    check(ctx, wrong, raised)


def _with_arguments(ctx: FunctionState, kind: type[BaseException], arguments: list[Value]) -> Raise:
    """The exception with its arguments: constants, and numbers that the thread records."""
    values: list[Expr] = []

    def argument(value: Value) -> object:
        if isinstance(value, Const):
            return value.value
        if isinstance(value, TupleValue):
            return tuple(argument(item) for item in tuple_items(ctx, value))
        kind = number_type(ctx, value)
        if not isinstance(kind, Scalar) or kind.dtype.is_complex:
            ctx.fail(
                f"an exception cannot carry {describe(ctx, value)}", hint="pass texts, constants and numbers to it"
            )
        values.append(as_number(ctx, value))
        return Recorded(len(values) - 1)

    args = tuple(argument(a) for a in arguments)
    return Raise(kind=kind, args=args, values=tuple(values))
