"""Cases of Python's builtins, of NumPy's functions of any numbers, and of the dialect's bit functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from accuracy import COMPLEX, ulps
from cases import Case, Reference, always, each, pairs, same
from comparison import EXACT
from operands import KINDS, NAMES, Array, of_kinds
from operators import arithmetic, integer_power, promoted
from real_functions import as_floats, in_int64, whole

from portagpu import cuda

_REALS = "biuf"
_NUMBERS = "biufc"


def part(*names: str) -> str:
    """Dtype of the parts of a complex number; a real one's own."""
    return {"complex64": "float32", "complex128": "float64"}.get(names[0], names[0])


def absolute(*names: str) -> str:
    """Dtype of ``abs``."""
    return arithmetic(part(*names))


def _hypot(dtype: str) -> float:
    return ulps("hypot")(dtype) if KINDS[dtype] == "f" else EXACT


def _absolute(x: Array) -> Array:
    if x.dtype.kind == "c":
        return np.abs(x.astype(np.clongdouble))
    return promoted(np.abs)(x)


def _cast(target: str) -> Case:
    sources = tuple((s,) for s in NAMES if not (KINDS[s] == "c" and KINDS[target] not in "bc"))
    made = getattr(np, "bool_" if target == "bool" else target)
    return Case(
        function=made,
        name=f"np.{target}",
        reference=lambda x: x.astype(target),
        operands=sources,
        result=always(target),
        fair=lambda x: _in_range(x, target),
    )


def _in_range(x: Array, target: str) -> Array:
    """Floats that an integer can hold: C leaves the others open, NumPy and CUDA differ."""
    if x.dtype.kind != "f" or KINDS[target] not in "iu":
        return np.ones(x.shape, bool)
    info, wide = np.iinfo(target), np.trunc(x.astype(np.longdouble))
    return (wide >= np.longdouble(int(info.min))) & (wide <= np.longdouble(int(info.max)))


def _less(function: Any, choose_second: Callable[[Array, Array], Array]) -> Case:
    def reference(a: Array, b: Array) -> Array:
        kind = arithmetic(a.dtype.name, b.dtype.name)
        a, b = a.astype(kind), b.astype(kind)
        return np.where(choose_second(a, b), b, a)

    return Case(function=function, reference=reference, operands=pairs(_REALS), result=arithmetic)


def _divmod(a: Array, b: Array) -> Any:
    return promoted(np.divmod)(a, b)


def _sign(x: Array) -> Array:
    if x.dtype.kind != "c":
        return promoted(np.sign)(x)
    return np.sign(x.astype(np.clongdouble))


def _square(x: Array) -> Array:
    return np.square(x) if x.dtype.kind != "b" else x.astype(np.int64)


def _reciprocal(x: Array) -> Array:
    if x.dtype.kind in "iu":  # by zero zero, as in all divisions of integers
        return np.where(x == 0, 0, np.reciprocal(np.where(x == 0, 1, x)))
    return np.reciprocal(x)


def _finite(x: Array) -> Array:
    return (
        np.isfinite(x) & ((np.abs(x) < 1e15) & (np.abs(x) > 1e-15)) if x.dtype.kind == "c" else np.ones(x.shape, bool)
    )


def _float_power(a: Array, b: Array) -> Array:
    return np.float_power(a, b)


def rounded_to(digits: int) -> Reference:
    """`numpy.round`."""

    def reference(x: Array) -> Array:
        if x.dtype.kind in "biu":  # NumPy loses digits of large ones in float64
            bits = 8 * x.dtype.itemsize
            return np.array([round(int(v), digits) % (1 << bits) for v in x], np.uint64).astype(x.dtype)
        found = np.round(x, digits)
        return np.where(np.isinf(found) & (digits > 0), x, found)  # without the overflow of the scaled number

    return reference


def rounded_in_double(digits: int) -> Reference:
    """Python's `round` of narrow floats: scaled in double precision."""

    def reference(x: Array) -> Array:
        return rounded_to(digits)(x if x.dtype.kind != "f" else x.astype(np.float64)).astype(x.dtype)

    return reference


def _multiple(a: Array, b: Array) -> Array:
    """Wraps around as the product does."""
    kind = np.result_type(a, b)
    return np.lcm(a.astype(kind), b.astype(kind))


def _popc(x: Array) -> Array:
    wide = x.astype(np.int64 if x.dtype.itemsize == 8 else np.int32)  # small integers are extended to 32 bits
    return np.bitwise_count(wide.view(wide.dtype.name.replace("int", "uint"))).astype(np.int32)


def _bits(x: Array) -> tuple[list[int], int]:
    bits = 64 if x.dtype.itemsize == 8 else 32
    return [int(v) % (1 << bits) for v in x.tolist()], bits


def _clz(x: Array) -> Array:
    found, bits = _bits(x)
    return np.array([bits - v.bit_length() for v in found])


def _ffs(x: Array) -> Array:
    return np.array([(v & -v).bit_length() for v in _bits(x)[0]])


def _brev(x: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    unsigned = [int(f"{int(v) % (1 << bits):0{bits}b}"[::-1], 2) for v in x.tolist()]
    return np.array(unsigned, np.uint64).astype(x.dtype)


def _conversions() -> list[Case]:
    found = [_cast(target) for target in NAMES]
    found += [
        Case(
            function=int,
            reference=lambda x: x.astype(whole(x.dtype.name)),
            operands=each(_REALS),
            result=lambda name: whole(name) if name in ("uint64",) or KINDS[name] == "f" else "int",
            fair=in_int64,
        ),
        Case(function=float, reference=lambda x: x.astype(float), operands=each(_REALS), result=always("float64")),
        Case(function=bool, reference=lambda x: x.astype(bool), operands=each(_NUMBERS), result=always("bool")),
        Case(
            function=complex,
            reference=lambda x: x.astype(np.complex128),
            operands=each("biu"),
            result=always("complex128"),
        ),
    ]
    return found


def _wheres() -> list[Case]:
    def where(c: Array, a: Array, b: Array) -> Array:
        return np.where(c != 0, a, b)

    triples = tuple((c, a, a) for c, a in zip(NAMES, NAMES[3:] + NAMES[:3], strict=True))
    own = {"reference": where, "operands": triples, "result": lambda c, a, b: same(a, b)}
    chosen = cuda.jit(device=True)(lambda c, a, b: a if c else b)
    return [
        Case(function=np.where, **own),
        Case(function=cuda.selp, **own),
        Case(function=chosen, name="ternary", covers=("ternary",), **own),
    ]


def _clip(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)


def number_cases() -> list[Case]:
    """All of them."""
    found = [*_conversions(), *_wheres()]
    found += [
        Case(function=abs, reference=_absolute, operands=each(_NUMBERS), result=absolute, ulps=_hypot),
        Case(function=np.absolute, reference=_absolute, operands=each("iufc"), result=absolute, ulps=_hypot),
        _less(min, lambda a, b: b < a),
        _less(max, lambda a, b: b > a),
        Case(function=divmod, reference=_divmod, operands=pairs(_REALS), result=(arithmetic, arithmetic)),
        Case(function=np.divmod, reference=_divmod, operands=pairs(_REALS), result=(arithmetic, arithmetic)),
        Case(function=pow, reference=integer_power, operands=pairs("iu", mixed=False), result=arithmetic),
        Case(
            function=round,
            reference=lambda x: x if x.dtype.kind in "biu" else np.rint(x.astype(np.longdouble)).astype(np.int64),
            operands=each(_REALS),
            result=lambda name: whole(name) if name == "uint64" or KINDS[name] == "f" else "int",
            fair=in_int64,
        ),
        Case(function=np.sign, reference=_sign, operands=each("iufc"), result=same, ulps=_complex_ulps, fair=_finite),
        Case(
            function=np.square, reference=_square, operands=each("iufc"), result=same, ulps=_complex_ulps, fair=_finite
        ),
        Case(
            function=np.reciprocal,
            reference=_reciprocal,
            operands=each("iufc"),
            result=same,
            ulps=_complex_ulps,
            fair=_finite,
        ),
        Case(
            function=np.float_power,
            reference=_float_power,
            operands=pairs(_REALS),
            result=always("float64"),
            ulps=ulps("pow"),
        ),
        Case(
            function=np.fmod,
            reference=lambda a, b: np.fmod(a, b) if np.result_type(a, b).kind in "iu" else as_floats(np.fmod)(a, b),
            operands=pairs("iuf"),
            result=same,
        ),
        Case(function=np.clip, reference=_clip, operands=each("iuf", 3), result=same, zero_signs=False),
        Case(function=np.gcd, reference=np.gcd, operands=pairs("iu", mixed=False), result=same),
        Case(function=np.lcm, reference=_multiple, operands=pairs("iu", mixed=False), result=same),
        Case(function=np.ldexp, reference=np.ldexp, operands=_ldexp_pairs(), result=lambda x, i: x),
        Case(function=math.ldexp, reference=np.ldexp, operands=_ldexp_pairs(), result=lambda x, i: x),
        Case(function=np.conjugate, reference=np.conjugate, operands=each("iufc"), result=same),
        Case(function=np.real, reference=np.real, operands=each(_NUMBERS), result=part),
        Case(function=np.imag, reference=np.imag, operands=each(_NUMBERS), result=part),
        Case(function=np.isclose, reference=np.isclose, operands=each("f", 2), result=always("bool")),
        Case(function=math.isclose, reference=_is_close, operands=each("f", 2), result=always("bool")),
    ]
    for ufunc in (np.minimum, np.maximum, np.fmin, np.fmax):
        found.append(Case(function=ufunc, reference=ufunc, operands=pairs("iuf"), result=same, zero_signs=False))
    for digits in (0, 1, 3, -1, -2):
        for function in (round, np.round, np.around) if digits == 1 else (round, np.round):
            kinds = "iuf" if digits <= 0 else "f"
            found.append(_rounded(function, digits, kinds))
    for function, reference, result in (
        (cuda.popc, _popc, "int32"),
        (cuda.clz, _clz, "int32"),
        (cuda.ffs, _ffs, "int32"),
    ):
        found.append(Case(function=function, reference=reference, operands=each("iu"), result=always(result)))
    found.append(Case(function=cuda.brev, reference=_brev, operands=each("iu"), result=same))
    for name in ("conjugate", "conj"):
        method = cuda.jit(device=True)((lambda z: z.conjugate()) if name == "conjugate" else (lambda z: z.conj()))
        found.append(
            Case(
                function=method,
                name=f"method {name}",
                covers=(f"method {name}",),
                reference=np.conjugate,
                operands=each("fc"),
                result=same,
            )
        )
    return found


def _is_close(a: Array, b: Array) -> Array:
    kind = a.dtype.type
    return np.array([math.isclose(float(kind(x)), float(kind(y))) for x, y in zip(a, b, strict=True)])


def _ldexp_pairs() -> tuple[tuple[str, ...], ...]:
    return tuple((f, i) for f in of_kinds("f") for i in ("int8", "int32", "int64"))


def _rounded(function: Any, digits: int, kinds: str) -> Case:
    module = "" if function is round else "np."
    forms = {
        np.round: (lambda x: np.round(x, digits)),
        np.around: (lambda x: np.around(x, digits)),
        round: (lambda x: round(x, digits)),
    }
    called = cuda.jit(device=True)(forms[function])
    return Case(
        function=called,
        name=f"{module}{function.__name__} to {digits} digits",
        covers=(function,),
        reference=rounded_in_double(digits) if function is round else rounded_to(digits),
        operands=each(kinds),
        result=same if function is not round else (lambda name: name if KINDS[name] == "f" else whole(name)),
        fair=_fits(digits),
    )


def _fits(digits: int) -> Callable[[Array], Array]:
    """Where the rounded integer has a place in its dtype."""

    def fair(x: Array) -> Array:
        if x.dtype.kind == "f":
            return np.ones(x.shape, bool)
        info = np.iinfo(x.dtype)
        return np.array([info.min <= round(int(v), digits) <= info.max for v in x])

    return fair


def _complex_ulps(dtype: str) -> float:
    return COMPLEX if KINDS[dtype] == "c" else EXACT
