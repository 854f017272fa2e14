"""``cuda.fp16``: arithmetic, comparisons and functions of float16 numbers."""

from __future__ import annotations

import re

from portagpu.dialect.reference.core import LATER
from portagpu.dialect.reference.entry import ReferenceEntry
from portagpu.dtypes import FLOAT16
from portagpu.frontend.core.convert import constant, convert
from portagpu.frontend.core.registry import INTRINSICS, Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Value
from portagpu.frontend.library.libdevice.texts import text_of
from portagpu.ir.nodes import Binary, BinaryOp, Compare, CompareOp, Expr, Negate, Operation
from portagpu.ir.types import Scalar

_HALF = Scalar(FLOAT16)
_ARITHMETIC = {"hadd": BinaryOp.ADD, "hsub": BinaryOp.SUB, "hmul": BinaryOp.MUL, "hdiv": BinaryOp.DIV}
_COMPARISONS = {f"h{op.value}": op for op in CompareOp}
_SYMBOLS = {  # Python's, for the reference
    "hadd": "+",
    "hsub": "-",
    "hmul": "*",
    "hdiv": "/",
    "hlt": "<",
    "hle": "<=",
    "hgt": ">",
    "hge": ">=",
    "heq": "==",
    "hne": "!=",
}
_FUNCTIONS = {
    "habs": "fabs",
    **{f"h{name}": name for name in ("sin", "cos", "exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt")},
    **{f"h{name}": name for name in ("floor", "ceil", "rint", "trunc")},
}
_EXTREMES = {"hmax": "fmax", "hmin": "fmin"}


def _operands(ctx: FunctionState, site: Call, *names: str) -> list[Expr]:
    values = site.bind(ctx, f"cuda.{site.target.name}", *names)
    return [convert(ctx, v, _HALF, explicit=True) for v in values]


def _short(site: Call) -> str:
    return str(site.target.name).removeprefix("fp16.")


def _arithmetic(ctx: FunctionState, site: Call) -> Value:
    a, b = _operands(ctx, site, "a", "b")
    return Binary(_ARITHMETIC[_short(site)], a, b, _HALF, span=ctx.span)


def _comparison(ctx: FunctionState, site: Call) -> Value:
    a, b = _operands(ctx, site, "a", "b")
    return Compare(_COMPARISONS[_short(site)], a, b, span=ctx.span)


def _function(ctx: FunctionState, site: Call) -> Value:
    (a,) = _operands(ctx, site, "a")
    return Operation(_FUNCTIONS[_short(site)], (a,), _HALF, span=ctx.span)


def _extreme(ctx: FunctionState, site: Call) -> Value:
    """A NaN counts as a missing value, as in CUDA."""
    return Operation(_EXTREMES[_short(site)], tuple(_operands(ctx, site, "a", "b")), _HALF, span=ctx.span)


intrinsic(*(f"fp16.{n}" for n in _ARITHMETIC))(_arithmetic)
intrinsic(*(f"fp16.{n}" for n in _COMPARISONS))(_comparison)
intrinsic(*(f"fp16.{n}" for n in _FUNCTIONS))(_function)
intrinsic(*(f"fp16.{n}" for n in _EXTREMES))(_extreme)


@intrinsic("fp16.hneg")
def _hneg(ctx: FunctionState, site: Call) -> Value:
    (a,) = _operands(ctx, site, "a")
    return Negate(a, _HALF, span=ctx.span)


@intrinsic("fp16.hrcp")
def _hrcp(ctx: FunctionState, site: Call) -> Value:
    (a,) = _operands(ctx, site, "a")
    return Binary(BinaryOp.DIV, constant(ctx, 1.0, _HALF), a, _HALF, span=ctx.span)


@intrinsic("fp16.hfma")
def _hfma(ctx: FunctionState, site: Call) -> Value:
    return Operation("fma", tuple(_operands(ctx, site, "a", "b", "c")), _HALF, span=ctx.span)


def _entry(name: str) -> ReferenceEntry | None:
    if f"fp16.{name}" not in INTRINSICS:
        return None
    pair = name in _ARITHMETIC or name in _COMPARISONS or name in _EXTREMES
    names = ("a", "b", "c") if name == "hfma" else ("a", "b") if pair else ("a",)
    parameters = tuple(f"{n}: number, converted to float16" for n in names)
    if name in _COMPARISONS:
        return ReferenceEntry(parameters, "bool", f"`a {_SYMBOLS[name]} b`.")
    if name in _ARITHMETIC:
        return ReferenceEntry(parameters, "float16", f"`a {_SYMBOLS[name]} b`, rounded to nearest.")
    if name == "hfma":
        return ReferenceEntry(parameters, "float16", "`a * b + c`, rounded once.")
    operation = _EXTREMES.get(name) or _FUNCTIONS.get(name, name[1:])
    text = re.sub(r"\bx\b", "a", text_of(operation, "float16"))
    return ReferenceEntry(parameters, "float16", text)


LATER["fp16"] = _entry
