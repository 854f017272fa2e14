"""Cases of functions of whole numbers, of infinities and nans, and of arrays and tuples."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from accuracy import within
from cases import Case, always, each, met, same
from numbers_cases import _absolute, _hypot, absolute
from operands import Array
from operators import arithmetic, promoted
from real_functions import whole

from portagpu import cuda

_INTEGERS = "biu"


def _wrapped(function: Callable[..., int], limit: int = 2**64) -> Callable[..., Array]:
    """A function of Python integers, of which 64 bits are kept; 0 where Python raises, and beyond a limit."""

    def one(*values: int) -> int:
        if max(map(abs, values)) > limit:
            return 0
        try:
            return function(*values) % 2**64
        except ValueError:
            return 0

    def reference(*arrays: Array) -> Array:
        numbers = [one(*map(int, v)) for v in zip(*(a.tolist() for a in arrays), strict=True)]
        kind = whole(*(a.dtype.name for a in arrays))
        return np.array(numbers, np.uint64).astype(kind)

    return reference


def _small(limit: int) -> Callable[..., Array]:
    """Operands whose result is computed in reasonable time, or fits."""

    def fair(*arrays: Array) -> Array:
        mask = np.ones(arrays[0].shape, bool)
        for array in arrays:
            mask &= np.array([abs(int(v)) <= limit for v in array])
        return mask

    return fair


def _few(function: Any, limit: int, *, two: bool) -> Any:
    """The function of operands up to a limit: loops over as many steps as the operand says."""
    if two:
        return cuda.jit(device=True)(lambda n, k: function(n if abs(n) <= limit else 0, k if abs(k) <= limit else 0))
    return cuda.jit(device=True)(lambda n: function(n if abs(n) <= limit else 0))


def _of_whole_numbers() -> list[Case]:
    found = [Case(function=math.isqrt, reference=_wrapped(math.isqrt), operands=each(_INTEGERS), result=whole)]
    for divisor in (math.gcd, math.lcm):
        found.append(Case(function=divisor, reference=_wrapped(divisor), operands=met(_INTEGERS), result=whole))
    for function, limit, two in ((math.factorial, 20, False), (math.perm, 15, True), (math.comb, 66, True)):
        found.append(
            Case(
                function=_few(function, limit, two=two),
                name=f"math.{function.__name__}",
                covers=(function,),
                reference=_wrapped(function, limit),
                operands=each("i", 2 if two else 1),
                result=always("int64"),
                fair=_small(limit),
            )
        )
    return found


def _nan_to_num(x: Array) -> Array:
    return np.nan_to_num(x) if x.dtype.kind in "fc" else x


def _tuples() -> list[Case]:
    sums = cuda.jit(device=True)(lambda a, b: sum((a, b, a)))
    products = cuda.jit(device=True)(lambda a, b: math.prod((a, b, a)))
    distance = cuda.jit(device=True)(lambda a, b: math.dist((a, b), (b, 0.5)))
    either = cuda.jit(device=True)(lambda a, b: any((a, b)))
    both = cuda.jit(device=True)(lambda a, b: all((a, b)))
    modular = cuda.jit(device=True)(lambda a, b: pow(int(a) & 0xFF, int(b) & 0xFF, 1009))

    def exact_distance(a: Array, b: Array) -> Array:
        wide = a.astype(np.longdouble), b.astype(np.longdouble)
        return np.hypot(np.abs((a - b).astype(np.longdouble)), wide[1] - np.longdouble(0.5))

    def moderate(a: Array, b: Array) -> Array:
        large = np.finfo(a.dtype).max / 8
        return np.isfinite(a) & np.isfinite(b) & (np.abs(a) < large) & (np.abs(b) < large)

    def modulo(a: Array, b: Array) -> Array:
        return np.array([pow(int(x) & 0xFF, int(y) & 0xFF, 1009) for x, y in zip(a, b, strict=True)])

    two = each("biuf", 2)
    return [
        Case(
            function=sums,
            name="sum",
            covers=(sum,),
            reference=promoted(lambda a, b: 0 + a + b + a),
            operands=two,
            result=arithmetic,
        ),
        Case(
            function=products,
            name="math.prod",
            covers=(math.prod,),
            reference=promoted(lambda a, b: a * b * a),
            operands=two,
            result=arithmetic,
        ),
        Case(function=either, name="any", covers=(any,), reference=np.logical_or, operands=two, result=always("bool")),
        Case(function=both, name="all", covers=(all,), reference=np.logical_and, operands=two, result=always("bool")),
        Case(
            function=distance,
            name="math.dist",
            covers=(math.dist,),
            reference=exact_distance,
            operands=each("f", 2),
            result=same,
            ulps=within(8),
            fair=moderate,
        ),
        Case(
            function=modular,
            name="pow with a modulus",
            covers=(pow,),
            reference=modulo,
            operands=each("iu", 2),
            result=lambda a, b: "uint64" if a == "uint64" else "int",
        ),
    ]


def whole_number_cases() -> list[Case]:
    """All of them."""
    return [
        *_of_whole_numbers(),
        *_tuples(),
        Case(function=np.isposinf, reference=np.isposinf, operands=each("biuf"), result=always("bool")),
        Case(function=np.isneginf, reference=np.isneginf, operands=each("biuf"), result=always("bool")),
        Case(function=np.nan_to_num, reference=_nan_to_num, operands=each("biufc"), result=same),
        Case(function=np.bitwise_count, reference=np.bitwise_count, operands=each("biu"), result=always("uint8")),
        Case(function=operator.abs, reference=_absolute, operands=each("biufc"), result=absolute, ulps=_hypot),
        Case(
            function=operator.truth, reference=lambda x: x.astype(bool), operands=each("biufc"), result=always("bool")
        ),
    ]
