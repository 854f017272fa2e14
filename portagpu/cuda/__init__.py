"""The kernel language: CUDA-Python's vocabulary on any OpenCL device.

``from portagpu import cuda`` takes the place of ``from numba import cuda``.
"""

from __future__ import annotations

import builtins
import sys
from importlib import import_module
from typing import Any

from portagpu import dtypes
from portagpu.cuda.host import *  # noqa: F403
from portagpu.cuda.host import __all__ as _host_names
from portagpu.dialect.names import INTRINSICS, VectorMaker
from portagpu.dialect.names import Intrinsic as Intrinsic
from portagpu.dialect.names import atomic as atomic
from portagpu.dialect.names import blockDim as blockDim
from portagpu.dialect.names import blockIdx as blockIdx
from portagpu.dialect.names import cg as cg
from portagpu.dialect.names import const as const
from portagpu.dialect.names import constexpr as constexpr
from portagpu.dialect.names import gridDim as gridDim
from portagpu.dialect.names import local as local
from portagpu.dialect.names import shared as shared
from portagpu.dialect.names import threadIdx as threadIdx
from portagpu.dispatch.decorators import jit as jit
from portagpu.dispatch.dispatcher import Dispatcher as Dispatcher
from portagpu.errors import unknown_attribute
from portagpu.types import (  # noqa: F401 - named in __all__ below
    NAMES,
    Array,
    NestedArray,
    Record,
    Tuple,
    UniTuple,
    as_dtype,
    bfloat16,
    boolean,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    from_dtype,
    int8,
    int16,
    int32,
    int64,
    none,
    uint8,
    uint16,
    uint32,
    uint64,
    void,
)

# other names of types, such as `intp`, `double` or `f4`
_TYPES = {name: kind for name, kind in NAMES.items() if name not in globals() and not hasattr(builtins, name)}
globals().update(_TYPES)
globals().update(INTRINSICS)  # `__init__.pyi`, made from the same table, has them for type checkers

_VECTOR_LANES = (1, 2, 3, 4, 8, 16)
_vectors: dict[str, VectorMaker] = {}
for _dtype in dtypes.ALL:
    if _dtype is not dtypes.BOOL and not _dtype.is_complex:
        for _lanes in _VECTOR_LANES:
            _made = VectorMaker(_dtype, _lanes)
            _vectors.update(dict.fromkeys((_made.name, *_made.aliases), _made))
globals().update(_vectors)


# what programs use now and then, by the module that has it; these modules use the names of this one
_LATER_BY_MODULE: dict[str, str] = {
    "cuda.kernels.reduction": "Reduce reduce",
    "ufuncs.decorators": "vectorize guvectorize",
    "dispatch.arguments.typeof": "typeof",
    "cuda.shared_memory": "mapped mapped_array mapped_array_like managed_array pinned_array_like",
    "cuda.unsupported": (
        "CudaSupportError compile compile_for_current_device compile_ptx compile_ptx_for_current_device declare_device"
        " is_supported_version open_ipc_array"
    ),
    "cuda.memory_managers": (
        "BaseCUDAMemoryManager GetIpcHandleMixin HostOnlyCUDAMemoryManager IpcHandle ManagedMemory MappedMemory"
        " MemoryInfo MemoryPointer NumbaCUDAMemoryManager PinnedMemory set_memory_manager"
    ),
    "runtime.replay.graphs": "Graph graph",
    "cuda.interchange": "from_dlpack from_cuda_array_interface",
    "xp.protocols.creation": (
        "arange asarray empty empty_like eye full full_like linspace ones ones_like zeros zeros_like"
    ),
    "cuda.session": (
        "cuda_error detect event_elapsed_time external_stream get_current_stream is_bfloat16_supported"
        " is_float16_supported legacy_default_stream per_thread_default_stream profile_start profile_stop profiling"
        " require_context"
    ),
}
_LATER = {name: module for module, names in _LATER_BY_MODULE.items() for name in names.split()}
_SUBMODULES = frozenset(
    "api args cudadrv devicearray errors fp16 kernels libdevice random runtime types vector_types".split()
)


_INSTEAD = {
    "array": "cuda.asarray(...) makes an array on the device, cuda.to_device(x) copies one there",
    "asnumpy": "x.copy_to_host()",
    "sum": "cuda.reduce(lambda a, b: a + b)",
    "max": "cuda.reduce(max)",
    "min": "cuda.reduce(min)",
}


def __getattr__(name: str) -> Any:
    if name == "config":
        return import_module("portagpu.config")
    if name in _SUBMODULES:
        return import_module(f"portagpu.cuda.{name}")
    if name in _LATER:
        return getattr(import_module(f"portagpu.{_LATER[name]}"), name)
    raise unknown_attribute("portagpu.cuda", name, sys.modules[__name__], __dir__(), hint=_INSTEAD.get(name, ""))


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_SUBMODULES, "config"})


__all__ = [
    *("Dispatcher", "Intrinsic", "jit", "constexpr"),
    *("threadIdx", "blockIdx", "blockDim", "gridDim", "shared", "local", "const", "atomic", "cg", "fp16", "libdevice"),
    *("boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "complex64", "complex128", "void", "none"),
    *("Array", "Record", "NestedArray", "Tuple", "UniTuple", "from_dtype", "as_dtype"),
    *_TYPES,
    *INTRINSICS,
    *_vectors,
    *_host_names,
    *_LATER,
]
