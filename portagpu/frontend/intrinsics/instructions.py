"""What intrinsics for one maker's instructions share: registers, addresses, statements, and refusals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from portagpu.dtypes import INT64, UINT32
from portagpu.errors import KernelValueError, MissingCapabilityError
from portagpu.frontend.arrays.subscripts import address
from portagpu.frontend.core.convert import convert, describe, number_type
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.operations.environment import index_items
from portagpu.ir.nodes import Constant, Expr, Instruction, Load, Offset, Operation, Var
from portagpu.ir.types import INT, ULONG, Pointer, Scalar, Space, Vector, in_memory
from portagpu.types.record_layout import Record

UINT = Scalar(UINT32)
LONG = Scalar(INT64)


def require_target(ctx: FunctionState, name: str, least: tuple[int, int], hint: str) -> None:
    """Refuse ``cuda.name`` on devices that are not at least of an architecture."""
    found = ctx.program.caps.ptx_target
    if found < least:
        what = f"a CUDA GPU of compute capability {least[0]}.{least[1]}"
        ctx.fail(f"cuda.{name} needs {what} or newer", kind=MissingCapabilityError, hint=hint)


def require_architecture(ctx: FunctionState, name: str, wanted: tuple[int, int], hint: str) -> None:
    """Refuse ``cuda.name`` on devices whose architecture is another than the one that has the instruction."""
    caps = ctx.program.caps
    if caps.ptx_target[0] != wanted[0] or not caps.architecture_ptx:
        text = f"cuda.{name} exists on CUDA GPUs of compute capability {wanted[0]}.x alone"
        ctx.fail(text, kind=MissingCapabilityError, hint=hint)


def constant_of(ctx: FunctionState, name: str, what: str, value: Value) -> object:
    """A compile-time constant."""
    if not isinstance(value, Const):
        ctx.fail(
            f"{what} of cuda.{name} must be known at compile time; it is {describe(ctx, value)}",
            kind=KernelValueError,
            hint="use a constant, a closure variable or a parameter annotated `cuda.constexpr`",
        )
    found = value.value
    return found.item() if isinstance(found, np.generic) else found


def flag_of(ctx: FunctionState, name: str, what: str, value: Value) -> bool:
    """A compile-time flag."""
    return bool(constant_of(ctx, name, what, value))


def array_of(ctx: FunctionState, name: str, what: str, value: Value, space: Space) -> ArrayValue:
    """An array of numbers in a given memory."""
    if not isinstance(value, ArrayValue) or value.space is not space or isinstance(value.element, Record):
        ctx.fail(f"{what} of cuda.{name} must be an array in {space.value} memory, not {describe(ctx, value)}")
    return value


def place_of(ctx: FunctionState, array: ArrayValue, index: Value) -> Offset:
    """A pointer to one element."""
    assert not isinstance(array.element, Record)
    place = address(ctx, array, index_items(ctx, index))
    return Offset(array.base, place, Pointer(in_memory(array.element), array.space), span=ctx.span)


def shared_address(ctx: FunctionState, name: str, what: str, value: Value, index: Value) -> Expr:
    """The 32-bit address of an element of a shared array."""
    array = array_of(ctx, name, what, value, Space.SHARED)
    return Operation("shared_address", (place_of(ctx, array, index),), UINT, effect=True, span=ctx.span)


def global_address(ctx: FunctionState, name: str, what: str, value: Value, index: Value) -> Expr:
    """The 64-bit address of an element of a global array."""
    array = array_of(ctx, name, what, value, Space.GLOBAL)
    return Operation("global_address", (place_of(ctx, array, index),), ULONG, effect=True, span=ctx.span)


def number(ctx: FunctionState, name: str, what: str, value: Value, kind: Scalar) -> Expr:
    """An integer operand."""
    found = number_type(ctx, value)
    if not isinstance(found, Scalar) or not (found.dtype.is_integer or found.dtype.name == "bool"):
        ctx.fail(f"{what} of cuda.{name} must be an integer, not {describe(ctx, value)}")
    return convert(ctx, value, kind, explicit=True)


def registers(ctx: FunctionState, name: str, what: str, value: Value, count: int, kinds: Sequence[str]) -> list[Load]:
    """The elements of a local array, or of a part of one, that an instruction takes as registers.

    Their places are known at compile time, so that the array can live in registers.
    """
    array = array_of(ctx, name, what, value, Space.THREAD)
    assert not isinstance(array.element, Record)
    shape = [extent.value if isinstance(extent, Constant) else None for extent in array.shape]
    size = int(np.prod([s for s in shape if s is not None])) if None not in shape else -1
    names = " or ".join(kinds)
    if isinstance(array.element, Vector) or array.element.dtype.name not in kinds or size != count:
        ctx.fail(
            f"{what} of cuda.{name} must be a local array of {count} {names}, not {describe(ctx, value)}",
            hint=f"cuda.local.array({count}, np.{kinds[0]}), or a part of a larger one of that size",
        )
    start, base = _start(ctx, name, what, array)
    kind = array.element
    return [Load(base, Constant(start + i, INT, span=ctx.span), kind, span=ctx.span) for i in range(count)]


def _start(ctx: FunctionState, name: str, what: str, array: ArrayValue) -> tuple[int, Var]:
    """Number of the first element in the local array that a view is a part of, and that array."""
    start, base, step = 0, array.base, 1
    while isinstance(base, Offset) and isinstance(base.index, Constant):
        start, base = start + int(base.index.value), base.base
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        dense = isinstance(stride, Constant) and isinstance(extent, Constant)
        if not dense or (stride.value != step and extent.value != 1):  # type: ignore[union-attr]
            base = array.base
            break
        step *= int(extent.value)  # type: ignore[union-attr]
    if not isinstance(base, Var):
        ctx.fail(
            f"{what} of cuda.{name} must begin at a place that is known at compile time, and be contiguous",
            kind=KernelValueError,
            hint="index the local array with constants: unroll the loop with cuda.unroll",
        )
    return start, base


def emit_instruction(
    ctx: FunctionState,
    name: str,
    *attributes: str | int | bool | None,
    results: Sequence[Load] = (),
    operands: Sequence[Expr] = (),
    updates: bool = False,
) -> Const:
    """Emit one instruction."""
    ctx.effect = True
    ctx.emit(Instruction(name, attributes, tuple(results), tuple(operands), updates, span=ctx.span))
    return Const(None)
