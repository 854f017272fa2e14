# Made from the package's own tables by `python -m tools.documents`; a test fails when it is stale.
"""The kernel language: CUDA-Python's vocabulary on any OpenCL device."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from portagpu.cuda import api as api
from portagpu.cuda import args as args
from portagpu.cuda import cudadrv as cudadrv
from portagpu.cuda import devicearray as devicearray
from portagpu.cuda import errors as errors
from portagpu.cuda import fp16 as fp16
from portagpu.cuda import kernels as kernels
from portagpu.cuda import libdevice as libdevice
from portagpu.cuda import random as random
from portagpu.cuda import runtime as runtime
from portagpu.cuda import types as types
from portagpu.cuda import vector_types as vector_types
from portagpu.cuda.host import (
    Device,
    DeviceNDArray,
    DeviceRecord,
    Event,
    In,
    InOut,
    Out,
    Stream,
    as_cuda_array,
    close,
    current_context,
    default_stream,
    defer_cleanup,
    device_array,
    device_array_like,
    event,
    get_current_device,
    gpus,
    is_available,
    is_cuda_array,
    list_devices,
    pinned,
    pinned_array,
    select_device,
    stream,
    synchronize,
    to_device,
)
from portagpu.cuda.interchange import from_cuda_array_interface, from_dlpack
from portagpu.cuda.kernels.reduction import Reduce, reduce
from portagpu.cuda.memory_managers import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    IpcHandle,
    ManagedMemory,
    MappedMemory,
    MemoryInfo,
    MemoryPointer,
    NumbaCUDAMemoryManager,
    PinnedMemory,
    set_memory_manager,
)
from portagpu.cuda.session import (
    cuda_error,
    detect,
    event_elapsed_time,
    external_stream,
    get_current_stream,
    is_bfloat16_supported,
    is_float16_supported,
    legacy_default_stream,
    per_thread_default_stream,
    profile_start,
    profile_stop,
    profiling,
    require_context,
)
from portagpu.cuda.shared_memory import managed_array, mapped, mapped_array, mapped_array_like, pinned_array_like
from portagpu.cuda.unsupported import (
    CudaSupportError,
    compile,
    compile_for_current_device,
    compile_ptx,
    compile_ptx_for_current_device,
    declare_device,
    is_supported_version,
    open_ipc_array,
)
from portagpu.dialect.names import Intrinsic, VectorMaker, constexpr
from portagpu.dispatch.arguments.typeof import typeof
from portagpu.dispatch.decorators import jit
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.replay.graphs import Graph, graph
from portagpu.types import (
    Array,
    NestedArray,
    Record,
    Tuple,
    Type,
    UniTuple,
    as_dtype,
    b1,
    bfloat16,
    bool_,
    boolean,
    byte,
    c8,
    c16,
    char,
    complex64,
    complex128,
    double,
    f2,
    f4,
    f8,
    float16,
    float32,
    float64,
    float_,
    from_dtype,
    half,
    i1,
    i2,
    i4,
    i8,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    intp,
    long,
    long_,
    longlong,
    none,
    short,
    size_t,
    ssize_t,
    u1,
    u2,
    u4,
    u8,
    uchar,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintc,
    uintp,
    ulong,
    ulonglong,
    ushort,
    void,
)
from portagpu.ufuncs.decorators import guvectorize, vectorize
from portagpu.xp.protocols.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)

_Number: TypeAlias = complex | np.number[Any] | np.bool_
_Index: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...]
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Array: TypeAlias = NDArray[Any] | DeviceNDArray
_Kind: TypeAlias = Type | VectorMaker | DTypeLike
_T = TypeVar("_T")

class _Int(int):
    def view(self, dtype: _Kind) -> Any:
        """Its bits as another type."""

class _Float(float):
    def view(self, dtype: _Kind) -> Any:
        """Its bits as another type."""

class _GridGroup:
    """All threads of the grid."""

    def sync(self) -> None:
        """Wait for all threads of the grid. All blocks must run at once.

        Errors: LaunchConfigError at a launch of more blocks than can run at once.
        """

class _ClusterGroup:
    """All threads of the block's cluster."""

    def block_rank(self) -> _Int:
        """The block's number in its cluster."""

    def num_blocks(self) -> int:
        """Blocks of a cluster."""

    def sync(self) -> None:
        """Wait for all threads of the cluster; they then see each other's writes, to shared memory, too."""

    def barrier_arrive(self) -> None:
        """The first half of `sync()`: tells the others that this thread is here, and goes on."""

    def barrier_wait(self) -> None:
        """The second half of `sync()`: waits until all threads of the cluster have come to the first."""

    def map_shared_rank(self, array: _Array, rank: SupportsIndex) -> NDArray[Any]:
        """The same shared array of the block of a rank: its elements are read and written there, by atomics too. The
        block must not have ended: `sync()` before the end of the kernel sees to that.

        Errors: KernelTypeError: no shared array. KernelValueError: a constant rank that the cluster has not.
        """

class _ThreadIdx:
    """This thread's place in its block: `x`, `y`, `z`."""

    @property
    def x(self) -> int:
        """This thread's number in its block along x, from 0."""

    @property
    def y(self) -> int:
        """This thread's number in its block along y, from 0."""

    @property
    def z(self) -> int:
        """This thread's number in its block along z, from 0."""

threadIdx: _ThreadIdx

class _BlockIdx:
    """This block's place in the grid: `x`, `y`, `z`."""

    @property
    def x(self) -> int:
        """This block's number in the grid along x, from 0."""

    @property
    def y(self) -> int:
        """This block's number in the grid along y, from 0."""

    @property
    def z(self) -> int:
        """This block's number in the grid along z, from 0."""

blockIdx: _BlockIdx

class _BlockDim:
    """Threads of a block along each axis: `x`, `y`, `z`."""

    @property
    def x(self) -> int:
        """Threads of a block along x."""

    @property
    def y(self) -> int:
        """Threads of a block along y."""

    @property
    def z(self) -> int:
        """Threads of a block along z."""

blockDim: _BlockDim

class _GridDim:
    """Blocks of the grid along each axis: `x`, `y`, `z`."""

    @property
    def x(self) -> int:
        """Blocks of the grid along x."""

    @property
    def y(self) -> int:
        """Blocks of the grid along y."""

    @property
    def z(self) -> int:
        """Blocks of the grid along z."""

gridDim: _GridDim

class _Shared:
    """Memory of a block."""

    def array(self, shape: _Shape, dtype: _Kind, alignment: SupportsIndex | None = None) -> NDArray[Any]:
        """An uninitialised array of the block; with shape 0 it has the bytes that the launch asks for.

        Errors: NeedsConstantError: the shape is not known at compile time. KernelTypeError: the dtype is none.
        KernelValueError: more than the device has.
        """

shared: _Shared

class _Local:
    """Memory of a thread."""

    def array(self, shape: _Shape, dtype: _Kind, alignment: SupportsIndex | None = None) -> NDArray[Any]:
        """An uninitialised array of this thread alone.

        Errors: NeedsConstantError: the shape is not known at compile time. KernelTypeError: the dtype is none.
        """

local: _Local

class _Const:
    """Constant memory."""

    def array_like(self, array: _Array) -> NDArray[Any]:
        """The array in constant memory, as it is when the kernel is compiled.

        Errors: KernelValueError: the array is not a global or closure variable.
        """

const: _Const

class _Atomic:
    """Updates of array elements that threads can make at the same time."""

    def add(self, array: _Array, index: _Index, value: _Number) -> Any:
        """`array[index] += value`.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def sub(self, array: _Array, index: _Index, value: _Number) -> Any:
        """`array[index] -= value`.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def max(self, array: _Array, index: _Index, value: _Number) -> Any:
        """The larger of `array[index]` and `value` is stored; where either is NaN, nothing changes.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def min(self, array: _Array, index: _Index, value: _Number) -> Any:
        """The smaller of `array[index]` and `value` is stored; where either is NaN, nothing changes.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def nanmax(self, array: _Array, index: _Index, value: _Number) -> Any:
        """As `atomic.max`; a NaN counts as missing.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def nanmin(self, array: _Array, index: _Index, value: _Number) -> Any:
        """As `atomic.min`; a NaN counts as missing.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def and_(self, array: _Array, index: _Index, value: _Number) -> Any:
        """`array[index] &= value`.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def or_(self, array: _Array, index: _Index, value: _Number) -> Any:
        """`array[index] |= value`.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def xor(self, array: _Array, index: _Index, value: _Number) -> Any:
        """`array[index] ^= value`.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def inc(self, array: _Array, index: _Index, value: _Number) -> Any:
        """One is added; from `value` on it becomes 0.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def dec(self, array: _Array, index: _Index, value: _Number) -> Any:
        """One is subtracted; 0, and what is above `value`, becomes `value`.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def exch(self, array: _Array, index: _Index, value: _Number) -> Any:
        """`array[index] = value`.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def cas(self, array: _Array, index: _Index, old: _Number, val: _Number) -> Any:
        """`array[index] = val` where it was `old`; floats are compared bit by bit.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

    def compare_and_swap(self, array: _Array, old: _Number, val: _Number) -> Any:
        """As `atomic.cas` with index 0.

        Errors: KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array.
        MissingCapabilityError: 64 bits on a device without 64-bit atomics.
        """

atomic: _Atomic

class _Cg:
    """Cooperative groups."""

    def this_grid(self) -> _GridGroup:
        """The group of all threads of the grid; it has `sync()`."""

    def this_cluster(self) -> _ClusterGroup:
        """The group of all threads of the block's cluster: `@cuda.jit(cluster=n)` says of how many blocks, else it
        is one. It has `block_rank()`, `num_blocks()`, `sync()`, `barrier_arrive()`, `barrier_wait()` and
        `map_shared_rank()`. A cluster of several blocks takes a CUDA GPU of compute capability 9.0 or newer.
        """

cg: _Cg

@overload
def grid(ndim: Literal[1]) -> int:
    """This thread's number in the whole grid.

    Errors: KernelValueError: `ndim` is not the constant 1, 2 or 3.
    """

@overload
def grid(ndim: Literal[2]) -> tuple[int, int]:
    """This thread's number in the whole grid.

    Errors: KernelValueError: `ndim` is not the constant 1, 2 or 3.
    """

@overload
def grid(ndim: Literal[3]) -> tuple[int, int, int]:
    """This thread's number in the whole grid.

    Errors: KernelValueError: `ndim` is not the constant 1, 2 or 3.
    """

@overload
def gridsize(ndim: Literal[1]) -> int:
    """Threads of the whole grid.

    Errors: KernelValueError: `ndim` is not the constant 1, 2 or 3.
    """

@overload
def gridsize(ndim: Literal[2]) -> tuple[int, int]:
    """Threads of the whole grid.

    Errors: KernelValueError: `ndim` is not the constant 1, 2 or 3.
    """

@overload
def gridsize(ndim: Literal[3]) -> tuple[int, int, int]:
    """Threads of the whole grid.

    Errors: KernelValueError: `ndim` is not the constant 1, 2 or 3.
    """

laneid: int
"""This thread's number in its warp, from 0."""

warpsize: int
"""Threads of a warp: 32, also where the device has none, or others."""

def carray(pointer: _Array, shape: _Shape, dtype: _Kind | None = None) -> NDArray[Any]:
    """The memory of a `types.CPointer` as an array of this shape, in C order.

    Errors: KernelTypeError: it is no pointer, or its elements have another dtype.
    """

def farray(pointer: _Array, shape: _Shape, dtype: _Kind | None = None) -> NDArray[Any]:
    """As `carray`, in Fortran order.

    Errors: KernelTypeError: it is no pointer, or its elements have another dtype.
    """

def syncthreads() -> None:
    """Wait for all threads of the block; they then see each other's writes."""

def syncthreads_count(predicate: _Number) -> _Int:
    """As `syncthreads`; in how many threads of the block it is true."""

def syncthreads_and(predicate: _Number) -> _Int:
    """As `syncthreads`; 1 if it is true in all threads of the block, else 0."""

def syncthreads_or(predicate: _Number) -> _Int:
    """As `syncthreads`; 1 if it is true in any thread of the block, else 0."""

def threadfence() -> None:
    """Writes before it are seen by the device before writes after it."""

def threadfence_block() -> None:
    """Writes before it are seen by the block before writes after it."""

def threadfence_system() -> None:
    """Writes before it are seen by host and device before writes after it."""

def fma(a: _Number, b: _Number, c: _Number) -> Any:
    """`a * b + c`, rounded once.

    Errors: KernelTypeError: no operand is a float.
    """

def popc(x: SupportsIndex) -> _Int:
    """Number of bits that are set.

    Errors: KernelTypeError: no integer.
    """

def clz(x: SupportsIndex) -> _Int:
    """Number of zero bits above the highest set one, of 32 bits (64 for 64-bit types).

    Errors: KernelTypeError: no integer.
    """

def ffs(x: SupportsIndex) -> _Int:
    """Place of the lowest set bit, from 1; 0 if there is none.

    Errors: KernelTypeError: no integer.
    """

def brev(x: _T) -> _T:
    """The bits in reverse order.

    Errors: KernelTypeError: no integer.
    """

def rsqrt(x: _T) -> _T:
    """`1 / sqrt(x)`."""

def cbrt(x: _T) -> _T:
    """Cube root, also of negative numbers."""

def dp4a(a: Any, b: Any, c: SupportsIndex) -> _Int:
    """`c` plus the four products of the lanes of `a` and `b`: `int8x4` or `uint8x4` vectors, or the int32 or uint32
    that hold their bits. The sum wraps around.

    Errors: KernelTypeError: other types.
    """

def selp(condition: _Number, a: Any, b: Any) -> Any:
    """`a if condition else b`; both are evaluated."""

def unroll(iterable: Iterable[_T]) -> Iterable[_T]:
    """In `for i in cuda.unroll(range(4))` the loop is written out, and `i` is a constant in each copy.

    Errors: KernelValueError: the bounds are not known at compile time.
    """

def literal_unroll(iterable: Iterable[_T]) -> Iterable[_T]:
    """As `unroll`: for tuples whose items have different types.

    Errors: KernelValueError: no tuple of constants.
    """

def vload(array: _Array, index: _Index, width: SupportsIndex, aligned: bool = False) -> Any:
    """`width` elements from `index` on as one vector, of bfloat16 as float32; `aligned`: its address is a multiple
    of its size.

    Errors: KernelTypeError: gaps between the elements. KernelValueError: another width.
    """

def vstore(vector: Any, array: _Array, index: _Index, aligned: bool = False) -> None:
    """Store a vector's lanes from `index` on; float32 is rounded to bfloat16 where the array has such elements.

    Errors: KernelTypeError: gaps between the elements, or a vector of another type.
    """

def prefetch(array: _Array, index: _Index) -> None:
    """A hint that `array[index]` will be read soon. The index may be outside of the array, where nothing is fetched;
    a negative one does not count from the end.

    Errors: KernelTypeError: an array in another memory.
    """

def ldca(array: _Array, i: _Index) -> Any:
    """`array[i]`: OpenCL takes no hint to caches."""

def ldcg(array: _Array, i: _Index) -> Any:
    """`array[i]`: OpenCL takes no hint to caches."""

def ldcs(array: _Array, i: _Index) -> Any:
    """`array[i]`: OpenCL takes no hint to caches."""

def ldlu(array: _Array, i: _Index) -> Any:
    """`array[i]`: OpenCL takes no hint to caches."""

def ldcv(array: _Array, i: _Index) -> Any:
    """`array[i]` as it is now: a loop may wait for what another thread stores there with `stwt`, or with an atomic.
    No promise for numbers of other than 32 or 64 bits, and outside of global memory.
    """

def stwt(array: _Array, i: _Index, value: _Number) -> None:
    """`array[i] = value` now, for threads that read it with `ldcv`. It orders no other access, as `threadfence`
    does.
    """

def stcg(array: _Array, i: _Index, value: _Number) -> None:
    """`array[i] = value`: OpenCL takes no hint to caches."""

def stcs(array: _Array, i: _Index, value: _Number) -> None:
    """`array[i] = value`: OpenCL takes no hint to caches."""

def stwb(array: _Array, i: _Index, value: _Number) -> None:
    """`array[i] = value`: OpenCL takes no hint to caches."""

def nanosleep(ns: SupportsIndex) -> None:
    """A hint to pause this thread for about so many nanoseconds."""

def syncwarp(mask: SupportsIndex = 0xFFFFFFFF) -> None:
    """Wait for the lanes of the warp that `mask` names."""

def shfl_sync(mask: SupportsIndex, value: _T, src_lane: SupportsIndex) -> _T:
    """The value of lane `src_lane`.

    Errors: KernelTypeError: bools, vectors or complex numbers.
    """

def shfl_up_sync(mask: SupportsIndex, value: _T, delta: SupportsIndex) -> _T:
    """The value of the lane `delta` below; the own one where there is none.

    Errors: KernelTypeError: bools, vectors or complex numbers.
    """

def shfl_down_sync(mask: SupportsIndex, value: _T, delta: SupportsIndex) -> _T:
    """The value of the lane `delta` above; the own one where there is none.

    Errors: KernelTypeError: bools, vectors or complex numbers.
    """

def shfl_xor_sync(mask: SupportsIndex, value: _T, lane_mask: SupportsIndex) -> _T:
    """The value of the lane whose number is the own one `^ lane_mask`.

    Errors: KernelTypeError: bools, vectors or complex numbers.
    """

def all_sync(mask: SupportsIndex, predicate: _Number) -> bool:
    """Whether it is true in all lanes of `mask`."""

def any_sync(mask: SupportsIndex, predicate: _Number) -> bool:
    """Whether it is true in any lane of `mask`."""

def eq_sync(mask: SupportsIndex, predicate: _Number) -> bool:
    """Whether it is the same in all lanes of `mask`."""

def ballot_sync(mask: SupportsIndex, predicate: _Number) -> _Int:
    """A bit for each lane of `mask` where it is true."""

def match_any_sync(mask: SupportsIndex, value: _Number) -> _Int:
    """The lanes of `mask` that hold the same value, as bits.

    Errors: KernelTypeError: bools, vectors or complex numbers.
    """

def match_all_sync(mask: SupportsIndex, value: _Number) -> tuple[_Int, bool]:
    """The lanes of `mask` if all hold the same value, else 0; and whether they do.

    Errors: KernelTypeError: bools, vectors or complex numbers.
    """

def activemask() -> _Int:
    """The lanes of the warp that run here now, as bits."""

def lanemask_lt() -> _Int:
    """The lanes below this one, as bits."""

def pipeline_memcpy_async(
    target: _Array, target_index: _Index, source: _Array, source_index: _Index, count: SupportsIndex, valid: bool = True
) -> None:
    """Copies consecutive elements from global to shared memory while the thread goes on; zeros where `valid` is
    false. Both places are aligned to the bytes that are copied. The copy is done after a `pipeline_commit`, the
    matching `pipeline_wait_prior`, and for other threads a barrier. CUDA GPUs from compute capability 8.0 on have such
    copies; elsewhere the thread copies at once.

    Errors: KernelValueError: what must be known at compile time is not, or has no such value.
    """

def pipeline_commit() -> None:
    """Makes the copies that this thread began since the last one a group."""

def pipeline_wait_prior(n: SupportsIndex) -> None:
    """Waits until at most the last `n` groups of this thread's copies are under way.

    Errors: KernelValueError: what must be known at compile time is not, or has no such value.
    """

def pack_half2(low: _Number, high: _Number) -> _Int:
    """Two float32 numbers rounded to float16, the first in the low half."""

def pack_bfloat162(low: _Number, high: _Number) -> _Int:
    """Two float32 numbers rounded to bfloat16, the first in the low half."""

def float_to_tf32(x: _Number) -> _Float:
    """`x` rounded to the nearest number of TF32 (11 bits), of two the one further from 0, as CUDA's
    `__float_to_tf32`. The matrix units cut off what `tfloat32` has not.
    """

def mma_sync(shape: str, dtype: str, acc: _Array, a: _Array, b: _Array) -> None:
    """`acc += a @ b` on a warp's matrix unit. The shapes are m16n8k8 and m16n8k16 of float16 and bfloat16, m16n8k4
    and m16n8k8 of tfloat32, m16n8k16 and m16n8k32 of int8 and uint8, m8n8k4 of float64, and from compute capability 9.0
    on m16n8k4, m16n8k8 and m16n8k16 of float64. The arrays are PTX's fragments: uint32 registers for elements of 16
    bits and less, float32 or int32 accumulators, float64 for float64. Parts of larger local arrays will do.

    Errors: MissingCapabilityError: the device has no such instruction. KernelValueError: what must be known at compile
    time is not, or has no such value.
    """

def ldmatrix(registers: _Array, array: _Array, index: _Index, transposed: bool = False) -> None:
    """Loads as many 8x8 matrices of 16-bit elements into a warp's fragments; lane `i` gives the place of row `i`.

    Errors: MissingCapabilityError: the device has no such instruction. KernelValueError: what must be known at compile
    time is not, or has no such value.
    """

def wgmma(
    n: SupportsIndex,
    dtype: str,
    acc: _Array,
    a: Any,
    b: Any,
    accumulate: bool = True,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> None:
    """Begins `acc += a @ b` (`acc = a @ b` without `accumulate`) on the matrix units of a warp group, four warps: 64
    rows by n columns, 32 bytes deep, of float16, bfloat16, tfloat32, int8 or uint8. Descriptors name tiles in shared
    memory. Hopper GPUs only.

    Errors: MissingCapabilityError: the device has no such instruction. KernelValueError: what must be known at compile
    time is not, or has no such value.
    """

def wgmma_fence() -> None:
    """Orders accesses to registers before the following `wgmma`.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def wgmma_commit_group() -> None:
    """Makes the `wgmma` since the last one a group.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def wgmma_wait_group(n: SupportsIndex) -> None:
    """Waits until at most the last `n` groups are under way.

    Errors: MissingCapabilityError: the device has no such instruction. KernelValueError: what must be known at compile
    time is not, or has no such value.
    """

def setmaxnreg(registers: SupportsIndex, increase: bool) -> None:
    """Gives registers of this warp group back, or takes more. Hopper GPUs only.

    Errors: MissingCapabilityError: the device has no such instruction. KernelValueError: what must be known at compile
    time is not, or has no such value.
    """

def barrier_sync(number: SupportsIndex, threads: SupportsIndex) -> None:
    """A barrier for so many threads of the block; barriers of other numbers are others.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def shared_address(array: _Array, index: _Index) -> _Int:
    """The address of an element in shared memory.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def mbarrier_init(barriers: _Array, index: SupportsIndex, count: SupportsIndex) -> None:
    """Makes a barrier that waits for `count` arrivals.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def mbarrier_arrive(barriers: _Array, index: SupportsIndex, relaxed: bool = False) -> None:
    """Arrives at a barrier, also at one of `cg.this_cluster().map_shared_rank`, whose block then sees what this
    thread wrote; not so with `relaxed`, which is much faster, and enough where bulk copies and matrix units alone touch
    memory.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def mbarrier_arrive_expect_tx(barriers: _Array, index: SupportsIndex, bytes: SupportsIndex) -> None:
    """Arrives at a barrier, which then also waits for so many bytes of bulk copies.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def mbarrier_wait_parity(barriers: _Array, index: SupportsIndex, parity: SupportsIndex, relaxed: bool = False) -> None:
    """Waits for the end of a barrier's phase of that parity; in kernels of clusters, to see what its blocks wrote,
    unless `relaxed`, see `mbarrier_arrive`.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def fence_proxy_async() -> None:
    """Orders this thread's accesses to shared memory before those of bulk copies.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def tma_load(
    target: _Array,
    target_index: _Index,
    tensor_maps: _Array,
    map_index: _Index,
    coordinates: Sequence[SupportsIndex],
    barriers: _Array,
    barrier_index: SupportsIndex,
    multicast: SupportsIndex | None = None,
) -> None:
    """Begins a bulk copy of a tile from global to shared memory, which arrives at the barrier with its bytes; zeros
    outside the array. The coordinates are those of the tile's first element. With `multicast`, bits of ranks, it goes
    to the same places of all these blocks of the cluster, and arrives at the barriers there. Hopper GPUs.

    Errors: MissingCapabilityError: the device has no such instruction. KernelValueError: what must be known at compile
    time is not, or has no such value.
    """

def tma_store(
    tensor_maps: _Array, map_index: _Index, coordinates: Sequence[SupportsIndex], source: _Array, source_index: _Index
) -> None:
    """Begins a bulk copy of a tile from shared to global memory; what is outside the array is left out. Hopper GPUs.

    Errors: MissingCapabilityError: the device has no such instruction. KernelValueError: what must be known at compile
    time is not, or has no such value.
    """

def tma_store_commit() -> None:
    """Makes the `tma_store` since the last one a group.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def tma_store_wait(n: SupportsIndex) -> None:
    """Waits until at most the last `n` groups still read from shared memory.

    Errors: MissingCapabilityError: the device has no such instruction. KernelValueError: what must be known at compile
    time is not, or has no such value.
    """

def tensor_map_encode(
    tensor_maps: _Array,
    map_index: _Index,
    array: _Array,
    shape: Sequence[SupportsIndex],
    strides: Sequence[SupportsIndex],
    box: Sequence[SupportsIndex],
    swizzle: SupportsIndex,
    dtype: str,
) -> None:
    """Writes the tensor map of an array and the tiles (boxes) that `tma_load` and `tma_store` copy. One thread does
    it, in an earlier kernel. Hopper GPUs.

    Errors: MissingCapabilityError: the device has no such instruction. KernelValueError: what must be known at compile
    time is not, or has no such value.
    """

def tensor_map_acquire(tensor_maps: _Array, map_index: _Index) -> None:
    """Makes a tensor map that an earlier kernel wrote usable, and begins to fetch it.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def griddepcontrol_wait() -> None:
    """Programmatic dependent launch: a kernel that calls it may begin before the launch ahead of it in the stream is
    done, on the back end `cuda`, and waits here until that is, and sees what it wrote. Nothing in global memory is read
    or written before it. Elsewhere launches follow one another, and it does nothing.

    Errors: MissingCapabilityError: no CUDA GPU of compute capability 9.0 or newer.
    """

def griddepcontrol_launch_dependents() -> None:
    """Lets the next launch of the stream begin, if it calls `griddepcontrol_wait`, as soon as there is room for its
    blocks: all blocks have called it, or ended.

    Errors: MissingCapabilityError: no CUDA GPU of compute capability 9.0 or newer.
    """

def fence_mbarrier_init() -> None:
    """Orders barriers that this thread made before what other blocks of the cluster do.

    Errors: MissingCapabilityError: the device has no such instruction.
    """

def subgroup_size() -> _Int:
    """Threads of a subgroup, the threads that run in lockstep.

    Errors: MissingCapabilityError: the device has no such thing.
    """

def subgroup_lane() -> _Int:
    """Place of the thread in its subgroup, from 0.

    Errors: MissingCapabilityError: the device has no such thing.
    """

def subgroup_id() -> _Int:
    """Place of the subgroup in its block, from 0.

    Errors: MissingCapabilityError: the device has no such thing.
    """

def subgroup_broadcast(value: _T, lane: SupportsIndex) -> _T:
    """The value that the thread in that lane has. All threads of a subgroup must get there.

    Errors: MissingCapabilityError: the device has no such thing. KernelTypeError: operands of other types.
    """

def subgroup_shuffle(value: _T, lane: SupportsIndex) -> _T:
    """The value that the thread in that lane has; each thread may name another lane. All threads of a subgroup must
    get there.

    Errors: MissingCapabilityError: the device has no such thing. KernelTypeError: operands of other types.
    """

def subgroup_block_read(array: _Array, index: _Index, width: SupportsIndex = 1) -> Any:
    """Loads consecutive elements from the place on, `width` for each thread: component `i` is the element `i *
    subgroup_size + subgroup_lane`. The place is aligned to 4 bytes. All threads of a subgroup must get there.

    Errors: MissingCapabilityError: the device has no such thing. KernelTypeError: operands of other types.
    """

def subgroup_block_write(value: Any, array: _Array, index: _Index) -> None:
    """Stores what `subgroup_block_read` loads. The place is aligned to 16 bytes. All threads of a subgroup must get
    there.

    Errors: MissingCapabilityError: the device has no such thing. KernelTypeError: operands of other types.
    """

def mfma(shape: str, dtype: str, a: Any, b: Any, acc: Any) -> Any:
    """`a @ b + acc` on the matrix unit of a wavefront of 64 threads (CDNA): m32n32k8 and m16n16k16 of float16,
    bfloat16 and int8, m32n32k2 and m16n16k4 of float32, m16n16k4 of float64, m32n32k16 and m16n16k32 of int8, m32n32k4
    and m16n16k8 of tfloat32, each where the device has it. Halves may be given by their bits (int16).

    Errors: MissingCapabilityError: the device has no such thing. KernelTypeError: operands of other types.
    KernelValueError: an unknown shape or dtype.
    """

def wmma(shape: str, dtype: str, a: Any, b: Any, acc: Any) -> Any:
    """`a @ b + acc` on the matrix unit of a wavefront of 32 threads (RDNA 3 and 4): m16n16k16 of float16, bfloat16
    and int8. Vectors of a and b have 16 elements on RDNA 3, where both halves of the wavefront hold the same, and 8 on
    RDNA 4; those of the accumulator 8. Halves may be given by their bits, as int16.

    Errors: MissingCapabilityError: the device has no such thing. KernelTypeError: operands of other types.
    KernelValueError: an unknown shape or dtype.
    """

def subgroup_matrix_mad(dtype: str, a: Any, b: Any, acc: Any) -> Any:
    """`a @ b + acc` on the matrix unit of a subgroup: as many columns as the subgroup has threads, as many rows as
    the accumulator has components, 16 deep of float16 and bfloat16, 32 of int8, 8 of tfloat32. A row of a is an int16
    in each of 16 lanes, or an int32 in each of 8; b is eight int32, each with consecutive elements of a column. All
    threads of a subgroup must get there.

    Errors: MissingCapabilityError: the device has no such thing. KernelTypeError: operands of other types.
    KernelValueError: an unknown shape or dtype.
    """

int8x1: VectorMaker
char1: VectorMaker
int8x2: VectorMaker
char2: VectorMaker
int8x3: VectorMaker
char3: VectorMaker
int8x4: VectorMaker
char4: VectorMaker
int8x8: VectorMaker
char8: VectorMaker
int8x16: VectorMaker
char16: VectorMaker
int16x1: VectorMaker
short1: VectorMaker
int16x2: VectorMaker
short2: VectorMaker
int16x3: VectorMaker
short3: VectorMaker
int16x4: VectorMaker
short4: VectorMaker
int16x8: VectorMaker
short8: VectorMaker
int16x16: VectorMaker
short16: VectorMaker
int32x1: VectorMaker
int1: VectorMaker
int32x2: VectorMaker
int2: VectorMaker
int32x3: VectorMaker
int3: VectorMaker
int32x4: VectorMaker
int4: VectorMaker
int32x8: VectorMaker
int32x16: VectorMaker
int64x1: VectorMaker
long1: VectorMaker
longlong1: VectorMaker
int64x2: VectorMaker
long2: VectorMaker
longlong2: VectorMaker
int64x3: VectorMaker
long3: VectorMaker
longlong3: VectorMaker
int64x4: VectorMaker
long4: VectorMaker
longlong4: VectorMaker
int64x8: VectorMaker
long8: VectorMaker
longlong8: VectorMaker
int64x16: VectorMaker
long16: VectorMaker
longlong16: VectorMaker
uint8x1: VectorMaker
uchar1: VectorMaker
uint8x2: VectorMaker
uchar2: VectorMaker
uint8x3: VectorMaker
uchar3: VectorMaker
uint8x4: VectorMaker
uchar4: VectorMaker
uint8x8: VectorMaker
uchar8: VectorMaker
uint8x16: VectorMaker
uchar16: VectorMaker
uint16x1: VectorMaker
ushort1: VectorMaker
uint16x2: VectorMaker
ushort2: VectorMaker
uint16x3: VectorMaker
ushort3: VectorMaker
uint16x4: VectorMaker
ushort4: VectorMaker
uint16x8: VectorMaker
ushort8: VectorMaker
uint16x16: VectorMaker
ushort16: VectorMaker
uint32x1: VectorMaker
uint1: VectorMaker
uint32x2: VectorMaker
uint2: VectorMaker
uint32x3: VectorMaker
uint3: VectorMaker
uint32x4: VectorMaker
uint4: VectorMaker
uint32x8: VectorMaker
uint32x16: VectorMaker
uint64x1: VectorMaker
ulong1: VectorMaker
ulonglong1: VectorMaker
uint64x2: VectorMaker
ulong2: VectorMaker
ulonglong2: VectorMaker
uint64x3: VectorMaker
ulong3: VectorMaker
ulonglong3: VectorMaker
uint64x4: VectorMaker
ulong4: VectorMaker
ulonglong4: VectorMaker
uint64x8: VectorMaker
ulong8: VectorMaker
ulonglong8: VectorMaker
uint64x16: VectorMaker
ulong16: VectorMaker
ulonglong16: VectorMaker
float16x1: VectorMaker
float16x2: VectorMaker
float16x3: VectorMaker
float16x4: VectorMaker
float16x8: VectorMaker
float16x16: VectorMaker
float32x1: VectorMaker
float1: VectorMaker
float32x2: VectorMaker
float2: VectorMaker
float32x3: VectorMaker
float3: VectorMaker
float32x4: VectorMaker
float4: VectorMaker
float32x8: VectorMaker
float8: VectorMaker
float32x16: VectorMaker
float64x1: VectorMaker
double1: VectorMaker
float64x2: VectorMaker
double2: VectorMaker
float64x3: VectorMaker
double3: VectorMaker
float64x4: VectorMaker
double4: VectorMaker
float64x8: VectorMaker
double8: VectorMaker
float64x16: VectorMaker
double16: VectorMaker

__all__ = [
    "Array",
    "BaseCUDAMemoryManager",
    "CudaSupportError",
    "Device",
    "DeviceNDArray",
    "DeviceRecord",
    "Dispatcher",
    "Event",
    "GetIpcHandleMixin",
    "Graph",
    "HostOnlyCUDAMemoryManager",
    "In",
    "InOut",
    "Intrinsic",
    "IpcHandle",
    "ManagedMemory",
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "NestedArray",
    "NumbaCUDAMemoryManager",
    "Out",
    "PinnedMemory",
    "Record",
    "Reduce",
    "Stream",
    "Tuple",
    "UniTuple",
    "activemask",
    "all_sync",
    "any_sync",
    "arange",
    "as_cuda_array",
    "as_dtype",
    "asarray",
    "atomic",
    "b1",
    "ballot_sync",
    "barrier_sync",
    "bfloat16",
    "blockDim",
    "blockIdx",
    "bool_",
    "boolean",
    "brev",
    "byte",
    "c8",
    "c16",
    "carray",
    "cbrt",
    "cg",
    "char",
    "char1",
    "char2",
    "char3",
    "char4",
    "char8",
    "char16",
    "close",
    "clz",
    "compile",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
    "complex64",
    "complex128",
    "const",
    "constexpr",
    "cuda_error",
    "current_context",
    "declare_device",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "double",
    "double1",
    "double2",
    "double3",
    "double4",
    "double8",
    "double16",
    "dp4a",
    "empty",
    "empty_like",
    "eq_sync",
    "event",
    "event_elapsed_time",
    "external_stream",
    "eye",
    "f2",
    "f4",
    "f8",
    "farray",
    "fence_mbarrier_init",
    "fence_proxy_async",
    "ffs",
    "float1",
    "float2",
    "float3",
    "float4",
    "float8",
    "float16",
    "float16x1",
    "float16x2",
    "float16x3",
    "float16x4",
    "float16x8",
    "float16x16",
    "float32",
    "float32x1",
    "float32x2",
    "float32x3",
    "float32x4",
    "float32x8",
    "float32x16",
    "float64",
    "float64x1",
    "float64x2",
    "float64x3",
    "float64x4",
    "float64x8",
    "float64x16",
    "float_",
    "float_to_tf32",
    "fma",
    "fp16",
    "from_cuda_array_interface",
    "from_dlpack",
    "from_dtype",
    "full",
    "full_like",
    "get_current_device",
    "get_current_stream",
    "gpus",
    "graph",
    "grid",
    "gridDim",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "gridsize",
    "guvectorize",
    "half",
    "i1",
    "i2",
    "i4",
    "i8",
    "int1",
    "int2",
    "int3",
    "int4",
    "int8",
    "int8x1",
    "int8x2",
    "int8x3",
    "int8x4",
    "int8x8",
    "int8x16",
    "int16",
    "int16x1",
    "int16x2",
    "int16x3",
    "int16x4",
    "int16x8",
    "int16x16",
    "int32",
    "int32x1",
    "int32x2",
    "int32x3",
    "int32x4",
    "int32x8",
    "int32x16",
    "int64",
    "int64x1",
    "int64x2",
    "int64x3",
    "int64x4",
    "int64x8",
    "int64x16",
    "int_",
    "intc",
    "intp",
    "is_available",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "is_supported_version",
    "jit",
    "laneid",
    "lanemask_lt",
    "ldca",
    "ldcg",
    "ldcs",
    "ldcv",
    "ldlu",
    "ldmatrix",
    "legacy_default_stream",
    "libdevice",
    "linspace",
    "list_devices",
    "literal_unroll",
    "local",
    "long",
    "long1",
    "long2",
    "long3",
    "long4",
    "long8",
    "long16",
    "long_",
    "longlong",
    "longlong1",
    "longlong2",
    "longlong3",
    "longlong4",
    "longlong8",
    "longlong16",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "match_all_sync",
    "match_any_sync",
    "mbarrier_arrive",
    "mbarrier_arrive_expect_tx",
    "mbarrier_init",
    "mbarrier_wait_parity",
    "mfma",
    "mma_sync",
    "nanosleep",
    "none",
    "ones",
    "ones_like",
    "open_ipc_array",
    "pack_bfloat162",
    "pack_half2",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "pipeline_commit",
    "pipeline_memcpy_async",
    "pipeline_wait_prior",
    "popc",
    "prefetch",
    "profile_start",
    "profile_stop",
    "profiling",
    "reduce",
    "require_context",
    "rsqrt",
    "select_device",
    "selp",
    "set_memory_manager",
    "setmaxnreg",
    "shared",
    "shared_address",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "short",
    "short1",
    "short2",
    "short3",
    "short4",
    "short8",
    "short16",
    "size_t",
    "ssize_t",
    "stcg",
    "stcs",
    "stream",
    "stwb",
    "stwt",
    "subgroup_block_read",
    "subgroup_block_write",
    "subgroup_broadcast",
    "subgroup_id",
    "subgroup_lane",
    "subgroup_matrix_mad",
    "subgroup_shuffle",
    "subgroup_size",
    "synchronize",
    "syncthreads",
    "syncthreads_and",
    "syncthreads_count",
    "syncthreads_or",
    "syncwarp",
    "tensor_map_acquire",
    "tensor_map_encode",
    "threadIdx",
    "threadfence",
    "threadfence_block",
    "threadfence_system",
    "tma_load",
    "tma_store",
    "tma_store_commit",
    "tma_store_wait",
    "to_device",
    "typeof",
    "u1",
    "u2",
    "u4",
    "u8",
    "uchar",
    "uchar1",
    "uchar2",
    "uchar3",
    "uchar4",
    "uchar8",
    "uchar16",
    "uint",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint8",
    "uint8x1",
    "uint8x2",
    "uint8x3",
    "uint8x4",
    "uint8x8",
    "uint8x16",
    "uint16",
    "uint16x1",
    "uint16x2",
    "uint16x3",
    "uint16x4",
    "uint16x8",
    "uint16x16",
    "uint32",
    "uint32x1",
    "uint32x2",
    "uint32x3",
    "uint32x4",
    "uint32x8",
    "uint32x16",
    "uint64",
    "uint64x1",
    "uint64x2",
    "uint64x3",
    "uint64x4",
    "uint64x8",
    "uint64x16",
    "uintc",
    "uintp",
    "ulong",
    "ulong1",
    "ulong2",
    "ulong3",
    "ulong4",
    "ulong8",
    "ulong16",
    "ulonglong",
    "ulonglong1",
    "ulonglong2",
    "ulonglong3",
    "ulonglong4",
    "ulonglong8",
    "ulonglong16",
    "unroll",
    "ushort",
    "ushort1",
    "ushort2",
    "ushort3",
    "ushort4",
    "ushort8",
    "ushort16",
    "vectorize",
    "vload",
    "void",
    "vstore",
    "warpsize",
    "wgmma",
    "wgmma_commit_group",
    "wgmma_fence",
    "wgmma_wait_group",
    "wmma",
    "zeros",
    "zeros_like",
]
