"""Cases of functions of arrays: each thread reduces a row of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case, always, each, same
from comparison import EXACT
from operands import KINDS, Array

from portagpu import cuda


def total(name: str) -> str:
    """Dtype of a sum: small integers are added as integers of 64 bits."""
    return str(np.zeros(1, name).sum().dtype)


def mean_type(name: str) -> str:
    """Dtype of a mean."""
    return str(np.zeros(1, name).mean().dtype)


def _wide(function: Callable[..., Any]) -> Callable[[Array], Array]:
    return lambda x: function(x.astype(np.longdouble if x.dtype.kind == "f" else x.dtype), axis=1)


def _ulps(dtype: str) -> float:
    return 64.0 if KINDS[dtype] == "f" else EXACT  # five terms, of which some cancel


def _fair(x: Array) -> Array:
    """Rows of moderate numbers whose sums do not cancel."""
    if x.dtype.kind != "f":
        return np.ones(len(x), bool)
    x = x.astype(np.float64)
    size = np.abs(x).sum(axis=1)
    return np.isfinite(size) & (size < 1e4) & (np.abs(x.sum(axis=1)) > 0.1 * size) & (np.abs(x).min(axis=1) > 1e-4)


def _spread(x: Array) -> Array:
    y = x.astype(np.float64)
    if x.dtype == np.float16:  # whose squares overflow early, in NumPy, too
        y = np.where(np.abs(y) < 60, y, np.inf)
    return _fair(y.astype(x.dtype) if x.dtype.kind == "f" else x) & (np.ptp(y, axis=1) > 0.1 * np.abs(y).max(axis=1))


def _method(function: Any) -> Any:
    return cuda.jit(device=True)(function)


def array_cases() -> list[Case]:
    """All of them."""
    reals = each("biuf")
    methods = {
        "sum": _method(lambda a: a.sum()),
        "prod": _method(lambda a: a.prod()),
        "min": _method(lambda a: a.min()),
        "max": _method(lambda a: a.max()),
        "argmin": _method(lambda a: a.argmin()),
        "argmax": _method(lambda a: a.argmax()),
        "any": _method(lambda a: a.any()),
        "all": _method(lambda a: a.all()),
        "mean": _method(lambda a: a.mean()),
        "var": _method(lambda a: a.var()),
        "std": _method(lambda a: a.std()),
    }
    found = []
    for name in ("sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "mean", "var", "std"):
        function = getattr(np, name)
        result: Callable[..., str] = same
        how: dict[str, Any] = {}
        if name in ("sum", "prod"):
            result, how = total, {"ulps": _ulps, "fair": _fair}
        elif name in ("mean", "var", "std"):
            result, how = mean_type, {"ulps": _ulps, "fair": _spread}
        elif name.startswith("arg"):
            result = always("int")
        elif name in ("any", "all"):
            result = always("bool")
        reference = _wide(function)
        forms: list[tuple[Any, str, tuple[Any, ...]]] = [
            (function, f"np.{name}", (function,)),
            (methods[name], f"array.{name}", (f"method of arrays {name}",)),
        ]
        if name in ("min", "max"):  # NumPy's other name is another function
            other = getattr(np, f"a{name}")
            forms.append((other, f"np.a{name}", (other,)))
        for called, label, covers in forms:
            found.append(
                Case(
                    function=called,
                    name=label,
                    covers=covers,
                    reference=reference,
                    operands=reals,
                    result=result,
                    arrays=True,
                    zero_signs=False,
                    **how,
                )
            )
    return found
