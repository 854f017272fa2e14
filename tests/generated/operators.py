"""Cases of operators: as Python spells them, as functions of `operator`, as ufuncs, and in augmented assignments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from accuracy import COMPLEX, ulps
from cases import Case, always, each, met, pairs, same
from comparison import EXACT
from operands import KINDS, Array
from references import integer_power

from portagpu import cuda

_NUMBERS = "biufc"
_SOME = ("bool", "int8", "uint32", "int64", "float32", "complex64")
_REALS = "biuf"


def arithmetic(*names: str) -> str:
    """The operands' common dtype; of bools, which are integers in arithmetic, int64."""
    met = same(*names)
    return "int64" if met == "bool" else met


def quotient(*names: str) -> str:
    """Dtype of ``/``: integers give float64."""
    met = np.result_type(*names)
    return str(met) if met.kind in "fc" else "float64"


def promoted(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function of operands in their common dtype, where bools are integers."""

    def reference(*arrays: Array) -> Any:
        kind = arithmetic(*(a.dtype.name for a in arrays))
        return function(*(a.astype(kind) for a in arrays))

    return reference


def divided(a: Array, b: Array) -> Array:
    """NumPy's quotient, in float64 of integers of any size."""
    kind = quotient(a.dtype.name, b.dtype.name)
    return exactly(np.divide)(a.astype(kind), b.astype(kind))


def exactly(function: Callable[..., Any]) -> Callable[..., Any]:
    """In long double where finite complex numbers are concerned, since NumPy's own product and quotient have errors."""

    def reference(*arrays: Array) -> Any:
        kind = np.result_type(*arrays)
        if kind.kind != "c":
            return function(*arrays)
        own = function(*(a.astype(kind) for a in arrays))
        better = function(*(a.astype(np.clongdouble) for a in arrays))
        return np.where(np.isfinite(own), better, own)

    return reference


def _complex_ulps(dtype: str) -> float:
    return COMPLEX if KINDS[dtype] == "c" else EXACT


def moderate(*arrays: Array) -> Array:
    """Complex numbers whose products neither overflow nor underflow inside; nans and infinities are undefined in C."""
    if np.result_type(*arrays).kind != "c":
        return np.ones(arrays[0].shape, bool)
    fair = np.ones(arrays[0].shape, bool)
    for array in arrays:
        fair &= np.isfinite(array)
        size = np.abs(array.astype(np.complex128))
        fair &= (size == 0) | ((size > 1e-15) & (size < 1e15))
    return fair


def _power(a: Array, b: Array) -> Array:
    kind = np.dtype(arithmetic(a.dtype.name, b.dtype.name))
    a, b = a.astype(kind), b.astype(kind)
    if kind.kind in "iu":
        return integer_power(a, b)
    # x87's power of an infinity to a large number is wrong
    better = np.power(a.astype(np.longdouble), b.astype(np.longdouble))
    return np.where(np.isfinite(a) & np.isfinite(b), better, np.power(a, b))


def _power_ulps(dtype: str) -> float:
    return ulps("pow")(dtype) if KINDS[dtype] == "f" else EXACT


_ARITHMETIC: dict[str, tuple[Any, ...]] = {
    "add": (operator.add, np.add),
    "sub": (operator.sub, np.subtract),
    "mul": (operator.mul, np.multiply),
    "truediv": (operator.truediv, np.divide),
    "floordiv": (operator.floordiv, np.floor_divide),
    "mod": (operator.mod, np.remainder),
    "pow": (operator.pow, np.power),
}
_BITS = {
    "and": (operator.and_, np.bitwise_and),
    "or": (operator.or_, np.bitwise_or),
    "xor": (operator.xor, np.bitwise_xor),
}
_SHIFTS = {"lshift": (operator.lshift, np.left_shift), "rshift": (operator.rshift, np.right_shift)}
_COMPARISONS = {
    "lt": (operator.lt, np.less),
    "le": (operator.le, np.less_equal),
    "gt": (operator.gt, np.greater),
    "ge": (operator.ge, np.greater_equal),
    "eq": (operator.eq, np.equal),
    "ne": (operator.ne, np.not_equal),
}


def _without_floats(found: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
    """Pairs of integers that meet in an integer: not int64 with uint64."""
    return tuple(names for names in found if np.result_type(*names).kind in "biu")


def _iadd(a, b):
    a += b
    return a


def _isub(a, b):
    a -= b
    return a


def _imul(a, b):
    a *= b
    return a


def _itruediv(a, b):
    a /= b
    return a


def _ifloordiv(a, b):
    a //= b
    return a


def _imod(a, b):
    a %= b
    return a


def _ipow(a, b):
    a **= b
    return a


def _iand(a, b):
    a &= b
    return a


def _ior(a, b):
    a |= b
    return a


def _ixor(a, b):
    a ^= b
    return a


def _ilshift(a, b):
    a <<= b
    return a


def _irshift(a, b):
    a >>= b
    return a


SPELLED: dict[str, tuple[Any, ...]] = {
    "add": (lambda a, b: a + b, _iadd, operator.iadd),
    "sub": (lambda a, b: a - b, _isub, operator.isub),
    "mul": (lambda a, b: a * b, _imul, operator.imul),
    "truediv": (lambda a, b: a / b, _itruediv, operator.itruediv),
    "floordiv": (lambda a, b: a // b, _ifloordiv, operator.ifloordiv),
    "mod": (lambda a, b: a % b, _imod, operator.imod),
    "pow": (lambda a, b: a**b, _ipow, operator.ipow),
    "and": (lambda a, b: a & b, _iand, operator.iand),
    "or": (lambda a, b: a | b, _ior, operator.ior),
    "xor": (lambda a, b: a ^ b, _ixor, operator.ixor),
    "lshift": (lambda a, b: a << b, _ilshift, operator.ilshift),
    "rshift": (lambda a, b: a >> b, _irshift, operator.irshift),
    "lt": (lambda a, b: a < b,),
    "le": (lambda a, b: a <= b,),
    "gt": (lambda a, b: a > b,),
    "ge": (lambda a, b: a >= b,),
    "eq": (lambda a, b: a == b,),
    "ne": (lambda a, b: a != b,),
}


def _of_bools(function: Any, how: dict[str, Any]) -> dict[str, Any]:
    """NumPy's sum and product of bools are bools, those of Python's operators integers."""
    if function not in (np.add, np.multiply):
        return {}

    def reference(a: Array, b: Array) -> Array:
        return function(a, b) if a.dtype == b.dtype == bool else how["reference"](a, b)

    return {"reference": reference, "result": same}


def _forms(name: str, functions: tuple[Any, ...], all_pairs: Any, few: Any, **how: Any) -> list[Case]:
    """The function of `operator` for all pairs of dtypes; the ufunc and the spelled forms for fewer."""
    found = [Case(function=functions[0], operands=all_pairs, **how)]
    found += [Case(function=f, operands=few, **how | _of_bools(f, how)) for f in functions[1:]]
    some = tuple(names for names in few if names[0] in _SOME)  # which operator is meant does not depend on the dtypes
    for number, function in enumerate(SPELLED[name]):
        is_python = not getattr(function, "__module__", "").startswith("_operator")
        called = cuda.jit(device=True)(function) if is_python else function
        label = f"operator `{name}`, form {number}"
        found.append(Case(function=called, operands=some, name=label, covers=(function,), **how))
    return found


def binary_operators() -> list[Case]:
    """All operators of two operands."""
    found: list[Case] = []
    numbers, reals, integers = met(_NUMBERS), met(_REALS), _without_floats(met("biu"))
    few_numbers, few_reals = pairs(_NUMBERS, mixed=False), pairs(_REALS, mixed=False)
    few_integers = pairs("biu", mixed=False)
    for name in ("add", "sub", "mul"):
        function = exactly(_ARITHMETIC[name][1])
        found += _forms(
            name,
            _ARITHMETIC[name],
            numbers,
            few_numbers,
            reference=promoted(function),
            result=arithmetic,
            ulps=_complex_ulps if name == "mul" else lambda dtype: EXACT,
            fair=moderate,
        )
    found += _forms(
        "truediv",
        _ARITHMETIC["truediv"],
        numbers,
        few_numbers,
        reference=divided,
        result=quotient,
        ulps=_complex_ulps,
        fair=moderate,
        zero_signs=False,
    )
    for name in ("floordiv", "mod"):
        reference = promoted(_ARITHMETIC[name][1])
        found += _forms(name, _ARITHMETIC[name], reals, few_reals, reference=reference, result=arithmetic)
    found += _forms("pow", _ARITHMETIC["pow"], reals, few_reals, reference=_power, result=arithmetic, ulps=_power_ulps)
    for name, functions in _BITS.items():
        found += _forms(name, functions, integers, few_integers, reference=functions[1], result=same)
    for name, functions in _SHIFTS.items():
        found += _forms(name, functions, integers, few_integers, reference=promoted(functions[1]), result=arithmetic)
    for name, functions in _COMPARISONS.items():
        only = name in ("eq", "ne")
        found += _forms(
            name,
            functions,
            numbers if only else reals,
            few_numbers if only else few_reals,
            reference=functions[1],
            result=always("bool"),
        )
    return found


def _logical_not(x: Array) -> Array:
    return np.asarray(x == 0)


def unary_operators() -> list[Case]:
    """All operators of one operand."""
    numbers, integers = each(_NUMBERS), each("biu")
    spelled = {
        "neg": (lambda a: -a),
        "pos": (lambda a: +a),
        "invert": (lambda a: ~a),
        "not": (lambda a: not a),
    }
    forms = {name: cuda.jit(device=True)(function) for name, function in spelled.items()}
    found = [
        Case(function=f, operands=numbers, reference=promoted(np.negative), result=arithmetic)
        for f in (operator.neg, forms["neg"])
    ]
    found += [
        Case(function=f, operands=numbers, reference=promoted(np.positive), result=arithmetic)
        for f in (operator.pos, forms["pos"])
    ]
    found += [
        Case(function=f, operands=integers, reference=np.invert, result=same)
        for f in (operator.invert, operator.inv, np.invert, forms["invert"])
    ]
    found += [
        Case(function=f, operands=numbers, reference=_logical_not, result=always("bool"))
        for f in (operator.not_, np.logical_not, forms["not"])
    ]
    found += [
        Case(function=np.negative, operands=each("iufc"), reference=np.negative, result=same),
        Case(function=np.positive, operands=each("iufc"), reference=np.positive, result=same),
    ]
    for function, combine in (
        (np.logical_and, np.logical_and),
        (np.logical_or, np.logical_or),
        (np.logical_xor, np.logical_xor),
    ):
        found.append(Case(function=function, operands=pairs(_NUMBERS), reference=combine, result=always("bool")))
    return found


def operator_cases() -> list[Case]:
    """All of them."""
    return [*binary_operators(), *unary_operators()]
