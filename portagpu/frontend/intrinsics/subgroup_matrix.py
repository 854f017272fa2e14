"""Matrix units of subgroups: `mfma`, `wmma`, `subgroup_matrix_mad`.

Each returns ``a @ b + acc``. The layouts of the vectors are those of the instructions: the "Matrix Instruction
Calculator" and its instruction set manuals (MFMA, WMMA), and the OpenCL extension
`cl_intel_subgroup_matrix_multiply_accumulate`; docs/matrix-units.md repeats them.
"""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.errors import KernelTypeError, KernelValueError
from portagpu.frontend.core.convert import as_number, describe, number_type
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Value
from portagpu.frontend.intrinsics.instructions import constant_of
from portagpu.frontend.intrinsics.subgroups import require
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.types import Element, Scalar, Vector

_PORTABLE = "portagpu.matmul chooses what each device has; a kernel of yours needs another path for this device"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: the capability that has it, operands as (dtypes that stand for them, lanes), accumulator."""

    unit: str
    operand: tuple[tuple[str, ...], int]
    accumulator: tuple[str, int]


_WORDS = ("int16", "uint16")  # halves of either format by their bits
_HALF, _BFLOAT = ("float16", *_WORDS), _WORDS
_F1, _F2, _D1 = (("float32",), 1), (("float32",), 2), (("float64",), 1)
_I1, _I2, _I4 = ((("int32", "uint32"), n) for n in (1, 2, 4))
_L1 = (("int64", "uint64"), 1)
_ACC4, _ACC8, _ACC16 = (("float32", n) for n in (4, 8, 16))
_DACC4 = ("float64", 4)
_IACC4, _IACC8, _IACC16 = (("int32", n) for n in (4, 8, 16))

MFMA: dict[tuple[str, str], tuple[Instruction, ...]] = {
    ("float16", "m32n32k8"): (Instruction("mfma", (_HALF, 4), _ACC16),),
    ("float16", "m16n16k16"): (Instruction("mfma", (_HALF, 4), _ACC4),),
    ("bfloat16", "m32n32k8"): (Instruction("mfma_bfloat16", (_BFLOAT, 4), _ACC16),),
    ("bfloat16", "m16n16k16"): (Instruction("mfma_bfloat16", (_BFLOAT, 4), _ACC4),),
    ("float32", "m32n32k2"): (Instruction("mfma", _F1, _ACC16),),
    ("float32", "m16n16k4"): (Instruction("mfma", _F1, _ACC4),),
    ("float64", "m16n16k4"): (Instruction("mfma_float64", _D1, _DACC4),),
    ("int8", "m32n32k8"): (Instruction("mfma_int8", _I1, _IACC16),),
    ("int8", "m16n16k16"): (Instruction("mfma_int8", _I1, _IACC4),),
    ("int8", "m32n32k16"): (Instruction("mfma_int8_wide", _L1, _IACC16),),
    ("int8", "m16n16k32"): (Instruction("mfma_int8_wide", _L1, _IACC4),),
    ("tfloat32", "m32n32k4"): (Instruction("mfma_tfloat32", _F2, _ACC16),),
    ("tfloat32", "m16n16k8"): (Instruction("mfma_tfloat32", _F2, _ACC4),),
}
WMMA: dict[tuple[str, str], tuple[Instruction, ...]] = {
    ("float16", "m16n16k16"): (
        Instruction("wmma", (_HALF, 16), _ACC8),
        Instruction("wmma_halves", (_HALF, 8), _ACC8),
    ),
    ("bfloat16", "m16n16k16"): (
        Instruction("wmma", (_BFLOAT, 16), _ACC8),
        Instruction("wmma_halves", (_BFLOAT, 8), _ACC8),
    ),
    ("int8", "m16n16k16"): (
        Instruction("wmma", _I4, _IACC8),
        Instruction("wmma_halves", _I2, _IACC8),
    ),
}


@intrinsic("mfma", "wmma")
def _wave_matrix(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    shape, dtype, a, b, acc = site.bind(ctx, f"cuda.{name}", "shape", "dtype", "a", "b", "acc")
    table = MFMA if name == "mfma" else WMMA
    wanted = (constant_of(ctx, name, "the dtype", dtype), constant_of(ctx, name, "the shape", shape))
    known = table.get(wanted)  # type: ignore[arg-type]
    if known is None:
        others = sorted(s for d, s in table if d == wanted[0]) or sorted({d for d, _ in table})
        ctx.fail(
            f"cuda.{name} has no shape {wanted[1]!r} of {wanted[0]!r}", kind=KernelValueError, hint=f"try {others}"
        )
    units = ctx.program.caps.matrix_units
    found = next((one for one in known if one.unit in units), None)
    require(ctx, name, found is not None, f"a matrix unit for {wanted[1]} of {wanted[0]}", _PORTABLE)
    assert found is not None
    names, lanes = found.operand
    left = _operand(ctx, name, "a", a, names, lanes)
    right = _operand(ctx, name, "b", b, names, lanes)
    total = _operand(ctx, name, "acc", acc, (found.accumulator[0],), found.accumulator[1])
    ctx.effect = True
    kind = total.type
    operation = f"{found.unit}.{wanted[0]}.{wanted[1]}"
    return ctx.temp(Operation(operation, (left, right, total), kind, effect=True, span=ctx.span))


def _operand(ctx: FunctionState, name: str, what: str, value: Value, names: tuple[str, ...], lanes: int) -> Expr:
    """A vector of some lanes, or a number where there is one."""
    kind = number_type(ctx, value)
    found = kind.lanes if isinstance(kind, Vector) else 1
    if kind is None or kind.dtype.name not in names or found != lanes or (isinstance(kind, Scalar) and kind.weak):
        wanted = " or ".join(n if lanes == 1 else f"{n}x{lanes}" for n in names)
        ctx.fail(
            f"{what} of cuda.{name} must be {wanted} on this device, not {describe(ctx, value)}",
            kind=KernelTypeError,
            hint="docs/matrix-units.md says which elements each lane holds",
        )
    return as_number(ctx, value)


# subgroups of 8 and 16 lanes ------------------------------------------------------------------------------------------

MAD = ("float16", "bfloat16", "int8", "tfloat32")


@dataclass(frozen=True, slots=True)
class MadTypes:
    """Vector types of one call: dtype and lanes of a, b, and the accumulator."""

    a: tuple[tuple[str, ...], int]
    b: tuple[tuple[str, ...], int]
    acc: tuple[str, int]


def mad_types(dtype: str, size: int, rows: int) -> MadTypes:
    """What the lanes hold for ``rows`` rows of A: with 16 lanes 16 bits a row each, with 8 lanes 32 bits."""
    if dtype == "tfloat32":
        return MadTypes((("float32",), max(1, rows // 2)), (("float32",), 8), ("float32", rows))
    row = ("int16", "uint16") if size == 16 else ("int32", "uint32")
    total = "int32" if dtype == "int8" else "float32"
    return MadTypes((row, rows), (("int32", "uint32"), 8), (total, rows))


@intrinsic("subgroup_matrix_mad")
def _subgroup_matrix_mad(ctx: FunctionState, site: Call) -> Value:
    name = "subgroup_matrix_mad"
    dtype, a, b, acc = site.bind(ctx, f"cuda.{name}", "dtype", "a", "b", "acc")
    wanted = constant_of(ctx, name, "the dtype", dtype)
    if wanted not in MAD:
        ctx.fail(f"cuda.{name} has no dtype {wanted!r}", kind=KernelValueError, hint=f"it has {', '.join(MAD)}")
    assert isinstance(wanted, str)
    caps = ctx.program.caps
    unit = "subgroup_tfloat32" if wanted == "tfloat32" else "subgroup"
    require(ctx, name, unit in caps.matrix_units, f"matrix units for subgroups ({wanted})", _PORTABLE)
    kind: Element | None = number_type(ctx, acc)
    rows = kind.lanes if isinstance(kind, Vector) else 1
    types = mad_types(wanted, min(caps.subgroup_sizes, default=16), rows if rows in (1, 2, 4, 8) else 8)
    operands = (
        _operand(ctx, name, "a", a, *types.a),
        _operand(ctx, name, "b", b, *types.b),
        _operand(ctx, name, "acc", acc, (types.acc[0],), types.acc[1]),
    )
    ctx.effect = True
    return ctx.temp(Operation(f"mad_{wanted}", operands, operands[2].type, effect=True, span=ctx.span))
