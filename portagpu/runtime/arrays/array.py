"""Arrays in device memory, with NumPy's views and names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.lib.stride_tricks import as_strided

from portagpu.backends.registry import foreign
from portagpu.errors import ClosedError
from portagpu.runtime.arrays.checks import check_stream, is_default
from portagpu.runtime.arrays.facts import (
    are_plain,
    facts_for,
    facts_token_of,
    layout_token_of,
    lies_as,
    remember_view,
    with_facts,
)
from portagpu.runtime.arrays.layout import (
    Flags,
    address_of,
    alignment_of,
    checked_dtype,
    checked_shape,
    checked_strides,
    extent_of,
    is_contiguous,
    layout_of,
    strides_of,
)
from portagpu.runtime.arrays.methods.copying import ArrayCopies
from portagpu.runtime.arrays.methods.elements import ArrayElements
from portagpu.runtime.arrays.methods.items import ArrayItems
from portagpu.runtime.arrays.methods.operators import ArrayOperators
from portagpu.runtime.arrays.methods.reductions import ArrayReductions
from portagpu.runtime.arrays.methods.reshaping import ArrayReshaping
from portagpu.runtime.arrays.overlap import note_shown
from portagpu.runtime.execution.context import Context, context_of
from portagpu.runtime.execution.cuda_members import ArrayNames
from portagpu.runtime.execution.deferred import Deferred
from portagpu.runtime.execution.stream import Stream, as_stream

_LARGE = 2**30  # elements; larger arrays need 64-bit subscripts
allocations = itertools.count()


class DeviceNDArray(
    ArrayReshaping, ArrayCopies, ArrayItems, ArrayElements, ArrayReductions, ArrayOperators, ArrayNames
):
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
        "facts_token",
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
        self.layout_token = layout_token_of(self) if own else None
        self.facts_token = facts_token_of(self) if own else None

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
    def flags(self) -> Flags:
        """NumPy's flags, by name, ``x.flags["C_CONTIGUOUS"]``, and as attributes, ``x.flags.c_contiguous``."""
        return Flags(
            C_CONTIGUOUS=self.is_c_contiguous(), F_CONTIGUOUS=self.is_f_contiguous(), WRITEABLE=not self.readonly
        )

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

    def _has_view(self, asked: Any, view: DeviceNDArray) -> bool:
        """Whether an array is a view of this one that `_seen` was asked for; False, too, where nobody remembers."""
        if asked is None or view.allocation_key != self.allocation_key or view._buffer is not self._buffer:
            return False
        key = asked, False, self._shape, self._strides, self._dtype, self.offset, self.readonly
        facts = self.context.view_facts.get(key)
        return facts is not None and lies_as(view, facts)

    def _empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: str = "C") -> DeviceNDArray:
        """New memory of this array's context."""
        return device_array(shape, dtype, order=order, context=self.context)

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
    is_usual = strides is None and order == "C" and is_default(stream)
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
    own = None if is_default(stream) else as_stream(stream, where)
    nbytes, offset = extent_of(extents, steps, kind.itemsize)
    buffer = where.allocate(nbytes)
    made = DeviceNDArray if extents or not kind.names else DeviceRecord
    return made(extents, kind, steps, buffer, where, offset=offset, stream=own)
