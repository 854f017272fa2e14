"""Host memory that a device uses in place: wrapped NumPy arrays, pinned arrays."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import numpy as np
from numpy.lib.array_utils import byte_bounds

from portagpu.backends.handles import Memory
from portagpu.errors import ArgumentTypeError, MemoryNotSharedError, PortaGPUError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.dlpack import shares_with_host
from portagpu.runtime.arrays.layout import checked_dtype, checked_shape, checked_strides, extent_of, strides_of
from portagpu.runtime.arrays.overlap import host_key
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.execution.errors import translate_errors
from portagpu.runtime.execution.ordering import enqueuing
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream

_ALIGNMENT = 128  # bytes, the largest CL_DEVICE_MEM_BASE_ADDR_ALIGN of devices that share host memory
SMALL = 4096  # bytes; below, a copy is as cheap as a wrapper


Span = tuple[int, int, bool]  # first address, the one after the last, whether kernels write there


class Spans(Protocol):
    """Ranges of host memory that launches share with the device."""

    def buffer(self, context: Context, array: np.ndarray[Any, Any]) -> tuple[Memory, int]:
        """The buffer that holds an array, and the array's byte offset in it."""


class SharedSpans:
    """Host memory that one launch shares with the device, as ranges that do not overlap.

    Ranges are rounded outwards, since drivers copy host memory that is not aligned; that stays inside the pages that
    hold the arrays. Arrays whose rounded ranges overlap get one buffer: two over the same memory are undefined.
    """

    def __init__(self, writable: Iterable[np.ndarray[Any, Any]], readonly: Iterable[np.ndarray[Any, Any]] = ()) -> None:
        ranges = [(*_rounded(a), True) for a in writable] + [(*_rounded(a), False) for a in readonly]
        self._ranges = joined_spans(ranges)
        self.longest = max((high - low for low, high, _ in self._ranges), default=0)  # bytes
        self._buffers: dict[int, Memory] = {}

    def _around(self, array: np.ndarray[Any, Any]) -> Span:
        first, last = _rounded(array)
        return next(r for r in self._ranges if r[0] <= first and last <= r[1])

    def extent(self, array: np.ndarray[Any, Any]) -> int:
        """Bytes of the range that holds an array."""
        low, high, _ = self._around(array)
        return high - low

    def buffer(self, context: Context, array: np.ndarray[Any, Any]) -> tuple[Memory, int]:
        """The buffer that holds an array, and the array's byte offset in it."""
        low, high, written = self._around(array)
        if low not in self._buffers:
            self._buffers[low] = host_buffer(context, (low, high, written))
        return self._buffers[low], int(array.__array_interface__["data"][0]) - low


def joined_spans(ranges: Iterable[Span]) -> list[Span]:
    """The same memory as ranges that do not overlap, in ascending order; written where any of them is."""
    found: list[Span] = []
    for low, high, written in sorted(ranges):
        if found and low < found[-1][1]:
            before = found.pop()
            low, high, written = before[0], max(before[1], high), before[2] or written
        found.append((low, high, written))
    return found


def host_buffer(context: Context, span: Span) -> Memory:
    """A buffer over a range of addresses, which is rounded as `rounded_span` does."""
    low, high, written = span
    if active.recorder is not None:
        active.recorder.uses_host()
    with translate_errors(context):
        memory: Memory = context.driver.wrap_host(low, high, written=written)
        return memory


def rounded_span(low: int, high: int, written: bool) -> Span:
    """Addresses from ``low`` to before ``high``, rounded outwards to what drivers share without a copy."""
    return low // _ALIGNMENT * _ALIGNMENT, -(-high // _ALIGNMENT) * _ALIGNMENT, written


def _rounded(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    low, high = byte_bounds(array)
    return rounded_span(low, high, False)[:2]


def wrap_host(
    context: Context, array: np.ndarray[Any, Any], *, spans: SharedSpans, readonly: bool = False
) -> DeviceNDArray | None:
    """The array's own memory as a device array, without a copy; None where the device cannot share it.

    Any strides. The device must use the host's memory, and the array must be writable unless it is wrapped
    ``readonly``. ``spans`` covers all arrays of the launch. Call `map_back` before the host reads what a kernel wrote.
    """
    if not readonly and not array.flags.writeable:
        return None
    if not can_share(context, (array,), array.nbytes, spans=spans):
        return None
    return share_host(context, array, spans=spans, readonly=readonly)


def can_share(
    context: Context,
    arrays: Sequence[np.ndarray[Any, Any]],
    nbytes: int,
    *,
    spans: SharedSpans,
    of_any_size: bool = False,
) -> bool:
    """Whether the device can use these arrays of ``nbytes`` together in place, and a copy is not as cheap."""
    caps = context.capabilities
    small = nbytes < SMALL and not of_any_size
    if not caps.host_unified_memory or small or not all(map(is_shareable, arrays)):
        return False
    # of a view of something larger a copy may do
    return spans.longest <= caps.max_allocation or all(spans.extent(a) <= caps.max_allocation for a in arrays)


def share_host(
    context: Context,
    array: np.ndarray[Any, Any],
    *,
    spans: Spans | None = None,
    readonly: bool | None = None,
    instead_of: np.ndarray[Any, Any] | None = None,
) -> DeviceNDArray:
    """A device array of a host array's memory, on a device for which `wrap_host` says that this works.

    ``instead_of``: the array whose views the kernel takes for this one's, where the caller knows better.
    """
    if readonly is None:
        readonly = not array.flags.writeable
    if spans is None:
        spans = SharedSpans((), (array,)) if readonly else SharedSpans((array,))
    buffer, offset = spans.buffer(context, array)
    return DeviceNDArray(
        array.shape,
        array.dtype,
        array.strides,
        buffer,
        context,
        offset=offset,
        base=array,
        readonly=readonly,
        allocation_key=host_key(array if instead_of is None else instead_of),
        shifted=True,  # where an array happens to lie must not choose the kernel: n arrays would have 2^n of them
    )


def adopt_host(context: Context, host: np.ndarray[Any, Any]) -> DeviceNDArray:
    """A device array of a host array's memory that lives as long as anything on the device uses it.

    Raises `MemoryNotSharedError` for a device that does not use the host's memory.
    """
    if not shares_with_host(context.capabilities) or not host.flags.aligned:
        raise MemoryNotSharedError(
            f"{context.device.name} does not use the host's memory in place",
            hint="pass the array itself to kernels, or copy it: cuda.to_device(x)",
        )
    view = host.view(np.ndarray)
    # when the last array dies that uses it, kernels may still run, and nobody else might keep the memory
    weakref.finalize(view, context.keep, host).atexit = False
    shared = share_host(context, view)
    context.driver.keep_with(shared.buffer, view)  # other libraries' arrays of this memory outlive ours
    context.share_with_host(view)
    return shared


class _Lent:
    """Memory whose owner lends it for a call; a device may use it where it is, also where it may only be read."""

    def __init__(self, address: int, nbytes: int, writable: bool) -> None:
        self.__array_interface__ = {
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, not writable),
            "version": 3,
        }


def lent_array(address: int, shape: tuple[int, ...], dtype: np.dtype[Any], *, writable: bool) -> np.ndarray[Any, Any]:
    """An array in C order of memory that another library lends, which must be in pages that can be written.

    Read-only ones are not copied for launches, as others are; kernels that write them do not compile.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    lent = np.asarray(_Lent(address, nbytes, writable)) if nbytes else np.empty(0, np.uint8)
    found: np.ndarray[Any, Any] = lent.view(dtype).reshape(shape)
    return found


def borrowed_memory(
    context: Context,
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    *,
    readonly: bool,
) -> DeviceNDArray | None:
    """A device array of memory that it does not keep alive; None where `is_shareable` says no. ``strides``: bytes."""
    nbytes, before = extent_of(shape, strides, dtype.itemsize)
    lender = _Lent(address - before, nbytes, True)
    memory: Any = np.asarray(lender)
    array: np.ndarray[Any, Any] = np.ndarray(shape, dtype, buffer=memory, offset=before, strides=strides)
    return share_host(context, array, readonly=readonly) if is_shareable(array) else None


def is_lent(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is one that `lent_array` made, or a view of one."""
    base: Any = array.base
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, _Lent)


def is_shareable(array: np.ndarray[Any, Any]) -> bool:
    """Whether elements start where OpenCL wants them: complex ones at multiples of their size, unlike NumPy's."""
    if array.dtype.kind != "c" or not array.flags.aligned:
        return array.flags.aligned
    return not any(n % array.itemsize for n in (array.__array_interface__["data"][0], *array.strides))


@contextmanager
def finished(stream: Stream) -> Iterator[None]:
    """Around calls that enqueue kernels on host memory: where one raises, those before it end first.

    The exception lets go of arrays that the kernels still read and write.
    """
    try:
        yield
    except BaseException:
        with suppress(PortaGPUError):  # a lost device: the first error tells more
            stream.synchronize()
        raise


def map_back(shared: DeviceNDArray, stream: Stream) -> None:
    """Wait, and make the host see what kernels wrote into memory that both share."""
    map_buffer_back(shared.buffer, stream)


def map_buffer_back(buffer: Memory, stream: Stream) -> None:
    """`map_back` for a buffer of host memory."""
    with enqueuing(stream) as queue:
        stream.context.driver.map_back(queue, buffer)


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> np.ndarray[Any, Any]:
    """An uninitialised NumPy array in page-locked memory, for fast and asynchronous copies.

    ``shape`` is an int or a tuple; ``order`` is "C" or "F", or ``strides`` gives bytes for each axis. Raises
    `ShapeError`, `DTypeError` for a ``dtype`` that no device has, `OutOfMemoryError`.
    """
    context = current_context()
    kind, extents = checked_dtype(dtype), checked_shape(shape)
    steps = strides_of(extents, kind, order) if strides is None else checked_strides(extents, strides)
    nbytes, offset = extent_of(extents, steps, kind.itemsize)
    with enqueuing(context.default_stream) as queue:
        mapped = context.driver.page_locked(queue, nbytes)
    result: np.ndarray[Any, Any] = np.ndarray(extents, kind, buffer=mapped, offset=offset, strides=steps)
    return result


@contextmanager
def pinned(*arrays: np.ndarray[Any, Any]) -> Iterator[None]:
    """Kept for programs of CUDA-Python: OpenCL cannot pin ``arrays`` that exist, so copies inside run as outside.

    Raises `ArgumentTypeError` for what is no NumPy array.
    """
    for array in arrays:
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(f"cuda.pinned takes NumPy arrays, not {type(array).__name__}")
    yield
