"""Matrix units of CUDA GPUs: `mma_sync`, `ldmatrix`, and Hopper's `wgmma` with its descriptors and barriers.

Fragments are local arrays in the layouts that the PTX ISA gives for each shape ("Matrix fragments for mma", "wgmma
register fragments"); operands of 16 bits and less are packed in uint32, the first element in the low bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.dtypes import FLOAT32
from portagpu.errors import KernelValueError
from portagpu.frontend.core.convert import convert, describe
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.intrinsics.instructions import (
    UINT,
    constant_of,
    emit_instruction,
    flag_of,
    number,
    registers,
    require_architecture,
    require_target,
    shared_address,
)
from portagpu.ir.nodes import Expr, Load, Operation
from portagpu.ir.types import ULONG, Scalar

_PORTABLE = "portagpu.matmul chooses what each device has; a kernel of yours needs another path for this device"


@dataclass(frozen=True, slots=True)
class Format:
    """What the operands of a shape are: what a register of A and B and of C is, and how many there are."""

    operand: tuple[str, ...]
    accumulator: tuple[str, ...]
    a: int
    b: int
    c: int
    least: tuple[int, int] = (8, 0)


_WORD = ("uint32", "int32")
_HALVES, _TFLOAT, _BYTES, _DOUBLES = _WORD, ("uint32", "float32"), _WORD, ("float64",)
_F32, _S32, _F64 = ("float32",), ("int32",), ("float64",)
MMA: dict[tuple[str, str], Format] = {
    ("float16", "m16n8k8"): Format(_HALVES, _F32, 2, 1, 4, (7, 5)),
    ("float16", "m16n8k16"): Format(_HALVES, _F32, 4, 2, 4),
    ("bfloat16", "m16n8k8"): Format(_HALVES, _F32, 2, 1, 4),
    ("bfloat16", "m16n8k16"): Format(_HALVES, _F32, 4, 2, 4),
    ("tfloat32", "m16n8k4"): Format(_TFLOAT, _F32, 2, 1, 4),
    ("tfloat32", "m16n8k8"): Format(_TFLOAT, _F32, 4, 2, 4),
    ("int8", "m16n8k16"): Format(_BYTES, _S32, 2, 1, 4),
    ("int8", "m16n8k32"): Format(_BYTES, _S32, 4, 2, 4),
    ("uint8", "m16n8k16"): Format(_BYTES, _S32, 2, 1, 4),
    ("uint8", "m16n8k32"): Format(_BYTES, _S32, 4, 2, 4),
    ("float64", "m8n8k4"): Format(_DOUBLES, _F64, 1, 1, 2),
    ("float64", "m16n8k4"): Format(_DOUBLES, _F64, 2, 1, 4, (9, 0)),
    ("float64", "m16n8k8"): Format(_DOUBLES, _F64, 4, 2, 4, (9, 0)),
    ("float64", "m16n8k16"): Format(_DOUBLES, _F64, 8, 4, 4, (9, 0)),
}
_WGMMA = {"float16": _F32, "bfloat16": _F32, "tfloat32": _F32, "int8": _S32, "uint8": _S32}


@intrinsic("pack_half2", "pack_bfloat162")
def _pack(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    low, high = site.bind(ctx, f"cuda.{name}", "low", "high")
    args = tuple(convert(ctx, v, Scalar(FLOAT32)) for v in (low, high))
    return Operation(name, args, UINT, span=ctx.span)


@intrinsic("float_to_tf32")
def _float_to_tf32(ctx: FunctionState, site: Call) -> Value:
    (x,) = site.bind(ctx, "cuda.float_to_tf32", "x")
    return Operation("float_to_tf32", (convert(ctx, x, Scalar(FLOAT32)),), Scalar(FLOAT32), span=ctx.span)


@intrinsic("mma_sync")
def _mma_sync(ctx: FunctionState, site: Call) -> Value:
    name = "mma_sync"
    shape, dtype, c, a, b = site.bind(ctx, f"cuda.{name}", "shape", "dtype", "acc", "a", "b")
    wanted = (constant_of(ctx, name, "the dtype", dtype), constant_of(ctx, name, "the shape", shape))
    found = MMA.get(wanted)  # type: ignore[arg-type]
    if found is None:
        known = sorted(s for d, s in MMA if d == wanted[0]) or sorted({d for d, _ in MMA})
        ctx.fail(f"cuda.{name} has no shape {wanted[1]!r} of {wanted[0]!r}", kind=KernelValueError, hint=f"try {known}")
    require_target(ctx, name, found.least, _PORTABLE)
    acc = registers(ctx, name, "the accumulator", c, found.c, found.accumulator)
    left = registers(ctx, name, "a", a, found.a, found.operand)
    right = registers(ctx, name, "b", b, found.b, found.operand)
    words = [as_word(ctx, r) for r in (*left, *right)]
    kind, form = map(str, wanted)
    return emit_instruction(ctx, name, kind, form, found.a, results=acc, operands=words, updates=True)


def as_word(ctx: FunctionState, register: Load) -> Expr:
    """A float32 as the 32-bit register that TF32 instructions take; others as they are."""
    assert isinstance(register.type, Scalar)
    if register.type.dtype is FLOAT32:
        return Operation("float_bits", (register,), UINT, span=ctx.span)
    return register


@intrinsic("ldmatrix")
def _ldmatrix(ctx: FunctionState, site: Call) -> Value:
    name = "ldmatrix"
    to, source, index, transposed = site.bind(
        ctx, f"cuda.{name}", "registers", "array", "index", transposed=Const(False)
    )
    count = _size(ctx, name, to)
    if count not in (1, 2, 4):
        ctx.fail(f"cuda.{name} loads 1, 2 or 4 matrices, not {count}", kind=KernelValueError)
    require_target(ctx, name, (7, 5), _PORTABLE)
    target = registers(ctx, name, "the registers", to, count, ("uint32", "int32"))
    place = shared_address(ctx, name, "the array", source, index)
    is_transposed = flag_of(ctx, name, "transposed", transposed)
    return emit_instruction(ctx, name, is_transposed, results=target, operands=(place,))


def _size(ctx: FunctionState, name: str, value: Value) -> int:
    if not isinstance(value, ArrayValue):
        ctx.fail(f"the registers of cuda.{name} must be a local array, not {describe(ctx, value)}")
    size = 1
    for extent in value.shape:
        size *= int(getattr(extent, "value", 0))
    return size


# Hopper ---------------------------------------------------------------------------------------------------------------


@intrinsic("wgmma_fence", "wgmma_commit_group")
def _wgmma_simple(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    site.bind(ctx, f"cuda.{name}")
    require_architecture(ctx, name, (9, 0), _PORTABLE)
    return emit_instruction(ctx, name)


@intrinsic("wgmma_wait_group")
def _wgmma_wait_group(ctx: FunctionState, site: Call) -> Value:
    name = "wgmma_wait_group"
    (left,) = site.bind(ctx, f"cuda.{name}", "n")
    groups = constant_of(ctx, name, "the number", left)
    if not isinstance(groups, int) or not 0 <= groups <= 7:
        ctx.fail(f"cuda.{name} takes the constant 0 to 7, not {groups!r}", kind=KernelValueError)
    require_architecture(ctx, name, (9, 0), _PORTABLE)
    return emit_instruction(ctx, name, groups)


@intrinsic("wgmma")
def _wgmma(ctx: FunctionState, site: Call) -> Value:
    name = "wgmma"
    n, dtype, c, a, b, accumulate, ta, tb = site.bind(
        ctx,
        f"cuda.{name}",
        *("n", "dtype", "acc", "a", "b"),
        accumulate=Const(True),
        transpose_a=Const(False),
        transpose_b=Const(False),
    )
    kind = constant_of(ctx, name, "the dtype", dtype)
    columns = constant_of(ctx, name, "n", n)
    if kind not in _WGMMA or not isinstance(columns, int) or columns % 8 or not 8 <= columns <= 256:
        ctx.fail(
            f"cuda.{name} multiplies 64 rows by n columns, n a multiple of 8 up to 256, of {', '.join(_WGMMA)};"
            f" not n={columns!r} of {kind!r}",
            kind=KernelValueError,
        )
    require_architecture(ctx, name, (9, 0), _PORTABLE)
    accumulator = _WGMMA[kind]
    acc = registers(ctx, name, "the accumulator", c, columns // 2, accumulator)
    in_registers = isinstance(a, ArrayValue)
    if in_registers:
        left: list[Expr] = [as_word(ctx, r) for r in registers(ctx, name, "a", a, 4, ("uint32", "int32", "float32"))]
    else:
        left = [number(ctx, name, "a", a, ULONG)]
    operands = [*left, number(ctx, name, "b", b, ULONG)]
    flags = [flag_of(ctx, name, "transpose_a", ta), flag_of(ctx, name, "transpose_b", tb)]
    if any(flags) and kind not in ("float16", "bfloat16"):
        ctx.fail(f"cuda.{name} transposes operands of 16 bits only, not {kind}", kind=KernelValueError)
    if flags[0] and in_registers:
        ctx.fail(f"cuda.{name} transposes no operand in registers", kind=KernelValueError)
    adds = None  # an operand says
    if isinstance(accumulate, Const):
        adds = bool(accumulate.value)
    else:
        operands.append(number(ctx, name, "accumulate", accumulate, UINT))
    return emit_instruction(
        ctx, name, columns, kind, in_registers, adds, *flags, results=acc, operands=operands, updates=True
    )


@intrinsic("setmaxnreg")
def _setmaxnreg(ctx: FunctionState, site: Call) -> Value:
    name = "setmaxnreg"
    count, increase = site.bind(ctx, f"cuda.{name}", "registers", "increase")
    wanted = constant_of(ctx, name, "the number of registers", count)
    if not isinstance(wanted, int) or wanted % 8 or not 24 <= wanted <= 256:
        ctx.fail(f"cuda.{name} takes a multiple of 8 from 24 to 256, not {wanted!r}", kind=KernelValueError)
    require_architecture(ctx, name, (9, 0), _PORTABLE)
    return emit_instruction(ctx, name, flag_of(ctx, name, "increase", increase), wanted)
