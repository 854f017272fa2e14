"""Lowering of arithmetic: library functions, Python's division, comparisons, and operations on bits."""

from __future__ import annotations

from portagpu.backends.c_family.c_types import c_type
from portagpu.backends.c_family.precedence import EQUALITY, POSTFIX, PRODUCT, UNARY
from portagpu.backends.c_family.registry import SHARED, Lowered, Printing, argument_text
from portagpu.dtypes import FLOAT32
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar, Vector

# library functions that have the operation's own name
_SAME = (
    *("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "tgamma", "lgamma", "cbrt", "rsqrt"),
    *("radians", "degrees", "floor", "ceil", "trunc", "rint", "fabs", "atan2", "copysign", "fmod", "hypot", "pow"),
    *("remainder", "nextafter", "ldexp", "fma", "fmin", "fmax"),
)


@SHARED.register(*_SAME)
def _same(printer: Printing, expr: Operation) -> Lowered:
    if isinstance(expr.type, Scalar) and expr.type.dtype.is_complex:  # only powers: the others are dialect functions
        for helper in ("complex_mul", "complex_div"):
            printer.helpers.use("complex", helper, c_type(expr.type))
        return (
            f"{printer.helpers.use('complex', 'complex_pow', c_type(expr.type))}({argument_text(printer, expr)})",
            POSTFIX,
        )
    if expr.name in ("erf", "tanh") and isinstance(expr.type, Vector) and expr.type.dtype is FLOAT32:
        # drivers' own for vectors compute lane after lane, or take a branch for each range
        return (
            f"{printer.helpers.use('arithmetic', expr.name, c_type(expr.type))}({argument_text(printer, expr)})",
            POSTFIX,
        )
    return f"{expr.name}({argument_text(printer, expr)})", POSTFIX


@SHARED.register("one_plus_tanh", "one_plus_erf")
def _one_plus(printer: Printing, expr: Operation) -> Lowered:
    helper = printer.helpers.use("arithmetic", expr.name, c_type(expr.type))
    return f"{helper}({argument_text(printer, expr)})", POSTFIX


@SHARED.register("isnan", "isinf", "isfinite", "signbit")
def _classify(printer: Printing, expr: Operation) -> Lowered:
    return f"{expr.name}({argument_text(printer, expr)}) != 0", EQUALITY


@SHARED.register("iabs")
def _iabs(printer: Printing, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar | Vector)
    if isinstance(expr.type, Vector):
        return printer.language.converted(c_type(expr.type), f"abs({argument_text(printer, expr)})"), POSTFIX
    if expr.type.dtype.size >= 4:  # a driver's abs may take for granted that the most negative value does not occur
        return (
            f"{printer.helpers.use('arithmetic', 'iabs', c_type(expr.type))}({argument_text(printer, expr)})",
            POSTFIX,
        )
    # for a negated or absolute int16 -32768, one GPU compiler would widen 32768 (docs/driver-quirks.md)
    return (
        f"{printer.helpers.use('arithmetic', 'iabs_small', c_type(expr.type))}({argument_text(printer, expr)})",
        POSTFIX,
    )


@SHARED.register("min", "max")
def _extreme(printer: Printing, expr: Operation) -> Lowered:
    kind = expr.type
    assert isinstance(kind, Scalar | Vector)
    if kind.dtype.is_integer:
        return f"{expr.name}({argument_text(printer, expr)})", POSTFIX
    if isinstance(kind, Vector):
        return f"f{expr.name}({argument_text(printer, expr)})", POSTFIX
    return _helper(printer, expr)


@SHARED.register("floordiv", "mod")
def _division(printer: Printing, expr: Operation) -> Lowered:
    """Python's division of integers, which is C's where neither is negative and the divisor is not zero."""
    left, right = expr.args
    kind = expr.type
    if isinstance(kind, Scalar) and kind.dtype.is_integer and kind.dtype.size >= 4:
        exact = printer.facts.exact
        if exact.of(left).is_nonnegative and exact.of(right).is_positive:
            symbol = "/" if expr.name == "floordiv" else "%"
            return f"{printer.text(left, PRODUCT)} {symbol} {printer.text(right, PRODUCT + 1)}", PRODUCT
    return _helper(printer, expr)


@SHARED.register("shl", "shr", "ipow", "slice_bound", "slice_length", "minimum", "maximum")
def _helper(printer: Printing, expr: Operation) -> Lowered:
    assert isinstance(expr.type, Scalar)
    return f"{printer.helpers.use('arithmetic', expr.name, c_type(expr.type))}({argument_text(printer, expr)})", POSTFIX


@SHARED.register(*(f"compare_{c}" for c in ("lt", "le", "gt", "ge", "eq", "ne")))
def _compare_mixed(printer: Printing, expr: Operation) -> Lowered:
    """Exact comparison of int64 with uint64."""
    symbol = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}[expr.name[-2:]]
    helper = printer.helpers.use("arithmetic", "compare_mixed", "long")
    left, right = (printer.text(a) for a in expr.args)
    if symbol in ("==", "!="):
        right = printer.helpers.hidden_case(f"({right})")
    first = expr.args[0].type
    if isinstance(first, Scalar) and c_type(first) == "long":
        return f"{helper}({left}, {right}) {symbol} 0", EQUALITY
    return f"0 {symbol} {helper}({right}, {left})", EQUALITY


@SHARED.register("popc", "clz")
def _bits(printer: Printing, expr: Operation) -> Lowered:
    name = {"popc": "popcount", "clz": "clz"}[expr.name]
    return f"(int){name}({argument_text(printer, expr)})", UNARY


@SHARED.register("ffs", "brev")
def _bit_helper(printer: Printing, expr: Operation) -> Lowered:
    operand = expr.args[0].type
    assert isinstance(operand, Scalar)
    return f"{printer.helpers.use('arithmetic', expr.name, c_type(operand))}({argument_text(printer, expr)})", POSTFIX


@SHARED.register("frexp_mantissa", "frexp_exponent")
def _frexp(printer: Printing, expr: Operation) -> Lowered:
    operand = expr.args[0].type
    assert isinstance(operand, Scalar)
    return f"{printer.helpers.use('frexp', expr.name, c_type(operand))}({argument_text(printer, expr)})", POSTFIX
