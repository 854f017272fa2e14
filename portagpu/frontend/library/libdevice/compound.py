"""`cuda.libdevice` functions of more than one operation: a table of `compound_functions`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from portagpu.dialect.reference.core import LATER
from portagpu.dialect.reference.entry import ReferenceEntry
from portagpu.dtypes import INT16
from portagpu.frontend.core.convert import constant, convert
from portagpu.frontend.core.registry import Call, call_library, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import TupleValue, Value
from portagpu.frontend.library.libdevice import bessel_functions as bessel
from portagpu.frontend.library.libdevice import compound_functions as functions
from portagpu.frontend.library.libdevice import directed_rounding as directed
from portagpu.frontend.library.libdevice.native import F32, F64, I32, I64, U32
from portagpu.frontend.source.callables import LibraryFunction
from portagpu.ir.nodes import Cast, Operation
from portagpu.ir.types import Scalar

I16 = Scalar(INT16)


@dataclass(frozen=True, slots=True)
class Compound:
    """A function in the dialect, and the types of its arguments and of its result, unless that is a tuple."""

    function: LibraryFunction
    parameters: tuple[Scalar, ...]
    result: Scalar | None
    mode: int | None = None  # the direction of rounding, a last argument


def _table() -> dict[str, Compound]:
    found = {
        "sad": Compound(functions.sad, (I32, I32, I32), I32),
        "usad": Compound(functions.sad, (U32, U32, U32), I32),
        "byte_perm": Compound(functions.byte_perm, (U32, U32, U32), I32),
        "saturatef": Compound(functions.saturate, (F32,), F32),
        "frsqrt_rn": Compound(functions.reciprocal_root, (F32,), F32),
    }
    for kind, end, letter in ((F64, "", "d"), (F32, "f", "f")):
        for name in ("rcbrt", "normcdf", "normcdfinv", "erfinv", "erfcinv", "erfcx"):
            found[name + end] = Compound(getattr(functions, name), (kind,), kind)
        found[f"{letter}rcp_rn"] = Compound(functions.reciprocal, (kind,), kind)
        found["remquo" + end] = Compound(functions.remquo, (kind, kind), None)
        for name in ("j0", "j1", "y0", "y1"):
            found[name + end] = Compound(getattr(bessel, name), (kind,), kind)
        for name in ("jn", "yn"):
            found[name + end] = Compound(getattr(bessel, name), (I32, kind), kind)
    return found | _directed() | _bits()


_DIRECTIONS = {directed.DOWN: "down", directed.UP: "up", directed.TOWARDS_ZERO: "towards 0"}
_MODES = {"rd": directed.DOWN, "ru": directed.UP, "rz": directed.TOWARDS_ZERO}


def _directed() -> dict[str, Compound]:
    found = {}
    for kind, end, letter in ((F64, "", "d"), (F32, "f", "f")):
        for mode, number in _MODES.items():
            for name, function in (("add", directed.add), ("mul", directed.multiply), ("div", directed.divide)):
                found[f"{letter}{name}_{mode}"] = Compound(function, (kind, kind), kind, number)
            for name, function in (("rcp", directed.reciprocal), ("sqrt", directed.root)):
                found[f"{letter}{name}_{mode}"] = Compound(function, (kind,), kind, number)
            found[f"{letter}sub_{mode}"] = Compound(directed.subtract, (kind, kind), kind, number)
            found[f"fma{end}_{mode}"] = Compound(directed.multiply_add, (kind, kind, kind), kind, number)
    return found


def _bits() -> dict[str, Compound]:
    return {
        "double2hiint": Compound(functions.double2hiint, (F64,), I32),
        "double2loint": Compound(functions.double2loint, (F64,), I32),
        "hiloint2double": Compound(functions.hiloint2double, (I32, I32), F64),
        "half2float": Compound(functions.half2float, (I16,), F32),
        "float2half_rn": Compound(functions.float2half, (F32,), I16),
    }


COMPOUND = _table()
_ROUNDED = {"llrint": "rint", "llround": "round"}
NAMES = (*COMPOUND, "frexp", "frexpf", *(name + end for name in _ROUNDED for end in ("", "f")))


@intrinsic(*(f"libdevice.{name}" for name in COMPOUND))
def _compound(ctx: FunctionState, site: Call) -> Value:
    name = str(site.target.name).removeprefix("libdevice.")
    found = COMPOUND[name]
    values = site.bind(ctx, f"libdevice.{name}", *("x", "y", "z")[: len(found.parameters)])
    args = [convert(ctx, v, k, explicit=True) for v, k in zip(values, found.parameters, strict=True)]
    if found.mode is not None:
        args.append(constant(ctx, found.mode, I32))
    result = call_library(ctx, found.function, site, *args)
    return result if found.result is None else convert(ctx, result, found.result, explicit=True)


@intrinsic("libdevice.frexp", "libdevice.frexpf")
def _frexp(ctx: FunctionState, site: Call) -> Value:
    """The fraction, from 0.5 below 1, and the power of two."""
    (value,) = site.bind(ctx, "libdevice.frexp", "x")
    kind = F32 if str(site.target.name).endswith("f") else F64
    held = ctx.temp(convert(ctx, value, kind, explicit=True))
    fraction = Operation("frexp_mantissa", (held,), kind, span=ctx.span)
    return TupleValue((fraction, Operation("frexp_exponent", (held,), I32, span=ctx.span)))


@intrinsic(*(f"libdevice.{name}{end}" for name in _ROUNDED for end in ("", "f")))
def _rounded(ctx: FunctionState, site: Call) -> Value:
    name = str(site.target.name).removeprefix("libdevice.")
    (value,) = site.bind(ctx, f"libdevice.{name}", "x")
    kind = F32 if name.endswith("f") else F64
    number = convert(ctx, value, kind, explicit=True)
    rounded = Operation(_ROUNDED[name.removesuffix("f")], (number,), kind, span=ctx.span)
    return Cast(rounded, I64, span=ctx.span)


# what they mean ------------------------------------------------------------------------------------------------------

_SIMPLE = LATER["libdevice"]
_TEXTS = {
    "frexp": "The fraction, from 0.5 below 1, and the power of two.",
    "llrint": "The nearest whole number, halves to the even one.",
    "llround": "The nearest whole number, halves away from zero.",
}


def _entry(name: str) -> ReferenceEntry | None:
    found = COMPOUND.get(name)
    if found is not None:
        kinds = zip(("x", "y", "z"), found.parameters, strict=False)
        text = inspect.getdoc(found.function.py_func) or ""
        if found.mode is not None:
            text = text.replace("in one direction", _DIRECTIONS[found.mode])
        result = f"({found.parameters[0]}, int32)" if found.result is None else str(found.result)
        return ReferenceEntry(
            tuple(f"{p}: number, converted to {k}" for p, k in kinds),
            result,
            text,
        )
    base = name.removesuffix("f")
    if base not in _TEXTS:
        return _SIMPLE(name)
    kind = "float32" if name.endswith("f") else "float64"
    result = f"({kind}, int32)" if base == "frexp" else "int64"
    return ReferenceEntry((f"x: number, converted to {kind}",), result, _TEXTS[base])


LATER["libdevice"] = _entry
