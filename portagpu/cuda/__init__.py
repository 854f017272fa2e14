"""The kernel language: CUDA-Python's vocabulary on any OpenCL device.

``from portagpu import cuda`` takes the place of ``from numba import cuda``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from portagpu import dtypes
from portagpu.cuda import fp16 as fp16
from portagpu.cuda import libdevice as libdevice
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

grid: Any = INTRINSICS["grid"]
gridsize: Any = INTRINSICS["gridsize"]
laneid: Any = INTRINSICS["laneid"]
warpsize: Any = INTRINSICS["warpsize"]
syncthreads: Any = INTRINSICS["syncthreads"]
syncthreads_count: Any = INTRINSICS["syncthreads_count"]
syncthreads_and: Any = INTRINSICS["syncthreads_and"]
syncthreads_or: Any = INTRINSICS["syncthreads_or"]
threadfence: Any = INTRINSICS["threadfence"]
threadfence_block: Any = INTRINSICS["threadfence_block"]
threadfence_system: Any = INTRINSICS["threadfence_system"]
popc: Any = INTRINSICS["popc"]
clz: Any = INTRINSICS["clz"]
ffs: Any = INTRINSICS["ffs"]
brev: Any = INTRINSICS["brev"]
fma: Any = INTRINSICS["fma"]
cbrt: Any = INTRINSICS["cbrt"]
rsqrt: Any = INTRINSICS["rsqrt"]
selp: Any = INTRINSICS["selp"]
vload: Any = INTRINSICS["vload"]
vstore: Any = INTRINSICS["vstore"]
ldca: Any = INTRINSICS["ldca"]
ldcg: Any = INTRINSICS["ldcg"]
ldcs: Any = INTRINSICS["ldcs"]
ldlu: Any = INTRINSICS["ldlu"]
ldcv: Any = INTRINSICS["ldcv"]
stcg: Any = INTRINSICS["stcg"]
stcs: Any = INTRINSICS["stcs"]
stwb: Any = INTRINSICS["stwb"]
stwt: Any = INTRINSICS["stwt"]
dp4a: Any = INTRINSICS["dp4a"]
prefetch: Any = INTRINSICS["prefetch"]
pipeline_memcpy_async: Any = INTRINSICS["pipeline_memcpy_async"]
pipeline_commit: Any = INTRINSICS["pipeline_commit"]
pipeline_wait_prior: Any = INTRINSICS["pipeline_wait_prior"]
mma_sync: Any = INTRINSICS["mma_sync"]
ldmatrix: Any = INTRINSICS["ldmatrix"]
wgmma: Any = INTRINSICS["wgmma"]
wgmma_fence: Any = INTRINSICS["wgmma_fence"]
wgmma_commit_group: Any = INTRINSICS["wgmma_commit_group"]
wgmma_wait_group: Any = INTRINSICS["wgmma_wait_group"]
setmaxnreg: Any = INTRINSICS["setmaxnreg"]
shared_address: Any = INTRINSICS["shared_address"]
mbarrier_init: Any = INTRINSICS["mbarrier_init"]
mbarrier_arrive: Any = INTRINSICS["mbarrier_arrive"]
mbarrier_arrive_expect_tx: Any = INTRINSICS["mbarrier_arrive_expect_tx"]
mbarrier_wait_parity: Any = INTRINSICS["mbarrier_wait_parity"]
fence_proxy_async: Any = INTRINSICS["fence_proxy_async"]
tma_load: Any = INTRINSICS["tma_load"]
tma_store: Any = INTRINSICS["tma_store"]
tma_store_commit: Any = INTRINSICS["tma_store_commit"]
tma_store_wait: Any = INTRINSICS["tma_store_wait"]
tensor_map_encode: Any = INTRINSICS["tensor_map_encode"]
tensor_map_acquire: Any = INTRINSICS["tensor_map_acquire"]
barrier_sync: Any = INTRINSICS["barrier_sync"]
pack_half2: Any = INTRINSICS["pack_half2"]
pack_bfloat162: Any = INTRINSICS["pack_bfloat162"]
float_to_tf32: Any = INTRINSICS["float_to_tf32"]
unroll: Any = INTRINSICS["unroll"]
literal_unroll: Any = INTRINSICS["literal_unroll"]
nanosleep: Any = INTRINSICS["nanosleep"]
syncwarp: Any = INTRINSICS["syncwarp"]
shfl_sync: Any = INTRINSICS["shfl_sync"]
shfl_up_sync: Any = INTRINSICS["shfl_up_sync"]
shfl_down_sync: Any = INTRINSICS["shfl_down_sync"]
shfl_xor_sync: Any = INTRINSICS["shfl_xor_sync"]
all_sync: Any = INTRINSICS["all_sync"]
any_sync: Any = INTRINSICS["any_sync"]
eq_sync: Any = INTRINSICS["eq_sync"]
ballot_sync: Any = INTRINSICS["ballot_sync"]
match_any_sync: Any = INTRINSICS["match_any_sync"]
match_all_sync: Any = INTRINSICS["match_all_sync"]
activemask: Any = INTRINSICS["activemask"]
lanemask_lt: Any = INTRINSICS["lanemask_lt"]
subgroup_size: Any = INTRINSICS["subgroup_size"]
subgroup_lane: Any = INTRINSICS["subgroup_lane"]
subgroup_id: Any = INTRINSICS["subgroup_id"]
subgroup_broadcast: Any = INTRINSICS["subgroup_broadcast"]
subgroup_shuffle: Any = INTRINSICS["subgroup_shuffle"]
subgroup_block_read: Any = INTRINSICS["subgroup_block_read"]
subgroup_block_write: Any = INTRINSICS["subgroup_block_write"]
mfma: Any = INTRINSICS["mfma"]
wmma: Any = INTRINSICS["wmma"]
subgroup_matrix_mad: Any = INTRINSICS["subgroup_matrix_mad"]

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
    "dispatch.typeof": "typeof",
    "cuda.shared_memory": "mapped mapped_array mapped_array_like managed_array pinned_array_like",
    "cuda.unsupported": (
        "CudaSupportError compile compile_for_current_device compile_ptx compile_ptx_for_current_device declare_device"
        " is_supported_version open_ipc_array"
    ),
    "cuda.memory_managers": (
        "BaseCUDAMemoryManager GetIpcHandleMixin HostOnlyCUDAMemoryManager IpcHandle ManagedMemory MappedMemory"
        " MemoryInfo MemoryPointer NumbaCUDAMemoryManager PinnedMemory set_memory_manager"
    ),
    "cuda.interchange": "from_dlpack from_cuda_array_interface",
    "cuda.session": (
        "cuda_error detect event_elapsed_time external_stream is_bfloat16_supported is_float16_supported"
        " legacy_default_stream per_thread_default_stream profile_start profile_stop profiling require_context"
    ),
}
_LATER = {name: module for module, names in _LATER_BY_MODULE.items() for name in names.split()}
_SUBMODULES = frozenset(
    ("api", "args", "cudadrv", "devicearray", "errors", "kernels", "random", "runtime", "types", "vector_types")
)


_NEW = "cuda.to_device(np.{}(...)) copies one to the device, cuda.device_array(shape, dtype) makes one"
_INSTEAD = {
    **{name: _NEW.format(name) for name in ("arange", "array", "asarray", "full", "linspace", "ones", "zeros")},
    "empty": "cuda.device_array(shape, dtype)",
    "empty_like": "cuda.device_array_like(x)",
    "zeros_like": "cuda.device_array_like(x), and then x[:] = 0",
    "ones_like": "cuda.device_array_like(x), and then x[:] = 1",
    "asnumpy": "x.copy_to_host()",
    "sum": "cuda.reduce(lambda a, b: a + b)",
    "max": "cuda.reduce(max)",
    "min": "cuda.reduce(min)",
}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"portagpu.cuda.{name}")
    if name in _LATER:
        return getattr(import_module(f"portagpu.{_LATER[name]}"), name)
    raise unknown_attribute("portagpu.cuda", name, sys.modules[__name__], __dir__(), hint=_INSTEAD.get(name, ""))


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_SUBMODULES})


__all__ = [
    *("Dispatcher", "Intrinsic", "jit", "constexpr"),
    *("threadIdx", "blockIdx", "blockDim", "gridDim", "shared", "local", "const", "atomic", "cg", "fp16", "libdevice"),
    *("boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "complex64", "complex128", "void", "none"),
    *("Array", "Record", "NestedArray", "Tuple", "UniTuple", "from_dtype", "as_dtype"),
    *(n for n in INTRINSICS if n in globals()),
    *_vectors,
    *_host_names,
    *_LATER,
]
