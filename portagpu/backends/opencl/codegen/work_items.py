"""Lowering of a thread's place in its grid, of barriers of the block, and of fences."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX, PRIMARY, PRODUCT, SUM, UNARY
from portagpu.backends.c_family.registry import Lowered, Printing, argument_text
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.dtypes import INT32
from portagpu.ir.nodes import Operation
from portagpu.ir.types import WARP, Scalar

_WORK_ITEM = {
    "threadIdx": "get_local_id",
    "blockIdx": "get_group_id",
    "blockDim": "get_local_size",
    "gridDim": "get_num_groups",
    "grid": "get_global_id",
    "gridsize": "get_global_size",
}


@OPENCL.register(*_WORK_ITEM)
def _work_item(printer: Printing, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar)
    if expr.name == "blockDim":
        return printer.block_size(expr.args[0]), PRIMARY
    if expr.name == "grid" and printer.wide:  # one CPU driver's get_global_id has 32 bits in the lanes of a vector
        block = (
            f"({c_type(expr.type)})get_group_id({argument_text(printer, expr)}) * {printer.block_size(expr.args[0])}"
        )
        return f"{block} + (int)get_local_id({argument_text(printer, expr)})", SUM
    if expr.name == "gridsize" and expr.type.dtype.size == 8:  # one GPU driver's get_global_size has 32 bits
        return (
            f"({c_type(expr.type)})get_num_groups({argument_text(printer, expr)}) * {printer.block_size(expr.args[0])}",
            PRODUCT,
        )
    held = printer.thread_id(expr.args[0]) if expr.name == "threadIdx" else None
    if held is not None:
        return (held, PRIMARY) if expr.type.dtype is INT32 else (f"({c_type(expr.type)}){held}", UNARY)
    # int first: one CPU's compiler takes subscripts that are shifts of a 64-bit id in its block for runs of elements
    first = "(int)" if expr.name == "threadIdx" and expr.type.dtype.size == 8 else ""
    return f"({c_type(expr.type)}){first}{_WORK_ITEM[expr.name]}({argument_text(printer, expr)})", UNARY


@OPENCL.register("laneid")
def _laneid(printer: Printing, expr: Operation) -> Lowered:
    linear = "(get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0)"
    return f"(int)(({linear}) % {WARP})", UNARY


@OPENCL.register("syncthreads")
def _syncthreads(printer: Printing, expr: Operation) -> Lowered:
    return printer.helpers.barrier(), POSTFIX


@OPENCL.register("syncthreads_count", "syncthreads_and", "syncthreads_or")
def _vote(printer: Printing, expr: Operation) -> Lowered:
    helper = printer.helpers.use("blocks", "syncthreads_count", "int")
    cell, condition = expr.args
    text = printer.text(condition)
    if expr.name == "syncthreads_and":
        return f"(int)({helper}({printer.text(cell)}, !({text})) == 0)", UNARY
    call = f"{helper}({printer.text(cell)}, {text})"
    return (f"(int)({call} != 0)", UNARY) if expr.name == "syncthreads_or" else (call, POSTFIX)


@OPENCL.register("threadfence", "threadfence_block", "threadfence_system")
def _fence(printer: Printing, expr: Operation) -> Lowered:
    if printer.helpers.caps.inline_ptx:
        scope = {"threadfence": "gl", "threadfence_block": "cta", "threadfence_system": "sys"}[expr.name]
        return f'asm volatile("membar.{scope};" ::: "memory")', POSTFIX
    if printer.helpers.caps.scoped_fences:
        scope = "work_group" if expr.name == "threadfence_block" else "device"
        return (
            "atomic_work_item_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst,"
            f" memory_scope_{scope})",
            POSTFIX,
        )
    return "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", POSTFIX
