"""Lowering of Python statements: assignment, branches, returns."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from portagpu.errors import KernelNameError, UnsupportedSyntaxError
from portagpu.frontend import loops
from portagpu.frontend.convert import constant, convert, describe, leaf_type, number_type, truth, unify
from portagpu.frontend.expressions import (
    bind,
    index_items,
    lower,
    lower_all,
    lower_call,
    tuple_items,
)
from portagpu.frontend.operators import binary
from portagpu.frontend.state import FunctionState
from portagpu.frontend.subscripts import address, set_item
from portagpu.frontend.values import (
    ArrayValue,
    Const,
    TupleValue,
    Value,
    is_expr,
    leaves,
    rebuild,
    structure,
)
from portagpu.ir.nodes import Assign, Constant, Evaluate, Expr, If, Load, Return, Stmt, Store, Var
from portagpu.ir.types import Element, Scalar, Space, Vector
from portagpu.ir.walk import children, has_effect, is_movable


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
    ast.FunctionDef: "move the function out of the kernel and decorate it with @cuda.jit(device=True)",
    ast.Import: "import at the top of the module",
    ast.ImportFrom: "import at the top of the module",
    ast.Try: "kernels have no exceptions; check the condition with `if`",
    ast.With: "kernels have no context managers",
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
        evaluate(ctx, value)  # type: ignore[arg-type]


# assignment -----------------------------------------------------------------------------------------------------------


def _assign(ctx: FunctionState, node: ast.Assign) -> None:
    hint = ctx.name_hint
    first = node.targets[0]
    ctx.name_hint = first.id if isinstance(first, ast.Name) else "array"
    value = lower(ctx, node.value)
    ctx.name_hint = hint
    if len(node.targets) > 1 and is_expr(value) and not isinstance(value, Constant | Var):
        value = ctx.temp(value)  # type: ignore[arg-type]
    for target in node.targets:
        assign_target(ctx, target, value)


def assign_target(ctx: FunctionState, target: ast.expr, value: Value) -> None:
    """Assign a lowered value to a name, tuple of targets or subscript."""
    with ctx.at(target):
        if isinstance(target, ast.Name):
            bind(ctx, target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            _unpack(ctx, target, value)
        elif isinstance(target, ast.Subscript):
            _assign_item(ctx, target, value)
        elif isinstance(target, ast.Attribute):
            ctx.fail(
                "attributes cannot be assigned in a kernel",
                kind=UnsupportedSyntaxError,
                hint="vectors are immutable: make a new one; array data is written with a[i] = ...",
            )
        else:
            ctx.fail(f"cannot assign to {ast.unparse(target)}", kind=UnsupportedSyntaxError)


def _assign_item(ctx: FunctionState, target: ast.Subscript, value: Value) -> None:
    owner = lower(ctx, target.value)
    if not isinstance(owner, ArrayValue):
        kind = number_type(ctx, owner)
        what = (
            "vectors are immutable"
            if isinstance(kind, Vector)
            else f"{describe(ctx, owner)} cannot be written by index"
        )
        ctx.fail(what, hint="make a new vector, e.g. cuda.float32x4(...)" if isinstance(kind, Vector) else None)
    set_item(ctx, owner, index_items(ctx, target.slice), value)


def _unpack(ctx: FunctionState, target: ast.Tuple | ast.List, value: Value) -> None:
    if isinstance(value, ArrayValue | Const) and not (isinstance(value, Const) and isinstance(value.value, tuple)):
        kind = number_type(ctx, value)
        ctx.fail(
            f"cannot unpack {describe(ctx, value)} into {len(target.elts)} names",
            hint="cuda.grid(2) returns a pair, cuda.grid(1) a number" if kind is not None else None,
        )
    kind = number_type(ctx, value)
    if kind is not None:
        ctx.fail(
            f"cannot unpack {describe(ctx, value)} into {len(target.elts)} names",
            hint="cuda.grid(2) returns a pair, cuda.grid(1) a number",
        )
    items = tuple_items(ctx, value)
    starred = [n for n, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
    if starred:
        ctx.fail("starred targets cannot be used in a kernel", kind=UnsupportedSyntaxError)
    if len(items) != len(target.elts):
        ctx.fail(f"cannot unpack {len(items)} values into {len(target.elts)} names")
    written: set[str] = set()
    held: list[Value] = list(items)
    for n, element in enumerate(target.elts):  # `a, b = b, a`: keep values that an earlier target overwrites
        if any(_reads(leaf, written) for leaf in leaves(items[n]) if is_expr(leaf)):
            parts = iter([_keep(ctx, leaf) for leaf in leaves(items[n])])
            held[n] = rebuild(items[n], parts)
        written |= {s.id for s in ast.walk(element) if isinstance(s, ast.Name)}
        if isinstance(element, ast.Subscript):
            written.add("*")
    for element, item in zip(target.elts, held, strict=True):
        assign_target(ctx, element, item)


def _keep(ctx: FunctionState, leaf: Value) -> Value:
    if is_expr(leaf) and not isinstance(leaf, Constant) and not (isinstance(leaf, Var) and leaf.name in ctx.stable):
        return ctx.temp(leaf)  # type: ignore[arg-type]
    return leaf


def _reads(expr: Any, names: set[str]) -> bool:
    if isinstance(expr, Var) and expr.name.partition(".")[0] in names:
        return True
    if "*" in names and not is_movable(expr):
        return True
    return any(_reads(child, names) for child in children(expr))


def _annotated(ctx: FunctionState, node: ast.AnnAssign) -> None:
    if node.value is not None:
        ctx.name_hint = node.target.id if isinstance(node.target, ast.Name) else "array"
        assign_target(ctx, node.target, lower(ctx, node.value))


def _augmented(ctx: FunctionState, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Name):
        load = ast.copy_location(ast.Name(id=node.target.id, ctx=ast.Load()), node.target)
        current, value = lower_all(ctx, [load, node.value])
        bind(ctx, node.target.id, binary(ctx, node.op, current, value))
        return
    if not isinstance(node.target, ast.Subscript):
        ctx.fail("attributes cannot be assigned in a kernel", kind=UnsupportedSyntaxError)
    owner = lower(ctx, node.target.value)
    if not isinstance(owner, ArrayValue):
        ctx.fail(f"{describe(ctx, owner)} cannot be written by index")
    if owner.readonly:
        ctx.fail("a read-only array cannot be written", hint="pass a writable array")
    items = index_items(ctx, node.target.slice)
    index = address(ctx, owner, items)
    if not isinstance(index, Constant | Var):
        index = ctx.temp(index)
    value = lower(ctx, node.value)
    current = Load(owner.base, index, owner.element, span=ctx.span)
    result = binary(ctx, node.op, current, value)
    ctx.effect = ctx.effect or owner.space is not Space.PRIVATE
    if number_type(ctx, result) is None or (
        isinstance(number_type(ctx, result), Vector) and not isinstance(owner.element, Vector)
    ):
        ctx.fail(f"cannot store {describe(ctx, result)} in an element of {owner.describe()}")
    ctx.emit(Store(owner.base, index, convert(ctx, result, owner.element), span=ctx.span))


# branches -------------------------------------------------------------------------------------------------------------


def _if(ctx: FunctionState, node: ast.If) -> None:
    test = truth(ctx, lower(ctx, node.test))
    if isinstance(test, Const):
        lower_body(ctx, node.body if test.value else node.orelse)
        return
    before = dict(ctx.env)
    branches: list[tuple[list[Stmt], dict[str, Value], bool]] = []
    for body in (node.body, node.orelse):
        ctx.env, ctx.reachable = dict(before), True
        with ctx.nested() as block:
            lower_body(ctx, body)
        branches.append((block, ctx.env, ctx.reachable))
    merge(ctx, branches)
    (then, _, _), (orelse, _, _) = branches
    reachable, ctx.reachable = ctx.reachable, True
    ctx.emit(If(test, tuple(then), tuple(orelse), span=ctx.source.span(node.test)))  # type: ignore[arg-type]
    ctx.reachable = reachable


def merge(ctx: FunctionState, branches: list[tuple[list[Stmt], dict[str, Value], bool]]) -> None:
    """Join the environments of branches; values that differ go to common variables at the end of each branch."""
    alive = [(block, env) for block, env, reachable in branches if reachable]
    ctx.reachable = bool(alive)
    if not alive:
        return
    if len(alive) == 1:
        ctx.env = dict(alive[0][1])
        return
    names = dict.fromkeys(n for _, env in alive for n in env)
    merged: dict[str, Value] = {}
    for name in names:
        values = [env[name] for _, env in alive if name in env]
        if all(same_value(values[0], v) for v in values[1:]) and (len(values) == len(alive) or is_expr(values[0])):
            merged[name] = values[0]
            continue
        if loops.is_loop_local(ctx, name):
            continue
        if len(values) < len(alive) and not _is_slots(values[0]):
            if not any(number_type(ctx, v) for v in values):
                continue  # a compile-time object set on one path only: not defined after
        merged[name] = _merge_name(ctx, name, [(block, env.get(name)) for block, env in alive])
    ctx.env = merged


def _is_slots(value: Value) -> bool:
    return all(is_expr(leaf) for leaf in leaves(value))


def same_value(a: Value, b: Value) -> bool:
    """Whether two values are certainly the same thing."""
    if a is b:
        return True
    if isinstance(a, Const) and isinstance(b, Const):
        if a.value is b.value:
            return True
        numbers = (int, float, str, bool)
        return type(a.value) is type(b.value) and isinstance(a.value, numbers) and a.value == b.value
    if isinstance(a, Var) and isinstance(b, Var):
        return a.name == b.name and a.type == b.type
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.value == b.value and a.type == b.type
    if structure(a) != structure(b) or isinstance(a, Const) or isinstance(b, Const):
        return False
    parts_a, parts_b = leaves(a), leaves(b)
    if len(parts_a) == 1 and parts_a[0] is a:
        return False
    return len(parts_a) == len(parts_b) and all(same_value(x, y) for x, y in zip(parts_a, parts_b, strict=True))


def _merge_name(ctx: FunctionState, name: str, values: list[tuple[list[Stmt], Value | None]]) -> Value:
    present = [v for _, v in values if v is not None]
    present = [_as_tuple_value(v) if any(isinstance(o, TupleValue) for o in present) else v for v in present]
    template = present[0]
    for other in present[1:]:
        if structure(other) != structure(template):
            ctx.fail(
                f"`{name}` is {describe(ctx, template)} on one path and {describe(ctx, other)} on the other",
                hint="give the variable one type on all paths, or two names",
            )
    kinds = loops.unified_types(ctx, name, present)
    return loops.to_slots(ctx, name, template, kinds, [(b, v) for b, v in values if v is not None])


def _as_tuple_value(value: Value) -> Value:
    if isinstance(value, Const) and isinstance(value.value, tuple):
        return TupleValue(tuple(Const(v) for v in value.value))
    return value


# leaving --------------------------------------------------------------------------------------------------------------


def _return(ctx: FunctionState, node: ast.Return) -> None:
    value: Value = Const(None) if node.value is None else lower(ctx, node.value)
    if ctx.is_kernel:
        if not (isinstance(value, Const) and value.value is None):
            ctx.fail("a kernel cannot return a value", hint="write results to an array argument")
        ctx.emit(Return((), span=ctx.span))
        ctx.reachable = False
        return
    value = _as_tuple_value(value)
    if isinstance(value, ArrayValue):
        ctx.fail("a device function cannot return an array", hint="pass the array in and write to it")
    ctx.returns.append((value, ctx.span))
    values: list[Expr] = []
    template = ctx.return_types
    if template is not None:
        for part, found in zip(leaves(template), leaves(value), strict=True):
            if is_expr(part):
                values.append(convert(ctx, found, part.type))  # type: ignore[union-attr,arg-type]
    ctx.emit(Return(tuple(values), span=ctx.span))
    ctx.reachable = False


def return_template(ctx: FunctionState) -> Value | None:
    """Structure and types of what a device function returns, from its first lowering; None for nothing."""
    if not ctx.returns:
        return None
    values = [v for v, _ in ctx.returns]
    if all(isinstance(v, Const) and v.value is None for v in values):
        return None
    first = values[0]
    if ctx.reachable:
        ctx.span = ctx.returns[0][1]
        ctx.fail(
            f"`{ctx.source.name}` returns a value here, but can also reach its end without one",
            hint="return a value on every path",
        )
    for value, span in ctx.returns[1:]:
        if structure(value) != structure(first) or len(leaves(value)) != len(leaves(first)):
            ctx.span = span
            ctx.fail(f"`{ctx.source.name}` returns {describe(ctx, value)} here and {describe(ctx, first)} elsewhere")
    parts: list[Value] = []
    for column in zip(*(leaves(v) for v in values), strict=True):
        kinds = [leaf_type(ctx, leaf) for leaf in column]
        if all(isinstance(k, Scalar | Vector) for k in kinds):
            kind: Element = kinds[0]
            for leaf in column[1:]:
                kind = unify(ctx, Var("pg.return", kind, span=ctx.span), leaf, "the returned value")
            parts.append(Var("pg.return", kind, span=ctx.span))
        elif all(same_value(column[0], leaf) for leaf in column):
            parts.append(column[0])
        else:
            ctx.fail(f"`{ctx.source.name}` returns {describe(ctx, column[0])} and {describe(ctx, column[1])}")
    return rebuild(first, iter(parts))


def _assert(ctx: FunctionState, node: ast.Assert) -> None:
    value = lower(ctx, node.test)  # names and types are checked; the test itself is not part of a release kernel
    truth(ctx, value)


def _raise(ctx: FunctionState, node: ast.Raise) -> None:
    ctx.fail(
        "`raise` cannot be used in a kernel",
        kind=UnsupportedSyntaxError,
        node=node,
        hint="write an error code to an array and check it on the host",
    )


def _pass(ctx: FunctionState, node: ast.Pass) -> None:
    return None


_HANDLERS: dict[type[ast.AST], Callable[[FunctionState, Any], None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: lambda ctx, node: loops.lower_for(ctx, node, lower_body),
    ast.While: lambda ctx, node: loops.lower_while(ctx, node, lower_body),
    ast.Break: lambda ctx, node: loops.lower_break(ctx),
    ast.Continue: lambda ctx, node: loops.lower_continue(ctx),
    ast.Return: _return,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.Pass: _pass,
}
__all__ = ["Assign", "KernelNameError", "constant", "lower_body", "merge", "return_template", "same_value"]
