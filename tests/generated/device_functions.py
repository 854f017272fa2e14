"""Cases of `cuda.libdevice` and `cuda.fp16`, from the packages' own tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from accuracy import ROUNDED, ulps, within
from cases import Case, Reference, always, elements, wide
from comparison import EXACT
from numbers_cases import _brev, _clz, _ffs, _popc
from operands import KINDS, Array
from real_functions import FAIR, _gamma, _lgamma
from references import c_function, fused, rounded_away

from portagpu import cuda
from portagpu.frontend.library.libdevice import native as table

_WIDE_UFUNCS: dict[str, Callable[..., Any]] = {
    **{n: getattr(np, n) for n in ("cbrt", "cos", "cosh", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2")},
    **{n: getattr(np, n) for n in ("sin", "sinh", "sqrt", "tan", "tanh", "hypot")},
    **{"a" + n: getattr(np, "arc" + n) for n in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "atan2": np.arctan2,
    "pow": np.power,
    "pown": np.power,
    "exp10": lambda x: np.longdouble(10) ** x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


_PI = np.longdouble("3.14159265358979323846264338327950288")


def _sinpi(x: Array) -> Array:
    """The sine of ``pi * x``: from the difference to the next whole number, which is exact."""
    x = x.astype(np.longdouble)
    whole = np.rint(x)
    found = np.where(np.fmod(whole, 2) == 0, 1, -1) * np.sin(_PI * (x - whole))
    return np.where(found == 0, np.copysign(0, x), found)


def _cospi(x: Array) -> Array:
    x = np.abs(x.astype(np.longdouble))
    rest = np.fmod(x, 2)  # from 0 to 2
    return np.sin(_PI * (np.where(rest <= 1, 0.5 - rest, rest - 1.5)))


def _logb(x: Array) -> Array:
    found = np.frexp(x)[1].astype(x.dtype) - 1
    return np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, np.where(np.isnan(x), np.nan, found))).astype(
        x.dtype
    )


def _fdim(x: Array, y: Array) -> Array:
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x > y, x - y, 0)).astype(x.dtype)


def _high(x: Array, y: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    return np.array([int(a) * int(b) >> bits for a, b in zip(x, y, strict=True)], x.dtype)


def _average(add: int) -> Callable[[Array, Array], Array]:
    return lambda x, y: np.array([(int(a) + int(b) + add) >> 1 for a, b in zip(x, y, strict=True)], x.dtype)


def _bits_of(name: str) -> Callable[[Array], Array]:
    return lambda x: x.view(name)


_EXACT: dict[str, Callable[..., Any]] = {
    **{n: getattr(np, n) for n in ("ceil", "floor", "trunc", "rint", "fabs", "copysign", "fmax", "fmin", "fmod")},
    **{n: getattr(np, n) for n in ("nextafter", "ldexp", "isnan", "isinf", "isfinite", "signbit")},
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "iabs": np.abs,
    "round": rounded_away,
    "min": np.minimum,
    "max": np.maximum,
    "clz": _clz,
    "popc": _popc,
    "ffs": _ffs,
    "brev": _brev,
    "logb": _logb,
    "fdim": _fdim,
    "mul_hi": _high,
    "hadd": _average(0),
    "rhadd": _average(1),
    "remainder": elements(c_function(math.remainder)),
    "ilogb": lambda x: np.frexp(x)[1] - 1,
    "mul24": np.multiply,
}
_PYTHON: dict[str, Reference] = {
    "erf": elements(math.erf),
    "erfc": elements(math.erfc),
    "tgamma": elements(c_function(_gamma)),
    "lgamma": elements(c_function(_lgamma)),
    "cospi": _cospi,
    "sinpi": _sinpi,
    "fma": fused,
}


def _rounds(mode: str) -> Callable[[Array], Array]:
    return {"nearest": np.rint, "down": np.floor, "up": np.ceil, "zero": np.trunc}[mode]


def _to_float(target: str, mode: str) -> Callable[[Array], Array]:
    """The neighbour in the wanted direction."""

    def reference(x: Array) -> Array:
        exact = x.astype(np.longdouble)
        near = exact.astype(target)
        back = near.astype(np.longdouble)
        down, up = np.nextafter(near, np.array(-np.inf, target)), np.nextafter(near, np.array(np.inf, target))
        towards_zero = np.where(exact > 0, back > exact, back < exact)
        if mode == "nearest":
            return near
        if mode == "down":
            return np.where(back > exact, down, near)
        if mode == "up":
            return np.where(back < exact, up, near)
        return np.where(towards_zero, np.where(exact > 0, down, up), near)

    return reference


def _conversion(operation: str, source: str, target: str) -> tuple[Reference, Callable[..., Array] | None]:
    mode = operation.rsplit("_", 1)[1]
    if KINDS[target] == "f":
        return _to_float(target, mode), None
    info = np.iinfo(target)
    low, high = np.longdouble(int(info.min)), np.longdouble(int(info.max))

    def whole(x: Array) -> Array:
        return _rounds(mode)(x.astype(np.longdouble))

    def reference(x: Array) -> Array:
        return whole(x).astype(target if target != "uint64" else np.uint64)

    def fair(x: Array) -> Array:
        found = whole(x)
        return (found >= low) & (found <= high)

    return reference, fair


def _finite_not_zero(x: Array) -> Array:
    """C leaves the exponents of zero, infinity and nan to the implementation."""
    return np.isfinite(x) & (x != 0)


def _in_24_bits(x: Array, y: Array) -> Array:
    low, high = (-(2**23), 2**23) if x.dtype.kind == "i" else (0, 2**24)
    return (x >= low) & (x < high) & (y >= low) & (y < high)


def _libdevice(name: str, function: table.Function) -> Case:
    operation = function.operation
    names = tuple(kind.dtype.name for kind in function.parameters)
    result = function.result.dtype.name
    fair: Callable[..., Array] | None = FAIR.get(operation)
    limit: Callable[[str], float] = within(EXACT)
    if operation.startswith("convert_"):
        reference, fair = _conversion(operation, names[0], result)
    elif operation == "as_type":
        reference = _bits_of(result)
    elif operation in _EXACT:
        reference = _EXACT[operation]
    elif operation in _PYTHON:
        reference = _PYTHON[operation]
        limit = within(ROUNDED) if operation == "fma" else ulps(operation)
    else:
        reference, limit = wide(_WIDE_UFUNCS[operation]), ulps(operation)
    if operation == "ilogb":
        fair = _finite_not_zero
    if operation == "mul24":
        fair = _in_24_bits
    if operation == "pown":
        reference = lambda x, n: np.power(x.astype(np.longdouble), n.astype(np.longdouble))  # noqa: E731
    return Case(
        function=getattr(cuda.libdevice, name),
        covers=(f"libdevice.{name}",),
        reference=reference,
        operands=(names,),
        result=always(result),
        ulps=limit,
        fair=fair,
        zero_signs=operation not in ("tgamma", "fma", "fmin", "fmax", "cospi", "fdim"),
    )


def _pairs() -> list[Case]:
    found = []
    for name in table.PAIRS:
        kind = "float32" if name.endswith("f") and name != "modf" else "float64"
        base = name.removeprefix("fast_").removesuffix("f") if name != "modf" else name
        if base.startswith("mod"):
            reference: Reference = np.modf
            limit: Callable[[str], float] = within(EXACT)
        elif base == "sincospi":
            reference = lambda x: (_PYTHON["sinpi"](x), _PYTHON["cospi"](x))  # noqa: E731
            limit = ulps("sinpi")
        else:
            reference = lambda x: (wide(np.sin)(x), wide(np.cos)(x))  # noqa: E731
            limit = ulps("sin")
        found.append(
            Case(
                function=getattr(cuda.libdevice, name),
                covers=(f"libdevice.{name}",),
                reference=reference,
                operands=((kind,),),
                result=(always(kind), always(kind)),
                ulps=limit,
                zero_signs=base != "sincospi",
            )
        )
    return found


_HALF_EXACT: dict[str, tuple[int, Callable[..., Any]]] = {
    "hadd": (2, np.add),
    "hsub": (2, np.subtract),
    "hmul": (2, np.multiply),
    "hdiv": (2, np.divide),
    "hmax": (2, np.fmax),
    "hmin": (2, np.fmin),
    "hneg": (1, np.negative),
    "habs": (1, np.abs),
    "hfloor": (1, np.floor),
    "hceil": (1, np.ceil),
    "hrint": (1, np.rint),
    "htrunc": (1, np.trunc),
    "hrcp": (1, np.reciprocal),
}
_HALF_COMPARISONS = {
    "heq": np.equal,
    "hne": np.not_equal,
    "hgt": np.greater,
    "hge": np.greater_equal,
    "hlt": np.less,
    "hle": np.less_equal,
}


def _fp16() -> list[Case]:
    def case(name: str, count: int, reference: Reference, result: str = "float16", **how: Any) -> Case:
        return Case(
            function=getattr(cuda.fp16, name),
            covers=(f"fp16.{name}",),
            reference=reference,
            operands=(("float16",) * count,),
            result=always(result),
            **how,
        )

    found = [case(n, c, r, zero_signs=n not in ("hmax", "hmin")) for n, (c, r) in _HALF_EXACT.items()]
    found += [case(n, 2, r, "bool") for n, r in _HALF_COMPARISONS.items()]
    for name in ("sin", "cos", "exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt"):
        found.append(case(f"h{name}", 1, wide(_WIDE_UFUNCS[name]), ulps=ulps(name)))
    found.append(case("hfma", 3, fused, ulps=within(ROUNDED), zero_signs=False))
    return found


def device_function_cases() -> list[Case]:
    """All of them."""
    return [*(_libdevice(name, function) for name, function in table.FUNCTIONS.items()), *_pairs(), *_fp16()]
