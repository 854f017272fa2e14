"""Exceptions in kernels: the record for the host, and the thread's exit.

A thread that raises ends. In a device function it sets its flag, a variable of the kernel, and returns; callers look
at the flag after the call. Under ``debug=True`` the first exception of a launch is recorded in a buffer that the host
reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from portagpu.frontend.core.convert import as_element, constant, convert
from portagpu.frontend.core.state import DeviceFunction, FunctionState
from portagpu.frontend.core.values import Condition, Const, is_expr, leaves
from portagpu.ir.names import own
from portagpu.ir.nodes import (
    Compare,
    CompareOp,
    Constant,
    Evaluate,
    Expr,
    If,
    Load,
    Operation,
    Return,
    Stmt,
    Store,
    Var,
)
from portagpu.ir.program import (
    FAULT_RECORD,
    FAULT_VALUES,
    MAX_FAULT_VALUES,
    KernelException,
    MemoryArray,
    Parameter,
    ParameterRole,
)
from portagpu.ir.types import BOOLEAN, INT, LONG, Pointer, Scalar, Space, Type

_RECORD, _FLAG = own("fault"), own("raised")
_FLAG_TYPE = Pointer(INT, Space.THREAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """An exception to raise; ``values`` are recorded by the thread. ``template``, ``args``: see `KernelException`."""

    kind: type[BaseException]
    template: str | None = None
    args: tuple[object, ...] = ()
    values: tuple[Expr, ...] = field(default=())


def check(ctx: FunctionState, wrong: Condition, raised: Raise) -> None:
    """Raise where the condition holds."""
    if isinstance(wrong, Const):
        if wrong.value:
            raise_now(ctx, raised)
        return
    with ctx.nested() as block:
        _record(ctx, raised)
        _leave(ctx)
    ctx.emit(If(wrong, tuple(block), (), span=ctx.span))


def raise_now(ctx: FunctionState, raised: Raise) -> None:
    """Raise; nothing after it is reached."""
    if ctx.program.debug:
        _record(ctx, raised)
    _leave(ctx)
    ctx.reachable = False


def _record(ctx: FunctionState, raised: Raise) -> None:
    """Record the exception unless another thread was first."""
    span = ctx.span
    record = Var(_RECORD, FAULT_RECORD, span=span)
    if len(raised.values) > MAX_FAULT_VALUES:
        ctx.fail(f"an exception with {len(raised.values)} numbers", hint=f"at most {MAX_FAULT_VALUES}")
    kinds = tuple(_recorded_type(ctx, v) for v in raised.values)
    fault = KernelException(
        kind=raised.kind,
        template=raised.template,
        args=raised.args,
        values=kinds,
        function=ctx.source.name,
        span=span,
    )
    key = (raised.kind, raised.template, repr(raised.args), kinds, ctx.source.function, span)
    ctx.program.faults.setdefault(key, fault)
    number = list(ctx.program.faults).index(key) + 1
    ctx.records = ctx.effect = True
    claim = Operation("claim_fault", (record, Constant(number, INT, span=span)), BOOLEAN, effect=True, span=span)
    stores: list[Stmt] = []
    for n, (value, kind) in enumerate(zip(raised.values, kinds, strict=True)):
        stores.append(Store(record, Constant(FAULT_VALUES + n, INT, span=span), _bits(ctx, value, kind), span=span))
    ctx.emit(If(claim, tuple(stores), (), span=span) if stores else Evaluate(claim, span=span))


def _recorded_type(ctx: FunctionState, value: Expr) -> Scalar:
    kind = value.type
    assert isinstance(kind, Scalar)
    if kind.dtype.is_float:
        return Scalar(ctx.program.py_float.dtype)
    return kind


def _bits(ctx: FunctionState, value: Expr, kind: Scalar) -> Expr:
    if kind.dtype.is_float:
        return Operation("fault_bits", (convert(ctx, value, kind),), LONG, span=ctx.span)
    return convert(ctx, value, LONG)


def _leave(ctx: FunctionState) -> None:
    """End the thread, or return from a device function whose callers then end it."""
    span = ctx.span
    if ctx.is_kernel:
        ctx.emit(Return((), span=span))
        return
    ctx.effect = True
    ctx.emit(Store(_flag(ctx), Constant(0, INT, span=span), Constant(1, INT, span=span), span=span))
    _return_nothing(ctx)


def _return_nothing(ctx: FunctionState) -> None:
    """Return from a function whose result nobody will look at."""
    template = None if ctx.is_kernel else ctx.return_types
    parts = () if template is None else tuple(p for p in leaves(template) if is_expr(p))
    ctx.emit(Return(tuple(_nothing(ctx, p.type) for p in parts), span=ctx.span))


def _nothing(ctx: FunctionState, kind: Type) -> Expr:
    if isinstance(kind, Pointer):
        return Operation("reinterpret", (Constant(0, INT, span=ctx.span),), kind, span=ctx.span)
    return constant(ctx, 0, as_element(kind))


def _flag(ctx: FunctionState) -> Var:
    ctx.raises = True
    if ctx.is_kernel:
        span = ctx.span
        ctx.memory_array(
            _FLAG, lambda name: MemoryArray(name=name, element=INT, shape=(1,), space=Space.THREAD, span=span), _FLAG
        )
    return Var(_FLAG, _FLAG_TYPE, span=ctx.span)


def hidden_arguments(ctx: FunctionState, callee: DeviceFunction) -> list[Expr]:
    """What a call passes beside the user's arguments."""
    result: list[Expr] = []
    if callee.records:
        ctx.records = True
        result.append(Var(_RECORD, FAULT_RECORD, span=ctx.span))
    if callee.raises:
        result.append(_flag(ctx))
    for parameter in callee.hidden:
        ctx.hidden[parameter.name] = parameter
        result.append(Var(parameter.name, parameter.type, span=ctx.span))
    return result


def hidden_parameters(ctx: FunctionState) -> list[Parameter]:
    """Parameters of a lowered function for `hidden_arguments`, or what a kernel gets beside the user's arguments."""
    result = []
    if ctx.records:
        role = ParameterRole.FAULT if ctx.is_kernel else ParameterRole.SHARED
        result.append(Parameter(name=_RECORD, type=FAULT_RECORD, role=role))
    if ctx.raises and not ctx.is_kernel:
        result.append(Parameter(name=_FLAG, type=_FLAG_TYPE, role=ParameterRole.SHARED))
    for parameter in ctx.hidden.values():
        result.append(parameter if ctx.is_kernel else replace(parameter, role=ParameterRole.SHARED))
    return result


def after_call(ctx: FunctionState, callee: DeviceFunction) -> None:
    """End the thread, too, if it ended in the function that was called."""
    if not callee.raises:
        return
    span = ctx.span
    flag = Load(_flag(ctx), Constant(0, INT, span=span), INT, span=span)
    with ctx.nested() as block:
        _return_nothing(ctx)
    ended = Compare(CompareOp.NE, flag, Constant(0, INT, span=span), span=span)
    ctx.emit(If(ended, tuple(block), (), span=span))


def prologue(ctx: FunctionState) -> list[Stmt]:
    """What a kernel does first: its threads have not raised."""
    if not ctx.raises:
        return []
    zero = Constant(0, INT, span=ctx.span)
    return [Store(Var(_FLAG, _FLAG_TYPE, span=ctx.span), zero, zero, span=ctx.span)]
