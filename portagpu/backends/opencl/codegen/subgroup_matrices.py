"""Lowering of matrix units whose operands are vectors of a subgroup's lanes: compilers' functions for them."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import POSTFIX
from portagpu.backends.c_family.registry import Lowered, Printing
from portagpu.backends.c_family.subgroup_products import OPERATIONS, function_of
from portagpu.backends.opencl.codegen.subgroups import enable
from portagpu.backends.opencl.codegen.table import OPENCL
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.types import Scalar, Vector


@dataclass(frozen=True, slots=True)
class _Function:
    """A compiler's function, the type of its operands, and how it is called."""

    name: str
    operand: str
    form: str


def _mfma(name: str, operand: str) -> _Function:
    return _Function(f"__builtin_amdgcn_mfma_{name}", operand, "{name}({a}, {b}, {acc}, 0, 0, 0)")


def _wmma(name: str, operand: str) -> _Function:
    form = "{name}(true, {a}, true, {b}, {acc}, false)" if "iu8" in name else "{name}({a}, {b}, {acc})"
    return _Function(f"__builtin_amdgcn_wmma_{name}", operand, form)


_FUNCTIONS = {
    "mfma.float16.m32n32k8": _mfma("f32_32x32x8f16", "half4"),
    "mfma.float16.m16n16k16": _mfma("f32_16x16x16f16", "half4"),
    "mfma_bfloat16.bfloat16.m32n32k8": _mfma("f32_32x32x8bf16_1k", "short4"),
    "mfma_bfloat16.bfloat16.m16n16k16": _mfma("f32_16x16x16bf16_1k", "short4"),
    "mfma.float32.m32n32k2": _mfma("f32_32x32x2f32", "float"),
    "mfma.float32.m16n16k4": _mfma("f32_16x16x4f32", "float"),
    "mfma_float64.float64.m16n16k4": _mfma("f64_16x16x4f64", "double"),
    "mfma_int8.int8.m32n32k8": _mfma("i32_32x32x8i8", "int"),
    "mfma_int8.int8.m16n16k16": _mfma("i32_16x16x16i8", "int"),
    "mfma_int8_wide.int8.m32n32k16": _mfma("i32_32x32x16_i8", "long"),
    "mfma_int8_wide.int8.m16n16k32": _mfma("i32_16x16x32_i8", "long"),
    "mfma_tfloat32.tfloat32.m32n32k4": _mfma("f32_32x32x4_xf32", "float2"),
    "mfma_tfloat32.tfloat32.m16n16k8": _mfma("f32_16x16x8_xf32", "float2"),
    "wmma.float16.m16n16k16": _wmma("f32_16x16x16_f16_w32", "half16"),
    "wmma_halves.float16.m16n16k16": _wmma("f32_16x16x16_f16_w32_gfx12", "half8"),
    "wmma.bfloat16.m16n16k16": _wmma("f32_16x16x16_bf16_w32", "short16"),
    "wmma_halves.bfloat16.m16n16k16": _wmma("f32_16x16x16_bf16_w32_gfx12", "short8"),
    "wmma.int8.m16n16k16": _wmma("i32_16x16x16_iu8_w32", "int4"),
    "wmma_halves.int8.m16n16k16": _wmma("i32_16x16x16_iu8_w32_gfx12", "int2"),
}


def _as(printer: Printing, operand: Expr, wanted: str) -> str:
    """An operand as the type that the function takes, by its bits."""
    assert isinstance(operand.type, Scalar | Vector)
    text = printer.text(operand)
    return text if c_type(operand.type) == wanted else f"as_{wanted}({text})"


def _call(printer: Printing, expr: Operation) -> Lowered:
    found = _FUNCTIONS[expr.name]
    if found.operand.startswith("half"):
        printer.helpers.extension("cl_khr_fp16")
    a, b, acc = expr.args
    left, right = (_as(printer, operand, found.operand) for operand in (a, b))
    return found.form.format(name=found.name, a=left, b=right, acc=printer.text(acc)), POSTFIX


OPENCL.update(dict.fromkeys(_FUNCTIONS, _call))


@OPENCL.register(*OPERATIONS)
def _mad(printer: Printing, expr: Operation) -> Lowered:
    """The function is declared first: compilers that have it may not have its header."""
    enable(printer, "cl_intel_subgroup_matrix_multiply_accumulate")
    function = function_of(expr)
    types = [f"{element}{lanes if lanes > 1 else ''}" for element, lanes in function.types]
    printer.helpers.declare(
        f"{types[2]} __attribute__((overloadable)) __attribute__((convergent)) {function.name}({', '.join(types)});"
    )
    operands = ", ".join(_as(printer, o, kind) for o, kind in zip(expr.args, types, strict=True))
    return f"{function.name}({operands})", POSTFIX
