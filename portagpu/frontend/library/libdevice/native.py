"""`cuda.libdevice` functions that OpenCL C has: the table of names, types and operations."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.dialect.reference.core import LATER
from portagpu.dialect.reference.entry import ReferenceEntry
from portagpu.dtypes import FLOAT32, FLOAT64, INT32, INT64, UINT32, UINT64
from portagpu.frontend.core.convert import constant, convert
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import TupleValue, Value
from portagpu.frontend.library.libdevice.texts import text_of
from portagpu.ir.nodes import Binary, BinaryOp, Cast, Expr, Operation, Select
from portagpu.ir.types import BOOLEAN, Scalar

I32, I64, U32, U64 = Scalar(INT32), Scalar(INT64), Scalar(UINT32), Scalar(UINT64)
F32, F64 = Scalar(FLOAT32), Scalar(FLOAT64)


@dataclass(frozen=True, slots=True)
class Function:
    """A libdevice function: the operation that it is, and its types."""

    operation: str
    parameters: tuple[Scalar, ...]
    result: Scalar


_ARITHMETIC = {op.value: op for op in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL, BinaryOp.DIV)}


def _table() -> dict[str, Function]:
    found: dict[str, Function] = {}
    unary = (
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "cospi", "erf", "erfc"),
        *("exp", "exp10", "exp2", "expm1", "fabs", "floor", "lgamma", "log", "log10", "log1p", "log2", "logb", "rint"),
        *("round", "rsqrt", "sin", "sinh", "sinpi", "sqrt", "tan", "tanh", "tgamma", "trunc"),
    )
    binary = ("atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow", "remainder")
    for kind, end in ((F64, ""), (F32, "f")):
        for name in unary:
            found[name + end] = Function(name, (kind,), kind)
        for name in binary:
            found[name + end] = Function(name, (kind, kind), kind)
        found["nearbyint" + end] = Function("rint", (kind,), kind)
        found["fma" + end] = Function("fma", (kind, kind, kind), kind)
        found["powi" + end] = Function("pown", (kind, I32), kind)
        found["ldexp" + end] = found["scalbn" + end] = Function("ldexp", (kind, I32), kind)
        found["ilogb" + end] = Function("ilogb", (kind,), I32)
        letter = end or "d"
        for name, operation in (("isnan", "isnan"), ("isinf", "isinf"), ("signbit", "signbit")):
            found[name + letter] = Function(operation, (kind,), I32)
        found["finitef" if end else "isfinited"] = Function("isfinite", (kind,), I32)
        for operation in _ARITHMETIC:
            found[f"{letter}{operation}_rn"] = Function(operation, (kind, kind), kind)
        found[f"{letter}sqrt_rn"] = Function("sqrt", (kind,), kind)
        found[f"fma{end}_rn"] = Function("fma", (kind, kind, kind), kind)
    for name in ("cos", "sin", "tan", "exp", "exp10", "log", "log2", "log10"):
        found[f"fast_{name}f"] = Function(name, (F32,), F32)
    found["fast_powf"] = Function("pow", (F32, F32), F32)
    found["fast_fdividef"] = Function("div", (F32, F32), F32)
    for prefix, kind, unsigned in (("", I32, U32), ("ll", I64, U64)):
        found[f"{prefix}abs"] = Function("iabs", (kind,), kind)
        for name in ("min", "max"):
            found[f"{prefix}{name}"] = Function(name, (kind, kind), kind)
            found[f"u{prefix}{name}"] = Function(name, (unsigned, unsigned), unsigned)
        for name in ("clz", "popc", "ffs"):
            found[f"{name}{prefix}"] = Function(name, (kind,), I32)
        found[f"brev{prefix}"] = Function("brev", (kind,), kind)
    for prefix, kinds in (("", (I32, I64)), ("u", (U32, U64))):
        found[f"{prefix}mulhi"] = Function("mul_hi", (kinds[0],) * 2, kinds[0])
        found[f"{prefix}mul64hi"] = Function("mul_hi", (kinds[1],) * 2, kinds[1])
        for name in ("mul24", "hadd", "rhadd"):
            found[prefix + name] = Function(name, (kinds[0],) * 2, kinds[0])
    return found | _conversions()


def _conversions() -> dict[str, Function]:
    found: dict[str, Function] = {}
    modes = {"rn": "nearest", "rd": "down", "ru": "up", "rz": "zero"}
    integers = {"int": I32, "uint": U32, "ll": I64, "ull": U64}
    floats = {"float": F32, "double": F64}
    for name, kind in integers.items():
        for real, wide in floats.items():
            for mode, rounded in modes.items():
                found[f"{real}2{name}_{mode}"] = Function(f"convert_{rounded}", (wide,), kind)
                found[f"{name}2{real}_{mode}"] = Function(f"convert_{rounded}", (kind,), wide)
    for mode, rounded in modes.items():
        found[f"double2float_{mode}"] = Function(f"convert_{rounded}", (F64,), F32)
    for name, source, target in (
        *(("float_as_int", F32, I32), ("float_as_uint", F32, U32), ("int_as_float", I32, F32)),
        *(("uint_as_float", U32, F32), ("double_as_longlong", F64, I64), ("longlong_as_double", I64, F64)),
    ):
        found[name] = Function("as_type", (source,), target)
    return found


FUNCTIONS = _table()
_CONDITIONS = frozenset({"isnan", "isinf", "isfinite", "signbit"})
_PARAMETERS = ("x", "y", "z")


def _function(ctx: FunctionState, site: Call) -> Value:
    name = str(site.target.name).removeprefix("libdevice.")
    found = FUNCTIONS[name]
    values = site.bind(ctx, f"libdevice.{name}", *_PARAMETERS[: len(found.parameters)])
    args = tuple(convert(ctx, v, k, explicit=True) for v, k in zip(values, found.parameters, strict=True))
    if found.operation in _ARITHMETIC:
        return Binary(_ARITHMETIC[found.operation], args[0], args[1], found.result, span=ctx.span)
    if found.operation in _CONDITIONS:
        return Cast(Operation(found.operation, args, BOOLEAN, span=ctx.span), I32, span=ctx.span)
    return Operation(found.operation, args, found.result, span=ctx.span)


intrinsic(*(f"libdevice.{name}" for name in FUNCTIONS))(_function)


# functions with two results -----------------------------------------------------------------------------------------

_PAIRS = {"sincos": ("sin", "cos"), "sincospi": ("sinpi", "cospi")}
PAIRS = (*(f"{name}{end}" for name in (*_PAIRS, "modf") for end in ("", "f")), "fast_sincosf")


@intrinsic(*(f"libdevice.{name}" for name in PAIRS))
def _pair(ctx: FunctionState, site: Call) -> Value:
    """``sincos``: sine and cosine; ``modf``: the fraction and the whole part, both with the argument's sign."""
    name = str(site.target.name).removeprefix("libdevice.")
    kind = F32 if name.endswith("f") and name != "modf" else F64
    (value,) = site.bind(ctx, f"libdevice.{name}", "x")
    held = ctx.temp(convert(ctx, value, kind, explicit=True))
    base = name.removeprefix("fast_")
    if base.startswith("modf"):
        whole = ctx.temp(Operation("trunc", (held,), kind, span=ctx.span))
        infinite = Operation("isinf", (held,), BOOLEAN, span=ctx.span)
        rest: Expr = Binary(BinaryOp.SUB, held, whole, kind, span=ctx.span)
        rest = _zero_where(ctx, infinite, rest, kind)
        return TupleValue((Operation("copysign", (rest, held), kind, span=ctx.span), whole))
    first, second = _PAIRS[base if base in _PAIRS else base.removesuffix("f")]
    return TupleValue(tuple(Operation(n, (held,), kind, span=ctx.span) for n in (first, second)))


def _zero_where(ctx: FunctionState, condition: Expr, value: Expr, kind: Scalar) -> Expr:
    """``0 if condition else value``."""
    return Select(condition, constant(ctx, 0.0, kind), value, kind, span=ctx.span)


def _entry(name: str) -> ReferenceEntry | None:
    if name in PAIRS:
        kind = "float32" if name.endswith("f") and name != "modf" else "float64"
        base = name.removeprefix("fast_")
        base = base if base in (*_PAIRS, "modf") else base.removesuffix("f")
        return ReferenceEntry((f"x: number, converted to {kind}",), f"({kind}, {kind})", text_of(base, kind))
    found = FUNCTIONS.get(name)
    if found is None:
        return None
    kinds = zip(_PARAMETERS, found.parameters, strict=False)
    parameters = tuple(f"{p}: number, converted to {k}" for p, k in kinds)
    return ReferenceEntry(parameters, str(found.result), text_of(found.operation, str(found.result)))


LATER["libdevice"] = _entry
