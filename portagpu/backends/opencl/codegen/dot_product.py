"""Lowering of `cuda.dp4a` and `cuda.prefetch`, for which devices have instructions of their own, or none."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar

_DP4A_TARGET = (6, 1)


@OPENCL.register("dp4a_ss", "dp4a_su", "dp4a_us", "dp4a_uu")
def _dp4a(printer: Printing, expr: Operation) -> Lowered:
    caps = printer.helpers.caps
    way = "ptx" if caps.ptx_target >= _DP4A_TARGET else "builtin" if caps.packed_dot_product else "plain"
    assert isinstance(expr.type, Scalar)
    helper = printer.helpers.use("dp4a", "dp4a", c_type(expr.type), variant=f"{way}_{expr.name.removeprefix('dp4a_')}")
    return f"{helper}({', '.join(printer.text(a) for a in expr.args)})", POSTFIX


@OPENCL.register("prefetch")
def _prefetch(printer: Printing, expr: Operation) -> Lowered:
    caps = printer.helpers.caps
    place = printer.text(expr.args[0])
    if caps.inline_ptx:
        return f'asm volatile("prefetch.global.L2 [%0];" : : "l"((ulong)({place})))', POSTFIX
    if caps.builtin_prefetch:  # a CPU's, where OpenCL's own function does nothing, or calls one that does
        return f"__builtin_prefetch((__global const void*)({place}), 0, 3)", POSTFIX
    return f"prefetch((__global const uchar*)({place}), 1)", POSTFIX
