"""Arrays of other libraries: DLPack where they are in host memory, typed errors where they are CUDA's."""

from __future__ import annotations

from typing import Any

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import from_dlpack as shared_or_copied
from portagpu.runtime.arrays.creation import from_interface


def from_dlpack(obj: Any) -> DeviceNDArray:
    """A device array of ``obj``, which has ``__dlpack__``.

    What is in host memory is shared by CPU devices, and copied to others; what is in a card's memory is shared through
    the back end `cuda`, what is in that of a SYCL device through `sycl`. Raises `MemoryNotSharedError` for memory of
    other devices.
    """
    return shared_or_copied(obj)


def from_cuda_array_interface(desc: Any, owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """A device array of the memory that ``desc``, a CUDA Array Interface, describes, without copying.

    The memory is that of one of our device arrays, which ``owner`` may wrap, or a card's, which ``owner`` keeps and the
    back end `cuda` uses. Pointers of CUDA mean nothing to OpenCL.
    With ``sync``, the stream that the description names is waited for. Raises `MemoryNotSharedError` for memory of
    CUDA's libraries, `ArgumentTypeError` for what is no description.
    """
    return from_interface(desc, owner, sync=sync)
