"""Lowering of Python statements: branches, returns, and the table of all of them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from portagpu.errors import UnsetVariableError, UnsupportedSyntaxError
from portagpu.frontend.core.conditions import branch_condition
from portagpu.frontend.core.convert import as_element, convert, describe, leaf_type, unify
from portagpu.frontend.core.optional import adapt, widen
from portagpu.frontend.core.slots import merge, same_value
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    Const,
    MethodValue,
    OptionalValue,
    Value,
    aggregate,
    is_expr,
    leaves,
    rebuild,
    structure,
)
from portagpu.frontend.syntax import loops
from portagpu.frontend.syntax.assignment import lower_annotated, lower_assign, lower_augmented
from portagpu.frontend.syntax.expressions import lower, lower_call
from portagpu.frontend.syntax.local_functions import define, with_captured
from portagpu.frontend.syntax.raising import lower_assert, lower_raise
from portagpu.frontend.syntax.unset_variables import ends_at_unset
from portagpu.ir.names import own
from portagpu.ir.nodes import Evaluate, Expr, If, Return, Stmt, Var
from portagpu.ir.types import Element, Pointer, Scalar, Space, Vector
from portagpu.ir.walk import has_effect


def lower_body(ctx: FunctionState, body: list[ast.stmt]) -> None:
    """Lower statements in order, up to the first that leaves."""
    for node in body:
        if not ctx.reachable:
            return
        lower_statement(ctx, node)


def lower_statement(ctx: FunctionState, node: ast.stmt) -> None:
    """Lower one statement."""
    handler = _HANDLERS.get(type(node))
    with ctx.at(node):
        if handler is None:
            ctx.fail(
                f"`{_KEYWORD.get(type(node), type(node).__name__.lower())}` cannot be used in a kernel",
                kind=UnsupportedSyntaxError,
                hint=_HINTS.get(type(node)),
            )
        handler(ctx, node)


_KEYWORD: dict[type[ast.AST], str] = {
    ast.FunctionDef: "def",
    ast.ClassDef: "class",
    ast.AsyncFunctionDef: "async def",
    ast.ImportFrom: "import",
    ast.Delete: "del",
    ast.AsyncFor: "async for",
}
_HINTS: dict[type[ast.AST], str] = {
    ast.Import: "import at the top of the module",
    ast.ImportFrom: "import at the top of the module",
    ast.Try: "kernels can raise exceptions, not handle them; check the condition with `if`",
    ast.With: "kernels have no context managers",
    ast.Match: "write if, elif and else",
    ast.ClassDef: "define the class outside the kernel; records and namedtuples can be used inside",
    ast.Global: "globals are constants in kernels; write results to an array",
    ast.Nonlocal: "closure variables are constants in kernels; write results to an array",
}


def evaluate(ctx: FunctionState, value: Expr) -> None:
    """Evaluate for the effect."""
    if has_effect(value):
        ctx.emit(Evaluate(value, span=ctx.span))


def _expression(ctx: FunctionState, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant):
        return  # a docstring or `...`
    value = lower_call(ctx, node.value) if isinstance(node.value, ast.Call) else lower(ctx, node.value)
    if is_expr(value):
        evaluate(ctx, value)
    elif isinstance(node.value, ast.Name | ast.Attribute):
        _refuse_uncalled(ctx, node.value, value)


def _refuse_uncalled(ctx: FunctionState, node: ast.expr, value: Value) -> None:
    """Raise for a statement that only names a function, such as ``cuda.syncthreads``."""
    target = value.value if isinstance(value, Const) else None
    if isinstance(value, MethodValue) or (callable(target) and not isinstance(target, type)):
        name = ast.unparse(node)
        ctx.fail(
            f"`{name}` is named here, not called",
            kind=UnsupportedSyntaxError,
            hint=f"write {name}() with parentheses around its arguments",
        )


# branches -------------------------------------------------------------------------------------------------------------


def _if(ctx: FunctionState, node: ast.If) -> None:
    test = branch_condition(ctx, lower(ctx, node.test, optional=True))
    if isinstance(test, Const):
        lower_body(ctx, node.body if test.value else node.orelse)
        return
    before = dict(ctx.env)
    branches: list[tuple[list[Stmt], dict[str, Value], bool]] = []
    for body in (node.body, node.orelse):
        ctx.env, ctx.reachable = dict(before), True
        with ctx.nested() as block:
            _lower_branch(ctx, body)
        branches.append((block, ctx.env, ctx.reachable))
    merge(ctx, branches)
    (then, _, _), (orelse, _, _) = branches
    reachable, ctx.reachable = ctx.reachable, True
    ctx.emit(If(test, tuple(then), tuple(orelse), span=ctx.source.span(node.test)))
    ctx.reachable = reachable


def _lower_branch(ctx: FunctionState, body: list[ast.stmt]) -> None:
    """Lower the statements of a branch that some threads may take; it ends where a variable certainly has no value."""
    for node in body:
        if not ctx.reachable:
            return
        span = ctx.span
        try:
            lower_statement(ctx, node)
        except UnsetVariableError:
            if not ends_at_unset(ctx, node):
                raise
            ctx.span = span


# leaving --------------------------------------------------------------------------------------------------------------


def _return(ctx: FunctionState, node: ast.Return) -> None:
    value: Value = Const(None) if node.value is None else lower(ctx, node.value, optional=True)
    if ctx.is_kernel:
        if not (isinstance(value, Const) and value.value is None):
            ctx.fail("a kernel cannot return a value", hint="write results to an array argument")
        ctx.emit(Return((), span=ctx.span))
        ctx.reachable = False
        return
    value = with_captured(ctx, aggregate(value))
    ctx.lends = ctx.lends or any(_is_own(ctx, leaf) for leaf in leaves(value))
    ctx.returns.append((value, ctx.span))
    _leave_with(ctx, value)


def _leave_with(ctx: FunctionState, value: Value) -> None:
    values: list[Expr] = []
    template = ctx.return_types
    if template is None:
        values += filter(is_expr, leaves(value))
    else:
        value = adapt(ctx, value, template)
        for part, found in zip(leaves(template), leaves(value), strict=True):
            if is_expr(part) and isinstance(part.type, Pointer):
                assert is_expr(found)
                values.append(found)
            elif is_expr(part):
                values.append(convert(ctx, found, as_element(part.type)))
    ctx.emit(Return(tuple(values), span=ctx.span))
    ctx.reachable = False


def lower_end(ctx: FunctionState) -> None:
    """The end of a device function that returns a value elsewhere: it returns None there."""
    if ctx.reachable and isinstance(ctx.return_types, OptionalValue):
        _leave_with(ctx, Const(None))


def _is_own(ctx: FunctionState, leaf: Value) -> bool:
    """Whether a leaf may point into a local array of this function."""
    kind = leaf_type(ctx, leaf) if ctx.local_arrays else None
    return isinstance(kind, Pointer) and kind.space is Space.THREAD


def return_template(ctx: FunctionState) -> Value | None:
    """Structure and types of what a device function returns, from its first lowering; None for nothing."""
    if not ctx.returns:
        return None
    values = [v for v, _ in ctx.returns]
    if all(isinstance(v, Const) and v.value is None for v in values):
        return None
    count = len(values)
    values = widen(ctx, [*values, Const(None)] if ctx.reachable else values)
    first = values[0]
    if ctx.reachable and not isinstance(first, OptionalValue):
        ctx.span = ctx.returns[0][1]
        ctx.fail(
            f"`{ctx.source.name}` returns a value here, but can also reach its end without one",
            hint="return a value on every path",
        )
    spans = [span for _, span in ctx.returns]
    for value, span in zip(values[1:count], spans[1:], strict=True):
        if structure(value) != structure(first) or len(leaves(value)) != len(leaves(first)):
            ctx.span = span
            ctx.fail(f"`{ctx.source.name}` returns {describe(ctx, value)} here and {describe(ctx, first)} elsewhere")
    parts: list[Value] = []
    for column in zip(*(leaves(v) for v in values), strict=True):
        kinds = [leaf_type(ctx, leaf) for leaf in column]
        if all(isinstance(k, Scalar | Vector) for k in kinds):
            kind: Element = kinds[0]
            for leaf in column[1:]:
                kind = unify(ctx, Var(own("return"), kind, span=ctx.span), leaf, "the returned value")
            parts.append(Var(own("return"), kind, span=ctx.span))
        elif all(isinstance(k, Pointer) for k in kinds):
            first_kind = kinds[0]
            pointer = Pointer(first_kind.element, first_kind.space, any(k.readonly for k in kinds))
            parts.append(Var(own("return"), pointer, span=ctx.span))
        elif all(same_value(column[0], leaf) for leaf in column):
            parts.append(column[0])
        else:
            ctx.fail(f"`{ctx.source.name}` returns {describe(ctx, column[0])} and {describe(ctx, column[1])}")
    return rebuild(first, iter(parts))


def returns_as_is(ctx: FunctionState, template: Value | None) -> bool:
    """Whether a device function's first lowering returns values of the types of `return_template` everywhere."""
    if template is None:
        return True
    if ctx.raises or isinstance(template, OptionalValue):  # it returns zeros, too
        return False
    return all(
        structure(value) == structure(template) and all(map(_is_as_is, leaves(template), leaves(value)))
        for value, _ in ctx.returns
    )


def _is_as_is(part: Value, found: Value) -> bool:
    if not is_expr(part) or not is_expr(found):
        return not is_expr(part) and not is_expr(found)
    return isinstance(part.type, Pointer) or part.type == found.type


def _function(ctx: FunctionState, node: ast.FunctionDef) -> None:
    ctx.env[node.name] = define(ctx, node, [lower(ctx, d) for d in node.args.defaults])


def _delete(ctx: FunctionState, node: ast.Delete) -> None:
    for target in node.targets:
        if not isinstance(target, ast.Name):
            ctx.fail("only names can be deleted in a kernel", kind=UnsupportedSyntaxError, node=target)
        lower(ctx, target)  # it must have a value
        del ctx.env[target.id]


def _pass(ctx: FunctionState, node: ast.Pass) -> None:
    return None


_HANDLERS: dict[type[ast.AST], Callable[[FunctionState, Any], None]] = {
    ast.Expr: _expression,
    ast.Assign: lower_assign,
    ast.AnnAssign: lower_annotated,
    ast.AugAssign: lower_augmented,
    ast.If: _if,
    ast.For: lambda ctx, node: loops.lower_for(ctx, node, lower_body),
    ast.While: lambda ctx, node: loops.lower_while(ctx, node, lower_body),
    ast.Break: lambda ctx, node: loops.lower_break(ctx),
    ast.Continue: lambda ctx, node: loops.lower_continue(ctx),
    ast.Return: _return,
    ast.Assert: lower_assert,
    ast.Raise: lower_raise,
    ast.Pass: _pass,
    ast.Delete: _delete,
    ast.FunctionDef: _function,
}
