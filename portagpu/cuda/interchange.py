"""Arrays of other libraries: DLPack where they are in host memory, typed errors where they are CUDA's."""

from __future__ import annotations

from typing import Any

from portagpu.backends.registry import foreign, of_dlpack
from portagpu.errors import ArgumentTypeError, MemoryNotSharedError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import as_device_array, from_interface, to_device
from portagpu.runtime.arrays.dlpack import shares_with_host
from portagpu.runtime.arrays.foreign import shared_view
from portagpu.runtime.arrays.host_memory import adopt_host
from portagpu.runtime.execution.context import current_context


def from_dlpack(obj: Any) -> DeviceNDArray:
    """A device array of ``obj``, which has ``__dlpack__``.

    What is in host memory is shared by CPU devices, and copied to others; what is in a card's memory is shared through
    the back end `cuda`, what is in that of a SYCL device through `sycl`. Raises `MemoryNotSharedError` for memory of
    other devices.
    """
    if isinstance(obj, DeviceNDArray):
        return obj
    if isinstance(obj, foreign.arrays):
        return as_device_array(obj)
    if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
        raise ArgumentTypeError(f"{type(obj).__name__} has no __dlpack__", hint="use cuda.to_device(np.asarray(x))")
    backend = of_dlpack(obj.__dlpack_device__()[0])
    if backend is not None:
        return as_device_array(backend.from_dlpack(obj))
    try:
        host = shared_view(obj, "the array")
    except ArgumentTypeError as error:
        raise MemoryNotSharedError(error.message, hint=error.hint) from None
    context = current_context()
    if shares_with_host(context.capabilities) and host.size and host.flags.aligned:
        return adopt_host(context, host)
    return to_device(host)


def from_cuda_array_interface(desc: Any, owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """A device array of the memory that ``desc``, a CUDA Array Interface, describes, without copying.

    The memory is that of one of our device arrays, which ``owner`` may wrap, or a card's, which ``owner`` keeps and the
    back end `cuda` uses. Pointers of CUDA mean nothing to OpenCL.
    With ``sync``, the stream that the description names is waited for. Raises `MemoryNotSharedError` for memory of
    CUDA's libraries, `ArgumentTypeError` for what is no description.
    """
    return from_interface(desc, owner, sync=sync)
