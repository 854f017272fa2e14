"""Subgroup operations: lanes, broadcasts and shuffles, block loads and stores.

A kernel that relies on the size says it: ``@cuda.jit(subgroup_size=16)``. All threads of a subgroup must reach these
functions. `cl_khr_subgroups`, `cl_khr_subgroup_shuffle`, `cl_intel_subgroups` and its extensions for other sizes of
elements are the OpenCL documents behind them.
"""

from __future__ import annotations

from portagpu.dtypes import UINT32
from portagpu.errors import KernelTypeError, KernelValueError, MissingCapabilityError
from portagpu.frontend.core.convert import as_number, convert, describe, number_type
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.frontend.intrinsics.instructions import array_of, constant_of, place_of
from portagpu.ir.nodes import Evaluate, Operation
from portagpu.ir.types import INT, VOID, Element, Scalar, Space, Vector

UINT = Scalar(UINT32)
_WARPS = "cuda.shfl_sync and the other warp functions work on every device"
_LOADS = "cuda.vload and plain subscripts work on every device"
_WIDTHS = (1, 2, 4, 8)


def require(ctx: FunctionState, name: str, there: bool, what: str, hint: str) -> None:
    """Refuse ``cuda.name`` on devices that lack ``what``."""
    if not there:
        ctx.fail(f"cuda.{name} needs {what}, which this device does not have", kind=MissingCapabilityError, hint=hint)


@intrinsic("subgroup_size", "subgroup_lane", "subgroup_id")
def _index(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    site.bind(ctx, f"cuda.{name}")
    require(ctx, name, ctx.program.caps.subgroups, "subgroups", _WARPS)
    return ctx.temp(Operation(name, (), INT, effect=True, span=ctx.span))


@intrinsic("subgroup_broadcast", "subgroup_shuffle")
def _exchange(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    value, lane = site.bind(ctx, f"cuda.{name}", "value", "lane")
    caps = ctx.program.caps
    there = caps.subgroups if name == "subgroup_broadcast" else caps.subgroup_shuffle
    require(ctx, name, there, "subgroups" if name == "subgroup_broadcast" else "subgroup shuffles", _WARPS)
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or kind.dtype.is_complex or kind.dtype.size < 4:
        ctx.fail(
            f"cuda.{name} exchanges numbers of 32 and 64 bits, not {describe(ctx, value)}",
            kind=KernelTypeError,
            hint="convert the value first, for example np.int32(flag)",
        )
    source = number_type(ctx, lane)
    if not isinstance(source, Scalar) or not source.dtype.is_integer:
        ctx.fail(f"the lane of cuda.{name} must be an integer, not {describe(ctx, lane)}", kind=KernelTypeError)
    ctx.effect = True
    operands = (as_number(ctx, value), convert(ctx, lane, UINT, explicit=True))
    return ctx.temp(Operation(name, operands, kind, effect=True, span=ctx.span))


def _element(ctx: FunctionState, name: str, kind: Element) -> Scalar:
    caps = ctx.program.caps
    require(ctx, name, caps.subgroup_block_io, "loads and stores of blocks by subgroups", _LOADS)
    if not isinstance(kind, Scalar) or kind.dtype.is_complex or kind.dtype.name == "bool":
        ctx.fail(f"cuda.{name} works on arrays of numbers, not of {kind}", kind=KernelTypeError)
    return kind


@intrinsic("subgroup_block_read")
def _block_read(ctx: FunctionState, site: Call) -> Value:
    name = "subgroup_block_read"
    source, index, count = site.bind(ctx, f"cuda.{name}", "array", "index", width=Const(1))
    array = array_of(ctx, name, "the array", source, Space.GLOBAL)
    assert isinstance(array.element, Scalar | Vector)
    element = _element(ctx, name, array.element)
    width = constant_of(ctx, name, "the width", count)
    if width not in _WIDTHS:
        ctx.fail(f"cuda.{name} takes a width of {_WIDTHS}, not {width!r}", kind=KernelValueError)
    assert isinstance(width, int)
    kind: Element = element if width == 1 else Vector(element.dtype, width)
    ctx.effect = True
    return ctx.temp(Operation(name, (place_of(ctx, array, index),), kind, effect=True, span=ctx.span))


@intrinsic("subgroup_block_write")
def _block_write(ctx: FunctionState, site: Call) -> Value:
    name = "subgroup_block_write"
    value, target, index = site.bind(ctx, f"cuda.{name}", "value", "array", "index")
    array = array_of(ctx, name, "the array", target, Space.GLOBAL)
    assert isinstance(array.element, Scalar | Vector)
    element = _element(ctx, name, array.element)
    if array.readonly:
        ctx.fail(f"cuda.{name} to a read-only array")
    kind = number_type(ctx, value)
    if isinstance(kind, Vector):
        if kind.dtype is not element.dtype or kind.lanes not in _WIDTHS:
            ctx.fail(f"cuda.{name} takes 1, 2, 4 or 8 {element}, not {describe(ctx, value)}", kind=KernelTypeError)
        number = as_number(ctx, value)
    else:
        number = convert(ctx, value, element)
    ctx.effect = True
    operation = Operation(name, (place_of(ctx, array, index), number), VOID, effect=True, span=ctx.span)
    ctx.emit(Evaluate(operation, span=ctx.span))
    return Const(None)
