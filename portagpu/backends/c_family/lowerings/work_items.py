"""Lowering of a thread's place in its grid, and of barriers of the block."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import BIT_OR, EQUALITY, POSTFIX, PRIMARY, PRODUCT, SUM, UNARY
from portagpu.backends.c_family.registry import SHARED, Lowered, Printing
from portagpu.device.capabilities import DeviceType
from portagpu.dtypes import INT32, UINT32, UINT64
from portagpu.ir.nodes import Constant, Operation
from portagpu.ir.types import BOOLEAN, WARP, Scalar


@SHARED.register("threadIdx", "blockIdx", "blockDim", "gridDim", "grid", "gridsize")
def _work_item(printer: Printing, expr: Operation) -> Lowered:
    """A number of the launch or of the thread, in the type that the program asks for."""
    (axis,) = expr.args
    assert isinstance(expr.type, Scalar) and isinstance(axis, Constant)
    kind, number, words = c_type(expr.type), int(axis.value), printer.language
    match expr.name:
        case "blockDim":
            return printer.block_size(axis), PRIMARY
        # one CPU driver's get_global_id has 32 bits in the lanes of a vector, and where it is cut to 32 bits, its
        # compiler sees no runs of elements: it loads and stores each lane by itself, which takes nine times as long
        case "grid" if printer.wide or printer.helpers.caps.device_type is DeviceType.CPU:
            block = f"({kind}){words.group_id(number)} * {printer.block_size(axis)}"
            return f"{block} + (int){words.local_id(number)}", SUM
        case "grid":
            return f"({kind}){words.global_id(number)}", UNARY
        case "gridsize" if expr.type.dtype.size == 8:  # one GPU driver's get_global_size has 32 bits
            return f"({kind}){words.group_count(number)} * {printer.block_size(axis)}", PRODUCT
        case "gridsize":
            return f"({kind}){words.global_size(number)}", UNARY
        case "blockIdx":
            return f"({kind}){words.group_id(number)}", UNARY
        case "gridDim":
            return f"({kind}){words.group_count(number)}", UNARY
    held = printer.thread_id(axis)
    if held is not None:
        return (held, PRIMARY) if expr.type.dtype is INT32 else (f"({kind}){held}", UNARY)
    # int first: one CPU's compiler takes subscripts that are shifts of a 64-bit id in its block for runs of elements
    return f"({kind}){'(int)' if expr.type.dtype.size == 8 else ''}{words.local_id(number)}", UNARY


@SHARED.register("laneid")
def _laneid(printer: Printing, expr: Operation) -> Lowered:
    x, y, z = map(printer.language.local_id, range(3))
    width, height = map(printer.language.local_size, range(2))
    return f"(int)((({z} * {height} + {y}) * {width} + {x}) % {WARP})", UNARY


@SHARED.register("varying")
def _varying(printer: Printing, expr: Operation) -> Lowered:
    """A value with bits of the thread's index that are never set.

    Others for each: of several values with the same ones, compilers join the values and add the bits behind. And no
    condition, of which they make branches. Bits of the lower half are those of the index as uint: one CPU's compiler
    takes an id of 64 bits for its lower half, and is wrong where conversions to int and back follow such shifts.
    """
    value, number = expr.args
    assert isinstance(expr.type, Scalar) and isinstance(number, Constant)
    kind, words = c_type(expr.type), printer.language
    shift = 16 + int(number.value) % 48  # blocks are smaller
    nothing = f"(({c_type(Scalar(UINT64 if shift >= 32 else UINT32))}){words.local_id(0)} >> {shift})"
    if expr.type == BOOLEAN:
        return f"({printer.text(value, BIT_OR)} | (int){nothing}) != 0", EQUALITY
    if not expr.type.dtype.is_float:
        return f"({kind})({printer.text(value, BIT_OR)} | ({kind}){nothing})", UNARY
    bits = {2: "short", 4: "int", 8: "long"}[expr.type.dtype.size]
    return words.bits_as(kind, f"({bits})({words.bits_as(bits, printer.text(value))} | ({bits}){nothing})"), POSTFIX


@SHARED.register("syncthreads", "warp_barrier")
def _barrier(printer: Printing, expr: Operation) -> Lowered:
    return printer.helpers.barrier(), POSTFIX


@SHARED.register("syncthreads_count", "syncthreads_and", "syncthreads_or")
def _vote(printer: Printing, expr: Operation) -> Lowered:
    helper = printer.helpers.use("blocks", "syncthreads_count", "int")
    cell, condition = expr.args
    text = printer.text(condition)
    if expr.name == "syncthreads_and":
        return f"(int)({helper}({printer.text(cell)}, !({text})) == 0)", UNARY
    call = f"{helper}({printer.text(cell)}, {text})"
    return (f"(int)({call} != 0)", UNARY) if expr.name == "syncthreads_or" else (call, POSTFIX)
