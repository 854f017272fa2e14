"""Warp operations on devices without CUDA's: exchanges through shared memory between barriers of the block.

An emulated warp is 32 consecutive threads of a block, whatever the device has in lockstep: programs shift masks of 32
bits by 16, 8, 4, 2 and 1. Its operations are barriers of the whole block, which `portagpu.passes.emulation.lockstep`
and `portagpu.passes.barriers.converge` make every thread reach; threads that are not there in the Python program take
part in the barrier, but not in the exchange: the last argument of an exchange says who is there.

    x = warp_shfl(mask, v, lane, mode)      x = warp_shuffle(cells, flags, v, lane, mode, true)
    y = warp_all(mask, c)                   pair = warp_ballots(cells, flags, mask, c, true)
                                            y = low half of pair == high half of pair
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from portagpu.dtypes import UINT8, UINT32
from portagpu.ir.analysis.uniform import WARP_OPERATIONS
from portagpu.ir.names import WARP_FLAGS, WARP_VALUES
from portagpu.ir.nodes import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Constant,
    Evaluate,
    Expr,
    Operation,
    Stmt,
    Var,
)
from portagpu.ir.program import MemoryArray, Parameter, ParameterRole, Program
from portagpu.ir.types import BOOLEAN, ULONG, VOID, Pointer, Scalar, Space
from portagpu.passes.emulation.exchange_buffers import BUFFERS
from portagpu.passes.rewriting import functions_of, handed_down, operations, with_bodies

UINT = Scalar(UINT32)
THREADS = 1024  # of a block with emulated warps: as many as a CUDA block has at most
# a thread's value, and what it votes: one CPU compiler crashes when they are two arrays in one
_ARRAYS = ((WARP_VALUES, ULONG), (WARP_FLAGS, Scalar(UINT8)))


def emulated_warps(program: Program) -> Program:
    """The program with its warp operations through shared memory."""
    first = next((o for f in functions_of(program) for o in operations(f) if o.name in WARP_OPERATIONS), None)
    if first is None:
        return program
    arrays = tuple(
        MemoryArray(name=name, element=element, shape=(BUFFERS, THREADS), space=Space.SHARED, span=first.span)
        for name, element in _ARRAYS
    )
    parameters = tuple(
        Parameter(name=a.name, type=Pointer(a.element, Space.SHARED), role=ParameterRole.SHARED) for a in arrays
    )
    program = handed_down(program, parameters, lambda f: any(o.name in WARP_OPERATIONS for o in operations(f)))
    return replace(with_bodies(program, _emulated), shared=(*program.shared, *arrays))


def _emulated(statement: Stmt) -> list[Stmt]:
    """What becomes of one statement: the frontend has every warp operation at the top of one."""
    value = statement.value if isinstance(statement, Assign | Evaluate) else None
    if not isinstance(value, Operation) or value.name not in WARP_OPERATIONS:
        return [statement]
    if value.name == "warp_sync":
        return [Evaluate(Operation("warp_barrier", (), VOID, effect=True, span=value.span), span=statement.span)]
    assert isinstance(statement, Assign)
    return _exchanged(statement, value)


def _exchanged(statement: Assign, value: Operation) -> list[Stmt]:
    span, target = value.span, statement.target
    if value.name == "warp_shfl":  # whoever is there takes part, whatever the mask says
        return [replace(statement, value=_exchange("warp_shuffle", value.args[1:], value))]
    args = value.args
    if value.name == "warp_active":
        args = Constant(0xFFFFFFFF, UINT, span=span), Constant(True, BOOLEAN, span=span)
    pair = Var(f"{target.name}.pair", ULONG, span=span)
    name = "warp_match" if value.name in ("warp_match_any", "warp_match_all") else "warp_ballots"
    exchanged = Assign(pair, replace(_exchange(name, args, value), type=ULONG), span=statement.span)
    found = _RESULTS[value.name](Cast(pair, UINT, span=span), _high(pair))
    return [exchanged, replace(statement, value=found)]


def _exchange(name: str, args: tuple[Expr, ...], value: Operation) -> Operation:
    """An operation of emulated warps; `portagpu.passes.barriers.converge` replaces the last argument."""
    cells = tuple(Var(name, Pointer(element, Space.SHARED), span=value.span) for name, element in _ARRAYS)
    here = Constant(True, BOOLEAN, span=value.span)
    return Operation(name, (*cells, *args, here), value.type, effect=True, span=value.span)


def _high(pair: Var) -> Expr:
    """The upper half of what an exchange gives: the lanes that take part."""
    shifted = Binary(BinaryOp.SHR, pair, Constant(32, ULONG, span=pair.span), ULONG, span=pair.span)
    return Cast(shifted, UINT, span=pair.span)


def _compared(op: CompareOp, left: Expr, right: Expr) -> Compare:
    return Compare(op, left, right, span=left.span)


def _zero(at: Expr) -> Constant:
    return Constant(0, UINT, span=at.span)


def _number(condition: Expr) -> Expr:
    return Cast(condition, UINT, span=condition.span)


def _uniform(low: Expr, high: Expr) -> Expr:
    none, whole = _compared(CompareOp.EQ, low, _zero(low)), _compared(CompareOp.EQ, low, high)
    return _number(Binary(BinaryOp.OR, none, whole, BOOLEAN, span=low.span))


def _whole(low: Expr, high: Expr) -> Expr:
    return Binary(BinaryOp.MUL, low, _number(_compared(CompareOp.EQ, low, high)), UINT, span=low.span)


# what an operation gives, from the lanes that voted or agree, and the lanes that take part
_RESULTS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "warp_all": lambda low, high: _number(_compared(CompareOp.EQ, low, high)),
    "warp_any": lambda low, high: low,
    "warp_eq": _uniform,
    "warp_ballot": lambda low, high: low,
    "warp_active": lambda low, high: high,
    "warp_match_any": lambda low, high: low,
    "warp_match_all": _whole,
}
