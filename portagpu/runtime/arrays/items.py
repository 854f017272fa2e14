"""Subscripts of device arrays on the host: views, elements, assignments, in stream order."""

from __future__ import annotations

from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError
from portagpu.runtime.arrays.checks import assignable, host_array
from portagpu.runtime.arrays.copies import copy_elements, fill_bytes
from portagpu.runtime.arrays.element_reads import note_element
from portagpu.runtime.arrays.overlap import may_overlap
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream

if TYPE_CHECKING:
    from typing_extensions import Self

_VALUES = (bool, int, float, complex, str, bytes, list, tuple, np.generic)  # what is copied when it is assigned
_LEAST_FILL = 4096  # bytes: fewer come from the host as quickly


class ArrayItems:
    """Subscripts of `DeviceNDArray`."""

    __slots__ = ()

    # what the arrays bring
    ndim: int
    readonly: bool
    context: Context
    stream: Stream | Literal[0]
    allocation_key: int
    copy_to_host: Any
    copy_to_device: Any
    _broadcast: Any
    _contiguous: Any
    _constant: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        raise NotImplementedError

    def _view(self, key: Any) -> Any:
        raise NotImplementedError

    def _stream(self, stream: Stream | int) -> Stream:
        raise NotImplementedError

    @overload
    def __getitem__(self, key: slice | EllipsisType) -> Self: ...
    @overload
    def __getitem__(self, key: Any) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        return self.getitem(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, ArrayItems):
            self.setitem(key, value)
        elif self.stream:  # nobody waits for it, so what the program may change meanwhile is copied first
            self.setitem(key, value if isinstance(value, _VALUES) else np.array(host_array(value)))
        else:
            self.setitem(key, value, self.context.default_stream)
            self.context.default_stream.synchronize()

    def getitem(self, item: Any, stream: Stream | int = 0) -> Any:
        """``self[item]``: a view, or one element, copied to the host in a stream and waited for."""
        found = self._view(item)
        is_record = found.dtype.names is not None
        is_view = self.ndim == 0 and self.dtype.names is None and item != ()  # x[...]: as NumPy's
        if found.ndim == 0 and not is_record and not is_view:
            where = self._stream(stream)
            host = found.copy_to_host(stream=where)
            where.synchronize()
            note_element(self.context)
            return host[()]
        return found

    def setitem(self, key: Any, value: Any, stream: Stream | int = 0) -> None:
        """``self[key] = value``; with a stream other than 0, synchronise it before changing a host array ``value``."""
        target = self._view(key)
        if self.readonly:
            raise ArgumentTypeError("the array is read-only")
        if not isinstance(value, ArrayItems):
            host = assignable(value, target.dtype, target.shape)
            if not isinstance(value, _VALUES) or not self._fill(target, host, self._stream(stream)):
                target.copy_to_device(host, stream)
            return
        if value.dtype != target.dtype:
            raise DTypeError(f"cannot copy {value.dtype} into {target.dtype}", hint="convert with a kernel first")
        where = self._stream(stream)
        source = value._broadcast(target.shape)
        if may_overlap((source, target)):
            source = source._contiguous(where)
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
