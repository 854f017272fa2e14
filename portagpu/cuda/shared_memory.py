"""Arrays that host and kernels use alike: `mapped_array`, `managed_array` and `mapped`.

They are NumPy arrays. A launch that gets one sees what the host wrote and returns when the host sees what the kernel
wrote: on devices that share the host's memory without a copy, elsewhere by copies from and to page-locked memory. So
such launches wait, and a kernel cannot talk with the host while it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays import views
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import check_stream, check_target, host_array
from portagpu.runtime.arrays.creation import strides_of_one_like
from portagpu.runtime.arrays.cuda_array_interface import described_host
from portagpu.runtime.arrays.host_memory import pinned_array
from portagpu.runtime.arrays.layout import extent_of
from portagpu.runtime.execution.context import context_of, current_context
from portagpu.runtime.execution.stream import Stream


class SharedNDArray(np.ndarray[Any, Any]):
    """A NumPy array with the copying methods of a device array."""

    stream: Stream | Literal[0] = 0  # the one it was made for

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA Array Interface; its pointer is that of the host's memory."""
        return described_host(self, self.stream)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Results of NumPy's functions are plain arrays."""
        return array[()] if return_scalar else np.asarray(array)

    @property
    def alloc_size(self) -> int:
        """Bytes from the first to the last element."""
        return extent_of(self.shape, self.strides, self.itemsize)[0]

    def is_c_contiguous(self) -> bool:
        """Whether the elements lie in C order without gaps."""
        return bool(self.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Whether the elements lie in Fortran order without gaps."""
        return bool(self.flags.f_contiguous)

    def bind(self, stream: Stream | int = 0) -> SharedNDArray:
        """The array itself: it is the same in all streams."""
        check_stream(stream, current_context())
        return self

    def copy_to_host(self, ary: np.ndarray[Any, Any] | None = None, stream: Stream | int = 0) -> np.ndarray[Any, Any]:
        """Copy to a plain array (a new one unless given) and return it, after what the stream does."""
        _wait(stream)
        if ary is None:
            return np.array(self, order="K", subok=False)
        check_target(ary, self.shape, self.dtype)
        ary[...] = self
        return ary

    def copy_to_device(self, ary: Any, stream: Stream | int = 0) -> None:
        """Copy a host or device array of the same shape and dtype into this one, after what the stream does."""
        _wait(stream)
        if isinstance(ary, DeviceNDArray):
            ary.copy_to_host(self)
            return
        source = host_array(ary)
        check_target(self, source.shape, source.dtype)
        self[...] = source

    def split(self, section: int, stream: Stream | int = 0) -> Iterator[Any]:
        """Views of ``section`` elements each of a 1-D array, the last perhaps shorter. Raises `ShapeError`."""
        check_stream(stream, current_context())
        return (self[piece] for piece in views.pieces(self, section))


class MappedNDArray(SharedNDArray):
    """Host memory that kernels use; see `mapped_array`."""


class ManagedNDArray(SharedNDArray):
    """Memory that host and kernels use; see `managed_array`."""


def _wait(stream: Stream | int) -> None:
    if isinstance(stream, Stream):
        stream.synchronize()


def mapped_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Stream | int = 0,
    portable: bool = False,
    wc: bool = False,
) -> MappedNDArray:
    """An uninitialised NumPy array that kernels use in place or through page-locked memory.

    ``shape`` is an int or a tuple; ``order`` is "C" or "F", or ``strides`` gives bytes for each axis. It is for the
    device of ``stream``. ``portable`` and ``wc`` mean nothing to OpenCL. Raises `ShapeError`, `DTypeError` for a
    ``dtype`` that no device has, `OutOfMemoryError`.
    """
    with context_of(stream):
        made = pinned_array(shape, dtype, strides, order).view(MappedNDArray)
    made.stream = stream if isinstance(stream, Stream) else 0
    return made


def mapped_array_like(ary: Any, stream: Stream | int = 0, portable: bool = False, wc: bool = False) -> MappedNDArray:
    """A `mapped_array` of the shape, dtype and order of ``ary``; ``stream``, ``portable`` and ``wc`` as there.

    Raises `ArgumentTypeError` for what is no array.
    """
    strides = strides_of_one_like("mapped_array_like", ary)
    return mapped_array(ary.shape, ary.dtype, strides=strides, stream=stream)


def managed_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Stream | int = 0,
    attach_global: bool = True,
) -> ManagedNDArray:
    """An uninitialised NumPy array that kernels use in place or through copies.

    ``shape``, ``dtype``, ``strides``, ``order``, ``stream`` and what is raised are as with `mapped_array`;
    ``attach_global`` means nothing to OpenCL.
    """
    with context_of(stream):
        made = pinned_array(shape, dtype, strides, order).view(ManagedNDArray)
    made.stream = stream if isinstance(stream, Stream) else 0
    return made


def pinned_array_like(ary: Any) -> np.ndarray[Any, Any]:
    """A `pinned_array` of the shape, dtype and order of ``ary``. Raises `ArgumentTypeError` for what is no array."""
    strides = strides_of_one_like("pinned_array_like", ary)
    return pinned_array(ary.shape, ary.dtype, strides)


@contextmanager
def mapped(
    *arylist: np.ndarray[Any, Any], stream: Stream | int = 0, portable: bool = False, wc: bool = False
) -> Iterator[Any]:
    """Context manager: the NumPy arrays of ``arylist`` for kernels, whose results appear in them.

    It gives one array, or a list; at its end it waits for ``stream``. ``portable`` and ``wc`` mean nothing to OpenCL.
    Raises `ArgumentTypeError` for what is no NumPy array.
    """
    for ary in arylist:
        if not isinstance(ary, np.ndarray):
            raise ArgumentTypeError(
                f"cuda.mapped takes NumPy arrays, not {type(ary).__name__}", hint="use np.asarray(...)"
            )
    found = [ary.view(MappedNDArray) for ary in arylist]
    yield found[0] if len(found) == 1 else found
    _wait(stream)
