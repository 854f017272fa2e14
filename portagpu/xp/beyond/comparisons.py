"""NumPy's functions that compare arrays, and those that tell what elements are."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.expressions.apply import apply, apply_into
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import filled
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import call, register
from portagpu.xp import creation
from portagpu.xp.conversion import array_of

_TOLERANT = frozenset({"rtol", "atol", "equal_nan"})
_TRUTH = np.dtype(bool)


def _pair(a: Any, b: Any) -> tuple[DeviceNDArray, DeviceNDArray]:
    context = next((x.context for x in (a, b) if isinstance(x, DeviceNDArray)), None)
    return array_of(a, context), array_of(b, context)


def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> DeviceNDArray:
    """``abs(a - b) <= atol + rtol * abs(b)``, or equal, which infinities are."""
    x, y = _pair(a, b)
    if y.dtype.kind not in "fc":  # as NumPy does: differences of integers could not be negative
        y = y.astype(np.result_type(y.dtype, creation.default_float(y.context)))
    bound = apply(np.add, atol, apply(np.multiply, rtol, apply(np.absolute, y)))
    near = apply(np.less_equal, apply(np.absolute, apply(np.subtract, x, y)), bound)
    near = apply(np.logical_and, near, apply(np.isfinite, y))
    found = apply(np.logical_or, near, apply(np.equal, x, y))
    if equal_nan:
        found = apply(np.logical_or, found, apply(np.logical_and, apply(np.isnan, x), apply(np.isnan, y)))
    return found


def _allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    return bool(functions.reduce(np.logical_and, _isclose(a, b, rtol, atol, equal_nan), None))


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    x, y = _pair(a1, a2)
    if x.shape != y.shape:
        return False
    same = apply(np.equal, x, y)
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        same = apply(np.logical_or, same, apply(np.logical_and, apply(np.isnan, x), apply(np.isnan, y)))
    return bool(functions.reduce(np.logical_and, same, None))


def _array_equiv(a1: Any, a2: Any) -> bool:
    x, y = _pair(a1, a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return bool(functions.reduce(np.logical_and, apply(np.equal, x, y), None))


register("isclose", _isclose, _TOLERANT)
register("allclose", _allclose, _TOLERANT)
register("array_equal", _array_equal, frozenset({"equal_nan"}))
register("array_equiv", _array_equiv, frozenset())


def _iscomplex(x: DeviceNDArray) -> DeviceNDArray:
    if x.dtype.kind != "c":
        return filled(x.shape, False, _TRUTH, x.context)
    return apply(np.not_equal, x.imag, 0)


def _isreal(x: DeviceNDArray) -> DeviceNDArray:
    if x.dtype.kind != "c":
        return call("ones_like", x, dtype=bool, order="A")  # type: ignore[no-any-return]
    return apply(np.equal, x.imag, 0)


def _infinite(positive: bool) -> Any:
    def function(x: DeviceNDArray, out: Any = None) -> DeviceNDArray:
        signed = apply(np.greater if positive else np.less, x, 0)
        if out is None:
            return apply(np.logical_and, apply(np.isinf, x), signed)
        return apply_into(out, np.logical_and, apply(np.isinf, x), signed)

    return function


register("iscomplex", _iscomplex, frozenset())
register("isreal", _isreal, frozenset())
register("isposinf", _infinite(True), frozenset({"out"}))
register("isneginf", _infinite(False), frozenset({"out"}))
