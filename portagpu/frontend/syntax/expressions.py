"""Lowering of Python expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from portagpu.errors import UnsupportedSyntaxError
from portagpu.frontend.arrays import subscripts
from portagpu.frontend.arrays.attributes import tuple_item, vector_item
from portagpu.frontend.arrays.indexing import SliceValue
from portagpu.frontend.arrays.iteration_order import flat_item
from portagpu.frontend.arrays.slice_objects import as_item
from portagpu.frontend.core import operators
from portagpu.frontend.core.conditions import branch_condition, choose, hold, kept, short_circuit
from portagpu.frontend.core.convert import as_number, describe, number_type, truth
from portagpu.frontend.core.optional import certain
from portagpu.frontend.core.registry import Call
from portagpu.frontend.core.slots import merge
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    ArrayValue,
    Const,
    OptionalValue,
    PlacesValue,
    TupleValue,
    Value,
    constants,
    is_expr,
    leaves,
    rebuild,
)
from portagpu.frontend.operations import calls
from portagpu.frontend.operations.comparisons import compare
from portagpu.frontend.operations.environment import bind, captured, is_device_array, tuple_items
from portagpu.frontend.syntax.local_functions import define
from portagpu.frontend.syntax.names import attribute_value, name_value
from portagpu.ir.analysis.uniform import Slot
from portagpu.ir.names import is_own
from portagpu.ir.nodes import Assign, Constant, LogicalOp, Stmt, Var
from portagpu.ir.types import BOOLEAN, Vector
from portagpu.ir.walk import assigned, has_effect, is_movable


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


def lower_all(
    ctx: FunctionState, nodes: Sequence[ast.expr], optional: bool = False, before: tuple[Value, ...] = ()
) -> list[Any]:
    """Lower several expressions in order; those that a later one's effects could change are kept in variables.

    ``before``: values that were lowered last, of which the same holds; they come first in the result.
    """
    values = list(before)
    ends = [len(ctx.block)] * len(before)  # where the statements of each value end
    for node in nodes:
        start = len(ctx.block)
        value = lower(ctx, node, optional)
        disturbing = tuple(s for s in ctx.block[start:] if disturbs(s)) if values else ()
        if disturbing:
            written = assigned(disturbing)
            shift = 0
            for n, earlier in enumerate(values):
                ends[n] += shift
                if not any(_may_change(leaf, written) for leaf in leaves(earlier)):
                    continue
                parts: list[Value] = []
                for leaf in leaves(earlier):
                    if is_expr(leaf) and _may_change(leaf, written):
                        leaf = ctx.temp(leaf)
                        ctx.block.insert(ends[n], ctx.block.pop())
                        ends[n] += 1
                        shift += 1
                    parts.append(leaf)
                values[n] = rebuild(earlier, iter(parts))
        values.append(value)
        ends.append(len(ctx.block))
    return values


def _may_change(leaf: Value, written: set[Slot]) -> bool:
    """Whether a part of a value may be another one after statements that have effects and set ``written``."""
    if isinstance(leaf, Var):
        return (leaf.name, leaf.type) in written
    return is_expr(leaf) and not is_movable(leaf)


def disturbs(statement: Stmt) -> bool:
    """Whether an expression that was lowered earlier may have another value after the statement."""
    if isinstance(statement, Assign):
        return has_effect(statement.value) or not is_own(statement.target.name)
    return True


def lower_either(ctx: FunctionState, *nodes: ast.expr | None, optional: bool = False) -> list[tuple[Value, list[Stmt]]]:
    """Lower expressions of which one is evaluated at run time, each into a block of its own; None stands for nothing.

    A name that one of them binds is joined at the ends of the blocks with what it is in the others.
    """
    before = ctx.env
    found: list[tuple[Value, list[Stmt]]] = []
    branches: list[tuple[list[Stmt], dict[str, Value], bool]] = []
    for node in nodes:
        ctx.env = dict(before)
        with ctx.nested() as block:
            value = Const(None) if node is None else lower(ctx, node, optional)
        found.append((value, block))
        branches.append((block, ctx.env, True))
    if any(value is not before.get(name) for _, env, _ in branches for name, value in env.items()):
        merge(ctx, branches)
    else:
        ctx.env = before
    return found


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
    left, right = lower_all(ctx, [node.left, node.comparators[0]], equality)
    if len(node.ops) > 1:
        right = hold(ctx, right)
    result = compare(ctx, node.ops[0], left, right)
    for n, (op, comparator) in enumerate(zip(node.ops[1:], node.comparators[1:], strict=True), 2):
        left = certain(ctx, right)
        if isinstance(result, Const | Constant):
            if not result.value:
                return result
            left, right = lower_all(ctx, [comparator], before=(left,))
            right = hold(ctx, right) if n < len(node.ops) else right
            result = compare(ctx, op, left, right)
            continue
        (right, block), (_, other) = lower_either(ctx, comparator, None)
        if any(map(disturbs, block)):
            left = kept(ctx, left)
        with ctx.nested() as more:
            right = hold(ctx, right) if n < len(node.ops) else right
            test = compare(ctx, op, left, right)
        result = short_circuit(ctx, LogicalOp.AND, result, test, block + more, other)
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
        (value, block), (_, other) = lower_either(ctx, operand, None)
        kinds = number_type(ctx, result), number_type(ctx, value)
        if all(k == BOOLEAN for k in kinds) or (
            kinds[0] == BOOLEAN and isinstance(value, Const) and isinstance(value.value, bool)
        ):
            result = short_circuit(ctx, op, as_number(ctx, result), truth(ctx, value), block, other)
        else:
            held = hold(ctx, result)
            test = truth(ctx, held)
            if op is LogicalOp.AND:
                result = choose(ctx, test, (value, block), (held, other))
            else:
                result = choose(ctx, test, (held, other), (value, block))
    return result


def _ifexp(ctx: FunctionState, node: ast.IfExp) -> Value:
    test = branch_condition(ctx, lower(ctx, node.test, optional=True))
    if isinstance(test, Const):
        return lower(ctx, node.body if test.value else node.orelse, optional=True)
    yes, no = lower_either(ctx, node.body, node.orelse, optional=True)
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


def lower_index(ctx: FunctionState, node: ast.expr, *before: Value) -> tuple[list[Any], tuple[Any, ...]]:
    """Items of a subscript, values and slices, and the values that were lowered ``before``: see `lower_all`."""
    parts = [(part, _operands(part)) for part in (node.elts if isinstance(node, ast.Tuple) else [node])]
    nodes = [operand for _, operands in parts for operand in operands if operand is not None]
    values = lower_all(ctx, nodes, before=before)
    lowered = iter(values[len(before) :])
    items: list[Any] = []
    for part, operands in parts:
        if isinstance(part, ast.Slice):
            items.append(SliceValue(*(None if o is None else next(lowered) for o in operands)))
        elif isinstance(part, ast.Starred):
            items += tuple_items(ctx, next(lowered))
        else:
            value = as_item(next(lowered))
            if isinstance(value, TupleValue) or (isinstance(value, Const) and isinstance(value.value, tuple)):
                items += map(as_item, tuple_items(ctx, value))
            else:
                items.append(value)
    return values[: len(before)], tuple(items)


def _operands(part: ast.expr) -> tuple[ast.expr | None, ...]:
    """The expressions of one part of a subscript."""
    return (part.lower, part.upper, part.step) if isinstance(part, ast.Slice) else (_unstar(part),)


def _subscript(ctx: FunctionState, node: ast.Subscript) -> Value:
    owner = lower(ctx, node.value)
    places = isinstance(owner, PlacesValue) and owner.array is not None
    if places or isinstance(owner, ArrayValue):
        (owner,), items = lower_index(ctx, node.slice, owner)
        return subscripts.get_item(ctx, *(flat_item(ctx, owner, items) if places else (owner, items)))
    kind = number_type(ctx, owner)
    if isinstance(node.slice, ast.Slice) and not isinstance(kind, Vector):
        parts = (node.slice.lower, node.slice.upper, node.slice.step)
        bounds = constants([Const(None) if part is None else lower(ctx, part) for part in parts])
        if bounds is None:
            ctx.fail("a tuple is sliced with constants")
        index: Value = Const(slice(*bounds))
    else:
        owner, index = lower_all(ctx, [node.slice], before=(owner,))
    if isinstance(kind, Vector):
        return vector_item(ctx, as_number(ctx, owner), kind, index)
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
    return define(ctx, node, lower_all(ctx, node.args.defaults))


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
