"""Cases of functions of complex numbers: `cmath`, and NumPy's ufuncs that take them."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
from accuracy import COMPLEX, ulps, within
from cases import Case, Reference, always, each
from operands import Array

from portagpu import cuda

_UFUNCS: dict[str, np.ufunc] = {
    **{n: getattr(np, n) for n in ("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"a" + n: getattr(np, "arc" + n) for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
_OF_NUMPY = (np.expm1, np.log2, np.exp2)
# functions with parts whose sign C99 leaves open: infinities and zeros beside, or from, a nan
_OPEN = frozenset({"sin", "sinh", "cos", "cosh", "arcsin", "arcsinh", "arccos", "arccosh", "arctan", "arctanh"})


def complex_of(name: str) -> str:
    """Dtype of the functions of `cmath`."""
    return {"float32": "complex64", "complex64": "complex64", "float16": "complex64"}.get(name, "complex128")


def parts_of(name: str) -> str:
    """Dtype of a real result."""
    return "float32" if complex_of(name) == "complex64" else "float64"


def _better(ufunc: Callable[..., Any]) -> Reference:
    """In long double where the result is finite; NumPy's own infinities and nans otherwise."""

    def reference(z: Array) -> Array:
        z = z.astype(complex_of(z.dtype.name))
        own, better = ufunc(z), ufunc(z.astype(np.clongdouble))
        return np.where(np.isfinite(own) & np.isfinite(better), better, own)

    return reference


def _fair(ufunc: np.ufunc) -> Callable[[Array], Array]:
    name = ufunc.__name__
    everywhere = name in ("sqrt", "log", "log2", "log10") or name.startswith("arc")

    def fair(z: Array) -> Array:
        z = z.astype(complex_of(z.dtype.name))
        expected = ufunc(z)
        mask = np.ones(z.shape, bool)
        if name in _OPEN:
            mask &= ~(np.isnan(expected) | np.isnan(z))
        if not everywhere:  # libraries disagree about sines that depend on all digits of the largest float
            for part in (z.real, z.imag):
                mask &= ~(np.isfinite(part) & (np.abs(part) > 80))
        if name in ("expm1", "exp2"):  # NumPy's special values of these are not C99's, which has none
            mask &= np.isfinite(z)
        return mask

    return fair


def _phase(z: Array) -> Array:
    z = z.astype(complex_of(z.dtype.name))
    return np.arctan2(z.imag.astype(np.longdouble), z.real.astype(np.longdouble))


def _polar(z: Array) -> tuple[Array, Array]:
    return np.abs(z.astype(np.clongdouble)), _phase(z)


def _rect(r: Array, phi: Array) -> Array:
    r, phi = r.astype(np.longdouble), phi.astype(np.longdouble)
    found = np.empty(r.shape, np.clongdouble)
    found.real, found.imag = r * np.cos(phi), r * np.sin(phi)
    return found


def _finite_operands(*arrays: Array) -> Array:
    fair = np.ones(arrays[0].shape, bool)
    for array in arrays:
        fair &= np.isfinite(array) & (np.abs(array) < 1e4)
    return fair


def _atan2(dtype: str) -> float:
    return max(ulps("atan2")(dtype), ulps("hypot")(dtype))


def _is_close(a: Array, b: Array) -> Array:
    return np.array([cmath.isclose(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)])


def _power(a: Array, b: Array) -> Array:
    return a.astype(np.clongdouble) ** b.astype(np.clongdouble)


def _power_fair(a: Array, b: Array) -> Array:
    size = np.abs(a)
    return np.isfinite(a) & np.isfinite(b) & (size > 0.01) & (size < 100) & (np.abs(b) < 3)


def complex_cases() -> list[Case]:
    """All of them."""
    found = []
    for name, ufunc in _UFUNCS.items():
        how: dict[str, Any] = {"reference": _better(ufunc), "ulps": within(COMPLEX), "fair": _fair(ufunc)}
        found += [
            Case(function=getattr(cmath, name), operands=each("ifc"), result=complex_of, **how),
            Case(function=ufunc, operands=each("c"), result=complex_of, **how),
        ]
    for ufunc in _OF_NUMPY:
        limit = within(64)  # scaled by a rounded constant
        found.append(
            Case(
                function=ufunc,
                operands=each("c"),
                result=complex_of,
                reference=_better(ufunc),
                ulps=limit,
                fair=_fair(ufunc),
            )
        )
    for function in (cmath.isnan, cmath.isinf, cmath.isfinite):
        found.append(
            Case(
                function=function,
                reference=getattr(np, function.__name__),
                operands=each("fc"),
                result=always("bool"),
                constant=True,
            )
        )
    found += [
        Case(function=cmath.phase, reference=_phase, operands=each("ifc"), result=parts_of, ulps=_atan2),
        Case(function=np.angle, reference=_phase, operands=each("ifc"), result=parts_of, ulps=_atan2),
        Case(function=cmath.polar, reference=_polar, operands=each("c"), result=(parts_of, parts_of), ulps=_atan2),
        Case(
            function=cmath.rect,
            reference=_rect,
            operands=tuple((n, n) for n in ("float32", "float64")),
            result=lambda r, phi: complex_of(r),
            ulps=within(COMPLEX),
            fair=_finite_operands,
            zero_signs=False,
        ),
        Case(
            function=complex,
            name="complex of two",
            reference=_make,
            operands=tuple((n, n) for n in ("float32", "float64")),
            result=lambda r, i: complex_of(r),
        ),
        Case(
            function=cmath.isclose,
            reference=_is_close,
            operands=each("c", 2),
            result=always("bool"),
            fair=_finite_operands,
        ),
        Case(
            function=cuda.jit(device=True)(lambda a, b: a**b),
            name="complex power",
            covers=(pow, "complex **"),
            reference=_power,
            operands=each("c", 2),
            result=lambda a, b: a,
            ulps=within(500),  # the logarithm's error times the exponent, twice
            fair=_power_fair,
        ),
    ]
    return found


def _make(a: Array, b: Array) -> Array:
    found = np.empty(a.shape, complex_of(a.dtype.name))
    found.real, found.imag = a, b
    return found
