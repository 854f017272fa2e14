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
from portagpu.frontend.intrinsics.ptx import (
    UINT,
    ULONG,
    constant_of,
    emit_assembly,
    flag_of,
    number,
    registers,
    require_architecture,
    require_target,
    shared_address,
)
from portagpu.ir.nodes import Expr, Load, Operation
from portagpu.ir.types import Scalar

_PORTABLE = "portagpu.matmul chooses what each device has; a kernel of yours needs another path for this device"


@dataclass(frozen=True, slots=True)
class Format:
    """What the operands of a shape are: PTX's type, what a register of A and B and of C is, and how many there are."""

    ptx: str
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
    ("float16", "m16n8k8"): Format("f16", _HALVES, _F32, 2, 1, 4, (7, 5)),
    ("float16", "m16n8k16"): Format("f16", _HALVES, _F32, 4, 2, 4),
    ("bfloat16", "m16n8k8"): Format("bf16", _HALVES, _F32, 2, 1, 4),
    ("bfloat16", "m16n8k16"): Format("bf16", _HALVES, _F32, 4, 2, 4),
    ("tfloat32", "m16n8k4"): Format("tf32", _TFLOAT, _F32, 2, 1, 4),
    ("tfloat32", "m16n8k8"): Format("tf32", _TFLOAT, _F32, 4, 2, 4),
    ("int8", "m16n8k16"): Format("s8", _BYTES, _S32, 2, 1, 4),
    ("int8", "m16n8k32"): Format("s8", _BYTES, _S32, 4, 2, 4),
    ("uint8", "m16n8k16"): Format("u8", _BYTES, _S32, 2, 1, 4),
    ("uint8", "m16n8k32"): Format("u8", _BYTES, _S32, 4, 2, 4),
    ("float64", "m8n8k4"): Format("f64", _DOUBLES, _F64, 1, 1, 2),
    ("float64", "m16n8k4"): Format("f64", _DOUBLES, _F64, 2, 1, 4, (9, 0)),
    ("float64", "m16n8k8"): Format("f64", _DOUBLES, _F64, 4, 2, 4, (9, 0)),
    ("float64", "m16n8k16"): Format("f64", _DOUBLES, _F64, 8, 4, 4, (9, 0)),
}
_WGMMA = {
    "float16": ("f16", 16, _F32),
    "bfloat16": ("bf16", 16, _F32),
    "tfloat32": ("tf32", 8, _F32),
    "int8": ("s8", 32, _S32),
    "uint8": ("u8", 32, _S32),
}


def _operands(count: int, start: int) -> str:
    return "{" + ", ".join(f"%{i}" for i in range(start, start + count)) + "}"


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
    place = _operands(found.c, 0)
    rest = f"{_operands(found.a, found.c)}, {_operands(found.b, found.c + found.a)}"
    kind = {"float32": "f32", "int32": "s32", "float64": "f64"}[found.accumulator[0]]
    text = f"mma.sync.aligned.{wanted[1]}.row.col.{kind}.{found.ptx}.{found.ptx}.{kind} {place}, {rest}, {place};"
    words = [as_word(ctx, r) for r in (*left, *right)]
    return emit_assembly(ctx, text, acc, words, updates=True)


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
    trans = ".trans" if flag_of(ctx, name, "transposed", transposed) else ""
    text = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {_operands(count, 0)}, [%{count}];"
    return emit_assembly(ctx, text, target, (place,))


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
    return emit_assembly(ctx, f"wgmma.{name.removeprefix('wgmma_')}.sync.aligned;", architecture=True)


@intrinsic("wgmma_wait_group")
def _wgmma_wait_group(ctx: FunctionState, site: Call) -> Value:
    name = "wgmma_wait_group"
    (left,) = site.bind(ctx, f"cuda.{name}", "n")
    groups = constant_of(ctx, name, "the number", left)
    if not isinstance(groups, int) or not 0 <= groups <= 7:
        ctx.fail(f"cuda.{name} takes the constant 0 to 7, not {groups!r}", kind=KernelValueError)
    require_architecture(ctx, name, (9, 0), _PORTABLE)
    return emit_assembly(ctx, f"wgmma.wait_group.sync.aligned {groups};", architecture=True)


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
    ptx, depth, accumulator = _WGMMA[kind]
    acc = registers(ctx, name, "the accumulator", c, columns // 2, accumulator)
    position = len(acc)
    operands: list[Expr] = []
    if isinstance(a, ArrayValue):
        left: list[Expr] = [as_word(ctx, r) for r in registers(ctx, name, "a", a, 4, ("uint32", "int32", "float32"))]
        first = _operands(4, position)
    else:
        left = [number(ctx, name, "a", a, ULONG)]
        first = f"%{position}"
    operands += [*left, number(ctx, name, "b", b, ULONG)]
    position += len(left)
    second = f"%{position}"
    flags = [flag_of(ctx, name, "transpose_a", ta), flag_of(ctx, name, "transpose_b", tb)]
    if any(flags) and ptx not in ("f16", "bf16"):
        ctx.fail(f"cuda.{name} transposes operands of 16 bits only, not {kind}", kind=KernelValueError)
    if flags[0] and isinstance(a, ArrayValue):
        ctx.fail(f"cuda.{name} transposes no operand in registers", kind=KernelValueError)
    shape = f"m64n{columns}k{depth}"
    result = "s32" if accumulator == _S32 else "f32"
    body = f"wgmma.mma_async.sync.aligned.{shape}.{result}.{ptx}.{ptx} {_operands(len(acc), 0)}, {first}, {second}, "
    scales = "" if accumulator == _S32 else ", 1, 1"
    trans = ""
    if ptx in ("f16", "bf16"):
        shown = [flags[1]] if isinstance(a, ArrayValue) else flags
        trans = "".join(f", {int(flag)}" for flag in shown)
    if isinstance(accumulate, Const):
        text = f"{body}{int(bool(accumulate.value))}{scales}{trans};"
    else:
        operands.append(number(ctx, name, "accumulate", accumulate, UINT))
        text = f"{{ .reg .pred p; setp.ne.b32 p, %{position + 1}, 0; {body}p{scales}{trans}; }}"
    return emit_assembly(ctx, text, acc, operands, updates=True, architecture=True)


@intrinsic("setmaxnreg")
def _setmaxnreg(ctx: FunctionState, site: Call) -> Value:
    name = "setmaxnreg"
    count, increase = site.bind(ctx, f"cuda.{name}", "registers", "increase")
    wanted = constant_of(ctx, name, "the number of registers", count)
    if not isinstance(wanted, int) or wanted % 8 or not 24 <= wanted <= 256:
        ctx.fail(f"cuda.{name} takes a multiple of 8 from 24 to 256, not {wanted!r}", kind=KernelValueError)
    require_architecture(ctx, name, (9, 0), _PORTABLE)
    way = "inc" if flag_of(ctx, name, "increase", increase) else "dec"
    return emit_assembly(ctx, f"setmaxnreg.{way}.sync.aligned.u32 {wanted};", architecture=True)
