"""`HostTrace`: what a call that is recorded does with NumPy arrays, so that it can be done again with others.

Between the arrays that a routine is called with and those that its kernels work on lie views, copies of what must not
be overwritten, and new results. A routine tells of each of these here (`current_trace`); arrays that come from nowhere,
such as conversions to another dtype, end the recording. Every array that the routine was given must have been used:
what the host alone reads, such as the parameters of rotm, may decide about launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from portagpu.backends.handles import Memory
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.host_memory import Span, is_shareable, rounded_span, share_host
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.host_pool import results
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.replay.host_calls import HostBuffers

HostArray = np.ndarray[Any, Any]
_NEW, _ZEROS, _COPY, _TURNED_COPY = range(4)


class Place(NamedTuple):
    """An array in terms of others: number ``number`` of the arguments and of what the call made, counted on; its
    transpose if ``turned``; in another ``shape``, if that is not None."""

    number: int
    turned: bool = False
    shape: tuple[int, ...] | None = None

    def among(self, arrays: Sequence[HostArray]) -> HostArray:
        """The array, of one call's."""
        found = arrays[self.number]
        if self.turned:
            found = found.T
        return found if self.shape is None else found.reshape(self.shape)


class Made:
    """An array that a call makes, in C order: uninitialised, zeros, a copy of ``source``, or of its transpose."""

    __slots__ = ("dtype", "extent", "how", "nbytes", "shape", "source")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype, self.how = shape, dtype, _NEW
        self.source = Place(0)
        self.nbytes = dtype.itemsize
        for size in shape:
            self.nbytes *= size
        self.extent = rounded_span(0, self.nbytes, True)[1]

    def again(self, arrays: Sequence[HostArray]) -> tuple[HostArray, Span]:
        """Another one, for a call with ``arrays``, and the memory that it has for itself."""
        made, place = results.placed(self.shape, self.dtype, self.nbytes)
        if self.how == _ZEROS:
            made.fill(0)
        elif self.how != _NEW:
            target = made.T if self.how == _TURNED_COPY else made
            np.copyto(target, self.source.among(arrays), casting="unsafe")
        return made, (place, place + self.extent, True)


class _Range:
    """A range of the host's memory that launches use, as one of their operands."""

    __slots__ = ("_buffers", "_context", "span")

    def __init__(self, span: Span, context: Context, buffers: HostBuffers) -> None:
        self.span, self._context, self._buffers = span, context, buffers

    @property
    def buffer(self) -> Memory:
        """The buffer over it."""
        return self._buffers.over(self._context, self.span)


class HostTrace:
    """Of one call. ``ranges``: those of its arguments and of what it made; ``made``: the latter."""

    def __init__(
        self, context: Context, arrays: Sequence[HostArray], spans: Sequence[Span], buffers: HostBuffers
    ) -> None:
        self.context = context
        self.ranges = [_Range(span, context, buffers) for span in spans]
        self.made: list[Made] = []
        self._arrays = list(arrays)
        self._buffers = buffers
        self._unused = dict(enumerate(byte_bounds(x) for x in arrays))
        self._numbers: list[tuple[Any, int]] = []  # numbers that were read, and from which array
        self._ended = False
        self._begun = False  # whether anything was enqueued

    @property
    def is_complete(self) -> bool:
        """Whether all that the call did with arrays is known."""
        return not (self._ended or self._unused)

    def end(self) -> None:
        """The call does something that is not done again."""
        self._ended = True

    # what routines tell ----------------------------------------------------------------------------------------------

    def new(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
        """An uninitialised array in C order; it has at least one element."""
        made = Made(shape, dtype)
        array, span = made.again(self._arrays)
        self.made.append(made)
        self._arrays.append(array)
        self.ranges.append(_Range(span, self.context, self._buffers))
        return array

    def copy(self, source: HostArray) -> HostArray:
        """A copy in Fortran order."""
        place = self.place(source)
        if place is None or self._begun:
            self.end()
            fresh: HostArray = source.copy(order="F")
            return fresh
        self._use(source)
        made: HostArray = self.new(source.shape[::-1], source.dtype).T
        made[...] = source
        self.made[-1].how, self.made[-1].source = _TURNED_COPY, place
        return made

    def clear(self, array: HostArray) -> None:
        """Fill an array that was just made with zeros."""
        array[...] = 0
        if self._is_latest(array):
            self.made[-1].how = _ZEROS
        else:
            self.end()

    def assign(self, target: HostArray, source: HostArray) -> None:
        """Copy elements, broadcast and converted, into an array that was just made."""
        np.copyto(target, source, casting="unsafe")
        place = self.place(source)
        if place is None or self.place(target) != (len(self._arrays) - 1, False, None) or not self._is_latest(target):
            self.end()
            return
        self._use(source)
        self.made[-1].how, self.made[-1].source = _COPY, place

    def lend(self, array: HostArray, *, readonly: bool) -> DeviceNDArray | None:
        """A host array on the device, in place; None for one that is not the call's, which ends the recording."""
        self._begun = True
        if not self._ended and is_shareable(array) and (readonly or array.flags.writeable):
            low, high = byte_bounds(array)
            for found in self.ranges:
                first, last, written = found.span
                if first <= low and high <= last and (readonly or written):
                    self._use(array)
                    return share_host(self.context, array, spans=self, readonly=readonly)
        self.end()
        return None

    def buffer(self, context: Context, array: HostArray) -> tuple[Memory, int]:
        """The buffer that holds an array of the call's, and where it begins there, as `share_host` asks."""
        low, high = byte_bounds(array)
        found = next(r for r in self.ranges if r.span[0] <= low and high <= r.span[1])
        return found.buffer, int(array.__array_interface__["data"][0]) - found.span[0]

    def number(self, array: HostArray, *, of_python: bool) -> Any:
        """The number in an array of one element, when the call is done with it: NumPy's or Python's."""
        value = array.item() if of_python else array.reshape(())[()]
        place = self.place(array)
        if place is None:
            self.end()
        else:
            self._numbers.append((value, place.number))
        return value

    # what the recording asks -----------------------------------------------------------------------------------------

    def read_from(self, value: Any) -> int | None:
        """The array that a number was read from."""
        return next((number for found, number in self._numbers if found is value), None)

    def place(self, array: HostArray) -> Place | None:
        """How an array is one of the call's; None where it is not, or is another part of it."""
        for number, whole in enumerate(self._arrays):
            if not _begin_together(whole, array):
                continue
            for turned in (False, True) if whole.ndim > 1 else (False,):
                view = whole.T if turned else whole
                if _is_same(view, array):
                    return Place(number, turned)
                # else reshape may copy
                may_reshape = view.size == array.size and (view.ndim == 1 or view.flags.c_contiguous)
                if may_reshape and _is_same(view.reshape(array.shape), array):
                    return Place(number, turned, array.shape)
        return None

    def _is_latest(self, array: HostArray) -> bool:
        """Whether an array is the whole of the latest that was made, and nothing was enqueued yet."""
        place = self.place(array)
        return bool(self.made) and not self._begun and place is not None and place.number == len(self._arrays) - 1

    def _use(self, array: HostArray) -> None:
        """Each use accounts for one of the arguments: where two are of the same memory, there are two uses."""
        low, high = byte_bounds(array)
        for number, (first, last) in self._unused.items():
            if first <= low and high <= last:
                del self._unused[number]
                return


def _is_same(x: HostArray, y: HostArray) -> bool:
    if x is y:
        return True
    return (x.shape, x.strides, x.dtype) == (y.shape, y.strides, y.dtype) and _begin_together(x, y)


def _begin_together(x: HostArray, y: HostArray) -> bool:
    return bool(x.__array_interface__["data"][0] == y.__array_interface__["data"][0])


def current_trace() -> HostTrace | None:
    """That of the call which is being recorded, for what belongs to it; None without one."""
    recorder = active.recorder
    if recorder is None or recorder.host is None or not recorder.is_own():
        return None
    found: HostTrace = recorder.host
    return found


def new_host(shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
    """An uninitialised array in C order. Raises `OutOfMemoryError`."""
    trace = current_trace()
    return results.empty(shape, dtype) if trace is None or 0 in shape else trace.new(shape, dtype)


def copied_host(array: HostArray) -> HostArray:
    """A copy in Fortran order, a plain array also of a subclass's."""
    trace = current_trace()
    return np.array(array, order="F") if trace is None else trace.copy(array)


def cleared_host(array: HostArray) -> None:
    """Fill an array that `new_host` made, or a view of it, with zeros."""
    trace = current_trace()
    if trace is None:
        array[...] = 0
    else:
        trace.clear(array)


def assign_host(target: HostArray, source: HostArray) -> None:
    """Copy elements, broadcast, and converted as far as that is no other kind of number."""
    trace = current_trace()
    if trace is None:
        np.copyto(target, source, casting="same_kind" if source.dtype.kind == target.dtype.kind else "unsafe")
    else:
        trace.assign(target, source)


def number_in(array: HostArray, *, of_python: bool = True) -> Any:
    """The number in an array of one element that `new_host` made, which the call returns: Python's, or NumPy's."""
    trace = current_trace()
    if trace is not None:
        return trace.number(array, of_python=of_python)
    return array.item() if of_python else array.reshape(())[()]
