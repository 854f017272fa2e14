"""The kernel language: CUDA-Python's vocabulary on any OpenCL device.

``from portagpu import cuda`` takes the place of ``from numba import cuda``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, overload

from portagpu import dtypes
from portagpu.cuda import fp16 as fp16
from portagpu.cuda import libdevice as libdevice
from portagpu.cuda.dispatcher import Dispatcher
from portagpu.cuda.host import *  # noqa: F403
from portagpu.cuda.host import __all__ as _host_names
from portagpu.cuda.options import JitOptions
from portagpu.errors import KernelTypeError
from portagpu.frontend.vocabulary import INTRINSICS, VectorMaker
from portagpu.frontend.vocabulary import Intrinsic as Intrinsic
from portagpu.frontend.vocabulary import atomic as atomic
from portagpu.frontend.vocabulary import blockDim as blockDim
from portagpu.frontend.vocabulary import blockIdx as blockIdx
from portagpu.frontend.vocabulary import cg as cg
from portagpu.frontend.vocabulary import const as const
from portagpu.frontend.vocabulary import constexpr as constexpr
from portagpu.frontend.vocabulary import gridDim as gridDim
from portagpu.frontend.vocabulary import local as local
from portagpu.frontend.vocabulary import shared as shared
from portagpu.frontend.vocabulary import threadIdx as threadIdx
from portagpu.types import (  # noqa: F401 - named in __all__ below
    Array,
    NestedArray,
    Record,
    Signature,
    Tuple,
    Type,
    UniTuple,
    as_dtype,
    as_signature,
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
    is_type,
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
            _maker = VectorMaker(_dtype, _lanes)
            _vectors[f"{_dtype.name}x{_lanes}"] = _maker
            _vectors.update(dict.fromkeys(_maker.aliases, _maker))
globals().update(_vectors)


# what programs use now and then, by the module that has it; these modules use the names of this one
_LATER_BY_MODULE: dict[str, str] = {
    "kernels.reduction": "Reduce reduce",
    "vectorizers": "vectorize guvectorize",
    "valuetypes": "typeof",
    "shared_memory": "mapped mapped_array mapped_array_like managed_array pinned_array_like",
    "cuda_only": (
        "CudaSupportError compile compile_for_current_device compile_ptx compile_ptx_for_current_device declare_device"
        " is_supported_version open_ipc_array"
    ),
    "memory_managers": (
        "BaseCUDAMemoryManager GetIpcHandleMixin HostOnlyCUDAMemoryManager IpcHandle ManagedMemory MappedMemory"
        " MemoryInfo MemoryPointer NumbaCUDAMemoryManager PinnedMemory set_memory_manager"
    ),
    "interchange": "from_dlpack from_cuda_array_interface",
    "session": (
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
        return getattr(import_module(f"portagpu.cuda.{_LATER[name]}"), name)
    hint = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
    raise AttributeError(f"portagpu.cuda has no {name!r}{hint}", name=name, obj=sys.modules[__name__])


_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def jit(func_or_sig: Callable[..., Any], **options: Any) -> Dispatcher: ...
@overload
def jit(
    func_or_sig: str | Signature | Type | tuple[Any, ...] | list[Any] | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Dispatcher]: ...
def jit(func_or_sig: Any = None, *, device: bool = False, **options: Any) -> Any:
    """Compile a Python function into a kernel, or with ``device=True`` into a function that kernels call.

    ``func_or_sig``: use it bare (``@cuda.jit``), with ``options``, or with a signature: ``void(float32[:], int64)``,
    the same as a string, a tuple of types, or a list of signatures, of which the one that fits a launch best is taken.
    With signatures, numbers are converted to the declared types and arrays must be what is declared.

    Options: ``fastmath`` (True, or a set of LLVM's flags), ``debug`` (subscripts and divisors are checked, and the
    exceptions of threads are raised after the launch, which waits), ``boundscheck`` (subscripts only), ``opt`` (False
    turns the driver's optimiser off), ``source`` (the text, where Python cannot find it), ``block_dim=(x, y, z)``
    (fixes the block's size, which lets the compiler use more registers), ``max_registers`` (where the driver takes it),
    ``extensions`` (objects whose ``prepare_args(type, value, stream, retr)`` turns arguments into what kernels take),
    ``cache`` (the generated code is kept on disk and used by later processes, as long as nothing that it depends on
    changes). ``inline``, ``lineinfo``, ``link``, ``lto``, ``launch_bounds`` and the like are accepted and logged.

    Raises `KernelError` subclasses when the function is compiled, at its first launch.
    """
    jit_options = JitOptions.from_keywords(options)
    text = options.get("source")
    if callable(func_or_sig) and not is_type(func_or_sig):
        return Dispatcher(func_or_sig, options=jit_options, device=device, text=text)
    signatures: tuple[Signature, ...] = ()
    if isinstance(func_or_sig, list):
        signatures = tuple(as_signature(s) for s in func_or_sig)
    elif isinstance(func_or_sig, int | float):
        raise KernelTypeError(
            f"cuda.jit takes a function or a signature, not {type(func_or_sig).__name__}",
            hint="write @cuda.jit or @cuda.jit(void(float32[:], int64))",
        )
    elif func_or_sig is not None:
        signatures = (as_signature(func_or_sig),)

    def decorate(function: Callable[..., Any]) -> Dispatcher:
        made = Dispatcher(function, options=jit_options, device=device, signatures=signatures, text=text)
        made.specialized = bool(signatures) and not isinstance(func_or_sig, list)
        return made

    return decorate


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
