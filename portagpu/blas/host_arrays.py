"""`on_device`: runs a routine on device arrays, or on NumPy arrays that the device borrows for the call.

A device that shares the host's memory uses NumPy arrays where they are; to others they are copied, and results back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from portagpu.blas.replay.host_trace import current_trace
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.arrays.host_memory import SharedSpans, finished, map_back, wrap_host
from portagpu.runtime.arrays.overlap import host_shares_elements, shares_elements
from portagpu.runtime.execution.context import Context, context_of
from portagpu.runtime.execution.stream import Stream, as_stream

Arrays = Mapping[str, Any]
HostArray = np.ndarray[Any, Any]


def on_device(
    enqueue: Callable[..., None],
    stream: Stream | None,
    *,
    reads: Arrays | None = None,
    updates: Arrays | None = None,
    results: Arrays | None = None,
    in_place: bool = False,
) -> None:
    """Call ``enqueue(*reads, *updates, *results, stream)`` with device arrays, and bring back what it writes.

    All arrays, by the names that errors have them under, are device arrays, and then the work is enqueued; or all are
    NumPy arrays, and then it is done on return. They have the routine's dtypes, native and writable where written:
    ``updates`` are read and written, in part perhaps; ``results`` are written as a whole, and what was in them is not
    read. What is written must not share memory with anything else; with ``in_place``, the very same elements may be
    read, in the same order (an element of the result depends on those elements alone).

    Raises `ArgumentTypeError` for arrays of both kinds, of several devices, or that overlap; `OutOfMemoryError`.
    """
    reads, updates, results = reads or {}, updates or {}, results or {}
    arrays = {**reads, **updates, **results}
    written = [*updates, *results]
    if are_on_device(arrays):
        context = _common_context(arrays)
        where = as_stream(stream, context)
        check_stream(where, context)
        _check_overlaps(arrays, written, in_place, shares_elements)
        enqueue(*arrays.values(), where)
        return
    _check_overlaps(arrays, written, in_place, host_shares_elements)
    _borrow(enqueue, as_stream(stream, context_of(stream)), reads, updates, results)


def are_on_device(arrays: Arrays, function: str = "") -> bool:
    """Whether arrays, by the names that errors have them under, are device arrays; else all are NumPy's.

    function: that took them. Raises `ArgumentTypeError` for arrays of both kinds.
    """
    there = [name for name, x in arrays.items() if isinstance(x, DeviceNDArray)]
    if there and len(there) < len(arrays):
        here = next(name for name in arrays if name not in there)
        raise ArgumentTypeError(
            f"{function}{': ' if function else ''}{here} is a NumPy array, {there[0]} is on the device",
            hint=f"move one: cuda.to_device({here}), or {there[0]}.copy_to_host()",
        )
    return bool(there)


def check_stream(stream: Stream, context: Context) -> None:
    """Raise `ArgumentTypeError` for a stream that is not of the arrays' device."""
    if context_of(stream) is not context:
        raise ArgumentTypeError("the stream is on another device than the arrays", hint="use a stream of theirs")


def _common_context(arrays: Arrays) -> Context:
    first = next(iter(arrays))
    context: Context = arrays[first].context
    for name, x in arrays.items():
        if x.context is not context:
            raise ArgumentTypeError(f"{name} is on another device than {first}", hint="copy one of them")
    return context


def _check_overlaps(arrays: Arrays, written: list[str], in_place: bool, overlap: Callable[[Any, Any], bool]) -> None:
    for name in written:
        for other, x in arrays.items():
            if other == name or x.size == 0 or not overlap(arrays[name], x):
                continue
            if not (in_place and is_same_view(arrays[name], x)):
                raise ArgumentTypeError(
                    f"{name} shares memory with {other}, and is written while {other} is read",
                    hint=f"pass a copy of one of them: {other}.copy()",
                )


def is_same_view(x: Any, y: Any) -> bool:
    """Whether two arrays that overlap are the same elements in the same order."""
    if (x.shape, x.strides, x.dtype) != (y.shape, y.strides, y.dtype):
        return False
    if isinstance(x, DeviceNDArray):
        return x.buffer is y.buffer and x.offset == y.offset
    return bool(x.__array_interface__["data"] == y.__array_interface__["data"])


def are_same_elements(x: HostArray, y: HostArray) -> bool:
    """Whether one array is the other, or its transpose, in the same memory: a `Loan` copies them once."""
    return is_same_view(x, y) or is_same_view(x.T, y)


def _borrow(enqueue: Callable[..., None], stream: Stream, reads: Arrays, updates: Arrays, results: Arrays) -> None:
    written = {**updates, **results}
    loan = Loan(stream, written.values(), reads.values())
    lent = [loan.read(x) for x in reads.values()]
    taken = [loan.write(x, copied=name in updates) for name, x in written.items()]
    with finished(stream):
        enqueue(*lent, *taken, stream)
    loan.bring_back()


class Loan:
    """Host arrays on the device for one call on a stream: their own memory where the device can use that, else copies.

    ``written`` and ``others``: all arrays of the call. What a recording is made of is lent as that has it, in place.
    """

    def __init__(self, stream: Stream, written: Collection[HostArray], others: Collection[HostArray]) -> None:
        self._stream, self._context = stream, context_of(stream)
        self._spans = SharedSpans(written, others)
        self._trace = current_trace()
        self._shared: list[DeviceNDArray] = []  # what kernels write in place, and drivers may have to tell the host
        self._copies: list[tuple[DeviceNDArray, HostArray]] = []
        self._moved: list[tuple[HostArray, DeviceNDArray]] = []  # copies of what is only read

    def read(self, array: HostArray) -> DeviceNDArray:
        """An array that is only read; elements that were lent already are not copied again: `x` in ``x.T @ x``.

        Raises `OutOfMemoryError`.
        """
        if array.size == 0:
            return device_array(array.shape, array.dtype, context=self._context)
        lent = self._in_place(array, readonly=True)
        if lent is not None:
            return lent
        for other, moved in self._moved:
            if is_same_view(array, other):
                return moved
            if is_same_view(array.T, other):
                return moved.T
        made = to_device(array, self._stream, context=self._context)
        self._moved.append((array, made))
        return made

    def write(self, array: HostArray, *, copied: bool, order: str = "") -> DeviceNDArray:
        """An array that is written; if ``copied``, its elements are there before, too.

        ``order``: of what stands for it where its own memory does not, by default its own. Raises `OutOfMemoryError`.
        """
        if array.size == 0:
            return device_array(array.shape, array.dtype, context=self._context)
        lent = self._in_place(array, readonly=False)
        if lent is not None:
            return lent
        if copied and not order:
            made = to_device(array, self._stream, context=self._context)
        else:
            order = order or ("F" if array.flags.f_contiguous else "C")
            made = device_array(array.shape, array.dtype, order=order, context=self._context)
            if copied:
                made.copy_to_device(array, self._stream)
        self._copies.append((made, array))
        return made

    def bring_back(self) -> None:
        """Wait, and let the host see what was written."""
        for target in self._shared:
            map_back(target, self._stream)
        self._stream.synchronize()
        for target, host in self._copies:
            if host.flags.c_contiguous and target.is_c_contiguous():
                target.copy_to_host(host)
            else:
                host[...] = target.copy_to_host()

    def _in_place(self, array: HostArray, *, readonly: bool) -> DeviceNDArray | None:
        lent = None if self._trace is None else self._trace.lend(array, readonly=readonly)
        if lent is None:
            lent = wrap_host(self._context, array, spans=self._spans, readonly=readonly)
            if lent is not None and not readonly:
                self._shared.append(lent)
        return lent
