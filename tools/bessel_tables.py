"""Make `frontend/library/libdevice/bessel_tables.py`: Chebyshev coefficients of the Bessel functions.

    python -m tools.bessel_tables

Below 8 they are of the power series' regular parts in ``x * x / 32 - 1``; from there on of the two slowly changing
factors of Hankel's expansion in ``128 / (x * x) - 1``, by the trapezoidal rule on his integral, in long double.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Wide = Any
_L = np.longdouble
_PI = _L("3.14159265358979323846264338327950288")
_EULER = _L("0.57721566490153286060651209008240243")
_FILE = Path(__file__).parents[1] / "portagpu/frontend/library/libdevice/bessel_tables.py"
_NODES = 64
_STEP = _L(1) / 16


def _series(square: Wide, order: int, factor: Callable[[int], Wide]) -> Wide:
    """The sum of ``factor(k) * (-square / 4) ** k / (k! * (k + order)!)``."""
    term, total = np.ones_like(square), np.zeros_like(square)
    for k in range(60):
        if k:
            term = term * -square / 4 / (k * (k + order))
        total = total + factor(k) * term
    return total


def _harmonic(k: int) -> Wide:
    return sum((_L(1) / n for n in range(1, k + 1)), _L(0))


def _j(square: Wide, order: int) -> Wide:
    """``j0(x)``, or ``j1(x) / x``."""
    return _series(square, order, lambda k: _L(1)) / 2**order


def _y(square: Wide, order: int) -> Wide:
    """``y0(x) - 2 / pi * log(x) * j0(x)``, or ``(y1(x) + 2 / pi * (1 / x - log(x) * j1(x))) / x``."""
    sums = _series(square, order, lambda k: _harmonic(k) + _harmonic(k + order) - 2 * _EULER) / 2**order
    return -(2 * np.log(_L(2)) * _j(square, order) + sums) / _PI


def _hankel(square: Wide, order: int) -> tuple[Wide, Wide]:
    """Real and imaginary part of the integral of ``exp(-u*u) * u**(2*order) * (1 + u*u*i/(2*x)) ** (order - 1/2)``."""
    u = np.arange(1, 140, dtype=_L) * _STEP
    inverse = np.sqrt(square[:, None] / 64) / 8  # 1 / x
    grown = (1 + np.clongdouble(0.5j) * u * u * inverse) ** _L(order - 0.5)
    weights = np.exp(-u * u) * (u * u) ** order * (2 if order == 0 else 4) / np.sqrt(_PI) * _STEP
    total = (grown * weights).sum(axis=1)
    if order == 0:
        total = total + _STEP / np.sqrt(_PI)
    return total.real, total.imag / inverse[:, 0]


def _coefficients(values: Callable[[Wide], Wide], top: float) -> Wide:
    """Of the function on 0 ... ``top``, the first one halved."""
    angles = _PI * (np.arange(_NODES, dtype=_L) + _L(0.5)) / _NODES
    found = values((np.cos(angles) + 1) * _L(top) / 2)
    rows = [2 * (found * np.cos(k * angles)).sum() / _NODES for k in range(_NODES)]
    return np.array([rows[0] / 2, *rows[1:]])


def _text(name: str, values: Callable[[Wide], Wide]) -> list[str]:
    coefficients = _coefficients(values, 64.0)
    lines = []
    for suffix, dtype, limit in (("", "float64", 1e-16), ("_SINGLE", "float32", 2e-9)):
        kept = [float(c) for c in coefficients]
        while abs(kept[-1]) < limit * max(map(abs, kept)):
            kept.pop()
        lines.append(f"{name}{suffix} = np.array(")
        lines.append("    [")
        lines += [f"        {c!r}," for c in (kept if dtype == "float64" else [float(f"{v:.10g}") for v in kept])]
        lines += ["    ],", f"    np.{dtype},", ")"]
    return lines


def _factor_p(s: Wide, order: int) -> Wide:
    return _hankel(s, order)[0]


def _factor_q(s: Wide, order: int) -> Wide:
    return _hankel(s, order)[1]


def document() -> str:
    """The text of the module."""
    lines = [
        '"""Chebyshev coefficients of Bessel functions, made by `tools.bessel_tables`."""',
        "",
        "from __future__ import annotations",
        "",
        "import numpy as np",
        "",
    ]
    for order in (0, 1):
        for letter, function in (("J", _j), ("Y", _y), ("P", _factor_p), ("Q", _factor_q)):
            lines += _text(f"{letter}{order}", partial(function, order=order))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _FILE.write_text(document(), encoding="utf-8")
