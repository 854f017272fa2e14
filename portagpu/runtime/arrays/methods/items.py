"""Subscripts of device arrays on the host: views, elements, assignments, in stream order."""

from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from portagpu.backends.registry import foreign
from portagpu.runtime.arrays import numpy_dispatch
from portagpu.runtime.arrays.checks import assignable, check_writable, host_array
from portagpu.runtime.arrays.copies import copied_if_shared, copy_elements, fill_bytes
from portagpu.runtime.arrays.cuda_array_interface import has_interface
from portagpu.runtime.arrays.dlpack import HOST_KINDS
from portagpu.runtime.arrays.foreign import dlpack_kind, is_foreign
from portagpu.runtime.arrays.methods.base import ArrayBase
from portagpu.runtime.arrays.methods.element_reads import note_element
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Self

_VALUES = (bool, int, float, complex, str, bytes, list, tuple, np.generic)  # what is copied when it is assigned
_NUMBERS = (bool, int, float, complex, np.number)
_LEAST_FILL = 4096  # bytes: fewer come from the host as quickly


_PLAIN = frozenset({int, slice, type(None), EllipsisType, np.int64, np.int32})


def gathers(key: Any) -> bool:
    """Whether a subscript has arrays of integers or of bools, or bools: it gives no view."""
    for item in key if isinstance(key, tuple) else (key,):
        if type(item) in _PLAIN:
            continue
        if isinstance(item, list | tuple | bool | np.bool_):
            return True
        if getattr(item, "ndim", 0) or getattr(getattr(item, "dtype", None), "kind", "") == "b":
            return True
    return False


def _has_array(key: Any) -> bool:
    """Whether a subscript that gathers nothing has an array without axes: it gives a copy, as NumPy's do."""
    for item in key if isinstance(key, tuple) else (key,):
        if type(item) not in _PLAIN and not isinstance(item, np.generic) and getattr(item, "ndim", None) == 0:
            return True
    return False


def _is_elsewhere(value: Any) -> bool:
    """Whether a value, none of `_VALUES`, is an array of another library's in memory of a device."""
    if isinstance(value, np.ndarray | ArrayItems):
        return False
    if isinstance(value, foreign.arrays) or has_interface(value):
        return True
    return is_foreign(value) and dlpack_kind(value, "the value") not in HOST_KINDS


def _has_dots(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, tuple) and any(item is Ellipsis for item in key))


class ArrayItems(ArrayBase):
    """Subscripts of `DeviceNDArray`."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: slice | EllipsisType) -> Self: ...
    @overload
    def __getitem__(self, key: Any) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        return self.getitem(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, ArrayItems):
            self.setitem(key, value)
        elif gathers(key):
            numpy_dispatch.call("setitem", self, key, value)
        elif not isinstance(value, _VALUES) and _is_elsewhere(value):
            self.setitem(key, value)
        elif self.stream:  # nobody waits for it, so what the program may change meanwhile is copied first
            self.setitem(key, value if isinstance(value, _VALUES) else np.array(host_array(value)))
        else:
            where = current_stream(self.context)
            self.setitem(key, value, where)
            # a number needs no more waiting, but for those that look at the memory in their own order
            if not isinstance(value, _NUMBERS) or self.token is None or self.allocation_key in self.context.shown:
                where.synchronize()

    def getitem(self, item: Any, stream: Stream | int = 0) -> Any:
        """``self[item]``: a view, or one element, copied to the host in a stream and waited for.

        With an ellipsis always a view; arrays in ``item`` give a new array, also those without axes.
        """
        if gathers(item):
            return numpy_dispatch.call("getitem", self, item)
        found = self._view(item)
        if found.ndim == 0 and found.dtype.names is None and not _has_dots(item):
            host = found.copy_to_host(stream=stream)
            if not isinstance(stream, int) or stream:
                self._stream(stream).synchronize()
            note_element(self.context)
            return host[()]
        return found.copy("K") if _has_array(item) else found

    def setitem(self, key: Any, value: Any, stream: Stream | int = 0) -> None:
        """``self[key] = value``; with a stream other than 0, synchronise it before changing a host array ``value``."""
        if gathers(key):
            numpy_dispatch.call("setitem", self, key, value)
            return
        if isinstance(value, ArrayItems) and not self.readonly and self._is_part(key, value):
            return  # x[key] += y has written there
        target = self._view(key)
        check_writable(target)
        where = self._stream(stream)
        is_here = where is current_stream(self.context) and target.dtype.kind in "biufc"
        if not isinstance(value, _VALUES) and _is_elsewhere(value):
            numpy_dispatch.call("assign", target, value)
            return
        if not isinstance(value, ArrayItems):
            if isinstance(value, np.ndarray) and (target.ndim or _has_dots(key)):
                value = _without_outer_axes(value, target.ndim)
            host = assignable(value, target.dtype, target.shape, to_elements=True)
            if isinstance(value, _VALUES) and self._fill(target, host, where):
                return
            if is_here and isinstance(value, _NUMBERS):
                numpy_dispatch.call("assign", target, value)  # no copy, which would wait for what was launched
            else:
                target.copy_to_device(host, stream)
            return
        if is_here and (value.deferred is not None or value.dtype != target.dtype):
            numpy_dispatch.call("assign", target, value)
            return
        if value.dtype != target.dtype:
            value = numpy_dispatch.call("convert", value, target.dtype)
        if _is_same(value, target):  # x[k] += y has written there
            return
        is_bytes = value.layout == target.layout != "A" and value.shape == target.shape
        if is_here and not is_bytes and value.context is self.context and active.recorder is None:
            numpy_dispatch.call("assign", target, value)
            return
        source = copied_if_shared(value._broadcast(target.shape), target, where)
        copy_elements(source, target, where)

    def _fill(self, target: Any, host: np.ndarray[Any, Any], stream: Stream) -> bool:
        """Assign on the device what no array of the host's holds, if that pays or is recorded; whether that was done.

        A graph of launches keeps the value: it has no copies from the host.
        """
        recorded = active.recorder is not None
        if not target.size or not (recorded or target.nbytes >= _LEAST_FILL):
            return False
        own = host[tuple(slice(1) if step == 0 else slice(None) for step in host.strides)]  # without what is repeated
        held = set(own.tobytes()) if own.size == 1 and not own.dtype.hasobject else set()
        if len(held) == 1 and (target.is_c_contiguous() or target.is_f_contiguous()):
            fill_bytes(target, held.pop(), stream)
        elif recorded:
            copy_elements(target._constant(own)._broadcast(target.shape), target, stream)
        else:
            return False
        return True


def _without_outer_axes(value: np.ndarray[Any, Any], axes: int) -> np.ndarray[Any, Any]:
    """An array without axes of one element in front of its last ones: views take it, single elements do not."""
    while value.ndim > axes and value.shape[0] == 1:
        value = value[0, ...]
    return value


def _is_same(x: Any, y: Any) -> bool:
    if x.allocation_key != y.allocation_key or x.buffer is not y.buffer:
        return False
    places = ((a.offset, a.shape, a.strides, a.dtype) for a in (x, y))
    return next(places) == next(places)
