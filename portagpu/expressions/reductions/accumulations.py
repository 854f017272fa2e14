"""Accumulations of arrays as NumPy has them, and tables of two arrays' elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.dispatch.repeated import repeated
from portagpu.errors import DTypeError, ShapeError, ShapeTypeError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions.functions import axis_in, finished, is_let_pass, typed_as
from portagpu.primitives.scans.operators import operator_of
from portagpu.primitives.scans.scanning import scan
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.layout import inverse, order_k
from portagpu.ufuncs.operands import array_of, arrays_of


def accumulate(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, *, initial: bool = False
) -> DeviceNDArray:
    """`numpy.ufunc.accumulate`: what all elements up to each become; without an axis, of the flat array.

    ``initial``: results begin with the function's identity, one more than there are elements. Functions without an
    identity are applied in order, by a thread for each result's axis.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`.
    """
    x = array_of(array)
    if ufunc.nin != 2 or ufunc.nout != 1:
        raise DTypeError(f"numpy.{ufunc.__name__} does not take two numbers and give one, and cannot accumulate")
    if axis is None or is_let_pass(axis, x.ndim):
        x, axis = flat(x), 0
    number = axis_in(axis, x.ndim)
    order = order_k(x.shape, x.strides) if x.layout != "C" else None
    if order is not None and out is None:
        found = accumulate(ufunc, x.transpose(order), order.index(number), dtype, initial=initial)
        return found.transpose(inverse(order))
    target = out[0] if isinstance(out, tuple) else out
    x, kind, output = typed_as(ufunc, x, dtype, target)
    if kind != output:
        kind = output
    joining = operator_of(ufunc, kind)
    if x.size:
        key = accumulate, joining, number, output, initial
        found = repeated(key, (x,), lambda: scan(x, joining, number, output, initial=initial))
    else:
        found = scan(x, joining, number, output, initial=initial)
    return finished(found, found, (), keepdims=False, out=target, casting="unsafe")


def flat(x: DeviceNDArray) -> DeviceNDArray:
    """An array as one axis, in C order: a view where that is possible."""
    if x.layout == "C":
        return x if x.ndim == 1 else x.ravel()
    return x.copy().ravel()


def outer(ufunc: np.ufunc, a: Any, b: Any, **options: Any) -> DeviceNDArray:
    """`numpy.ufunc.outer`: the function of each pair of elements, put off."""
    x, y = array_of(a), array_of(b)
    if options:
        raise DTypeError(f"numpy.{ufunc.__name__}.outer of device arrays takes no {', '.join(options)}")
    return apply(ufunc, x.reshape(x.shape + (1,) * y.ndim), y)


def differences(array: Any, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> DeviceNDArray:
    """`numpy.diff`: each element less the one before it, ``n`` times. Raises `ShapeError`."""
    x, *ends = arrays_of([array, *(end for end in (prepend, append) if end is not None)])
    if not hasattr(n, "__index__"):
        raise ShapeTypeError(f"differences are taken n times, not {n!r}")
    if n < 0:
        raise ShapeError(f"differences are taken n times, not {n}")
    if n == 0:
        return x
    if x.ndim == 0:
        raise ShapeError("an array without axes has no differences")
    number = axis_in(axis, x.ndim)
    if ends:
        before = [] if prepend is None else ends[:1]
        x = _longer([*before, x, *ends[len(before) :]], x, number)
    ufunc = np.not_equal if x.dtype.kind == "b" else np.subtract
    rows = (slice(None),) * number
    for _ in range(n):
        length = x.shape[number]
        x = apply(ufunc, x._view((*rows, slice(1, None))), x._view((*rows, slice(0, max(length - 1, 0)))))
    return x


def _longer(parts: list[DeviceNDArray], x: DeviceNDArray, axis: int) -> DeviceNDArray:
    """Parts, one of which is ``x``, one behind the other along an axis; a number stands for one of each row."""
    row = tuple(1 if n == axis else extent for n, extent in enumerate(x.shape))
    pieces = [part if part.ndim else part.broadcast_to(row) for part in parts]
    dtype = np.result_type(*(piece.dtype for piece in pieces))
    length = sum(piece.shape[axis] for piece in pieces)
    shape = tuple(length if n == axis else extent for n, extent in enumerate(x.shape))
    found = device_array(shape, dtype, context=x.context)
    start = 0
    for piece in pieces:
        end = start + piece.shape[axis]
        place = found._view((slice(None),) * axis + (slice(start, end),))
        if place.shape != piece.shape:
            raise ShapeError(f"shapes {piece.shape} and {x.shape} differ beside axis {axis}")
        if piece.size:
            finished(piece, piece, (), keepdims=False, out=place)
        start = end
    return found
