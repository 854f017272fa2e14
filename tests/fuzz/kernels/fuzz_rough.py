"""Rounded arithmetic: values with a bound of the error that any faithful implementation may have.

Expressions that are assigned to the arrays ``q0``, ``q1`` ... are evaluated in double precision, and the bound of each
operation is found by disturbing its operands.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from fuzz_choices import Chooser

SINGLE, DOUBLE = 2.0**-24, 2.0**-53
_ULPS = 20  # OpenCL allows 16 for pow in single precision, less for the others here
_TINY = 1e-30
_HUGE = 1e30  # single precision may overflow on the way

FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "math.sqrt": (1, np.sqrt),
    "np.sqrt": (1, np.sqrt),
    "math.exp": (1, np.exp),
    "math.sin": (1, np.sin),
    "np.cos": (1, np.cos),
    "math.tan": (1, np.tan),
    "math.atan": (1, np.arctan),
    "np.arctan": (1, np.arctan),
    "math.tanh": (1, np.tanh),
    "np.sinh": (1, np.sinh),
    "math.log": (1, np.log),
    "np.log2": (1, np.log2),
    "math.log1p": (1, np.log1p),
    "np.exp2": (1, np.exp2),
    "math.expm1": (1, np.expm1),
    "math.asin": (1, np.arcsin),
    "math.acosh": (1, np.arccosh),
    "np.arcsinh": (1, np.arcsinh),
    "math.atan2": (2, np.arctan2),
    "np.hypot": (2, np.hypot),
    "math.pow": (2, np.power),
    "math.degrees": (1, np.degrees),
    "np.cbrt": (1, np.cbrt),
    "np.square": (1, np.square),
}
COMPLEX: dict[str, Callable[..., Any]] = {
    "cmath.exp": np.exp,
    "cmath.sqrt": np.sqrt,
    "np.sin": np.sin,
    "cmath.cos": np.cos,
    "np.conj": np.conj,
    "cmath.log": np.log,
    "np.tanh": np.tanh,
}
_OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mult": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "USub": np.negative,
    "complex": lambda a, b: np.complex128(complex(a, b)),
    "real": np.real,
    "imag": np.imag,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
}


@dataclass(frozen=True)
class Rough:
    """A value, the bound of its error, and the unit of its type's rounding."""

    value: Any
    error: float
    unit: float


def lifted(value: Any) -> Rough:
    """An exact value as one with an error."""
    if isinstance(value, Rough):
        return value
    unit = SINGLE if isinstance(value, np.generic) and value.dtype.str[1:] in ("f4", "c8") else DOUBLE
    number = np.complex128(value) if np.iscomplexobj(value) else np.float64(value)
    return Rough(number, 0.0, unit)


def apply(name: str, *values: Any) -> Rough:
    """An operator or function of rough values."""
    function = _OPERATORS.get(name) or COMPLEX.get(name) or FUNCTIONS[name][1]
    args = [lifted(v) for v in values]
    unit = max(a.unit for a in args)
    numbers = [a.value for a in args]
    value = function(*numbers)
    error = _ULPS * unit * float(abs(value)) + _TINY
    for n, a in enumerate(args):
        spread = a.error + unit * float(abs(a.value)) + _TINY
        steps = (spread, -spread, spread * 1j, -spread * 1j) if np.iscomplexobj(a.value) else (spread, -spread)
        moved = [function(*(x + step if m == n else x for m, x in enumerate(numbers))) for step in steps]
        error += 2 * max(float(abs(m - value)) for m in moved) if np.isfinite(moved).all() else math.inf
    if not cmath.isfinite(value) or not abs(value) + error < _HUGE:
        error = math.inf
    return Rough(value, error, unit)


def chosen(test: Any, yes: Any, no: Any) -> Rough:
    """``yes if test else no``: both have one type, that of the one with fewer digits."""
    taken, unit = lifted(yes if test else no), max(lifted(yes).unit, lifted(no).unit)
    lost = unit * float(abs(taken.value)) if unit > taken.unit and math.isfinite(taken.error) else 0.0
    return Rough(taken.value, taken.error + lost, unit)


def allowed(value: Any, dtype: Any) -> tuple[Any, float]:
    """What an element of a type gets, and by how much it may differ; infinity: by anything."""
    rough = lifted(value)
    unit = SINGLE if np.dtype(dtype).str[1:] in ("f4", "c8") else DOUBLE
    if math.isinf(rough.error):
        return rough.value, math.inf
    return rough.value, 2 * (rough.error + unit * float(abs(rough.value))) + _TINY


class RoughExpressions:
    """Texts of expressions whose leaves are exact."""

    def __init__(self, chooser: Chooser, leaf: Callable[[], str], condition: Callable[[], str]) -> None:
        self.choose, self.leaf, self.condition = chooser, leaf, condition

    def real(self, depth: int) -> str:
        """A real number."""
        if depth <= 0:
            return self.leaf()
        a = self.real(depth - 1)
        form = self.choose.below(9)
        if form <= 2:
            return f"({a} {self.choose.pick('+', '-', '*')} {self.real(depth - 1)})"
        if form == 3:
            return f"({a} / {self.real(depth - 1)})"
        if form <= 5:
            name = self.choose.pick(*FUNCTIONS)
            return f"{name}({', '.join([a, *(self.real(depth - 1) for _ in range(FUNCTIONS[name][0] - 1))])})"
        if form == 6:
            return f"abs({a})" if self.choose.chance(2) else f"(-{a})"
        if form == 7:
            return f"({a} if {self.condition()} else {self.real(depth - 1)})"
        z = self.complex(depth - 1)
        return self.choose.pick(f"{z}.real", f"{z}.imag", f"abs({z})")

    def complex(self, depth: int) -> str:
        """A complex number."""
        if depth <= 0:
            return f"complex({self.leaf()}, {self.leaf()})"
        z = self.complex(depth - 1)
        form = self.choose.below(5)
        if form <= 1:
            other = self.choose.pick(self.complex, self.real)(depth - 1)
            return f"({z} {self.choose.pick('+', '-', '*', '/')} {other})"
        if form == 2:
            return f"{self.choose.pick(*COMPLEX)}({z})"
        if form == 3:
            return f"(-{z})" if self.choose.chance(2) else f"({z} * 1.5j)"
        return f"complex({self.real(depth - 1)}, {self.leaf()})"
