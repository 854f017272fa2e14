"""Methods of device arrays that copy: on the device, to the host and from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from portagpu.errors import DTypeError, ShapeError
from portagpu.runtime.arrays.checks import check_target, check_writable, host_array, is_default, writable_view
from portagpu.runtime.arrays.copies import copy_elements, copy_strided, download, upload
from portagpu.runtime.arrays.foreign import is_foreign
from portagpu.runtime.arrays.layout import inverse, memory_order
from portagpu.runtime.arrays.methods.base import ArrayBase
from portagpu.runtime.arrays.overlap import may_overlap
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.recorder import between_streams
from portagpu.runtime.execution.stream import Stream, as_stream

if TYPE_CHECKING:
    from typing_extensions import Self


class ArrayCopies(ArrayBase):
    """Methods of `DeviceNDArray` that copy elements, in stream order."""

    __slots__ = ()

    def copy(self, order: str = "C") -> Self:
        """A copy on the device without gaps, in order "C", "F", "K" (that of the axes), or "A" (C or F). As NumPy's."""
        if order == "K" and (axes := memory_order(self.shape, self.strides, self.itemsize)) is not None:
            copied: Self = self.transpose(axes).copy().transpose(inverse(axes))  # type: ignore[attr-defined]
            return copied
        if order in ("A", "K"):
            order = "F" if self.is_f_contiguous() and not self.is_c_contiguous() else "C"
        return self._contiguous(self.stream or current_stream(self.context), order)

    def _contiguous(self, stream: Stream, order: str = "C") -> Self:
        result = self._empty(self.shape, self.dtype, order)
        copy_strided(self, result, stream)
        return result

    def _constant(self, host: np.ndarray[Any, Any]) -> Self:
        """A host array's elements in new memory of this array's context; made beside a graph that is recorded."""
        made = self._empty(host.shape, host.dtype)
        with between_streams():
            made.copy_to_device(host)
        return made

    def copy_to_host(self, ary: np.ndarray[Any, Any] | None = None, stream: Stream | int = 0) -> np.ndarray[Any, Any]:
        """Copy to a host array (a new one unless given) and return it: NumPy's, or one that shows its memory by DLPack.

        A new array has the order of the device array's axes (order "K", as ``numpy.array``).
        With a stream other than 0 the copy is asynchronous: synchronise the stream before reading. (A copy to an array
        of another order waits.)
        Raises `ShapeError` or `DTypeError` where ``ary`` does not fit.
        """
        where = self._stream(stream)
        given: np.ndarray[Any, Any]
        if ary is None:
            if self.layout == "A" and (axes := memory_order(self.shape, self.strides, self.itemsize)) is not None:
                turned: Self = self.transpose(axes)  # type: ignore[attr-defined]
                given = turned.copy_to_host(stream=stream).transpose(inverse(axes))
                return given
            ary = given = np.empty(self._shape, self._dtype, order="F" if self.layout == "F" else "C")
            if self.layout != "A":
                if self.size:
                    download(self, given.reshape(-1, order="A"), where, blocking=is_default(stream))
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
        download(source, flat, where, blocking=is_default(stream) or not same)
        if not same:
            ary[...] = target
        return given

    def copy_to_device(self, ary: Any, stream: Stream | int = 0) -> None:
        """Copy a host or device array of the same shape and dtype into this one; another device's through the host.

        With a stream other than 0 the copy is asynchronous: synchronise the stream before changing ``ary``.
        """
        where = self._stream(stream)
        check_writable(self)
        if isinstance(ary, ArrayCopies):
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
        target: ArrayCopies
        order: Literal["C", "F"]
        if self.is_c_contiguous():
            target, order = self, "C"
        elif self.is_f_contiguous():
            target, order = self, "F"
        else:
            target, order = self._empty(self.shape, self.dtype), "C"
        source = np.asarray(host, order=order)
        upload(target, source.reshape(-1, order=order), where, blocking=is_default(stream))
        if target is not self:
            copy_strided(target, self, where)

    def _stream(self, stream: Stream | int) -> Stream:
        if is_default(stream) and self.stream:
            return self.stream
        return as_stream(stream, self.context)
