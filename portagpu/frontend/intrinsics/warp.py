"""Warp operations: shuffles, votes and matches of the 32 threads of a warp, as named operations of the IR.

Devices that lack them get them from `portagpu.passes.emulation.emulated_warps`. Each is the value of a statement of its
own, since it may become a barrier of the block.
"""

from __future__ import annotations

from portagpu.dtypes import BOOL, UINT32
from portagpu.frontend.core.convert import as_number, constant, convert, describe, number_type, truth
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, TupleValue, Value
from portagpu.ir.nodes import Binary, BinaryOp, Cast, Compare, CompareOp, Evaluate, Expr, Operation, Var
from portagpu.ir.types import BOOLEAN, INT, VOID, Scalar

UINT = Scalar(UINT32)


def _operation(ctx: FunctionState, name: str, args: tuple[Expr, ...], kind: Scalar = UINT) -> Var:
    ctx.effect = True
    return ctx.temp(Operation(name, args, kind, effect=True, span=ctx.span))


def _holds(ctx: FunctionState, found: Expr) -> Expr:
    return Compare(CompareOp.NE, found, constant(ctx, 0, UINT), span=ctx.span)


def _unsigned(ctx: FunctionState, name: str, what: str, value: Value) -> Expr:
    kind = number_type(ctx, value)
    flag = isinstance(kind, Scalar) and kind.dtype is BOOL and what.startswith("Mask")
    if not isinstance(kind, Scalar) or kind.dtype.is_inexact or flag:
        ctx.fail(f"{what} must be an integer: in cuda.{name} it is {describe(ctx, value)}")
    return convert(ctx, value, UINT, explicit=True)


@intrinsic("syncwarp")
def _syncwarp(ctx: FunctionState, site: Call) -> Value:
    (mask,) = site.bind(ctx, "cuda.syncwarp", mask=Const(0xFFFFFFFF))
    members = _unsigned(ctx, "syncwarp", "Mask type", mask)
    ctx.effect = True
    ctx.emit(Evaluate(Operation("warp_sync", (members,), VOID, effect=True, span=ctx.span), span=ctx.span))
    return Const(None)


# shuffles -----------------------------------------------------------------------------------------------------------

_MODES = {"shfl_sync": "src_lane", "shfl_up_sync": "delta", "shfl_down_sync": "delta", "shfl_xor_sync": "lane_mask"}


@intrinsic(*_MODES)
def _shuffle(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    mask, value, lane = site.bind(ctx, f"cuda.{name}", "mask", "value", _MODES[name])
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or not (kind.dtype.is_integer or kind.dtype.is_float):
        ctx.fail(
            f"cuda.{name} exchanges integers and floats, not {describe(ctx, value)}",
            hint="convert the value first, for example np.int32(flag)",
        )
    members = _unsigned(ctx, name, "Mask type", mask)
    source = _unsigned(ctx, name, _MODES[name], lane)
    number = as_number(ctx, value)
    mode = constant(ctx, list(_MODES).index(name), INT)
    return _operation(ctx, "warp_shfl", (members, number, source, mode), kind)


# votes --------------------------------------------------------------------------------------------------------------

_VOTES = ("all_sync", "any_sync", "eq_sync", "ballot_sync")


@intrinsic(*_VOTES)
def _vote(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    mask, predicate = site.bind(ctx, f"cuda.{name}", "mask", "predicate")
    members = _unsigned(ctx, name, "Mask type", mask)
    kind = number_type(ctx, predicate)
    if not isinstance(kind, Scalar) or kind.dtype.is_inexact:
        ctx.fail(
            f"Predicate must be an integer or boolean: in cuda.{name} it is {describe(ctx, predicate)}",
            hint="compare it: x != 0",
        )
    condition = convert(ctx, truth(ctx, predicate), BOOLEAN)
    found = _operation(ctx, f"warp_{name.removesuffix('_sync')}", (members, condition))
    return Cast(found, INT, span=ctx.span) if name == "ballot_sync" else _holds(ctx, found)


@intrinsic("match_any_sync", "match_all_sync")
def _match(ctx: FunctionState, site: Call) -> Value:
    """``match_any_sync``: the lanes that hold the same value; ``match_all_sync``: all of them or 0, and which it is."""
    name: str = site.target.name
    mask, value = site.bind(ctx, f"cuda.{name}", "mask", "value")
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or not (kind.dtype.is_integer or kind.dtype.is_float):
        ctx.fail(f"cuda.{name} compares integers and floats, not {describe(ctx, value)}")
    members = _unsigned(ctx, name, "Mask type", mask)
    number = as_number(ctx, value)
    same = _operation(ctx, f"warp_{name.removesuffix('_sync')}", (members, number))
    result = Cast(same, INT, span=ctx.span)
    if name == "match_any_sync":
        return result
    return TupleValue((ctx.temp(result), ctx.temp(_holds(ctx, same))))


@intrinsic("activemask")
def _activemask(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.activemask")
    return _operation(ctx, "warp_active", ())


@intrinsic("lanemask_lt")
def _lanemask_lt(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.lanemask_lt")
    lane = Cast(Operation("laneid", (), INT, span=ctx.span), UINT, span=ctx.span)
    one = constant(ctx, 1, UINT)
    bit = Binary(BinaryOp.SHL, one, lane, UINT, span=ctx.span)
    return Binary(BinaryOp.SUB, bit, one, UINT, span=ctx.span)


@intrinsic("nanosleep")
def _nanosleep(ctx: FunctionState, site: Call) -> Value:
    """A hint to the scheduler."""
    (duration,) = site.bind(ctx, "cuda.nanosleep", "ns")
    time = _unsigned(ctx, "nanosleep", "the duration", duration)
    ctx.effect = True
    ctx.emit(Evaluate(Operation("nanosleep", (time,), VOID, effect=True, span=ctx.span), span=ctx.span))
    return Const(None)
