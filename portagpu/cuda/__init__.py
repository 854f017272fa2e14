"""The kernel language: CUDA-Python's vocabulary on any OpenCL device.

``from portagpu import cuda`` takes the place of ``from numba import cuda``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from portagpu import dtypes
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
from portagpu.frontend.vocabulary import const as const
from portagpu.frontend.vocabulary import constexpr as constexpr
from portagpu.frontend.vocabulary import gridDim as gridDim
from portagpu.frontend.vocabulary import local as local
from portagpu.frontend.vocabulary import shared as shared
from portagpu.frontend.vocabulary import threadIdx as threadIdx
from portagpu.types import (  # noqa: F401 - named in __all__ below
    Array,
    Signature,
    Tuple,
    Type,
    UniTuple,
    as_signature,
    boolean,
    float16,
    float32,
    float64,
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
unroll: Any = INTRINSICS["unroll"]

_VECTOR_LANES = (2, 3, 4, 8, 16)
_ALIASES = {
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "uint32": "uint",
    "int64": "long",
    "uint64": "ulong",
}
_vectors: dict[str, VectorMaker] = {}
for _dtype in dtypes.ALL:
    if _dtype is not dtypes.BOOL:
        for _lanes in _VECTOR_LANES:
            _maker = VectorMaker(_dtype, _lanes)
            _vectors[f"{_dtype.name}x{_lanes}"] = _maker
            _alias = f"{_ALIASES.get(_dtype.name)}{_lanes}"
            if _dtype.name in _ALIASES and dtypes.parse(_alias) is None:  # int16 is a scalar, int4 four lanes
                _vectors[_alias] = _maker
globals().update(_vectors)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"portagpu.cuda has no {name!r}")


_F = TypeVar("_F", bound=Callable[..., Any])


@overload
def jit(func_or_sig: Callable[..., Any], **options: Any) -> Dispatcher: ...
@overload
def jit(
    func_or_sig: str | Signature | Type | tuple[Any, ...] | list[Any] | None = None, **options: Any
) -> Callable[[Callable[..., Any]], Dispatcher]: ...
def jit(func_or_sig: Any = None, *, device: bool = False, **options: Any) -> Any:
    """Compile a Python function into a kernel, or with ``device=True`` into a function that kernels call.

    Use it bare (``@cuda.jit``), with options, or with a signature: ``void(float32[:], int64)``, the same as a string, a
    tuple of types, or a list of signatures, of which the one that fits a launch best is taken. With signatures, numbers
    are converted to the declared types and arrays must be what is declared.

    Options: ``fastmath`` (True, or a set of LLVM's flags), ``debug`` (subscripts and divisors are checked, and the
    exceptions of threads are raised after the launch, which waits), ``boundscheck`` (subscripts only), ``opt`` (False
    turns the driver's optimiser off), ``source`` (the text, where Python cannot find it), ``block_dim=(x, y, z)``
    (fixes the block's size, which lets the compiler use more registers), ``max_registers`` (where the driver takes it),
    ``extensions`` (objects whose ``prepare_args(type, value, stream, retr)`` turns arguments into what kernels take).
    ``cache``, ``inline``, ``lineinfo``, ``link``, ``lto``, ``launch_bounds`` and the like are accepted and logged.

    Raises `KernelError` subclasses when the function is compiled, at its first launch.
    """
    jit_options = JitOptions.from_keywords(options)
    text = options.get("source")
    if isinstance(func_or_sig, Dispatcher):
        return func_or_sig
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
    *("threadIdx", "blockIdx", "blockDim", "gridDim", "shared", "local", "const", "atomic"),
    *("boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "void", "none", "Array", "Tuple", "UniTuple"),
    *(n for n in INTRINSICS if n in globals()),
    *_vectors,
    *_host_names,
]
