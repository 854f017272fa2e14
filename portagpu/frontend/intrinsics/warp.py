"""Warp operations: native where the device has CUDA's instructions, else exchanges through shared memory.

An emulated warp is 32 consecutive threads of a block, whatever the device has in lockstep: programs shift masks of 32
bits by 16, 8, 4, 2 and 1. Its operations are barriers of the whole block, which
`portagpu.passes.warps` and `portagpu.passes.converge` make every thread reach; threads that are not there in the Python
program take part in the barrier, but not in the exchange.
"""

from __future__ import annotations

from collections.abc import Callable

from portagpu.dtypes import BOOL, UINT8, UINT32, UINT64
from portagpu.frontend.core.convert import as_number, constant, convert, describe, number_type, truth
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, TupleValue, Value
from portagpu.frontend.intrinsics.memory import use_shared
from portagpu.ir.nodes import Binary, BinaryOp, Cast, Compare, CompareOp, Constant, Evaluate, Expr, Operation, Var
from portagpu.ir.program import MemoryArray
from portagpu.ir.types import BOOLEAN, INT, VOID, Pointer, Scalar, Space
from portagpu.passes.exchange_buffers import BUFFERS, SCRATCH, SCRATCH_FLAGS

UINT = Scalar(UINT32)
ULONG = Scalar(UINT64)
THREADS = 1024  # of a block with emulated warps: as many as a CUDA block has at most
# a thread's value, and what it votes: one CPU compiler crashes when they are two arrays in one
_ARRAYS = ((SCRATCH, ULONG), (SCRATCH_FLAGS, Scalar(UINT8)))


def _is_native(ctx: FunctionState) -> bool:
    """Whether the device has CUDA's warp instructions."""
    ctx.effect = True
    return ctx.program.caps.inline_ptx


def _scratch(ctx: FunctionState) -> tuple[Var, ...]:
    """The arrays through which threads exchange values."""
    found = []
    for name, element in _ARRAYS:
        array = ctx.program.shared.get((name,))
        if array is None:
            shape = (BUFFERS, THREADS)
            array = MemoryArray(name=name, element=element, shape=shape, space=Space.LOCAL, span=ctx.span)
            ctx.program.shared[(name,)] = array
        use_shared(ctx, array)
        found.append(Var(array.name, Pointer(element, Space.LOCAL), span=ctx.span))
    return tuple(found)


def _exchange(ctx: FunctionState, name: str, args: tuple[Expr, ...], kind: Scalar) -> Var:
    """An emulated operation; `portagpu.passes.converge` replaces the last argument where threads may be elsewhere."""
    here = Constant(True, BOOLEAN, span=ctx.span)
    return ctx.temp(Operation(name, (*_scratch(ctx), *args, here), kind, effect=True, span=ctx.span))


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
    if _is_native(ctx):
        barrier = Operation("warp_sync_ptx", (members,), VOID, effect=True, span=ctx.span)
    else:
        _scratch(ctx)
        barrier = Operation("warp_barrier", (), VOID, effect=True, span=ctx.span)
    ctx.emit(Evaluate(barrier, span=ctx.span))
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
    if _is_native(ctx):
        return ctx.temp(
            Operation("warp_shuffle_ptx", (members, number, source, mode), kind, effect=True, span=ctx.span)
        )
    return _exchange(ctx, "warp_shuffle", (number, source, mode), kind)


# votes --------------------------------------------------------------------------------------------------------------


def _half(ctx: FunctionState, pair: Var, *, high: bool) -> Expr:
    """One 32-bit half of what an emulated vote gives: the lanes that take part are the high one."""
    if not high:
        return Cast(pair, UINT, span=ctx.span)
    shifted = Binary(BinaryOp.SHR, pair, constant(ctx, 32, ULONG), ULONG, span=ctx.span)
    return Cast(shifted, UINT, span=ctx.span)


def _equal(ctx: FunctionState, left: Expr, right: Expr, op: CompareOp = CompareOp.EQ) -> Expr:
    return Compare(op, left, right, span=ctx.span)


def _ballots(ctx: FunctionState, members: Expr, condition: Expr) -> tuple[Expr, Expr]:
    pair = _exchange(ctx, "warp_ballots", (members, condition), ULONG)
    return ctx.temp(_half(ctx, pair, high=False)), ctx.temp(_half(ctx, pair, high=True))


def _all(ctx: FunctionState, ballot: Expr, present: Expr) -> Expr:
    return _equal(ctx, ballot, present)


def _any(ctx: FunctionState, ballot: Expr, present: Expr) -> Expr:
    return _equal(ctx, ballot, constant(ctx, 0, UINT), CompareOp.NE)


def _eq(ctx: FunctionState, ballot: Expr, present: Expr) -> Expr:
    none = _equal(ctx, ballot, constant(ctx, 0, UINT))
    either = Binary(BinaryOp.OR, none, _equal(ctx, ballot, present), BOOLEAN, span=ctx.span)
    return either


def _ballot(ctx: FunctionState, ballot: Expr, present: Expr) -> Expr:
    return Cast(ballot, INT, span=ctx.span)


_VOTES: dict[str, Callable[[FunctionState, Expr, Expr], Expr]] = {
    "all_sync": _all,
    "any_sync": _any,
    "eq_sync": _eq,
    "ballot_sync": _ballot,
}


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
    if _is_native(ctx):
        native = f"warp_{name.removesuffix('_sync')}_ptx"
        found = ctx.temp(
            Operation(native, (members, Cast(condition, UINT, span=ctx.span)), UINT, effect=True, span=ctx.span)
        )
        return Cast(found, INT, span=ctx.span) if name == "ballot_sync" else _any(ctx, found, found)
    return _VOTES[name](ctx, *_ballots(ctx, members, condition))


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
    is_all = name == "match_all_sync"
    if _is_native(ctx):
        native = "warp_match_all_ptx" if is_all else "warp_match_any_ptx"
        same: Expr = ctx.temp(Operation(native, (members, number), UINT, effect=True, span=ctx.span))
        agree = _any(ctx, same, same)
    else:
        pair = _exchange(ctx, "warp_match", (members, number), ULONG)
        same = ctx.temp(_half(ctx, pair, high=False))
        agree = ctx.temp(_equal(ctx, same, _half(ctx, pair, high=True)))
        if is_all:
            kept = Cast(agree, UINT, span=ctx.span)
            same = Binary(BinaryOp.MUL, same, kept, UINT, span=ctx.span)
    result = Cast(same, INT, span=ctx.span)
    return TupleValue((ctx.temp(result), ctx.temp(agree))) if is_all else result


@intrinsic("activemask")
def _activemask(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.activemask")
    if _is_native(ctx):
        return ctx.temp(Operation("warp_active_ptx", (), UINT, effect=True, span=ctx.span))
    return _ballots(ctx, constant(ctx, 0xFFFFFFFF, UINT), constant(ctx, True, BOOLEAN))[1]


@intrinsic("lanemask_lt")
def _lanemask_lt(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.lanemask_lt")
    lane = Cast(Operation("laneid", (), INT, span=ctx.span), UINT, span=ctx.span)
    one = constant(ctx, 1, UINT)
    bit = Binary(BinaryOp.SHL, one, lane, UINT, span=ctx.span)
    return Binary(BinaryOp.SUB, bit, one, UINT, span=ctx.span)


@intrinsic("nanosleep")
def _nanosleep(ctx: FunctionState, site: Call) -> Value:
    """A hint to the scheduler: devices without one go on at once."""
    (duration,) = site.bind(ctx, "cuda.nanosleep", "ns")
    time = _unsigned(ctx, "nanosleep", "the duration", duration)
    if ctx.program.caps.inline_ptx:
        ctx.effect = True
        ctx.emit(Evaluate(Operation("warp_nanosleep_ptx", (time,), VOID, effect=True, span=ctx.span), span=ctx.span))
    return Const(None)
