"""Lowering of fences."""

from __future__ import annotations

from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.ir.nodes import Operation


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
