"""What a capsule of DLPack says of memory on a card. Layouts: DLPack 1.0, ``dlpack.h``."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from portagpu.dtypes import BFLOAT16
from portagpu.errors import ArgumentTypeError

CARD = 2
CARDS = (CARD, 13)  # memory of a card, and memory that moves between card and host
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}  # NumPy's letters for DLPack's codes
_BFLOAT, _BOOL = 4, 6
_READ_ONLY = 1  # a flag


class _Tensor(ctypes.Structure):
    """`DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
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


class Told(NamedTuple):
    """What a capsule tells; ``strides`` in bytes, ``ordinal`` CUDA's number of the card."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    ordinal: int
    readonly: bool


def read(capsule: Any) -> Told:
    """What a capsule that nobody has consumed tells; it stays as it is, and keeps the memory while it lives.

    Raises `ArgumentTypeError` for elements that kernels do not have.
    """
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    readonly = False
    if '"dltensor_versioned"' in repr(capsule):
        managed = _VersionedTensor.from_address(get(capsule, b"dltensor_versioned"))
        tensor, readonly = managed.tensor, bool(managed.flags & _READ_ONLY)
    else:
        tensor = _Tensor.from_address(get(capsule, b"dltensor"))
    dtype = _dtype(tensor)
    shape = tuple(tensor.shape[n] for n in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[n] * dtype.itemsize for n in range(tensor.ndim))
    else:
        strides = compact_strides(shape, dtype.itemsize)
    address = (tensor.data or 0) + tensor.byte_offset
    return Told(address, shape, strides, dtype, int(tensor.device_id), readonly)


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    if tensor.lanes == 1:
        if (tensor.code, tensor.bits) == (_BFLOAT, 16):
            return BFLOAT16.numpy
        if tensor.code == _BOOL:
            return np.dtype(np.bool_)
        if tensor.code in _KINDS and tensor.bits >= 8:
            return np.dtype(f"{_KINDS[tensor.code]}{tensor.bits // 8}")
    raise ArgumentTypeError(
        f"kernels have no elements of DLPack's kind {tensor.code} with {tensor.bits} bits", hint="convert the array"
    )


def compact_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Bytes from one element to the next for each axis, in C order without gaps."""
    strides, step = [], itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))
