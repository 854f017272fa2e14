"""Arrays in device memory, with NumPy's views and names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import as_strided

from portagpu.backends.registry import foreign
from portagpu.errors import ClosedError, DTypeError, NotContiguousError, ShapeError
from portagpu.runtime.arrays import views
from portagpu.runtime.arrays.checks import check_stream, check_target, check_writable, host_array, writable_view
from portagpu.runtime.arrays.copies import copy_elements, copy_strided, download, upload
from portagpu.runtime.arrays.facts import are_plain, facts_for, key_of, remember_view, with_facts
from portagpu.runtime.arrays.foreign import is_foreign
from portagpu.runtime.arrays.items import ArrayItems
from portagpu.runtime.arrays.layout import (
    address_of,
    alignment_of,
    check_order,
    checked_dtype,
    checked_shape,
    checked_strides,
    extent_of,
    is_contiguous,
    layout_of,
    strides_of,
)
from portagpu.runtime.arrays.methods import ArrayElements
from portagpu.runtime.arrays.operators import ArrayOperators
from portagpu.runtime.arrays.overlap import may_overlap, note_shown
from portagpu.runtime.arrays.reduction_methods import ArrayReductions
from portagpu.runtime.execution.context import Context, context_of
from portagpu.runtime.execution.cuda_members import ArrayNames
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.deferred import Deferred
from portagpu.runtime.execution.recorder import between_streams
from portagpu.runtime.execution.stream import Stream, as_stream

_LARGE = 2**30  # elements; larger arrays need 64-bit subscripts
allocations = itertools.count()


class DeviceNDArray(ArrayItems, ArrayElements, ArrayReductions, ArrayOperators, ArrayNames):
    """An n-dimensional array in the memory of one device.

    ``shape``, ``strides`` (bytes), ``dtype``, ``ndim``, ``size``, ``nbytes``, ``itemsize``, ``T`` are those of NumPy.
    Slicing, `reshape`, `ravel`, `transpose` and `view` give views of the same memory.
    """

    __slots__ = (
        "__weakref__",
        "_buffer",
        "_dtype",
        "_shape",
        "_strides",
        "align",
        "allocation_key",
        "base",
        "context",
        "deferred",
        "is_large",
        "itemsize",
        "layout",
        "layout_token",
        "ndim",
        "offset",
        "readonly",
        "shifted",
        "size",
        "stream",
        "token",
        "type_key",
    )
    __array_priority__ = 1000.0

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        strides: Any = None,
        buffer: Any = None,
        context: Context | None = None,
        *,
        offset: int = 0,
        base: Any = None,
        stream: Stream | Literal[0] | None = None,
        readonly: bool = False,
        allocation_key: int | None = None,
        shifted: bool = False,
    ) -> None:
        if context is None:
            self._make(shape, dtype, strides, 0 if stream is None else stream)
            return
        self._shape: tuple[int, ...] = shape
        self._dtype: np.dtype[Any] = dtype
        self._strides: tuple[int, ...] = strides
        self.context, self.offset, self.base = context, offset, base
        self.stream: Stream | Literal[0] = stream or 0  # 0 without one of its own, as in CUDA-Python
        self.readonly = readonly
        self.shifted = shifted or offset != 0  # whether kernels take an offset, which may be 0
        self._buffer = buffer
        self.deferred: Deferred | None = None
        self.ndim = len(shape)
        self.itemsize: int = dtype.itemsize
        self.size = math.prod(shape)
        self.allocation_key = next(allocations) if allocation_key is None else allocation_key
        self.layout = layout_of(shape, strides, dtype.itemsize)
        span = sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) if self.size else 0
        self.is_large = self.size >= _LARGE or span // max(self.itemsize, 1) + offset // max(self.itemsize, 1) >= _LARGE
        self.align = alignment_of(shape, strides, dtype, offset, self.layout)
        if self.align:
            self.is_large = span + offset + self.itemsize >= _LARGE
        kind = dtype if dtype.char in "VMm" else dtype.char  # records, and units of dates
        self.type_key = (kind, self.ndim, self.layout, self.shifted, readonly, self.align)
        # stands for this array where it must not be kept alive; memory of others may change hands unseen
        own = base is None or type(base) is DeviceNDArray
        self.token = object() if own else None
        # one object for all arrays of the context that the same kernels take; None where launches must look closer
        layout_token = (self.type_key, self.is_large)
        self.layout_token = context.layout_tokens.setdefault(layout_token, layout_token) if own else None

    def _make(self, shape: Any, dtype: Any, strides: Any, stream: Stream | int) -> None:
        """As programs of CUDA-Python make arrays, with new memory: ``DeviceNDArray(shape, strides, dtype)``."""
        if isinstance(dtype, tuple | list | int) and strides is not None:
            dtype, strides = strides, dtype  # by position, which is another one here
        made = device_array(shape, dtype, (strides,) if isinstance(strides, int) else strides, stream=stream)
        for name in DeviceNDArray.__slots__:
            if name != "__weakref__":
                setattr(self, name, getattr(made, name))

    # properties without setters: assigning to them, as NumPy allows, would leave the other facts behind

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, for each axis."""
        return self._strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._dtype

    # facts ----------------------------------------------------------------------------------------------------------

    @property
    def buffer(self) -> Any:
        """The driver's memory, PyOpenCL's buffer where OpenCL is the back end. Raises `ClosedError` after `close`."""
        if self.deferred is not None:
            self.deferred.evaluate()
        owner = self.base if isinstance(self.base, DeviceNDArray) else self
        if owner._buffer is None or self._buffer is None or self.context.closed:
            raise self.context.unusable() or ClosedError(
                "the array's memory was given back", hint="use the array before close()"
            )
        return self._buffer

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def alloc_size(self) -> int:
        """Bytes from the first to the last element: `nbytes`, and the gaps between elements of a strided view."""
        return extent_of(self.shape, self.strides, self.itemsize)[0]

    @property
    def T(self) -> DeviceNDArray:
        """View with the axes reversed."""
        return self.transpose()

    @property
    def flags(self) -> dict[str, bool]:
        """NumPy's contiguity flags."""
        return {
            "C_CONTIGUOUS": self.is_c_contiguous(),
            "F_CONTIGUOUS": self.is_f_contiguous(),
            "WRITEABLE": not self.readonly,
        }

    def is_c_contiguous(self) -> bool:
        """Whether the elements lie in C order without gaps."""
        return is_contiguous(self.shape, self.strides, self.itemsize)

    def is_f_contiguous(self) -> bool:
        """Whether the elements lie in Fortran order without gaps."""
        return is_contiguous(self.shape[::-1], self.strides[::-1], self.itemsize)

    def bind(self, stream: Stream | int = 0) -> DeviceNDArray:
        """The same array whose copies use ``stream`` by default."""
        return self._derive(self._shadow(), stream=as_stream(stream, self.context))

    def as_readonly(self) -> DeviceNDArray:
        """The same array, which neither kernels nor copies can write."""
        return self._derive(self._shadow(), readonly=True)

    def close(self) -> None:
        """Give the memory back now; using the array afterwards raises `ClosedError`."""
        self.deferred = None  # nobody will ask
        buffer, self._buffer = self._buffer, None
        self.layout_token = None
        self.context.epoch = object()
        if self.base is None and buffer is not None:
            self.context.release(buffer)

    def __repr__(self) -> str:
        return f"<DeviceNDArray {self.shape} {self.dtype} on {self.context.device.name}>"

    # views ----------------------------------------------------------------------------------------------------------

    def _shadow(self) -> np.ndarray[Any, Any]:
        """A host array of the same shape and strides whose memory is never touched: NumPy computes views with it."""
        return as_strided(np.empty(1, self.dtype), self.shape, self.strides, writeable=False)

    def _derive(
        self,
        shadow: np.ndarray[Any, Any],
        origin: np.ndarray[Any, Any] | None = None,
        stream: Stream | None = None,
        *,
        readonly: bool = False,
    ) -> DeviceNDArray:
        shift = 0 if origin is None else address_of(shadow) - address_of(origin)
        kind = DeviceRecord if not shadow.shape and shadow.dtype.names else DeviceNDArray
        return kind(
            shadow.shape,
            shadow.dtype,
            shadow.strides,
            self.buffer,
            self.context,
            offset=self.offset + shift,
            base=self if self.base is None else self.base,
            stream=stream or self.stream,
            readonly=self.readonly or readonly,
            allocation_key=self.allocation_key,
        )

    def _seen(
        self,
        asked: Any,
        make: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
        *,
        moves: bool = False,
        readonly: bool = False,
    ) -> DeviceNDArray:
        """The view whose shadow NumPy makes of this array's; ``moves``: it may begin elsewhere.

        ``asked`` tells it from all others of an array that lies like this one, and is looked up; None: nothing does.
        """
        if asked is None or self.token is None or self._dtype.names is not None:
            shadow = self._shadow()
            return self._derive(make(shadow), shadow if moves else None, readonly=readonly)
        key = asked, readonly, self._shape, self._strides, self._dtype, self.offset, self.readonly
        facts = self.context.view_facts.get(key)
        if facts is None:
            shadow = self._shadow()
            view = self._derive(make(shadow), shadow if moves else None, readonly=readonly)
            remember_view(self.context, key, view)
            return view
        made: DeviceNDArray = with_facts(DeviceNDArray, facts)
        made._buffer, made.stream, made.allocation_key = self.buffer, self.stream, self.allocation_key
        made.base = self if self.base is None else self.base
        return made

    def _view(self, key: Any) -> DeviceNDArray:
        return self._seen(key_of(key), lambda shadow: views.indexed(shadow, key), moves=True)

    def broadcast_to(self, shape: Any) -> DeviceNDArray:
        """Read-only view of a broadcast shape. Raises `ShapeError`."""
        return self._broadcast(shape, readonly=True)

    def _broadcast(self, shape: Any, *, readonly: bool = False) -> DeviceNDArray:
        asked = ("broadcast", shape) if are_plain(shape) else None
        return self._seen(asked, lambda shadow: views.broadcast(shadow, shape), readonly=readonly)

    def reshape(self, *newshape: Any, order: str = "C", copy: bool | None = None) -> DeviceNDArray:
        """The elements in another shape: a view where there is one, else, or with ``copy``, a copy, as NumPy's.

        Raises `ShapeError`, and `NotContiguousError` where ``copy`` is False and there is no view.
        """
        if copy:
            return self._copied(order)._reshaped(newshape, order)
        try:
            return self._reshaped(newshape, order)
        except NotContiguousError:
            if copy is False:
                raise
            return self._copied(order)._reshaped(newshape, order)

    def _reshaped(self, newshape: tuple[Any, ...], order: str) -> DeviceNDArray:
        shape = newshape[0] if len(newshape) == 1 and type(newshape[0]) is tuple else newshape
        asked = ("reshape", shape, order) if are_plain(shape) and type(order) is str else None
        return self._seen(asked, lambda shadow: views.reshaped(shadow, newshape, order))

    def _copied(self, order: str) -> DeviceNDArray:
        """A copy whose elements in an order lie side by side."""
        return self.copy(("F" if self.is_f_contiguous() else "C") if order == "A" else order)

    def ravel(self, order: str = "C", stream: Stream | int = 0) -> DeviceNDArray:
        """The elements with one axis: a view where they lie side by side in the order ("C", "F", "A"), else a copy."""
        if order == "A":
            order = "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"
        check_order(order)
        source = self._on(stream)
        if not (self.is_f_contiguous() if order == "F" else self.is_c_contiguous()):
            source = source.copy(order)
        return source._reshaped((self.size,), order)

    def transpose(self, *order: Any, axes: Any = None) -> DeviceNDArray:
        """View with permuted axes: ``transpose(1, 0)``, ``transpose((1, 0))`` or ``transpose(axes=(1, 0))``."""
        if axes is not None and order:
            raise ShapeError("transpose takes the axes once", hint="write transpose(axes=(1, 0)) or transpose(1, 0)")
        given = order if axes is None else (axes,)
        if len(given) == 1 and given[0] is None:
            given = ()
        named = given[0] if len(given) == 1 and type(given[0]) is tuple else given
        asked = ("transpose", named, len(given) == 0) if are_plain(named) else None
        return self._seen(asked, lambda shadow: views.transposed(shadow, given))

    def squeeze(self, axis: Any = None, stream: Stream | int = 0) -> DeviceNDArray:
        """View without axes of length one, or without those named. Raises `ShapeError` for a longer one."""
        asked = ("squeeze", axis) if axis is None or type(axis) is int or are_plain(axis) else None
        return self._on(stream)._seen(asked, lambda shadow: views.squeezed(shadow, axis))

    def _on(self, stream: Stream | int) -> DeviceNDArray:
        return self if _is_default(stream) else self.bind(stream)

    def view(self, dtype: Any) -> DeviceNDArray:
        """View of the same bytes as another dtype. Raises `DTypeError`, or `ShapeError` where the bytes do not fit."""
        kind = checked_dtype(dtype)
        return self._seen(("view", kind) if kind.names is None else None, lambda shadow: views.viewed(shadow, kind))

    def split(self, section: int, stream: Stream | int = 0) -> Iterator[DeviceNDArray]:
        """Views of ``section`` elements each of a 1-D array, the last perhaps shorter. Raises `ShapeError`."""
        source = self._on(stream)
        return (source._view(piece) for piece in views.pieces(self._shadow(), section))

    # copies ---------------------------------------------------------------------------------------------------------

    def copy(self, order: str = "C") -> DeviceNDArray:
        """A contiguous copy on the device: in order "C", "F", or that in which the elements lie ("A", "K")."""
        if order in ("A", "K"):
            order = "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"
        return self._contiguous(self.stream or current_stream(self.context), order)

    def _contiguous(self, stream: Stream, order: str = "C") -> DeviceNDArray:
        result = device_array(self.shape, self.dtype, order=order, context=self.context)
        copy_strided(self, result, stream)
        return result

    def _constant(self, host: np.ndarray[Any, Any]) -> DeviceNDArray:
        """A host array's elements in new memory of this array's context; made beside a graph that is recorded."""
        made = device_array(host.shape, host.dtype, context=self.context)
        with between_streams():
            made.copy_to_device(host)
        return made

    def copy_to_host(self, ary: np.ndarray[Any, Any] | None = None, stream: Stream | int = 0) -> np.ndarray[Any, Any]:
        """Copy to a host array (a new one unless given) and return it: NumPy's, or one that shows its memory by DLPack.

        With a stream other than 0 the copy is asynchronous: synchronise the stream before reading. (A copy to an array
        of another order waits.)
        Raises `ShapeError` or `DTypeError` where ``ary`` does not fit.
        """
        where = self._stream(stream)
        given: np.ndarray[Any, Any]
        if ary is None:
            ary = given = np.empty(self._shape, self._dtype, order="F" if self.layout == "F" else "C")
            if self.layout != "A":
                if self.size:
                    download(self, given.reshape(-1, order="A"), where, blocking=_is_default(stream))
                return given
        else:
            theirs, ary = ary, writable_view(ary)
            given = theirs if is_foreign(theirs) else ary
            check_target(ary, self.shape, self.dtype)
        if self.size == 0:
            return given
        source = self if self.layout != "A" else self._contiguous(where)
        same = (
            source.strides == ary.strides
            or (ary.flags.c_contiguous and source.is_c_contiguous())
            or (ary.flags.f_contiguous and source.is_f_contiguous())
        )
        target = ary if same else np.empty(source.shape, source.dtype, order="F" if source.layout == "F" else "C")
        flat = target.reshape(-1, order="A" if target.flags.c_contiguous or target.flags.f_contiguous else "C")
        download(source, flat, where, blocking=_is_default(stream) or not same)
        if not same:
            ary[...] = target
        return given

    def copy_to_device(self, ary: Any, stream: Stream | int = 0) -> None:
        """Copy a host or device array of the same shape and dtype into this one; another device's through the host.

        With a stream other than 0 the copy is asynchronous: synchronise the stream before changing ``ary``.
        """
        where = self._stream(stream)
        check_writable(self)
        if isinstance(ary, DeviceNDArray):
            if ary.dtype != self.dtype:
                raise DTypeError(f"cannot copy {ary.dtype} to {self.dtype}")
            if may_overlap((ary, self)):  # drivers refuse copies that overlap
                ary = ary._contiguous(where)
            copy_elements(ary._broadcast(self.shape), self, where)
            return
        host = host_array(ary)
        if host.dtype != self.dtype:
            raise DTypeError(f"cannot copy {host.dtype} to {self.dtype}", hint=f"use ary.astype(np.{self.dtype})")
        if host.shape != self.shape:
            raise ShapeError(f"cannot copy shape {host.shape} to shape {self.shape}")
        if self.size == 0:
            return
        target: DeviceNDArray
        order: Literal["C", "F"]
        if self.is_c_contiguous():
            target, order = self, "C"
        elif self.is_f_contiguous():
            target, order = self, "F"
        else:
            target, order = device_array(self.shape, self.dtype, context=self.context), "C"
        source = np.asarray(host, order=order)
        upload(target, source.reshape(-1, order=order), where, blocking=_is_default(stream))
        if target is not self:
            copy_strided(target, self, where)

    def _stream(self, stream: Stream | int) -> Stream:
        if _is_default(stream) and self.stream:
            return self.stream
        return as_stream(stream, self.context)

    # exchange -------------------------------------------------------------------------------------------------------

    def _interface(self, name: str) -> Any:
        """What an interface of the back end's says of this array."""
        self._show()
        return self.context.backend.interface(name, self._stream(0).queue, self)

    def to_pyopencl(self, queue: Any = None) -> Any:
        """A `pyopencl.array.Array` of the same memory, whose methods use ``queue``: PyOpenCL's, or a stream.

        That queue goes on after what the array's own stream has got; without one it is that stream's.
        """
        self._show()
        own = self._stream(0)
        if isinstance(queue, foreign.queues):
            own.go_before(queue)
            return self.context.backend.library_array(queue, self)
        stream = own if queue is None else self._stream(queue)
        if stream is not own:
            stream.wait_stream(own)
        return self.context.backend.library_array(stream.queue, self)

    def _show(self) -> None:
        """Note that another library gets the memory: what is put off may read it, and is computed before."""
        self.context.stop_pooling()  # it may be given back while queues that nobody here knows still work on it
        note_shown(self)
        self.context.unsettled.settle()


class DeviceRecord(DeviceNDArray):
    """One record on the device: ``rec["x"]`` reads a field, ``rec["x"] = 3`` writes it to the device's memory."""

    __slots__ = ()

    def __init__(self, *args: Any, **facts: Any) -> None:
        """As an array, or ``DeviceRecord(dtype)`` with new memory."""
        if len(args) + ("dtype" in facts) == 1:
            args, facts = ((), *args), {"strides": (), **facts}
        super().__init__(*args, **facts)

    def __repr__(self) -> str:
        return f"<DeviceRecord {self.dtype} on {self.context.device.name}>"


def _is_default(stream: Any) -> bool:
    return stream is None or (isinstance(stream, int) and stream == 0)


def device_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: tuple[int, ...] | None = None,
    order: str = "C",
    stream: Stream | int = 0,
    *,
    context: Context | None = None,
) -> DeviceNDArray:
    """An uninitialised array on the device of ``stream``, or of ``context``.

    ``shape`` is an int or a tuple, ``dtype`` NumPy's, also structured; ``order`` is "C" or "F", or ``strides`` gives
    bytes for each axis. Raises `OutOfMemoryError`, `ShapeError`, `DTypeError`.
    """
    where = context or context_of(stream)
    kind = dtype if isinstance(dtype, np.dtype) else checked_dtype(dtype)
    is_usual = strides is None and order == "C" and _is_default(stream)
    if is_usual:
        lookup = (shape,) if type(shape) is int else shape
        if are_plain(lookup) and (facts := where.array_facts.get((lookup, kind))) is not None:
            found: DeviceNDArray = with_facts(DeviceNDArray, facts)
            found._buffer, found.base, found.stream = where.allocate(found.size * found.itemsize), None, 0
            found.allocation_key = next(allocations)
            return found
    extents = checked_shape(shape)
    kind = checked_dtype(kind)
    if is_usual and kind.names is None:
        facts_for(DeviceNDArray, where, extents, kind)  # for the next
    steps = strides_of(extents, kind, order) if strides is None else checked_strides(extents, strides)
    check_stream(stream, where)
    own = None if _is_default(stream) else as_stream(stream, where)
    nbytes, offset = extent_of(extents, steps, kind.itemsize)
    buffer = where.allocate(nbytes)
    made = DeviceNDArray if extents or not kind.names else DeviceRecord
    return made(extents, kind, steps, buffer, where, offset=offset, stream=own)
