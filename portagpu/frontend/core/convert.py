"""Conversions between types of values, and NEP 50 promotion."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from portagpu import dtypes
from portagpu.dialect.names import Intrinsic, Namespace, VectorMaker
from portagpu.dtypes import BFLOAT16, BOOL, FLOAT32, INT64, UINT64, DType
from portagpu.errors import KernelValueError, MissingCapabilityError
from portagpu.frontend.core.bfloat16 import bits_of, nearest, value_of
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    ArrayValue,
    Condition,
    Const,
    FunctionValue,
    MethodValue,
    OptionalValue,
    TupleValue,
    Value,
    is_expr,
)
from portagpu.frontend.source.capture import closure_now
from portagpu.ir.nodes import Cast, Compare, CompareOp, Constant, Expr, Operation
from portagpu.ir.types import BOOLEAN, PYINT, Element, Scalar, Type, Vector

_BFLOAT16 = Scalar(BFLOAT16)


def constant_type(value: Any, py_float: Scalar) -> Scalar | None:
    """Type of a compile-time number, or None for any other object."""
    if isinstance(value, enum.Enum):  # what a run-time member is: its number
        value = value.value
    if isinstance(value, bool | np.bool_):
        return BOOLEAN
    if isinstance(value, np.generic):
        try:
            return Scalar(dtypes.from_numpy(value.dtype).computed)
        except TypeError:
            return None
    if isinstance(value, int):
        return PYINT
    if isinstance(value, float):
        return py_float
    if isinstance(value, complex):
        return complex_type(py_float)
    return None


def complex_type(kind: Scalar) -> Scalar:
    """The complex type whose parts have a floating-point type."""
    return Scalar(kind.dtype.complex, kind.weak)


def number_type(ctx: FunctionState, value: Value) -> Element | None:
    """Type of a scalar or vector value; None for everything else."""
    if isinstance(value, Const):
        return constant_type(value.value, ctx.program.py_float)
    if is_expr(value) and isinstance(value.type, Scalar | Vector):
        return value.type
    return None


def describe(ctx: FunctionState, value: Value) -> str:
    """A value's type, for error messages."""
    if isinstance(value, Const):
        kind = constant_type(value.value, ctx.program.py_float)
        if kind is not None:
            return f"{kind} (the constant {value.value!r})" if not isinstance(value.value, np.generic) else str(kind)
        if value.value is None:
            return "None"
        if isinstance(value.value, str):
            return f"the text {value.value!r}"
        if isinstance(value.value, Intrinsic):
            return f"the function cuda.{value.value.name}"
        if isinstance(value.value, VectorMaker):
            return f"the type {value.value}"
        if isinstance(value.value, Namespace):
            return f"cuda.{value.value.name}"
        name = getattr(value.value, "__name__", None)
        if getattr(value.value, "is_device_function", False):
            return f"the function {name}"
        return f"the {type(value.value).__name__} {name or repr(value.value)}"
    if isinstance(value, ArrayValue):
        return value.describe()
    if isinstance(value, TupleValue):
        return f"({', '.join(describe(ctx, item) for item in value.items)})"
    if isinstance(value, OptionalValue):
        return f"{describe(ctx, value.item)} or None"
    if isinstance(value, MethodValue):
        return f"the method {value.name}"
    if isinstance(value, FunctionValue):
        return f"the function {value.function.__name__}"
    if is_expr(value):
        return str(value.type)
    return type(value).__name__.removesuffix("Value").lower()


def describe_both(ctx: FunctionState, one: Value, other: Value) -> tuple[str, str]:
    """Types of two values that do not meet, for error messages: functions of one name with their lines."""
    first, second = describe(ctx, one), describe(ctx, other)
    if first != second:
        return first, second
    return f"{first}{_line_of(one)}", f"{second}{_line_of(other)}"


def _line_of(value: Value) -> str:
    """The file and line of a function, and the numbers that it captures; nothing for other values."""
    function: Any = value.function if isinstance(value, FunctionValue) else getattr(value, "value", None)
    function = getattr(function, "py_func", function)
    code, source = getattr(function, "__code__", None), getattr(function, "source", None)
    if code is not None:
        captured = closure_now(function).items()
        numbers = "".join(f", {name} = {x!r}" for name, x in captured if isinstance(x, int | float | complex))
        return f" of {Path(code.co_filename).name}:{code.co_firstlineno}{numbers}"
    if source is not None:
        place = source.span(source.tree)
        return f" of {Path(place.filename).name}:{place.line}:{place.column + 1}"
    return ""


def require_fp64(ctx: FunctionState, dtype: DType) -> None:
    """Raise `MissingCapabilityError` for a dtype that the device cannot compute with."""
    if dtype.needs_fp64 and not ctx.program.caps.fp64:
        ctx.fail(
            "this device has no float64",
            kind=MissingCapabilityError,
            hint="use float32 arrays and np.float32(...) values; plain Python floats adopt the array's dtype",
        )
    if dtype is not dtypes.FLOAT16:
        return
    ctx.program.halves = True
    if not (ctx.program.caps.fp16 or ctx.program.caps.fp16_storage):
        ctx.fail(
            "this device has no float16",
            kind=MissingCapabilityError,
            hint="pass float32 arrays, or run on another device",
        )


def typed_number(ctx: FunctionState, value: Value, what: str = "this expression") -> tuple[Expr, Element]:
    """The value as an IR expression, and its type."""
    kind = number_type(ctx, value)
    if kind is None:
        ctx.fail(f"{what} must be a number, not {describe(ctx, value)}")
    if isinstance(value, Const):
        return constant(ctx, value.value, kind), kind
    assert is_expr(value)
    return value, kind


def as_number(ctx: FunctionState, value: Value, what: str = "this expression") -> Expr:
    """The value as an IR expression of a scalar or vector type."""
    return typed_number(ctx, value, what)[0]


def as_element(kind: Type) -> Element:
    """The type, which must be one of numbers."""
    assert isinstance(kind, Scalar | Vector)
    return kind


def constant(ctx: FunctionState, value: Any, kind: Element, *, wrap: bool = False) -> Expr:
    """A literal of the given type.

    Raises `KernelValueError` when a Python integer does not fit, as NumPy 2 does; ``wrap`` converts like ``astype``.
    """
    dtype = kind.dtype
    if type(value) is int and type(kind) is Scalar and dtype.is_integer:  # nearly all: indices, extents and strides
        low, high = dtype.limits
        if low <= value <= high:
            return Constant(value, kind, span=ctx.span)
    if isinstance(kind, Vector):
        return Cast(constant(ctx, value, Scalar(kind.dtype), wrap=wrap), kind, span=ctx.span)
    if isinstance(value, enum.Enum):
        value = value.value
    require_fp64(ctx, dtype)
    if isinstance(value, np.generic):
        value = value.item()
    if dtype.is_complex:
        parts = (value.real, value.imag) if isinstance(value, complex) else (value, 0.0)
        lane = Scalar(dtype.real, kind.weak)
        return Operation("complex", tuple(constant(ctx, p, lane) for p in parts), kind, span=ctx.span)
    if dtype is BOOL:
        return Constant(bool(value), kind, span=ctx.span)
    if isinstance(value, complex):
        _refuse_complex(ctx, value, dtype)
    if dtype.is_float:
        try:
            number = float(value)
        except OverflowError:
            number = float("inf") if value > 0 else float("-inf")
        if dtype is BFLOAT16:
            return Constant(nearest(number), Scalar(FLOAT32), span=ctx.span)
        return Constant(number, kind, span=ctx.span)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            ctx.fail(f"{value} cannot become {dtype}", kind=KernelValueError, hint="keep it in a float variable")
        value = int(value)
    low, high = dtypes.integer_range(dtype)
    number_int = int(value)
    if not low <= number_int <= high:
        if not wrap:
            ctx.fail(
                f"the integer {number_int} does not fit into {dtype} ({low} to {high})",
                kind=KernelValueError,
                hint=f"a Python integer adopts the other operand's type; {_holding(number_int)}"
                f"write np.{dtype}({number_int}) to wrap",
            )
        number_int = (number_int - low) % (high - low + 1) + low
    return Constant(number_int, kind, span=ctx.span)


def _holding(number: int) -> str:
    """Advice to convert the other operand to a type that holds the number, if there is one."""
    for dtype in (INT64, UINT64):
        low, high = dtypes.integer_range(dtype)
        if low <= number <= high:
            return f"widen that one, e.g. np.{dtype}(x), or "
    return "no integer of 64 bits holds this one: use floats, or "


def _refuse_complex(ctx: FunctionState, value: object, to: DType) -> NoReturn:
    shown = value if isinstance(value, complex) else f"a {value}"
    ctx.fail(
        f"{shown} cannot become {to}",
        hint=f"take x.real, x.imag or abs(x); a {to} has no imaginary part",
    )


def convert(ctx: FunctionState, value: Value, to: Element, *, explicit: bool = False) -> Expr:
    """Convert a number to a type; assignment uses C's (and NumPy's ``same-value astype``) conversions."""
    kind = number_type(ctx, value)
    if kind is None:
        ctx.fail(f"cannot convert {describe(ctx, value)} to {to}")
    if isinstance(value, Const) and isinstance(kind, Scalar):
        return constant(ctx, value.value, to, wrap=explicit or not kind.weak)
    expr = as_number(ctx, value)
    if kind == to:
        return expr
    if isinstance(kind, Vector):
        if to == _BFLOAT16 and explicit:  # each lane
            wide = Vector(FLOAT32, kind.lanes)
            return value_of(bits_of(expr if kind == wide else Cast(expr, wide, span=ctx.span)))
        if isinstance(to, Vector) and to.lanes == kind.lanes and (explicit or to.dtype is kind.dtype):
            return Cast(expr, to, span=ctx.span)
        ctx.fail(f"a {kind} cannot become {to}", hint="take a lane (v.x, v[0]) or convert lane by lane")
    require_fp64(ctx, to.dtype)
    if to == _BFLOAT16:
        return value_of(bits_of(convert(ctx, value, Scalar(FLOAT32), explicit=explicit)))
    if isinstance(to, Vector):
        return Cast(convert(ctx, expr, Scalar(to.dtype), explicit=explicit), to, span=ctx.span)
    if to.dtype is BOOL:
        return Compare(CompareOp.NE, expr, constant(ctx, 0, Scalar(kind.dtype, kind.weak)), span=ctx.span)
    if kind.dtype.is_complex and not to.dtype.is_complex:
        _refuse_complex(ctx, kind, to.dtype)
    return Cast(expr, to, explicit, span=ctx.span)


def truth(ctx: FunctionState, value: Value) -> Condition:
    """The value as a condition: a Const bool, or a bool expression."""
    if isinstance(value, Const):
        try:
            return Const(bool(value.value))
        except Exception:  # of any kind: the class may be the user's
            ctx.fail(f"{describe(ctx, value)} is neither true nor false")
    if isinstance(value, TupleValue):
        return Const(bool(value.items))
    if isinstance(value, OptionalValue):
        return _optional_truth(ctx, value)
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar):
        ctx.fail(
            f"{describe(ctx, value)} is neither true nor false",
            hint="compare an element or a number: `if a[i] > 0:`",
        )
    return convert(ctx, value, BOOLEAN)


def _optional_truth(ctx: FunctionState, value: OptionalValue) -> Condition:
    """An optional number is zero where it is None, a tuple is true unless it is None."""
    return value.present if isinstance(value.item, TupleValue) else truth(ctx, value.item)


def common_type(ctx: FunctionState, a: Value, b: Value) -> Element:
    """Type in which two operands meet: NumPy's promotion with weak Python numbers (NEP 50).

    Python integers that are not constants (indices, loop variables) meet other integers in int64.
    """
    ta, tb = number_type(ctx, a), number_type(ctx, b)
    if ta is None or tb is None:
        bad = a if ta is None else b
        ctx.fail(f"{describe(ctx, bad)} is no number")
    if isinstance(ta, Vector) or isinstance(tb, Vector):
        return _vector_type(ctx, ta, tb, a, b)
    result = promote_scalars(
        ta, tb, a_constant=isinstance(a, Const), b_constant=isinstance(b, Const), py_float=ctx.program.py_float
    )
    if result.dtype.needs_fp64 and not ctx.program.caps.fp64 and not (ta.dtype.needs_fp64 or tb.dtype.needs_fp64):
        return ctx.program.py_complex if result.dtype.is_complex else ctx.program.py_float
    return result


def promote_scalars(ta: Scalar, tb: Scalar, *, a_constant: bool, b_constant: bool, py_float: Scalar) -> Scalar:
    """`common_type` of two scalar types."""
    if ta.weak and tb.weak:
        if ta.dtype.is_complex or tb.dtype.is_complex:
            return complex_type(py_float)
        if ta.dtype.is_float or tb.dtype.is_float:
            return py_float
        return PYINT
    if not ta.weak and not tb.weak:
        if ta.dtype is tb.dtype:
            return ta
        result = Scalar(dtypes.promote(ta.dtype, tb.dtype))
        meets_in_float = result.dtype.is_float and ta.dtype.is_integer and tb.dtype.is_integer  # int64 with uint64
        return py_float if meets_in_float and py_float.dtype is not result.dtype else result
    weak, strong, is_constant = (ta, tb, a_constant) if ta.weak else (tb, ta, b_constant)
    if strong.dtype is BOOL:
        return PYINT if weak.dtype.is_integer else weak
    if weak.dtype.is_complex and strong.dtype.is_float:
        return Scalar(strong.dtype.complex)
    if weak.dtype.is_inexact:
        return strong if strong.dtype.is_inexact else weak
    if strong.dtype.is_inexact or is_constant:
        return strong
    return Scalar(UINT64) if strong.dtype is UINT64 else Scalar(INT64)


def _vector_type(ctx: FunctionState, ta: Element, tb: Element, a: Value, b: Value) -> Vector:
    vector = ta if isinstance(ta, Vector) else tb
    other, value = (tb, b) if isinstance(ta, Vector) else (ta, a)
    assert isinstance(vector, Vector)
    if isinstance(other, Vector):
        if other == vector:
            return vector
        ctx.fail(f"{ta} and {tb} do not meet", hint="vectors must have the same dtype and number of lanes")
    lane = Scalar(vector.dtype)
    met = promote_scalars(
        lane, other, a_constant=False, b_constant=isinstance(value, Const), py_float=ctx.program.py_float
    )
    fits = met.dtype is vector.dtype or (other.weak and vector.dtype.is_integer and other.dtype.is_integer)
    if not fits:
        ctx.fail(
            f"{vector} and {other} do not meet: the lanes would become {met}",
            hint=f"convert the scalar: np.{vector.dtype}(...)",
        )
    return vector


def unify(ctx: FunctionState, a: Value, b: Value, name: str) -> Element | Any:
    """Type of a variable that gets ``a`` on one path and ``b`` on another."""
    ta, tb = leaf_type(ctx, a), leaf_type(ctx, b)
    merged = unify_types(ctx, ta, tb)
    if merged is None:
        one, other = describe_both(ctx, a, b)
        ctx.fail(
            f"`{name}` is {one} on one path and {other} on the other",
            hint="give the variable one type on all paths, or two names",
        )
    return merged


def unify_types(ctx: FunctionState, ta: Any, tb: Any) -> Any:
    """Common type of two leaf types, or None."""
    if ta == tb:
        return ta
    if isinstance(ta, Scalar) and isinstance(tb, Scalar):
        if ta.weak and tb.weak and ta.dtype.is_integer and tb.dtype.is_integer:
            return PYINT
        return promote_scalars(ta, tb, a_constant=False, b_constant=False, py_float=ctx.program.py_float)
    if isinstance(ta, Vector) and isinstance(tb, Scalar) and (tb.weak or tb.dtype is ta.dtype):
        return ta
    if isinstance(tb, Vector) and isinstance(ta, Scalar) and (ta.weak or ta.dtype is tb.dtype):
        return tb
    return None


def leaf_type(ctx: FunctionState, value: Value) -> Any:
    """Type of a leaf: of a number, a pointer, or the constant object itself."""
    if isinstance(value, Const):
        return constant_type(value.value, ctx.program.py_float) or value.value
    assert is_expr(value)
    return value.type


def float_type(ctx: FunctionState, value: Value) -> Scalar:
    """Floating-point type in which a function of one number computes: its own, or a weak float for integers."""
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar):
        ctx.fail(f"a number is needed here, not {describe(ctx, value)}")
    if kind.dtype.is_complex:
        ctx.fail(f"a real number is needed here, not {describe(ctx, value)}", hint="take x.real, x.imag or abs(x)")
    return kind if kind.dtype.is_float else ctx.program.py_float
