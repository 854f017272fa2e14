"""Lowering of Python expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.arrays import subscripts
from portagpu.frontend.arrays.attributes import tuple_item, vector_item
from portagpu.frontend.arrays.indexing import SliceValue
from portagpu.frontend.arrays.iteration_order import flat_item
from portagpu.frontend.arrays.slice_objects import as_item
from portagpu.frontend.core import operators
from portagpu.frontend.core.conditions import branch_condition, choose, hold, short_circuit
from portagpu.frontend.core.convert import as_number, describe, number_type, truth
from portagpu.frontend.core.optional import certain
from portagpu.frontend.core.registry import Call
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    ArrayValue,
    Condition,
    Const,
    OptionalValue,
    PlacesValue,
    TupleValue,
    Value,
    constants,
    is_expr,
)
from portagpu.frontend.operations import calls
from portagpu.frontend.operations.comparisons import compare
from portagpu.frontend.operations.environment import bind, captured, is_device_array, is_stable, tuple_items
from portagpu.frontend.syntax.local_functions import define
from portagpu.frontend.syntax.names import attribute_value, name_value
from portagpu.ir.analysis.uniform import WARP_OPERATIONS
from portagpu.ir.names import is_own
from portagpu.ir.nodes import Assign, Constant, Evaluate, LogicalOp, Operation, Stmt, Store, Var, VectorStore
from portagpu.ir.types import BOOLEAN, Vector
from portagpu.ir.walk import has_effect, is_movable


def lower(ctx: FunctionState, node: ast.expr, optional: bool = False) -> Value:
    """Lower one expression; effects it has are emitted in order before it is used.

    ``optional``: what uses the value can do with None, too; else an optional value is taken to be a number.
    """
    handler = _HANDLERS.get(type(node))
    saved, ctx.span = ctx.span, ctx.source.span(node)  # as `ctx.at`, which costs more than many an expression
    if handler is None:
        ctx.fail(
            f"{_SYNTAX.get(type(node), type(node).__name__)} cannot be used in a kernel",
            kind=UnsupportedSyntaxError,
            hint=_SYNTAX_HINTS.get(type(node)),
        )
    value = handler(ctx, node)
    if isinstance(value, OptionalValue) and not optional:
        value = certain(ctx, value)
    ctx.span = saved
    return value


_SYNTAX: dict[type[ast.AST], str] = {
    ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.List: "a list",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.Starred: "a starred expression",
}
_SYNTAX_HINTS: dict[type[ast.AST], str] = {
    ast.ListComp: "use cuda.local.array(shape, dtype) and a loop",
    **dict.fromkeys((ast.GeneratorExp, ast.Yield, ast.YieldFrom), "write a loop"),
    ast.List: "use a tuple, or cuda.local.array(shape, dtype)",
    **dict.fromkeys((ast.Dict, ast.DictComp, ast.Set, ast.SetComp), "use arrays or tuples"),
}


def lower_all(ctx: FunctionState, nodes: list[ast.expr], optional: bool = False) -> list[Value]:
    """Lower several expressions in order; those that a later one's effects could change are kept in variables."""
    values: list[Value] = []
    ends: list[int] = []  # where the statements of each value end
    kept: set[int] = set()
    for node in nodes:
        start = len(ctx.block)
        value = lower(ctx, node, optional)
        disturbing = [s for s in ctx.block[start:] if disturbs(s)] if values else []
        if disturbing:
            in_memory = all(map(_leaves_variables, disturbing))
            shift = 0
            for n, earlier in enumerate(values):
                ends[n] += shift
                if in_memory and isinstance(earlier, Var):
                    continue
                if n not in kept and is_expr(earlier) and not is_movable(earlier) and not is_stable(ctx, earlier):
                    before = len(ctx.block)
                    held = ctx.temp(earlier)
                    if len(ctx.block) > before:
                        ctx.block.insert(ends[n], ctx.block.pop())
                        ends[n] += 1
                        shift += 1
                    values[n] = held
                    kept.add(n)
        values.append(value)
        ends.append(len(ctx.block))
    return values


def disturbs(statement: Stmt) -> bool:
    """Whether an expression that was lowered earlier may have another value after the statement."""
    if isinstance(statement, Assign):
        return has_effect(statement.value) or not is_own(statement.target.name)
    return isinstance(statement, Store | VectorStore | Evaluate) or not isinstance(statement, Assign)


def _leaves_variables(statement: Stmt) -> bool:
    """Whether all that a statement changes is memory and a variable that no earlier expression reads.

    Warp operations are like that, and where they are emulated a copy that is kept over their barriers is dear on CPUs.
    """
    value = statement.value if isinstance(statement, Assign) else None
    return isinstance(value, Operation) and value.name in WARP_OPERATIONS


def lower_nested(ctx: FunctionState, node: ast.expr, optional: bool = False) -> tuple[Value, list[Stmt]]:
    """Lower into a block of its own."""
    with ctx.nested() as block:
        value = lower(ctx, node, optional)
    return value, block


def _constant(ctx: FunctionState, node: ast.Constant) -> Value:
    return Const(node.value)


_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def _formatted(ctx: FunctionState, node: ast.JoinedStr) -> Value:
    """An f-string of constants."""
    parts = []
    for part in node.values:
        if not isinstance(part, ast.FormattedValue):
            parts.append(lower(ctx, part))
            continue
        value = lower(ctx, part.value)
        spec = Const("") if part.format_spec is None else lower(ctx, part.format_spec)
        if not isinstance(value, Const) or not isinstance(spec, Const):
            ctx.fail(
                f"an f-string with {describe(ctx, value)}, which is not known at compile time",
                kind=UnsupportedSyntaxError,
                hint="kernels have no strings at run time; print(a, b) prints values with spaces between",
            )
        shown = value.value if part.conversion == -1 else _CONVERSIONS[part.conversion](value.value)
        parts.append(operators.fold(ctx, format, shown, spec.value, what="this f-string"))
    return Const("".join(str(p.value) for p in parts if isinstance(p, Const)))


def _attribute(ctx: FunctionState, node: ast.Attribute) -> Value:
    return attribute_value(ctx, lower(ctx, node.value), node)


def _binop(ctx: FunctionState, node: ast.BinOp) -> Value:
    left, right = lower_all(ctx, [node.left, node.right])
    return operators.binary(ctx, node.op, left, right)


def _unary(ctx: FunctionState, node: ast.UnaryOp) -> Value:
    return operators.unary(ctx, node.op, lower(ctx, node.operand, isinstance(node.op, ast.Not)))


def _compare(ctx: FunctionState, node: ast.Compare) -> Value:
    equality = isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq)
    left, first = lower_all(ctx, [node.left, node.comparators[0]], equality)
    result: Condition = Const(True)
    for n, (op, comparator) in enumerate(zip(node.ops, node.comparators, strict=True)):
        if n == 0:
            right = first
            if n < len(node.ops) - 1:
                right = hold(ctx, right)
            result = compare(ctx, op, left, right)
        else:
            right, block = lower_nested(ctx, comparator)
            if n < len(node.ops) - 1:
                with ctx.nested() as more:
                    right = hold(ctx, right)
                block += more
            with ctx.nested() as more:
                test = compare(ctx, op, left, right)
            result = short_circuit(ctx, LogicalOp.AND, result, test, block + more)
        left = certain(ctx, right)
    return result


def _boolop(ctx: FunctionState, node: ast.BoolOp) -> Value:
    op = LogicalOp.AND if isinstance(node.op, ast.And) else LogicalOp.OR
    result = lower(ctx, node.values[0])
    for operand in node.values[1:]:
        if isinstance(result, Const) or (isinstance(result, Constant) and result.type == BOOLEAN):
            if bool(result.value) == (op is LogicalOp.OR):
                return result
            result = lower(ctx, operand)
            continue
        value, block = lower_nested(ctx, operand)
        kinds = number_type(ctx, result), number_type(ctx, value)
        if all(k == BOOLEAN for k in kinds) or (
            kinds[0] == BOOLEAN and isinstance(value, Const) and isinstance(value.value, bool)
        ):
            result = short_circuit(ctx, op, as_number(ctx, result), truth(ctx, value), block)
        else:
            held = hold(ctx, result)
            test = truth(ctx, held)
            if op is LogicalOp.AND:
                result = choose(ctx, test, (value, block), (held, []))
            else:
                result = choose(ctx, test, (held, []), (value, block))
    return result


def _ifexp(ctx: FunctionState, node: ast.IfExp) -> Value:
    test = branch_condition(ctx, lower(ctx, node.test, optional=True))
    if isinstance(test, Const):
        return lower(ctx, node.body if test.value else node.orelse, optional=True)
    yes, no = (lower_nested(ctx, n, optional=True) for n in (node.body, node.orelse))
    return choose(ctx, test, yes, no)


def _tuple(ctx: FunctionState, node: ast.Tuple) -> Value:
    items: list[Value] = []
    for element, value in zip(node.elts, lower_all(ctx, [_unstar(e) for e in node.elts]), strict=True):
        if isinstance(element, ast.Starred):
            items += tuple_items(ctx, value)
        else:
            items.append(value)
    known = constants(items)
    return TupleValue(tuple(items)) if known is None else Const(tuple(known))


def _unstar(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


def index_items(ctx: FunctionState, node: ast.expr) -> tuple[Any, ...]:
    """Items of a subscript: values and slices."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    items: list[Any] = []
    for part in parts:
        if isinstance(part, ast.Slice):
            bounds = [None if b is None else lower(ctx, b) for b in (part.lower, part.upper, part.step)]
            items.append(SliceValue(*bounds))
        elif isinstance(part, ast.Starred):
            items += tuple_items(ctx, lower(ctx, part.value))
        else:
            value = as_item(lower(ctx, part))
            if isinstance(value, TupleValue) or (isinstance(value, Const) and isinstance(value.value, tuple)):
                items += map(as_item, tuple_items(ctx, value))
            else:
                items.append(value)
    return tuple(items)


def _subscript(ctx: FunctionState, node: ast.Subscript) -> Value:
    owner = lower(ctx, node.value)
    if isinstance(owner, ArrayValue):
        return subscripts.get_item(ctx, owner, index_items(ctx, node.slice))
    if isinstance(owner, PlacesValue) and owner.array is not None:
        return subscripts.get_item(ctx, *flat_item(ctx, owner, index_items(ctx, node.slice)))
    kind = number_type(ctx, owner)
    if isinstance(kind, Vector):
        return vector_item(ctx, as_number(ctx, owner), kind, lower(ctx, node.slice))
    if isinstance(node.slice, ast.Slice):
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        bounds = constants([Const(None) if part is None else lower(ctx, part) for part in parts])
        if bounds is None:
            ctx.fail("a tuple is sliced with constants")
        index: Value = Const(slice(*bounds))
    else:
        index = lower(ctx, node.slice)
    if isinstance(owner, Const) and isinstance(index, Const):
        item = operators.fold(ctx, lambda o, i: o[i], owner.value, index.value, what="this subscript")
        return captured(ctx, item.value, ast.unparse(node)) if is_device_array(item.value) else item
    if isinstance(owner, TupleValue) or (isinstance(owner, Const) and isinstance(owner.value, tuple)):
        return tuple_item(ctx, tuple_items(ctx, owner), index)
    ctx.fail(f"{describe(ctx, owner)} cannot be indexed", hint="only arrays, tuples and vectors have items")


def lower_call(ctx: FunctionState, node: ast.Call) -> Value:
    """Lower a call; the returned expression may have an effect, which the caller must evaluate exactly once."""
    function = lower(ctx, node.func)
    positional = lower_all(
        ctx, [_unstar(a) for a in node.args] + [k.value for k in node.keywords], calls.takes_optional(function)
    )
    args: list[Value] = []
    for argument, value in zip(node.args, positional, strict=False):
        if isinstance(argument, ast.Starred):
            args += tuple_items(ctx, value)
        else:
            args.append(value)
    keywords: dict[str, Value] = {}
    for keyword, value in zip(node.keywords, positional[len(node.args) :], strict=True):
        if keyword.arg is None:
            ctx.fail("`**` arguments cannot be used in a kernel", kind=UnsupportedSyntaxError)
        keywords[keyword.arg] = value
    with ctx.at(node):
        return calls.call(ctx, Call(node=node, function=function, args=tuple(args), keywords=keywords))


def _call(ctx: FunctionState, node: ast.Call) -> Value:
    value = lower_call(ctx, node)
    if is_expr(value) and has_effect(value):
        return ctx.temp(value)
    return value


def _lambda(ctx: FunctionState, node: ast.Lambda) -> Value:
    return define(ctx, node, [lower(ctx, d) for d in node.args.defaults])


def _walrus(ctx: FunctionState, node: ast.NamedExpr) -> Value:
    return bind(ctx, node.target.id, lower(ctx, node.value, optional=True))


_HANDLERS: dict[type[ast.AST], Callable[[FunctionState, Any], Value]] = {
    ast.Constant: _constant,
    ast.JoinedStr: _formatted,
    ast.Name: name_value,
    ast.Attribute: _attribute,
    ast.BinOp: _binop,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolop,
    ast.IfExp: _ifexp,
    ast.Tuple: _tuple,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
}
