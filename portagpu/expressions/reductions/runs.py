"""`numpy.ufunc.reduceat`: reductions of parts of an axis."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import DTypeError, OutOfBoundsError, ShapeError
from portagpu.expressions.reductions.functions import finished, only_axis, typed_as
from portagpu.expressions.reductions.reducers import held_as
from portagpu.expressions.step_text import TYPES, applied, converted
from portagpu.primitives.flat import uploaded
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.ufuncs.kernel_source import KEPT, kernel_from, launch
from portagpu.ufuncs.operands import array_of


def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> DeviceNDArray:
    """What the elements from each subscript to before the next one become along an axis, and those behind the last.

    Where the next one is no larger, it is the element itself. A thread goes through the elements of a part in their
    order. Raises `OutOfBoundsError`, `ShapeError`, `DTypeError`.
    """
    x = array_of(array)
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise DTypeError(f"numpy.{ufunc.__name__} does not take two numbers and give one, and cannot reduce")
    at = only_axis(axis, x.ndim, "reduceat")
    begins = np.asarray(indices.copy_to_host() if isinstance(indices, DeviceNDArray) else indices)
    if begins.ndim != 1 or (begins.size and begins.dtype.kind not in "iu"):
        raise ShapeError("the subscripts of reduceat are integers in an array of one axis")
    extent = x.shape[at]
    if begins.size and (begins.min() < 0 or begins.max() >= extent):
        raise OutOfBoundsError(f"a subscript of reduceat is not among {extent} elements")
    begins = begins.astype(np.int64)
    ends = np.maximum(np.append(begins[1:], extent), begins + 1) if begins.size else begins
    target = out[0] if isinstance(out, tuple) else out
    x, kind, output = typed_as(ufunc, x, dtype, target)
    context = x.context
    before, behind = math.prod(x.shape[:at]), math.prod(x.shape[at + 1 :])
    found = device_array((*x.shape[:at], begins.size, *x.shape[at + 1 :]), output, context=context)
    if found.size:
        source = (x if x.is_c_contiguous() else x.copy()).reshape(before, extent, behind)
        whole = found.reshape(before, begins.size, behind)
        with context.unsettled:
            borders = [uploaded(n, context) for n in (begins, ends)]
            launch(_kernel(ufunc.__name__, kind, output), found.size, None, 0, (source, *borders, whole), context)
    return finished(found, found, (), keepdims=False, out=target, casting="unsafe")


class _Named:
    """Gives the file of a kernel's text its name."""

    __name__ = "reduceat"


@cache
def _kernel(name: str, kind: np.dtype[Any], output: np.dtype[Any]) -> Dispatcher[..., Any]:
    held = held_as(name, kind) if kind == np.float16 else kind
    element = converted(converted("x[p, j, q]", kind), held)
    joined = converted(applied(name, ["held", element]), held)
    text = [
        "def kernel(x, begins, ends, out):",
        "    i = grid(1)",
        "    if i < out.size:",
        "        rest = i // out.shape[2]",
        "        q = i % out.shape[2]",
        "        p = rest // out.shape[1]",
        "        b = rest % out.shape[1]",
        "        j = begins[b]",
        f"        held = {element}",
        "        for j in range(begins[b] + 1, ends[b]):",
        f"            held = {joined}",
        f"        out[p, b, q] = {converted('held', output)}",
    ]
    return kernel_from(text, {"core": _Named, "np": np, **TYPES}, KEPT)
