"""Lowering of fences."""

from __future__ import annotations

from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.sycl.codegen.table import SYCL
from portagpu.ir.nodes import Operation

_SCOPES = {"threadfence": "device", "threadfence_block": "work_group", "threadfence_system": "system"}


@SYCL.register(*_SCOPES)
def _fence(printer: Printing, expr: Operation) -> Lowered:
    scope = _SCOPES[expr.name]
    return f"sycl::atomic_fence(sycl::memory_order::seq_cst, sycl::memory_scope::{scope})", POSTFIX


@SYCL.register("grid_sync")
def _grid_sync(printer: Printing, expr: Operation) -> Lowered:
    return f"{printer.helpers.use('fences', 'grid_sync', 'uint')}({printer.text(expr.args[0])})", POSTFIX
