"""Fourier transforms of device arrays of any dtype, layout and length, along one axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from portagpu.expressions.apply import apply, convert
from portagpu.fourier.convolutions import convolved
from portagpu.fourier.kernels import COMPLEX, HERMITIAN, REAL
from portagpu.fourier.lengths import LARGEST_PRIME, largest_prime
from portagpu.fourier.sums import is_short, summed
from portagpu.fourier.transforms import Transform, transformed
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream

_COMPUTED = ("float32", "float64", "complex64", "complex128")


def floating(x: DeviceNDArray) -> DeviceNDArray:
    """The array in a dtype that transforms compute in: integers become float64, or float32 on devices without it."""
    if x.dtype.name in _COMPUTED:
        return x
    if x.dtype.kind in "biu" and x.context.capabilities.fp64:
        return convert(x, np.dtype(np.float64))
    return convert(x, np.dtype(np.float32))


def transform_axis(x: DeviceNDArray, axis: int, what: Transform) -> DeviceNDArray:
    """A new array of the transforms along an axis, which is padded with zeros, or cropped; in C order.

    Complex numbers count as such, also where ``what.source`` says that they are real. The work is enqueued.
    """
    x = floating(x)
    if what.source != HERMITIAN:
        what = replace(what, source=COMPLEX if x.dtype.kind == "c" else REAL)
    elif x.dtype.kind == "f":
        x = convert(x, np.dtype(f"complex{16 * x.itemsize}"))
    stream = x._stream(0)
    if not x.is_c_contiguous():
        x = x.copy()
    if is_short(x, axis, what):
        return summed(x, axis, what, stream)
    if largest_prime(what.n) <= LARGEST_PRIME:
        return transformed(x, axis, what, stream)
    return _of_large_prime(x, axis, what, stream)


def _of_large_prime(x: DeviceNDArray, axis: int, what: Transform, stream: Stream) -> DeviceNDArray:
    n = what.n
    if what.source == HERMITIAN:
        half = _fitted(x, axis, n // 2 + 1, stream)
        x = _fitted(half, axis, n, stream)
        mirrored = _part(half, axis, slice(1, n - n // 2))
        _part(x, axis, slice(n - 1, n // 2, -1)).copy_to_device(apply(np.conjugate, mirrored), stream)
    else:
        x = _fitted(x, axis, n, stream)
    found = convolved(x, axis, what, stream)
    return apply_real(found) if what.target == REAL else found


def apply_real(x: DeviceNDArray) -> DeviceNDArray:
    """The real parts of complex numbers, as a new array."""
    pairs = x.copy().view(np.dtype(f"float{4 * x.itemsize}"))
    parts: DeviceNDArray = pairs.reshape((*x.shape, 2))[..., 0]
    return parts.copy()


def _part(x: DeviceNDArray, axis: int, part: slice) -> DeviceNDArray:
    found: DeviceNDArray = x[axis * (slice(None),) + (part,)]
    return found


def _fitted(x: DeviceNDArray, axis: int, n: int, stream: Stream) -> DeviceNDArray:
    """The array with n elements along an axis: itself, the first ones, or more, which are zero."""
    given = x.shape[axis]
    if given == n:
        return x
    if given > n:
        return _part(x, axis, slice(0, n)).copy()
    made = zeros((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype, x.context, stream)
    _part(made, axis, slice(0, given)).copy_to_device(x, stream)
    return made


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any], context: Context, stream: Stream) -> DeviceNDArray:
    """A new array of zeros."""
    made = device_array(shape, dtype, context=context)
    if made.size:
        zero = to_device(np.zeros((1,) * len(shape), dtype), context=context)
        made.copy_to_device(zero._broadcast(shape), stream)
    return made
