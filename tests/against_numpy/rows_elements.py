"""Rows of functions of elements: those of the standard, and all of NumPy's ufuncs, with their methods."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from function_table import Case, row, rows
from limits import Limit, same, same_with_signs, ulps
from operand_drawing import (
    ALL,
    FLOATS,
    INTEGERS,
    WITH_HALVES,
    Drawing,
    Operand,
    finite,
    laid_out,
    natural,
    number,
    special,
)

from portagpu.runtime.arrays import numpy_dispatch
from portagpu.xp import elementwise

STANDARD = {name: elementwise._NAMES[name] for name in elementwise._made}
UFUNCS = sorted(
    name
    for name in dir(np)
    if isinstance(getattr(np, name), np.ufunc)
    and name == getattr(np, name).__name__  # one of several names
    and numpy_dispatch.registered(getattr(np, name).__name__)
    and name not in ("matmul", "vecdot", "isnat")
)
# the table of docs/arrays.md: units in the last place, and those of float16
_LIMITS = {
    **dict.fromkeys("arccos arccosh arcsin arcsinh cos cosh sin sinh exp exp2 expm1".split(), (4, 3)),
    **dict.fromkeys("log log2 log10 log1p cbrt hypot".split(), (4, 3)),
    "sqrt": (4, 1),
    **dict.fromkeys("arctan arctanh tan tanh".split(), (5, 3)),
    "arctan2": (6, 3),
    **dict.fromkeys(("power", "float_power"), (16, 4)),
    **dict.fromkeys("deg2rad rad2deg degrees radians".split(), (2, 2)),
    **dict.fromkeys(("logaddexp", "logaddexp2"), (8, 8)),
}
_OF_COMPLEX = 16
_EXACT_COMPLEX = frozenset("add subtract negative positive conjugate equal not_equal rint invert logical_not".split())


def ufunc_limit(ufunc: np.ufunc, kinds: list[str]) -> Limit:
    """How exact a function is on operands of these kinds."""
    name = ufunc.__name__
    if "c" in kinds and name not in _EXACT_COMPLEX:
        if name == "power":
            return ulps(_OF_COMPLEX, scale=_with_exponent)
        return ulps(4 if name == "absolute" else _OF_COMPLEX)
    if name not in _LIMITS:
        return same if name in ("maximum", "minimum", "fmax", "fmin") or "c" in kinds else same_with_signs
    wide, half = _LIMITS[name]
    if name.startswith("logaddexp"):
        return ulps(wide, scale=lambda x, y: np.maximum(np.abs(np.logaddexp(x, y)), np.maximum(np.abs(x), np.abs(y))))
    return ulps(wide, half=half)


def _with_exponent(x: Any, y: Any) -> Any:
    """A complex power errs as its exponential does, whose argument is a product."""
    x, y = (np.asarray(v, np.clongdouble) for v in (x, y))
    with np.errstate(all="ignore"):
        return np.abs(x**y) * (1 + np.abs(y * np.log(np.where(x == 0, 1, x))))


def elements_case(d: Drawing, ufunc: np.ufunc, call: Any) -> Case:
    """A call of a function of elements on arrays that broadcast, and on numbers."""
    shape = d.shape()
    operands = [_operand(d, ufunc, 0, shape)]
    if ufunc.nin == 2:
        kind = d.one("alike", "alike", "mixed", "number", "smaller")
        first = operands[0].host.dtype.name
        if kind == "number":
            operands.append(number(_number(d, ufunc, first)))
        else:
            smaller = tuple(1 if d.boolean() else n for n in shape[d.integer(0, len(shape)) :])
            operands.append(
                _operand(d, ufunc, 1, smaller if kind == "smaller" else shape, [first] if kind != "mixed" else None)
            )
        ordered = ufunc.__name__ in ("power", "left_shift", "right_shift", "ldexp")
        if kind != "number" and not ordered and d.boolean():
            operands.reverse()
    kinds = [getattr(x.host, "dtype", np.asarray(x.host).dtype).kind for x in operands]
    return Case(
        call=call, operands=tuple(operands), limit=ufunc_limit(ufunc, kinds), exact=_exact(ufunc, operands, call)
    )


def _exact(ufunc: np.ufunc, operands: list[Operand], call: Any) -> Any:
    """The function of operands that have become what NumPy computes with, and then wider."""
    given = [type(x.host) if type(x.host) in (int, float, complex) else np.asarray(x.host).dtype for x in operands]

    def exact(n: Any, *wide: Any) -> Any:
        loop = ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout))
        narrow = [np.asarray(x.host).astype(t) for x, t in zip(operands, loop, strict=False)]
        del wide
        return call(n, *(x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble) for x in narrow))

    return exact


def _operand(d: Drawing, ufunc: np.ufunc, place: int, shape: Any, dtypes: Any = None) -> Operand:
    name = ufunc.__name__
    given = dtypes or ([*INTEGERS] if name in ("gcd", "lcm", "bitwise_count") and d.integer(0, 3) else WITH_HALVES)
    if name in ("left_shift", "right_shift", "ldexp") and place == 1:
        return d.array([t for t in given if t != "uint64"] or ["int32"], shape, natural)
    if name == "power" and place == 1:
        return d.array(given, shape, natural if d.integer(0, 2) else _powers)
    if name == "lcm":
        return d.array(given, shape, finite)
    if name == "reciprocal":  # NumPy's of an integer 0 is what C leaves open
        return d.array(given, shape, _no_integer_zero)
    if name == "spacing":  # docs/differences.md: NumPy gives negative float16 positive ones
        return d.array(FLOATS, shape)
    return d.array(given, shape, special if d.integer(0, 3) else finite)


def _no_integer_zero(random: np.random.Generator, shape: Any, dtype: Any) -> Any:
    values = special(random, shape, dtype)
    return values if dtype.kind in "fc" else np.where(values == 0, np.ones_like(values), values)


def _powers(random: np.random.Generator, shape: Any, dtype: Any) -> Any:
    return (special if dtype.kind == "f" else natural if dtype.kind != "c" else finite)(random, shape, dtype)


def _number(d: Drawing, ufunc: np.ufunc, dtype: str) -> Any:
    """A number of Python's or NumPy's beside an array."""
    if ufunc.__name__ in ("left_shift", "right_shift", "ldexp", "power"):
        return d.one(0, 1, 2, 3, np.int32(2))
    return d.one(True, 0, 1, 3, -2, 100, 300, 0.5, -1.25, 2 + 1j, np.float32(0.5), np.int16(7), np.float64(-3.5))


@rows(f"xp.{name}" for name in STANDARD)
def _standards(d: Drawing, name: str) -> Case:
    short = name[3:]
    ufunc = getattr(np, STANDARD[short])
    return elements_case(d, ufunc, lambda n, *x: getattr(n, short)(*x))


@rows(f"numpy.{name}" for name in UFUNCS)
def _numpys(d: Drawing, name: str) -> Case:
    ufunc = getattr(np, name[6:])
    return elements_case(d, ufunc, lambda n, *x: ufunc(*x))


_BINARY = "add sub mul truediv floordiv mod pow lshift rshift and or xor".split()
_OF_OPERATORS = dict(
    zip(
        [*_BINARY, *"eq ne lt le gt ge divmod neg pos invert abs".split()],
        "add subtract multiply divide floor_divide remainder power left_shift right_shift bitwise_and bitwise_or"
        " bitwise_xor equal not_equal less less_equal greater greater_equal divmod negative positive invert"
        " absolute".split(),
        strict=True,
    )
)


@rows(f"x.__{name}__" for name in _OF_OPERATORS)
def _operators(d: Drawing, name: str) -> Case:
    short = name[4:-2]
    function = divmod if short == "divmod" else getattr(operator, f"__{short}__")
    return elements_case(d, getattr(np, _OF_OPERATORS[short]), lambda n, *x: function(*x))


@rows(f"x.__r{name}__" for name in [*_BINARY, "divmod"])
def _reflected(d: Drawing, name: str) -> Case:
    short = name[5:-2]
    function = divmod if short == "divmod" else getattr(operator, f"__{short}__")
    ufunc = getattr(np, _OF_OPERATORS[short])
    x = _operand(d, ufunc, 1, d.shape())
    other = number(_number(d, ufunc, x.host.dtype.name))
    kinds = [np.asarray(other.host).dtype.kind, x.host.dtype.kind]
    call = lambda n, *both: function(*both)  # noqa: E731
    return Case(call=call, operands=(other, x), limit=ufunc_limit(ufunc, kinds), exact=_exact(ufunc, [other, x], call))


@rows(f"x.__i{name}__" for name in _BINARY)
def _in_place(d: Drawing, name: str) -> Case:
    short = name[5:-2]
    function, ufunc = getattr(operator, f"__i{short}__"), getattr(np, _OF_OPERATORS[short])
    found = elements_case(d, ufunc, lambda n, *x: function(*x))
    kinds = [np.asarray(x.host).dtype.kind for x in found.operands]
    kept = [laid_out(np.asarray(x.host).copy(), (), lambda y: y) for x in found.operands]  # NumPy writes to the others
    plain = getattr(operator, f"__{short}__")
    exact = _exact(ufunc, kept, lambda n, *x: plain(*x))
    return Case(call=found.call, operands=found.operands, limit=ufunc_limit(ufunc, kinds), exact=exact, rounded=True)


@row("numpy.ufunc.out")
def _results_that_are_given(d: Drawing) -> Case:
    """``out=`` of another dtype, and ``where=``, in all layouts."""
    ufunc = getattr(np, d.one("add", "multiply", "maximum", "sqrt", "less", "arctan2"))
    shape = d.shape()
    operands = [d.array(ALL, shape, finite) for _ in range(ufunc.nin)]
    out = d.array(WITH_HALVES, shape, finite)
    mask = d.array(["bool"], shape)
    masked = d.boolean()

    def call(n: Any, *x: Any) -> Any:
        *given, target, where = x
        return ufunc(*given, out=target, **({"where": where} if masked else {}))

    exact = ufunc.__name__ in ("add", "maximum", "less")
    limit = same if exact or (out.host.dtype.kind not in "fc" and ufunc.__name__ != "sqrt") else _near
    return Case(call=call, operands=(*operands, out, mask), limit=limit, rounded=True)


def _near(c: Any) -> None:
    """What is written may have been rounded twice."""
    for mine, theirs in zip(c.found, c.expected, strict=True):
        if mine.dtype.kind not in "fc":
            np.testing.assert_array_equal(mine, theirs)
        else:
            eps = float(np.finfo(mine.dtype).eps)
            np.testing.assert_allclose(mine, theirs, rtol=32 * max(eps, 2.0**-10 if mine.dtype == np.float16 else eps))


@row("numpy.ufunc.reduce numpy.ufunc.accumulate numpy.ufunc.outer")
def _methods(d: Drawing) -> Case:
    """Methods of functions whose results are exact; sums have rows of their own."""
    how = d.one("reduce", "accumulate", "outer")
    ufunc = getattr(
        np, d.one("add", "multiply", "maximum", "minimum", "bitwise_xor", "logical_and", "subtract", "fmax")
    )
    x = d.array((*INTEGERS, "bool"), least=1)
    if how == "outer":
        y = d.array(INTEGERS, most=2)
        return Case(call=lambda n, a, b: ufunc.outer(a, b), operands=(x, y))
    axis = d.axis(x.host.ndim, none=False)
    if how == "accumulate":
        return Case(call=lambda n, a: ufunc.accumulate(a, axis=axis), operands=(x,))
    keepdims = d.boolean()
    return Case(call=lambda n, a: ufunc.reduce(a, axis=axis, keepdims=keepdims), operands=(x,))


@row("xp.clip")
def _clip(d: Drawing) -> Case:
    dtype = d.one(*INTEGERS, "float32", "float64")
    x = d.array([dtype])
    low = 0 if dtype[0] == "u" else -2  # what the dtype does not hold, bounds nothing
    bounds = [d.one(None, 0, 3, low) if d.boolean() else d.array([dtype], x.host.shape) for _ in range(2)]
    low, high = (b if isinstance(b, Operand) else number(b) for b in bounds)
    return Case(call=lambda n, a, b, c: n.clip(a, b, c), operands=(x, low, high))


@row("xp.round")
def _round(d: Drawing) -> Case:
    return Case(call=lambda n, a: n.round(a), operands=(d.array(WITH_HALVES[1:]),), limit=same_with_signs)


@row("xp.real xp.imag")
def _parts(d: Drawing) -> Case:
    name = d.one("real", "imag")
    return Case(call=lambda n, a: getattr(n, name)(a), operands=(d.array(ALL),), limit=same_with_signs)


@rows(["xp.where", "numpy.where"])
def _where(d: Drawing, _name: str) -> Case:
    shape = d.shape()
    condition = d.array(["bool"], shape)
    x, y = d.array(WITH_HALVES, shape), d.array(WITH_HALVES, tuple(1 if d.boolean() else n for n in shape))
    if d.boolean():
        y = number(d.one(True, 0, 3, 0.5, 2 + 1j, np.float32(0.5), np.int16(7)))  # which all dtypes hold
    return Case(call=lambda n, c, a, b: n.where(c, a, b), operands=(condition, x, y))
