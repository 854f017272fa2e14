"""Names and attributes in kernels: what they stand for, and the nearest one where there is none."""

from __future__ import annotations

import ast
import builtins
import difflib

from portagpu.dialect.names import Namespace
from portagpu.errors import KernelNameError, UnsetVariableError
from portagpu.frontend.arrays.attributes import array_attribute, is_array_attribute, vector_lane
from portagpu.frontend.arrays.records import get_field
from portagpu.frontend.core.convert import as_number, describe, number_type
from portagpu.frontend.core.name_index import assigned_names
from portagpu.frontend.core.registry import NUMBER_METHODS
from portagpu.frontend.core.requests import ask_for_value_before
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, MethodValue, Missing, TupleValue, Value
from portagpu.frontend.operations import original_words
from portagpu.frontend.operations.complex_numbers import array_part, number_part
from portagpu.frontend.operations.environment import captured
from portagpu.ir.types import Scalar, Vector
from portagpu.types.record_layout import Record


def name_value(ctx: FunctionState, node: ast.Name) -> Value:
    """What a name stands for. Raises `KernelNameError`, and `UnsetVariableError` for one without a value yet."""
    if node.id in ctx.env:
        value = ctx.env[node.id]
        if isinstance(value, Missing):
            ctx.fail(value.message, kind=value.kind, hint=value.hint)
        return value
    if node.id in ctx.local_names:
        ask_for_value_before(ctx, node.id)
        error = ctx.error(
            f"`{node.id}` is used before it has a value",
            kind=UnsetVariableError,
            hint=f"set `{node.id}` before the branch or loop that assigns it",
        )
        assert isinstance(error, UnsetVariableError)
        error.name = node.id
        if not any(node.id in assigned_names([loop.node]) for loop in ctx.open_loops):
            ctx.unset_name = node
        raise error
    found, value = ctx.source.lookup(node.id)
    if not found:
        known = [*ctx.env, *ctx.source.closure, *ctx.source.function.__globals__, *dir(builtins)]
        close = difflib.get_close_matches(node.id, known, n=1)
        ctx.fail(
            f"the name `{node.id}` is not defined",
            kind=KernelNameError,
            hint=f"did you mean `{close[0]}`?"
            if close
            else "define it before the kernel is launched, or pass it as an argument",
            notes=(original_words.undefined(node.id),),
        )
    if ctx.program.dependencies is not None:
        ctx.program.dependencies.name(ctx.source.function, node.id, value)
    return captured(ctx, value, node.id)


def attribute_value(ctx: FunctionState, owner: Value, node: ast.Attribute) -> Value:
    """An attribute of what stands before the dot. Raises `KernelNameError`."""
    if isinstance(owner, Const):
        try:
            value = getattr(owner.value, node.attr)
        except Exception:
            known = owner.value.members if isinstance(owner.value, Namespace) else dir(owner.value)
            close = difflib.get_close_matches(node.attr, known, n=1)
            hint = f"it has {', '.join(known)}" if isinstance(owner.value, Namespace) else None
            raise ctx.error(
                f"{describe(ctx, owner)} has no attribute `{node.attr}` that a kernel can use",
                kind=KernelNameError,
                hint=f"did you mean `{close[0]}`?" if close else hint,
            ) from None
        if ctx.program.dependencies is not None:
            ctx.program.dependencies.attribute(owner.value, node.attr, value)
        return captured(ctx, value, node.attr)
    if isinstance(owner, ArrayValue):
        if owner.record is not None or (isinstance(owner.element, Record) and not is_array_attribute(node.attr)):
            return get_field(ctx, owner, node.attr)
        if node.attr in ("real", "imag"):
            return array_part(ctx, owner, node.attr)
        return array_attribute(ctx, owner, node.attr, node)
    kind = number_type(ctx, owner)
    if isinstance(kind, Vector) and node.attr == "view":
        return MethodValue(owner, node.attr)
    if isinstance(kind, Vector):
        return vector_lane(ctx, as_number(ctx, owner), kind, node.attr, node)
    if isinstance(kind, Scalar):
        if node.attr == "dtype":
            return Const(kind.dtype.numpy)
        if node.attr in ("real", "imag"):
            return number_part(ctx, owner, node.attr)
        if node.attr in NUMBER_METHODS:
            return MethodValue(owner, node.attr)
    if isinstance(owner, TupleValue):
        if node.attr in owner.fields:
            return owner.items[owner.fields.index(node.attr)]
        if node.attr in ("count", "index"):
            return MethodValue(owner, node.attr)
    close = difflib.get_close_matches(node.attr, _attributes(owner, kind), n=1)
    ctx.fail(
        f"{describe(ctx, owner)} has no attribute `{node.attr}`",
        kind=KernelNameError,
        hint=f"did you mean `{close[0]}`?" if close else None,
    )


def _attributes(owner: Value, kind: object) -> list[str]:
    """Attributes of a number or a tuple."""
    if isinstance(kind, Scalar):
        return ["dtype", "real", "imag", *NUMBER_METHODS]
    return [*owner.fields, "count", "index"] if isinstance(owner, TupleValue) else []
