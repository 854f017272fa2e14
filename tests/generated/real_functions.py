"""Cases of functions of real numbers that are one operation: `math`, NumPy, `cuda`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from accuracy import ROUNDED, ulps, within
from cases import Case, Reference, always, each, elements, floating, pairs, same, wide
from operands import Array
from references import c_function, fused

from portagpu import cuda

_REALS = "biuf"


def _gamma(x: float) -> float:
    """C's tgamma: Python raises at the poles."""
    if x == 0:
        return math.copysign(math.inf, x)
    if x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    return -math.inf if -1e-308 < x < 0 else math.gamma(x)


def _lgamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def _python(function: Callable[[float], float]) -> Reference:
    return elements(lambda x: c_function(function)(float(x)))


# operation -> what names it, the reference
_UNARY: dict[str, tuple[tuple[Any, ...], Reference]] = {
    "sqrt": ((math.sqrt, np.sqrt), wide(np.sqrt)),
    "exp": ((math.exp, np.exp), wide(np.exp)),
    "exp2": ((getattr(math, "exp2", None), np.exp2), wide(np.exp2)),
    "expm1": ((math.expm1, np.expm1), wide(np.expm1)),
    "log": ((math.log, np.log), wide(np.log)),
    "log2": ((math.log2, np.log2), wide(np.log2)),
    "log10": ((math.log10, np.log10), wide(np.log10)),
    "log1p": ((math.log1p, np.log1p), wide(np.log1p)),
    "sin": ((math.sin, np.sin), wide(np.sin)),
    "cos": ((math.cos, np.cos), wide(np.cos)),
    "tan": ((math.tan, np.tan), wide(np.tan)),
    "asin": ((math.asin, np.arcsin), wide(np.arcsin)),
    "acos": ((math.acos, np.arccos), wide(np.arccos)),
    "atan": ((math.atan, np.arctan), wide(np.arctan)),
    "sinh": ((math.sinh, np.sinh), wide(np.sinh)),
    "cosh": ((math.cosh, np.cosh), wide(np.cosh)),
    "tanh": ((math.tanh, np.tanh), wide(np.tanh)),
    "asinh": ((math.asinh, np.arcsinh), wide(np.arcsinh)),
    "acosh": ((math.acosh, np.arccosh), wide(np.arccosh)),
    "atanh": ((math.atanh, np.arctanh), wide(np.arctanh)),
    "erf": ((math.erf,), _python(math.erf)),
    "erfc": ((math.erfc,), _python(math.erfc)),
    "tgamma": ((math.gamma,), _python(_gamma)),
    "lgamma": ((math.lgamma,), _python(_lgamma)),
    "cbrt": ((getattr(math, "cbrt", None), np.cbrt, cuda.cbrt), wide(np.cbrt)),
    "rsqrt": ((cuda.rsqrt,), wide(lambda x: 1 / np.sqrt(x))),
    "radians": ((math.radians, np.radians, np.deg2rad), wide(np.radians)),
    "degrees": ((math.degrees, np.degrees, np.rad2deg), wide(np.degrees)),
}


def _lgamma_fair(x: Array) -> Array:
    """OpenCL leaves the accuracy open: it is poor near zeros, which are at 1 and 2 and between the negative poles."""
    x = x.astype(np.float64)
    return (x >= 0) & ((np.abs(x - 1.5) > 0.75) | (x == 1) | (x == 2)) | (x == np.floor(x)) | np.isnan(x)


FAIR: dict[str, Callable[..., Array]] = {"lgamma": _lgamma_fair}


def _unary() -> list[Case]:
    found = []
    for name, (functions, reference) in _UNARY.items():
        for number, function in enumerate(f for f in functions if f is not None):
            found.append(
                Case(
                    function=function,
                    reference=reference,
                    # the other names of an operation take integers the same way
                    operands=each("f" if number else _REALS),
                    result=floating,
                    ulps=ulps(name),
                    fair=FAIR.get(name),
                    zero_signs=name != "tgamma",  # of numbers that are too small
                )
            )
    return found


def as_floats(function: Callable[..., Any]) -> Reference:
    """A NumPy function in the operands' own precision; of integers, in float64."""

    def reference(*arrays: Array) -> Any:
        common = np.result_type(*arrays)
        kind = common if common.kind in "fc" else np.dtype(np.float64)
        return function(*(a.astype(kind) for a in arrays))

    return reference


def _same_kind(function: Any) -> Reference:
    return lambda *arrays: function(*arrays)


def _is_integral(function: Any) -> Case:
    """Rounding to whole numbers: an integer is itself, as in NumPy 2."""
    whole = np.trunc if function is np.fix else function  # NumPy 2.5 warns of np.fix
    return Case(
        function=function,
        reference=lambda x: x if x.dtype.kind in "biu" else whole(x),
        operands=each(_REALS),
        result=same,
    )


def in_int64(x: Array) -> Array:
    """Where a float has an integer of 64 bits; C, CUDA and NumPy disagree about the others."""
    return (
        np.abs(np.nan_to_num(x.astype(np.float64), nan=np.inf)) < 2.0**63
        if x.dtype.kind == "f"
        else np.ones(x.shape, bool)
    )


def whole(*names: str) -> str:
    """int64, or uint64 for operands that need it."""
    return "uint64" if "uint64" in names else "int64"


def _to_integer(function: Any, reference: Any) -> Case:
    def exact(x: Array) -> Array:
        return x if x.dtype.kind in "biu" else reference(x.astype(np.longdouble)).astype(np.int64)

    return Case(function=function, reference=exact, operands=each(_REALS), result=whole, fair=in_int64)


def _signed(function: Any, reference: Any) -> Case:
    return Case(function=function, reference=reference, operands=each("iuf"), result=same)


def _predicate(function: Any, reference: Any, *, kinds: str = _REALS) -> Case:
    constant = getattr(function, "__module__", None) in ("math", "cmath")
    return Case(function=function, reference=reference, operands=each(kinds), result=always("bool"), constant=constant)


def _modf(x: Array) -> tuple[Array, Array]:
    rest, whole_part = np.modf(x if x.dtype.kind == "f" else x.astype(np.float64))
    return rest, whole_part


def _frexp(x: Array) -> tuple[Array, Array]:
    mantissa, exponent = np.frexp(x if x.dtype.kind == "f" else x.astype(np.float64))
    return mantissa, np.where(np.isfinite(mantissa), exponent, 0)  # C leaves the exponent of nan and infinity open


def _ulp(x: Array) -> Array:
    """As `math.ulp`, which is of float64 alone."""
    step = np.spacing(np.abs(x))
    below = np.abs(x) - np.nextafter(np.abs(x), x.dtype.type(0))
    return np.where(np.isinf(x), np.abs(x), np.where(np.isfinite(x) & ~np.isfinite(step), below, step))


def _spacing(x: Array) -> Array:
    """With the argument's sign, which NumPy drops for float16 (and then takes the smaller neighbour's distance)."""
    size = np.spacing(np.abs(x))
    return np.where(x < 0, -size, size).astype(x.dtype)


def _sinc_fair(x: Array) -> Array:
    """Near whole numbers, NumPy multiplies the rounding of ``pi * x``."""
    x = x.astype(np.float64)
    return (np.abs(x - np.rint(x)) > 0.05) & (np.abs(x) < 3) | (x == 0)


def finite_power(x: Array, y: Array) -> Array:
    """NumPy's power; of infinities in double precision, since x87's to a large number is wrong."""
    own = np.power(x.astype(np.float64), y.astype(np.float64))
    return np.where(np.isfinite(x) & np.isfinite(y), np.power(x, y), own)


def _nextafter(x: Array, y: Array) -> Array:
    """C's: equal numbers give the second one; NumPy's of float16 gave the first until 2.4."""
    return np.asarray(np.where(x == y, y, np.nextafter(x, y)))


_EXACT_BINARY: dict[Any, Any] = {
    math.copysign: np.copysign,
    np.copysign: np.copysign,
    math.fmod: np.fmod,
    np.nextafter: _nextafter,
    np.heaviside: np.heaviside,
}
if hasattr(math, "nextafter"):
    _EXACT_BINARY[math.nextafter] = _nextafter


def _has_digits(ufunc: np.ufunc) -> Callable[..., Array]:
    """Where the logarithm of a sum has all digits: not near zero, where its terms cancel."""

    def fair(x: Array, y: Array) -> Array:
        x, y = x.astype(np.float64), y.astype(np.float64)
        exact = ufunc(x, y)
        return ~np.isfinite(exact) | (np.abs(exact) > 0.25 * np.maximum(np.maximum(np.abs(x), np.abs(y)), 1))

    return fair


def _binary() -> list[Case]:
    two = pairs(_REALS)
    same_dtype = pairs("f", mixed=False)
    found = [
        Case(
            function=f,
            reference=as_floats(r),
            operands=two if isinstance(f, np.ufunc) or f is math.fmod else same_dtype,
            result=floating,
        )
        for f, r in _EXACT_BINARY.items()
    ]
    for function, reference, name in (
        (math.atan2, np.arctan2, "atan2"),
        (np.arctan2, np.arctan2, "atan2"),
        (math.hypot, np.hypot, "hypot"),
        (np.hypot, np.hypot, "hypot"),
        (math.pow, finite_power, "pow"),
    ):
        found.append(
            Case(
                function=function,
                reference=wide(reference),
                operands=two if function not in (math.atan2, math.hypot) else same_dtype,
                result=floating,
                ulps=ulps(name),
            )
        )
    remainder = elements(lambda x, y: c_function(math.remainder)(float(x), float(y)))
    found.append(Case(function=math.remainder, reference=remainder, operands=two, result=floating))
    for ufunc in (np.logaddexp, np.logaddexp2):
        found.append(
            Case(
                function=ufunc,
                reference=wide(ufunc),
                operands=two,
                result=floating,
                ulps=within(16),
                fair=_has_digits(ufunc),
            )
        )
    return found


def real_cases() -> list[Case]:
    """All of them."""
    isinteger = {math.floor: np.floor, math.ceil: np.ceil, math.trunc: np.trunc}
    found = [*_unary(), *_binary()]
    found += [_is_integral(f) for f in (np.floor, np.ceil, np.trunc, np.fix)]
    found += [_to_integer(f, r) for f, r in isinteger.items()]
    found += [
        Case(function=np.rint, reference=as_floats(np.rint), operands=each(_REALS), result=floating),
        Case(function=math.fabs, reference=as_floats(np.fabs), operands=each(_REALS), result=floating),
        Case(function=np.fabs, reference=as_floats(np.fabs), operands=each(_REALS), result=floating),
        Case(function=np.spacing, reference=as_floats(_spacing), operands=each(_REALS), result=floating),
        Case(
            function=math.ulp,
            reference=as_floats(_ulp),
            operands=each(_REALS),
            result=floating,
        ),
        Case(
            function=np.sinc,
            reference=wide(np.sinc),
            operands=each(_REALS),
            result=floating,
            ulps=within(64),
            fair=_sinc_fair,
        ),
        Case(
            function=cuda.fma,
            reference=fused,
            operands=each("f", 3),
            result=same,
            ulps=within(ROUNDED),
            zero_signs=False,
        ),
        Case(function=math.modf, reference=_modf, operands=each(_REALS), result=(floating, floating)),
        Case(function=np.modf, reference=_modf, operands=each(_REALS), result=(floating, floating)),
        Case(function=math.frexp, reference=_frexp, operands=each(_REALS), result=(floating, always("int"))),
        Case(function=np.frexp, reference=_frexp, operands=each(_REALS), result=(floating, always("int32"))),
    ]
    for function in (math.isnan, math.isinf, math.isfinite, np.isnan, np.isinf, np.isfinite):
        kinds = _REALS if function.__class__ is not np.ufunc else "biufc"
        found.append(_predicate(function, getattr(np, function.__name__), kinds=kinds))
    found.append(_predicate(np.signbit, lambda x: x < 0 if x.dtype.kind in "biu" else np.signbit(x)))
    return found
