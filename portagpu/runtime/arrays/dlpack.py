"""DLPack export of device arrays: of memory that is the host's, and of memory whose addresses libraries can use."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.dtypes import BFLOAT16
from portagpu.errors import MemoryNotSharedError
from portagpu.runtime.arrays.overlap import note_export, note_shown
from portagpu.runtime.arrays.view import View
from portagpu.runtime.execution.ordering import enqueuing

CPU = (1, 0)  # DLPack's device
_NO_ORDER = -1  # a stream of a consumer that waits for nothing
HOST_KINDS = (CPU[0], 3)  # plain and page-locked host memory
_UINT, _BFLOAT = 1, 4  # DLPack's codes of kinds


def shares_with_host(caps: Capabilities) -> bool:
    """Whether a device's arrays are host memory that needs no calls before the host uses it."""
    return caps.host_unified_memory and caps.device_type is DeviceType.CPU


def device_of(array: View) -> tuple[int, int]:
    """DLPack's device of an array. Raises `MemoryNotSharedError`."""
    shared = _shared(array, _NO_ORDER)
    if shared is not None:
        return shared
    if not shares_with_host(array.context.capabilities):
        raise MemoryNotSharedError(
            f"{array.context.device.name} does not share its memory with other libraries",
            hint="go through the host: x.copy_to_host()",
        )
    return CPU


def _shared(array: View, consumer: int | None) -> tuple[int, int] | None:
    """DLPack's device where libraries use the memory by its address, after the work of all streams."""
    context = array.context
    if not context.driver.shares_addresses:
        return None
    context.unsettled.settle()
    found: tuple[int, int] | None = context.driver.share(context.default_stream.ready(), consumer)
    return found


class _Addressed:
    """Memory of a device as NumPy's arrays describe it, which nobody reads; it keeps the array."""

    def __init__(self, array: View) -> None:
        bits = np.dtype(np.uint16) if array.dtype.name == BFLOAT16.name else array.dtype
        pointer = array.context.driver.pointer(array.buffer)
        assert pointer is not None
        self.__array_interface__ = {
            "shape": array.shape,
            "strides": array.strides,
            "typestr": bits.str,
            "data": (pointer + array.offset, array.readonly),
            "version": 3,
        }
        self._held = array


class _Held:
    """An array's mapped memory. The array lives as long: with it the block would go to the next one that is made."""

    def __init__(self, mapped: np.ndarray[Any, Any], array: View) -> None:
        self.__array_interface__ = mapped.__array_interface__
        self._held = mapped, array


def host_view(array: View) -> np.ndarray[Any, Any]:
    """The array's own memory as a NumPy array, after the work of all streams; it keeps the memory alive.

    Raises `MemoryNotSharedError`.
    """
    device_of(array)
    if array.dtype.names is not None:
        raise MemoryNotSharedError("DLPack has no records", hint="share one field: x['name']")
    buffer = array.buffer
    with enqueuing(array.context.default_stream) as queue:
        mapped, begin = array.context.driver.host_view(queue, buffer)
    result: np.ndarray[Any, Any] = np.ndarray(
        array.shape, array.dtype, buffer=np.asarray(_Held(mapped, array)), offset=array.offset, strides=array.strides
    )
    result.flags.writeable = not array.readonly
    note_export(array.allocation_key, mapped, begin)
    array.context.share_with_host(mapped)
    note_shown(array)
    return result


# bfloat16, of which NumPy's own DLPack knows nothing: its bits, under another code ----------------------------------


class _Tensor(ctypes.Structure):
    """`DLTensor` of dlpack.h, version 1, as far as its dtype."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _VersionedTensor(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


def _tensor(capsule: Any) -> _Tensor:
    """What a capsule of DLPack that nobody has consumed describes."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    if '"dltensor_versioned"' in repr(capsule):
        versioned = _VersionedTensor.from_address(get(capsule, b"dltensor_versioned"))
        return _Tensor.from_address(ctypes.addressof(versioned) + _VersionedTensor.tensor.offset)
    return _Tensor.from_address(get(capsule, b"dltensor"))


def exported(array: Any, options: dict[str, Any]) -> Any:
    """The capsule of a device array's own memory, or, where the host is asked for and has no part in it, of a copy.

    Raises `MemoryNotSharedError`.
    """
    is_far = array.context.driver.shares_addresses or not shares_with_host(array.context.capabilities)
    if options.get("dl_device") == CPU and is_far and options.get("copy") is not False:
        if array.dtype.names is not None:
            raise MemoryNotSharedError("DLPack has no records", hint="copy one field: x['name']")
        return _capsule(array.copy_to_host(), {"max_version": options.get("max_version")})
    if options.get("copy") and array.context.driver.shares_addresses:
        array = array.copy()
    device = _shared(array, options.get("stream"))
    if device is not None:
        return _exported_address(array, device, options)
    return _capsule(host_view(array), options)


def _capsule(host: np.ndarray[Any, Any], options: dict[str, Any]) -> Any:
    """NumPy's capsule of memory of the host."""
    is_bfloat16 = host.dtype.name == BFLOAT16.name
    try:
        capsule: Any = (host.view(np.uint16) if is_bfloat16 else host).__dlpack__(**options)
    except BufferError as error:  # read-only memory, of which older versions know nothing, or dates
        raise MemoryNotSharedError(f"this array of {host.dtype}: {error}", hint="share a copy: x.copy()") from None
    if is_bfloat16:
        _tensor(capsule).code = _BFLOAT
    return capsule


def _exported_address(array: View, device: tuple[int, int], options: dict[str, Any]) -> Any:
    """The capsule of memory with an address: NumPy's for an array that claims to be there, and the true device."""
    if array.dtype.names is not None:
        raise MemoryNotSharedError("DLPack has no records", hint="share one field: x['name']")
    if options.get("dl_device") not in (None, device):
        raise MemoryNotSharedError(
            f"memory of DLPack's device {device} is not that of {options['dl_device']}",
            hint="leave dl_device= and copy=False away, or copy it there: x.to_device(...)",
        )
    note_shown(array)
    claimed = np.asarray(_Addressed(array))
    capsule: Any = claimed.__dlpack__(max_version=options.get("max_version"))
    tensor = _tensor(capsule)
    tensor.device[0], tensor.device[1] = device
    if array.dtype.name == BFLOAT16.name:
        tensor.code = _BFLOAT
    return capsule


class _AsBits:
    """An exporter whose bfloat16 numbers are uint16."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self.is_bfloat16 = False

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._owner.__dlpack__(**options)
        tensor = _tensor(capsule)
        if (tensor.code, tensor.bits, tensor.lanes) == (_BFLOAT, 16, 1):
            self.is_bfloat16 = True
            tensor.code = _UINT
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._owner.__dlpack_device__()
        return device


def imported(obj: Any) -> np.ndarray[Any, Any]:
    """The memory of an object with ``__dlpack__`` as a NumPy array, as `numpy.from_dlpack`, which lacks bfloat16.

    Raises `DTypeError` where that is wanted and `ml_dtypes` is not installed.
    """
    bits = _AsBits(obj)
    host = np.from_dlpack(bits)
    return host.view(BFLOAT16.numpy) if bits.is_bfloat16 else host
