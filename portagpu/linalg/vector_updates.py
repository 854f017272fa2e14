"""Scaled vectors and sums of them, elementwise: axpy and scal for arrays of any number of axes"""

from __future__ import annotations

from functools import partial

import numpy as np

from portagpu.blas.arguments import check_scalar
from portagpu.blas.host_arrays import is_same_view, on_device
from portagpu.blas.level1 import elementwise
from portagpu.blas.replay.calls import repeats
from portagpu.errors import ShapeError
from portagpu.linalg.matrices import EVERY_PRECISION, Array, arrays_of, copy_into, copy_of, new
from portagpu.linalg.results import check_out, delivered, is_simple, takes_results
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.overlap import host_shares_elements, shares_elements
from portagpu.runtime.execution.stream import Stream


@takes_results
@repeats
def axpy(alpha: complex, x: Array, y: Array, *, out: Array | None = None, stream: Stream | None = None) -> Array:
    """``alpha * x + y`` for arrays of one shape, and of any number of axes.

    x, y: arrays of one kind, NumPy's or on the device; float16 and bfloat16 (which are computed in float32 and rounded
    once), float32, float64, complex64, complex128; NumPy arrays are promoted, those of integers count as float64.
    ``out``: where to put the result, of its shape and dtype: y itself, as BLAS has it, which moves the fewest bytes, x
    or another array. With ``alpha`` 0, x is not read. For device arrays the work is enqueued on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (x, y), dtype = arrays_of("axpy", EVERY_PRECISION, x=x, y=y)
    if x.shape != y.shape:
        raise ShapeError(
            f"axpy: x has shape {x.shape}, y {y.shape}", hint="they have one shape: np.broadcast_to(x, ...)"
        )
    factor = check_scalar(alpha, "alpha", dtype, dtype)
    check_out(out, y, y.shape, dtype, "axpy")
    made = _target(out, y, dtype, x)
    if made is not out or not is_same_view(out, y):
        copy_into(y, made, stream)
    if factor != 0 and made.size:
        usable = x.dtype == dtype and _is_vector(x)
        source = x if usable else copy_of(x, x.shape, dtype, stream)
        call = partial(elementwise.axpy, factor)
        on_device(call, stream, reads={"x": _flat(source)}, updates={"out": _flat(made)}, in_place=True)
    return delivered(made, out, stream)


@takes_results
@repeats
def scal(alpha: complex, x: Array, *, out: Array | None = None, stream: Stream | None = None) -> Array:
    """``alpha * x`` for an array of any number of axes. Arrays and options are as of `axpy`; ``out`` may be x.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (x,), dtype = arrays_of("scal", EVERY_PRECISION, x=x)
    factor = check_scalar(alpha, "alpha", dtype, dtype)
    check_out(out, x, x.shape, dtype, "scal")
    made = _target(out, x, dtype)
    if made is not out or not is_same_view(out, x):
        copy_into(x, made, stream)
    if made.size:
        on_device(partial(elementwise.scal, factor), stream, updates={"out": _flat(made)})
    return delivered(made, out, stream)


def _target(out: Array | None, start: Array, dtype: np.dtype[np.generic], *others: Array) -> Array:
    """Where to compute what begins as ``start``: in out, if that is a vector in memory and loses nothing, or apart."""
    if out is None or not _is_vector(out):
        return new(start, start.shape, dtype)
    shared = shares_elements if isinstance(out, DeviceNDArray) else host_shares_elements
    in_place = is_same_view(out, start)
    for x in others if in_place else (start, *others):
        if shared(out, x) and not (in_place and is_same_view(out, x)):
            return new(start, start.shape, dtype)
    return out


def _is_vector(x: Array) -> bool:
    """Whether elements are at one step from each other in C order."""
    return x.ndim == 1 or is_simple(x)


def _flat(x: Array) -> Array:
    return x if x.ndim == 1 else x.reshape(x.size)
