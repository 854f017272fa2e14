"""Lowering of products of bytes, of prefetching, of copies to shared memory, and of floats as bits."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import LOWEST, POSTFIX, UNARY
from portagpu.backends.c_family.registry import SHARED, Lowered, Printing
from portagpu.backends.sycl.codegen.table import SYCL
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar, Space

_COPIED = {4: "uint", 8: "uint2", 16: "uint4"}
_ROUNDED = {"pack_half2": "uint", "pack_bfloat162": "uint", "float_to_tf32": "float"}


@SYCL.register("dp4a_ss", "dp4a_su", "dp4a_us", "dp4a_uu")
def _dp4a(printer: Printing, expr: Operation) -> Lowered:
    helper = printer.helpers.use("dp4a", "dp4a", c_type(expr.type), variant=expr.name.removeprefix("dp4a_"))
    return f"{helper}({', '.join(printer.text(a) for a in expr.args)})", POSTFIX


@SYCL.register("brev")
def _brev(printer: Printing, expr: Operation) -> Lowered:
    kind = expr.type
    assert isinstance(kind, Scalar)
    if kind.dtype.size >= 4:
        return SHARED[expr.name](printer, expr)
    return f"{printer.helpers.use('bytes', 'brev', c_type(kind))}({printer.text(expr.args[0])})", POSTFIX


@SYCL.register("prefetch")
def _prefetch(printer: Printing, expr: Operation) -> Lowered:
    return f"syclexp::prefetch((void*)({printer.text(expr.args[0])}), 1)", POSTFIX


@SYCL.register(*(f"copy_{size}" for size in _COPIED))
def _copy(printer: Printing, expr: Operation) -> Lowered:
    """A copy of some bytes from global to shared memory by the thread itself; zeros where it is not valid."""
    kind = _COPIED[int(expr.name.removeprefix("copy_"))]
    to, source, valid = (printer.text(a) for a in expr.args)
    copied = f"*({printer.language.pointer(kind, Space.GLOBAL, readonly=True)})({source})"
    value = copied if valid == "true" else f"({valid}) ? {copied} : ({kind})(0)"
    return f"*({printer.language.pointer(kind, Space.SHARED)})({to}) = {value}", LOWEST


@SYCL.register("float_bits")
def _float_bits(printer: Printing, expr: Operation) -> Lowered:
    return printer.language.bits_as("uint", printer.text(expr.args[0])), POSTFIX


@SYCL.register("fault_bits")
def _fault_bits(printer: Printing, expr: Operation) -> Lowered:
    """A float's bits as a 64-bit integer."""
    operand = expr.args[0].type
    assert isinstance(operand, Scalar)
    text = printer.text(expr.args[0])
    if operand.dtype.size == 8:
        return printer.language.bits_as("long", text), POSTFIX
    return f"(long){printer.language.bits_as('int', text)}", UNARY


@SYCL.register(*_ROUNDED)
def _rounded(printer: Printing, expr: Operation) -> Lowered:
    """One float32 rounded to fewer bits, or two to 16 bits each, the first in the low half."""
    helper = printer.helpers.use("roundings", expr.name, _ROUNDED[expr.name])
    return f"{helper}({', '.join(printer.text(a) for a in expr.args)})", POSTFIX
