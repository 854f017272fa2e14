"""Asynchronous copies from global to shared memory: CUDA's pipeline primitives.

Where a device has no such copies they are made at once by the thread (`portagpu.passes.emulation.async_copies`), so
that programs run everywhere: after `pipeline_wait_prior` and a barrier the data is there either way.
"""

from __future__ import annotations

from portagpu.errors import KernelTypeError, KernelValueError
from portagpu.frontend.arrays.records import check_writable
from portagpu.frontend.core.convert import describe, truth
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.intrinsics.instructions import array_of, constant_of, emit_instruction, place_of
from portagpu.ir.nodes import Constant
from portagpu.ir.types import BOOLEAN, Scalar, Space, Vector, element_size

_SIZES = (4, 8, 16)


def _consecutive(ctx: FunctionState, what: str, array: ArrayValue) -> None:
    last = array.strides[-1] if array.ndim else None
    if getattr(last, "value", None) != 1 or array.align:
        ctx.fail(
            f"cuda.pipeline_memcpy_async needs consecutive elements along the last axis of {what};"
            f" {array.describe()} has another layout",
            hint="pass a C-contiguous array, or a row of one",
        )


@intrinsic("pipeline_memcpy_async")
def _pipeline_memcpy_async(ctx: FunctionState, site: Call) -> Value:
    name = "pipeline_memcpy_async"
    to, to_index, source, index, count, valid = site.bind(
        ctx, f"cuda.{name}", "target", "target_index", "source", "source_index", "count", valid=Const(True)
    )
    target = array_of(ctx, name, "the target", to, Space.SHARED)
    origin = array_of(ctx, name, "the source", source, Space.GLOBAL)
    check_writable(ctx, target)
    _consecutive(ctx, "the target", target)
    _consecutive(ctx, "the source", origin)
    if target.element != origin.element:
        ctx.fail(
            f"cuda.{name} copies elements as they are: {describe(ctx, origin)} to {describe(ctx, target)}",
            kind=KernelTypeError,
            hint="use arrays of one dtype",
        )
    elements = constant_of(ctx, name, "the count", count)
    assert isinstance(target.element, Scalar | Vector)
    size = element_size(target.element) * (elements if isinstance(elements, int) else 0)
    if size not in _SIZES:
        ctx.fail(
            f"cuda.{name} copies 4, 8 or 16 bytes; {elements} elements of {target.element} have {size}",
            kind=KernelValueError,
            hint=f"for 16 bytes: count={16 // element_size(target.element)}",
        )
    here, there = place_of(ctx, target, to_index), place_of(ctx, origin, index)
    condition = truth(ctx, valid)
    wanted = Constant(bool(condition.value), BOOLEAN, span=ctx.span) if isinstance(condition, Const) else condition
    return emit_instruction(ctx, "async_copy", size, operands=(here, there, wanted))


@intrinsic("pipeline_commit")
def _pipeline_commit(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.pipeline_commit")
    return emit_instruction(ctx, "async_copy_commit")


@intrinsic("pipeline_wait_prior")
def _pipeline_wait_prior(ctx: FunctionState, site: Call) -> Value:
    (left,) = site.bind(ctx, "cuda.pipeline_wait_prior", "n")
    groups = constant_of(ctx, "pipeline_wait_prior", "the number", left)
    if not isinstance(groups, int) or not 0 <= groups <= 8:
        ctx.fail(f"cuda.pipeline_wait_prior takes the constant 0 to 8, not {groups!r}", kind=KernelValueError)
    return emit_instruction(ctx, "async_copy_wait", groups)
