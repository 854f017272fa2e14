"""How each named operation is said in OpenCL C on a given device: native, by inline PTX, or emulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.dtypes import FLOAT32, INT32
from portagpu.errors import MissingCapabilityError
from portagpu.ir.nodes import Operation
from portagpu.ir.types import WARP, Pointer, Scalar, Space, Vector

if TYPE_CHECKING:
    from portagpu.backends.opencl.codegen.printer import Printer

PRIMARY, POSTFIX, UNARY, PRODUCT, SUM, COMPARE = 16, 15, 14, 13, 12, 9
Lowered = tuple[str, int]
Lowering = Callable[["Printer", Operation], Lowered]
LOWERINGS: dict[str, Lowering] = {}


def lower_operation(printer: Printer, expr: Operation) -> Lowered:
    """C text and precedence of an operation. Raises `MissingCapabilityError` where the device cannot do it."""
    return LOWERINGS[expr.name](printer, expr)


def register(*names: str) -> Callable[[Lowering], Lowering]:
    """Register the lowering of operations."""

    def add(function: Lowering) -> Lowering:
        for name in names:
            LOWERINGS[name] = function
        return function

    return add


def _args(printer: Printer, expr: Operation) -> str:
    return ", ".join(printer.text(a) for a in expr.args)


# OpenCL's builtins that have the operation's own name
_SAME = (
    *("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "tgamma", "lgamma", "cbrt", "rsqrt"),
    *("radians", "degrees", "floor", "ceil", "trunc", "rint", "fabs", "atan2", "copysign", "fmod", "hypot", "pow"),
    *("remainder", "nextafter", "ldexp", "fma", "fmin", "fmax"),
)


@register(*_SAME)
def _same(printer: Printer, expr: Operation) -> Lowered:
    if isinstance(expr.type, Scalar) and expr.type.dtype.is_complex:  # only powers: the others are dialect functions
        for helper in ("complex_mul", "complex_div"):
            printer.helpers.use(helper, expr.type.c)
        return f"{printer.helpers.use('complex_pow', expr.type.c)}({_args(printer, expr)})", POSTFIX
    if expr.name == "erfc" and expr.type == Scalar(FLOAT32) and printer.helpers.caps.inline_ptx:
        # that driver's own has branches and takes twice as long as CUDA's
        return f"{printer.helpers.use('erfc_ptx', 'float')}({_args(printer, expr)})", POSTFIX
    return f"{expr.name}({_args(printer, expr)})", POSTFIX


@register("isnan", "isinf", "isfinite", "signbit")
def _classify(printer: Printer, expr: Operation) -> Lowered:
    return f"{expr.name}({_args(printer, expr)}) != 0", COMPARE


@register("iabs")
def _iabs(printer: Printer, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar | Vector)
    if isinstance(expr.type, Vector):
        return f"convert_{expr.type.c}(abs({_args(printer, expr)}))", POSTFIX
    if expr.type.dtype.size >= 4:  # a driver's abs may take for granted that the most negative value does not occur
        return f"{printer.helpers.use('iabs', expr.type.c)}({_args(printer, expr)})", POSTFIX
    # for a negated or absolute int16 -32768, one GPU compiler would widen 32768 (docs/driver-quirks.md)
    return f"{printer.helpers.use('iabs_small', expr.type.c)}({_args(printer, expr)})", POSTFIX


@register("min", "max")
def _extreme(printer: Printer, expr: Operation) -> Lowered:
    kind = expr.type
    assert isinstance(kind, Scalar | Vector)
    if kind.dtype.is_integer:
        return f"{expr.name}({_args(printer, expr)})", POSTFIX
    if isinstance(kind, Vector):
        return f"f{expr.name}({_args(printer, expr)})", POSTFIX
    return _helper(printer, expr)


@register("floordiv", "mod")
def _division(printer: Printer, expr: Operation) -> Lowered:
    """Python's division of integers, which is C's where neither is negative and the divisor is not zero."""
    left, right = expr.args
    kind = expr.type
    if isinstance(kind, Scalar) and kind.dtype.is_integer and kind.dtype.size >= 4:
        exact = printer.facts.exact
        if exact.of(left).is_nonnegative and exact.of(right).is_positive:
            symbol = "/" if expr.name == "floordiv" else "%"
            return f"{printer.text(left, PRODUCT)} {symbol} {printer.text(right, PRODUCT + 1)}", PRODUCT
    return _helper(printer, expr)


@register("shl", "shr", "ipow", "slice_bound", "slice_length", "minimum", "maximum", "frexp_mantissa")
def _helper(printer: Printer, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar)
    return f"{printer.helpers.use(expr.name, expr.type.c)}({_args(printer, expr)})", POSTFIX


@register(*(f"compare_{c}" for c in ("lt", "le", "gt", "ge", "eq", "ne")))
def _compare_mixed(printer: Printer, expr: Operation) -> Lowered:
    """Exact comparison of int64 with uint64."""
    symbol = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}[expr.name[-2:]]
    helper = printer.helpers.use("compare_mixed", "long")
    left, right = (printer.text(a) for a in expr.args)
    first = expr.args[0].type
    if isinstance(first, Scalar) and first.c == "long":
        return f"{helper}({left}, {right}) {symbol} 0", COMPARE
    return f"0 {symbol} {helper}({right}, {left})", COMPARE


# indices ----------------------------------------------------------------------------------------------------------

_WORK_ITEM = {
    "threadIdx": "get_local_id",
    "blockIdx": "get_group_id",
    "blockDim": "get_local_size",
    "gridDim": "get_num_groups",
    "grid": "get_global_id",
    "gridsize": "get_global_size",
}


@register(*_WORK_ITEM)
def _work_item(printer: Printer, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar)
    if expr.name == "blockDim":
        return printer.block_size(expr.args[0]), PRIMARY
    if expr.name == "grid" and printer.wide:  # one CPU driver's get_global_id has 32 bits in the lanes of a vector
        block = f"({expr.type.c})get_group_id({_args(printer, expr)}) * {printer.block_size(expr.args[0])}"
        return f"{block} + (int)get_local_id({_args(printer, expr)})", SUM
    if expr.name == "gridsize" and expr.type.dtype.size == 8:  # one GPU driver's get_global_size has 32 bits
        return f"({expr.type.c})get_num_groups({_args(printer, expr)}) * {printer.block_size(expr.args[0])}", PRODUCT
    held = printer.thread_id(expr.args[0]) if expr.name == "threadIdx" else None
    if held is not None:
        return (held, PRIMARY) if expr.type.dtype is INT32 else (f"({expr.type.c}){held}", UNARY)
    # int first: one CPU's compiler takes subscripts that are shifts of a 64-bit id in its block for runs of elements
    first = "(int)" if expr.name == "threadIdx" and expr.type.dtype.size == 8 else ""
    return f"({expr.type.c}){first}{_WORK_ITEM[expr.name]}({_args(printer, expr)})", UNARY


@register("laneid")
def _laneid(printer: Printer, expr: Operation) -> Lowered:
    linear = "(get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0)"
    return f"(int)(({linear}) % {WARP})", UNARY


@register("reinterpret")
def _reinterpret(printer: Printer, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Pointer)
    return f"({expr.type.c}){printer.text(expr.args[0], UNARY)}", UNARY


# bits -------------------------------------------------------------------------------------------------------------


@register("popc", "clz")
def _bits(printer: Printer, expr: Operation) -> Lowered:
    name = {"popc": "popcount", "clz": "clz"}[expr.name]
    return f"(int){name}({_args(printer, expr)})", UNARY


@register("ffs", "brev", "frexp_exponent")
def _bit_helper(printer: Printer, expr: Operation) -> Lowered:
    operand = expr.args[0].type
    assert isinstance(operand, Scalar)
    return f"{printer.helpers.use(expr.name, operand.c)}({_args(printer, expr)})", POSTFIX


# barriers -----------------------------------------------------------------------------------------------------------


@register("syncthreads")
def _syncthreads(printer: Printer, expr: Operation) -> Lowered:
    return "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", POSTFIX


@register("syncthreads_count", "syncthreads_and", "syncthreads_or")
def _vote(printer: Printer, expr: Operation) -> Lowered:
    helper = printer.helpers.use("syncthreads_count", "int")
    cell, condition = expr.args
    text = printer.text(condition)
    if expr.name == "syncthreads_and":
        return f"(int)({helper}({printer.text(cell)}, !({text})) == 0)", UNARY
    call = f"{helper}({printer.text(cell)}, {text})"
    return (f"(int)({call} != 0)", UNARY) if expr.name == "syncthreads_or" else (call, POSTFIX)


@register("threadfence", "threadfence_block", "threadfence_system")
def _fence(printer: Printer, expr: Operation) -> Lowered:
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


# atomics ------------------------------------------------------------------------------------------------------------


def _atomic_parts(printer: Printer, expr: Operation) -> tuple[str, Scalar, Space, list[str]]:
    place = expr.args[0]
    assert isinstance(place.type, Pointer) and isinstance(place.type.element, Scalar)
    element, space = place.type.element, place.type.space
    if element.dtype.size == 8:
        if not printer.helpers.caps.int64_atomics:
            name = expr.name.replace("_", ".", 1) + ("_" if expr.name in ("atomic_and", "atomic_or") else "")
            raise MissingCapabilityError(
                f"this device has no 64-bit atomics, which cuda.{name} on {element} needs",
                span=expr.span,
                hint="use a 32-bit array (int32, uint32, float32)",
            )
        for extension in ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"):
            printer.helpers.extension(extension)
    pointer = f"(volatile {space.value} {element.c}*)({printer.text(place)})"
    return pointer, element, space, [printer.text(a) for a in expr.args[1:]]


@register(
    "atomic_add", "atomic_sub", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_exch"
)
def _atomic(printer: Printer, expr: Operation) -> Lowered:
    pointer, element, space, operands = _atomic_parts(printer, expr)
    name = expr.name.removeprefix("atomic_")
    if element.dtype.is_integer:
        prefix = "atomic" if element.dtype.size == 4 else "atom"
        builtin = "xchg" if name == "exch" else name
        return f"{prefix}_{builtin}({pointer}, {operands[0]})", POSTFIX
    if name == "exch" and element.dtype.size == 4:
        return f"atomic_xchg({pointer}, {operands[0]})", POSTFIX
    if name == "sub":
        name, operands = "add", [f"-({operands[0]})"]
    if name == "add" and printer.helpers.caps.inline_ptx:
        return f"{printer.helpers.use('atomic_add_ptx', element.c, space.value)}({pointer}, {operands[0]})", POSTFIX
    if name == "add" and _adds_floats(printer.helpers.caps, element, space):
        printer.helpers.extension("cl_ext_float_atomics")
        name = "add_native"
    return f"{printer.helpers.use('atomic_' + name, element.c, space.value)}({pointer}, {operands[0]})", POSTFIX


def _adds_floats(caps: Capabilities, element: Scalar, space: Space) -> bool:
    """Whether the driver's own addition to a float in shared memory is taken: a CPU's, which was measured."""
    if caps.device_type is not DeviceType.CPU or space is not Space.LOCAL:
        return False
    return caps.float_atomic_add_local if element.dtype.size == 4 else caps.double_atomic_add_local


@register("atomic_inc", "atomic_dec", "atomic_nanmax", "atomic_nanmin")
def _atomic_loop(printer: Printer, expr: Operation) -> Lowered:
    pointer, element, space, operands = _atomic_parts(printer, expr)
    name = expr.name
    if element.dtype.is_integer and name in ("atomic_nanmax", "atomic_nanmin"):
        return _atomic(printer, Operation(name.replace("nan", ""), expr.args, expr.type, effect=True, span=expr.span))
    return f"{printer.helpers.use(name, element.c, space.value)}({pointer}, {operands[0]})", POSTFIX


@register("claim_fault")
def _claim_fault(printer: Printer, expr: Operation) -> Lowered:
    """Whether this thread is the first of the launch to record an exception."""
    return f"{printer.helpers.use('atomic_claim_fault', 'long', '__global')}({_args(printer, expr)}) != 0", COMPARE


@register("fault_bits")
def _fault_bits(printer: Printer, expr: Operation) -> Lowered:
    """A float's bits as a 64-bit integer."""
    operand = expr.args[0].type
    assert isinstance(operand, Scalar)
    text = _args(printer, expr)
    return (f"as_long({text})", POSTFIX) if operand.dtype.size == 8 else (f"(long)as_int({text})", UNARY)


@register("atomic_cas")
def _atomic_cas(printer: Printer, expr: Operation) -> Lowered:
    pointer, element, space, operands = _atomic_parts(printer, expr)
    if element.dtype.is_integer:
        function = "atomic_cmpxchg" if element.dtype.size == 4 else "atom_cmpxchg"
        return f"{function}({pointer}, {operands[0]}, {operands[1]})", POSTFIX
    helper = printer.helpers.use("atomic_cas", element.c, space.value)
    return f"{helper}({pointer}, {operands[0]}, {operands[1]})", POSTFIX
