"""Dot products and norms of vectors, along an axis of arrays of any number of axes"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.level1 import reductions
from portagpu.blas.replay.calls import repeats
from portagpu.blas.replay.host_trace import number_in
from portagpu.errors import ArgumentTypeError, ShapeError, UnknownOptionError
from portagpu.linalg.matrices import EVERY_PRECISION, Array, arrays_of, broadcast_batches, copy_of
from portagpu.linalg.results import Result, run, takes_results
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


@takes_results
@repeats
def vecdot(x1: Array, x2: Array, *, axis: int = -1, out: Array | None = None, stream: Stream | None = None) -> Array:
    """``sum(conj(x1) * x2)`` along an axis, as `numpy.vecdot`: the dot product of vectors, or of batches of them.

    x1, x2: arrays of one kind, NumPy's or on the device, which have as many elements along ``axis``; their other axes
    broadcast, and are those of the result. float16 and bfloat16 (whose sums are formed in float32), float32, float64,
    complex64, complex128; NumPy arrays are promoted, those of integers count as float64. ``out``: where to put the
    result, of its shape and dtype. Terms are added in the same order each time. For device arrays the work is enqueued
    on ``stream``.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (left, right), dtype = arrays_of("vecdot", EVERY_PRECISION, x1=x1, x2=x2)
    left, right = _last("vecdot", left, "x1", (axis,)), _last("vecdot", right, "x2", (axis,))
    n = left.shape[-1]
    if right.shape[-1] != n:
        raise ShapeError(
            f"vecdot: x1 has {n} elements along axis {axis}, x2 {right.shape[-1]}",
            hint="they have as many: x1[..., :n]",
        )
    shape = broadcast_batches("vecdot", x1=left.shape[:-1], x2=right.shape[:-1])
    rows = {"x1": _rows(left, shape, 1, dtype, stream), "x2": _rows(right, shape, 1, dtype, stream)}
    return _reduced("vecdot", partial(reductions.dot, conjugate=True), rows, shape, dtype, out, stream)


@takes_results
@repeats
def norm(
    x: Array,
    ord: int | str | None = None,
    *,
    axis: int | tuple[int, int] | None = None,
    keepdims: bool = False,
    out: Array | None = None,
    stream: Stream | None = None,
) -> Array:
    """The Euclidean norm of vectors, or the Frobenius norm of matrices, as `numpy.linalg.norm`.

    x: an array of a dtype as of `vecdot`, NumPy's or on the device; the result has its real dtype. ``axis``: the axis
    of vectors, or the two of matrices; None: all elements. ``ord``: None; 2 for vectors, "fro" for matrices; 1 for the
    sum of magnitudes of real vectors. ``keepdims``: axes that were summed stay, with length 1. Squares neither overflow
    nor vanish on the way. ``out``, ``stream``: as of `vecdot`.

    Raises `UnknownOptionError` for other norms, `ShapeError`, `DTypeError`, `ArgumentTypeError`, `OutOfMemoryError`.
    """
    (found,), dtype = arrays_of("norm", EVERY_PRECISION, x=x)
    axes = tuple(range(found.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    whole = _last("norm", found, "x", axes)
    _check_order(ord, len(axes), all_elements=axis is None, is_complex=dtype.kind == "c")
    count = len(axes)
    shape = whole.shape[: whole.ndim - count]
    rows = {"x": _rows(whole, shape, count, dtype, stream)}
    call = reductions.asum if ord == 1 else reductions.nrm2
    if keepdims:
        summed = {a % found.ndim for a in axes} if found.ndim else set()
        shape = tuple(1 if i in summed else size for i, size in enumerate(found.shape))
    return _reduced("norm", call, rows, shape, reductions.result_dtype("nrm2", dtype), out, stream)


def _check_order(order: Any, axes: int, *, all_elements: bool, is_complex: bool) -> None:
    if axes > 2 and not (all_elements and order is None):
        raise ShapeError(f"norm of {axes} axes", hint="one is that of vectors, two are those of matrices")
    known = {1: (None, 2, 1), 2: (None, "fro")}.get(axes, (None,))
    if order not in known or isinstance(order, bool):
        what = "vectors" if axes == 1 else "matrices"
        raise UnknownOptionError(f"norm: ord is {order!r}", hint=f"of {what}: {', '.join(map(repr, known))}")
    if order == 1 and is_complex:
        raise UnknownOptionError("norm: ord is 1, of complex vectors", hint="2, or scasum and dzasum of portagpu.blas")


def _last(function: str, x: Array, name: str, axes: tuple[Any, ...]) -> Array:
    """The array with these axes as its last ones. Raises `ShapeError`, `ArgumentTypeError`."""
    try:
        wanted = [operator.index(axis) for axis in axes]
    except TypeError:
        raise ArgumentTypeError(f"{function}: axis is {axes}", hint="axes are whole numbers") from None
    if any(not -x.ndim <= axis < x.ndim for axis in wanted) or len({axis % x.ndim for axis in wanted}) < len(wanted):
        raise ShapeError(
            f"{function}: {name} has shape {x.shape}, and axis is {axes[0] if len(axes) == 1 else axes}",
            hint="axes are counted from 0, or from -1 backwards, each once",
        )
    moved = [axis % x.ndim for axis in wanted]
    return x.transpose((*(axis for axis in range(x.ndim) if axis not in moved), *moved)) if moved else x


def _rows(x: Array, batch: tuple[int, ...], axes: int, dtype: np.dtype[Any], stream: Stream | None) -> Array:
    """A batch of vectors (batch, n) of the last axes of an array, whose others are broadcast: a view, or a copy."""
    inner = x.shape[x.ndim - axes :]
    shape = (*batch, *inner)
    wide = x._broadcast(shape) if isinstance(x, DeviceNDArray) else np.broadcast_to(x, shape)
    vectors, n = _size(batch), _size(inner)
    if x.dtype == dtype and wide.size:
        outer = _step(batch, wide.strides[: len(batch)])
        # a vector's elements may be in any order: those of a matrix in Fortran order are side by side, too
        extents, steps = inner, wide.strides[len(batch) :]
        within = _step(extents, steps)
        within = _step(extents[::-1], steps[::-1]) if within is None else within
        if outer is not None and within is not None:
            return _strided(wide, (vectors, n), (outer, within))
    return copy_of(x, shape, dtype, stream).reshape((vectors, n))


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _step(shape: Any, strides: Any) -> int | None:
    """Bytes from one element to the next one, if all axes are like one; None if they are not."""
    step: int | None = None
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n == 1:
            continue
        if step is None:
            step, reach = stride, n * stride
        elif stride != reach:
            return None
        else:
            reach = n * stride
    return 0 if step is None else step


def _strided(x: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    if isinstance(x, DeviceNDArray):
        return with_strides(x, shape, strides)
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def _reduced(
    function: str,
    call: Any,
    rows: dict[str, Array],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    out: Array | None,
    stream: Stream | None,
) -> Array:
    first = next(iter(rows.values()))
    result = Result(function, out, first, shape, dtype)
    run(call, stream, reads=rows, results={"out": result.array.reshape((_size(shape),))})
    found = result.delivered(stream)
    return found if out is not None or shape or isinstance(found, DeviceNDArray) else number_in(found, of_python=False)
