"""`numpy.i0`: the modified Bessel function of the first kind and order 0."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import DTypeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.ufuncs.kernel_source import launch
from portagpu.xp import creation
from portagpu.xp.conversion import array_of


@cache
def _kernel(kind: Any) -> Dispatcher:
    """The power series: all terms are positive, so that the relative error is a few roundings, and x ends it.

    Source: M. Abramowitz, I. Stegun, "Handbook of Mathematical Functions", 1964, 9.6.12.
    """
    smallest = kind(np.finfo(kind).eps / 4)

    def bessel(x, out):
        i = cuda.grid(1)
        if i < out.size:
            half = x[i] * kind(0.5)
            quarter = half * half
            total, term, k = kind(1), kind(1), kind(1)
            while term > total * smallest and term < kind(np.inf):  # false for NaN
                term = term * (quarter / (k * k))
                total += term
                k += kind(1)
            if np.isnan(quarter):
                total = quarter
            out[i] = total

    return cuda.jit(bessel, cache=True)


def _i0(x: Any) -> DeviceNDArray:
    array = array_of(x)
    if array.dtype.kind == "c":
        raise DTypeError("i0 takes real numbers", hint="numpy.i0(x.real)")
    held = array.dtype if array.dtype.kind == "f" else creation.default_float(array.context)
    computed = np.dtype(np.float32) if held == np.float16 else held
    flat = array.astype(computed, copy=False).copy().ravel()
    out = device_array(array.shape, computed, context=array.context)
    if out.size:
        with array.context.unsettled:
            kernel: Any = _kernel(np.float32 if computed == np.float32 else np.float64)
            launch(kernel, out.size, None, 0, (flat, out.ravel()), array.context)
    return out.astype(held, copy=False)


register("i0", _i0, frozenset())
