"""Choices and orders of a generator, under NumPy's names."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from portagpu.dispatch import ready
from portagpu.errors import ArgumentTypeError, ArgumentValueError, OutOfBoundsError, ShapeError
from portagpu.expressions.apply import apply
from portagpu.primitives.sorts.sorting import argsort
from portagpu.random.continuous import Continuous
from portagpu.random.discrete import Discrete
from portagpu.random.permutations import (
    MOST_ORDERED,
    drawn_in_order,
    extents_of,
    find_shares,
    gather_lines,
    order_by_keys,
)
from portagpu.random.targets import real_dtype
from portagpu.random.thread_shares import grid_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.checks import check_writable
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.arrays.layout import checked_shape
from portagpu.runtime.execution.context import Context
from portagpu.ufuncs.operands import operand

_WORD, _PLACE = np.dtype(np.uint64), np.dtype(np.int64)


class Arranging(Continuous, Discrete):
    """Choices with and without replacement, permutations, shuffles."""

    def permutation(self, x: Any, axis: int = 0) -> DeviceNDArray:
        """The integers below ``x`` in random order, or a copy of an array whose slices along an axis are.

        Raises `ShapeError`, `ArgumentTypeError`, `ArgumentValueError`.
        """
        count = _count(x)
        if count is not None:
            return self._places(count, count, self._context)
        array = self._array(x)
        target = device_array(array.shape, array.dtype, context=array.context)
        self._draw(array, target, _axis(axis, array.ndim), is_each=False)
        return target

    def shuffle(self, x: DeviceNDArray, axis: int = 0) -> None:
        """Put an array's slices along an axis into random order, in place. Raises as `permutation`."""
        if not isinstance(x, DeviceNDArray):
            raise ArgumentTypeError(
                f"shuffle takes a device array, not {type(x).__name__}", hint="use permutation, which makes a copy"
            )
        check_writable(x)
        x.copy_to_device(self.permutation(x, axis))

    def permuted(self, x: Any, axis: int | None = None, out: DeviceNDArray | None = None) -> DeviceNDArray:
        """A copy whose elements are in random order along an axis, other ones for each line; all of them if None.

        ``out``: a device array that gets it, which may be ``x``. Raises as `permutation`.
        """
        array = self._array(x)
        target = device_array(array.shape, array.dtype, context=array.context)
        if axis is None:
            self._draw(array.reshape(-1), target.reshape(-1), 0, is_each=False)
        else:
            self._draw(array, target, _axis(axis, array.ndim), is_each=True)
        if out is None:
            return target
        if out.shape != array.shape:
            raise ShapeError(f"out= is a device array of shape {array.shape}")
        out.copy_to_device(target)
        return out

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> DeviceNDArray:
        """Elements of an array along an axis, or integers below ``a``, chosen at random.

        ``p``: probabilities of the elements, copied to the host to be added up. Without replacement none is chosen
        twice; these are in random order whatever ``shuffle`` says. Raises as `permutation`.
        """
        count = _count(a)
        array = None if count is not None else self._array(a)
        if array is not None:
            axis = _axis(axis, array.ndim)
            count = array.shape[axis]
        assert count is not None
        shape = () if size is None else checked_shape(size)
        wanted = math.prod(shape)
        if count == 0 and wanted:
            raise ArgumentValueError("there is nothing to choose from")
        context = self._context if array is None else array.context
        shares = None if p is None else _shares(p, count)
        if not replace and wanted > (count if shares is None else int(np.count_nonzero(shares))):
            raise ArgumentValueError(f"{wanted} elements of {count} cannot be chosen without replacement")
        places = self._chosen(count, wanted, shares, bool(replace), context)
        if array is None:
            return places.reshape(shape)
        return self._gathered(array, places, axis, shape)

    def _chosen(
        self, count: int, wanted: int, shares: np.ndarray[Any, Any] | None, replace: bool, context: Context
    ) -> DeviceNDArray:
        if shares is None:
            return self._bounded_on(count, wanted, context) if replace else self._places(count, wanted, context)
        kind = real_dtype(None, context)
        if replace:
            places = device_array(wanted, _PLACE, context=context)
            sums = np.cumsum(shares)
            limits = to_device((sums / sums[-1]).astype(kind), context=context)
            numbers = self.random(out=device_array(wanted, kind, context=context))
            with context.unsettled:
                grid, threads, chunked = grid_of(places)
                ready.launch(find_shares, grid, threads, (places, numbers, limits, chunked), self._stream)
            return places
        with np.errstate(divide="ignore"):
            means = to_device((1 / shares).astype(kind), context=context)
        keys = apply(np.multiply, self.standard_exponential(out=device_array(count, kind, context=context)), means)
        return argsort(keys, stream=self._stream)[:wanted]

    def _bounded_on(self, count: int, wanted: int, context: Context) -> DeviceNDArray:
        return self.integers(0, max(1, count), out=device_array(wanted, _PLACE, context=context))

    def _places(self, count: int, wanted: int, context: Context) -> DeviceNDArray:
        """The first places of a permutation of ``count``."""
        target = device_array(wanted, _PLACE, context=context)
        with context.unsettled:
            self._ordered(target, None, count, wanted, 1, rows=1, is_each=False)
        return target

    def _draw(self, array: DeviceNDArray, target: DeviceNDArray, axis: int, *, is_each: bool) -> None:
        inner = math.prod(array.shape[axis + 1 :])
        length = array.shape[axis]
        rows = math.prod(array.shape[:axis]) * inner if is_each else 1
        source = array.reshape(-1)
        source.buffer  # noqa: B018 - computed before it is read
        with array.context.unsettled:
            self._ordered(target.reshape(-1), source, length, length, inner, rows=rows, is_each=is_each)

    def _ordered(
        self,
        target: DeviceNDArray,
        source: DeviceNDArray | None,
        length: int,
        taken: int,
        inner: int,
        *,
        rows: int,
        is_each: bool,
    ) -> None:
        if target.size == 0:
            return
        places = None
        place = self._bits.take(rows if length > MOST_ORDERED else 0)
        if length <= MOST_ORDERED:
            keys = self._words(rows * length, _WORD, target.context)
            places = device_array(keys.size, np.dtype(np.int32), context=target.context)
            grid, threads, chunked = grid_of(keys)
            ready.launch(order_by_keys, grid, threads, (places, keys, np.int64(length), chunked), self._stream)
        extents = extents_of(length, taken, inner)
        drawn_in_order(target, source, places, place, extents, is_each=is_each, stream=self._stream)

    def _gathered(
        self, array: DeviceNDArray, places: DeviceNDArray, axis: int, shape: tuple[int, ...]
    ) -> DeviceNDArray:
        before, after = array.shape[:axis], array.shape[axis + 1 :]
        target = device_array((*before, *shape, *after), array.dtype, context=array.context)
        if target.size:
            extents = extents_of(array.shape[axis], places.size, math.prod(after))
            source = array.reshape(-1)
            source.buffer  # noqa: B018 - computed before it is read
            with array.context.unsettled:
                flat = target.reshape(-1)
                grid, threads, chunked = grid_of(flat)
                ready.launch(gather_lines, grid, threads, (flat, source, places, extents, chunked), self._stream)
        return target

    def _array(self, x: Any) -> DeviceNDArray:
        """An array in C order."""
        found = operand(x)
        if not isinstance(found, DeviceNDArray):
            if not isinstance(found, np.ndarray):
                raise ArgumentTypeError(f"{x!r} is neither an array nor a count")
            return to_device(np.ascontiguousarray(found), context=self._context)
        return found if found.is_c_contiguous() else found.copy()


def _count(x: Any) -> int | None:
    """A count of integers; None for an array."""
    if isinstance(x, bool) or not hasattr(x, "__index__") or isinstance(x, DeviceNDArray | np.ndarray):
        return None
    found = operator.index(x)
    if found < 0:
        raise ArgumentValueError(f"a count is not negative, unlike {found}")
    return found


def _axis(axis: Any, ndim: int) -> int:
    try:
        at = operator.index(axis)
    except TypeError as error:
        raise ArgumentTypeError(f"axis= is an integer, not {axis!r}") from error
    if not -ndim <= at < ndim:
        raise OutOfBoundsError(f"axis {at} is not of an array with {ndim} axes")
    return at % ndim


def _shares(p: Any, count: int) -> np.ndarray[Any, Any]:
    """Probabilities on the host. Raises `ShapeError`, `ArgumentValueError`."""
    host = np.asarray(p.copy_to_host() if isinstance(p, DeviceNDArray) else p, dtype=np.float64)
    if host.shape != (count,):
        raise ShapeError(f"p has shape {host.shape}, and there are {count} elements")
    if not bool((host >= 0).all()):
        raise ArgumentValueError("probabilities are not negative, and not NaN")
    if not math.isclose(math.fsum(host), 1.0, rel_tol=0, abs_tol=1.5e-8):
        raise ArgumentValueError(f"probabilities sum up to 1, not to {math.fsum(host)}")
    return host
