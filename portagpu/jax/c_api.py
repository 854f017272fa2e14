"""The C structures of XLA's foreign function interface (`xla/ffi/api/c_api.h`, API 0), as far as handlers read them.

JAX calls compiled functions by that interface. A handler that Python has made with `ctypes` is one of them: so
operators get the addresses of their arguments and results, and nothing is copied.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any

import numpy as np

from portagpu.dtypes import BFLOAT16

MAJOR = 0
METADATA = 1  # the type of the extension that asks what API a handler was made for
EXECUTE = 3  # the stage in which it computes
STRING = 4  # the type of an attribute
INTERNAL = 13  # the code of an error

_NUMPY = {
    1: np.dtype(np.bool_),
    2: np.dtype(np.int8),
    3: np.dtype(np.int16),
    4: np.dtype(np.int32),
    5: np.dtype(np.int64),
    6: np.dtype(np.uint8),
    7: np.dtype(np.uint16),
    8: np.dtype(np.uint32),
    9: np.dtype(np.uint64),
    10: np.dtype(np.float16),
    11: np.dtype(np.float32),
    12: np.dtype(np.float64),
    15: np.dtype(np.complex64),
    18: np.dtype(np.complex128),
}
_BF16 = 16


def dtype_of(code: int) -> np.dtype[Any] | None:
    """NumPy's dtype of a code of XLA's; None for one that kernels do not have."""
    return BFLOAT16.numpy if code == _BF16 else _NUMPY.get(code)


class Extension(ctypes.Structure):
    """`XLA_FFI_Extension_Base`, and what follows where it asks for metadata."""

    _fields_ = (("struct_size", c_size_t), ("type", c_int), ("next", c_void_p), ("metadata", c_void_p))


class Version(ctypes.Structure):
    """`XLA_FFI_Api_Version`."""

    _fields_ = (("struct_size", c_size_t), ("extension", c_void_p), ("major", c_int), ("minor", c_int))


class Metadata(ctypes.Structure):
    """`XLA_FFI_Metadata`."""

    _fields_ = (("struct_size", c_size_t), ("version", Version), ("traits", c_uint32))


class ErrorArguments(ctypes.Structure):
    """`XLA_FFI_Error_Create_Args`."""

    _fields_ = (("struct_size", c_size_t), ("extension", c_void_p), ("message", c_char_p), ("code", c_int))


CreateError = ctypes.CFUNCTYPE(c_void_p, POINTER(ErrorArguments))


class StreamArguments(ctypes.Structure):
    """`XLA_FFI_Stream_Get_Args`."""

    _fields_ = (("struct_size", c_size_t), ("extension", c_void_p), ("context", c_void_p), ("stream", c_void_p))


GetStream = ctypes.CFUNCTYPE(c_void_p, POINTER(StreamArguments))


class Api(ctypes.Structure):
    """The beginning of `XLA_FFI_Api`."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension", c_void_p),
        ("version", Version),
        ("internal", c_void_p),
        ("create_error", CreateError),
        ("others", c_void_p * 3),
        ("get_stream", GetStream),
    )


class Buffer(ctypes.Structure):
    """`XLA_FFI_Buffer`: an array in C order."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension", c_void_p),
        ("dtype", c_int),
        ("data", c_void_p),
        ("rank", c_int64),
        ("dims", POINTER(c_int64)),
    )


class Buffers(ctypes.Structure):
    """`XLA_FFI_Args` and `XLA_FFI_Rets`."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension", c_void_p),
        ("size", c_int64),
        ("types", POINTER(c_int32)),
        ("items", POINTER(POINTER(Buffer))),
    )


class Bytes(ctypes.Structure):
    """`XLA_FFI_ByteSpan`."""

    _fields_ = (("data", c_void_p), ("size", c_size_t))

    def text(self) -> str:
        """The bytes, which are text in UTF-8."""
        return ctypes.string_at(self.data, self.size).decode()


class Attributes(ctypes.Structure):
    """`XLA_FFI_Attrs`."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension", c_void_p),
        ("size", c_int64),
        ("types", POINTER(c_int32)),
        ("names", POINTER(POINTER(Bytes))),
        ("items", POINTER(c_void_p)),
    )


class CallFrame(ctypes.Structure):
    """`XLA_FFI_CallFrame`: what a handler is called with."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension", POINTER(Extension)),
        ("api", POINTER(Api)),
        ("context", c_void_p),
        ("stage", c_int),
        ("arguments", Buffers),
        ("results", Buffers),
        ("attributes", Attributes),
    )


Handler = ctypes.CFUNCTYPE(c_void_p, POINTER(CallFrame))
