"""What one device can do, as a frozen value filled by trying (see `portagpu.backends.opencl.probing.prober`)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DeviceType(Enum):
    """Kind of an OpenCL device."""

    GPU = "gpu"
    CPU = "cpu"
    ACCELERATOR = "accelerator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Everything that code generation, launch and tuning may ask about a device; sizes in bytes.

    Code asks for a capability, never for a vendor's name.
    """

    device_type: DeviceType
    opencl_c_version: tuple[int, int]
    address_bits: int
    compute_units: int
    clock_mhz: int
    # memory
    global_memory: int
    max_allocation: int
    constant_memory: int
    mem_base_alignment: int  # bytes; sub-buffer offsets and vector loads rely on it
    local_memory_static: int  # largest static __local array that really works
    local_memory_argument: int  # largest __local kernel argument that really works
    local_memory_dedicated: bool  # on-chip, not emulated in global memory
    global_cache: int
    host_unified_memory: bool
    # launch limits
    max_work_group_size: int
    max_work_item_sizes: tuple[int, int, int]
    preferred_multiple: int  # work-group size multiple that a small kernel prefers
    warp_size: int  # lanes that run in lockstep; 32 where hardware has no such notion. Kernels have warps of 32
    # arithmetic
    fp64: bool
    fp16: bool  # half arithmetic works
    fp16_storage: bool  # vload_half/vstore_half work
    correctly_rounded_divide_sqrt: bool
    vector_width_float: int  # lanes of the native float vector (16 with AVX-512, 8 with AVX2, 1 on scalar GPUs)
    vector_width_double: int
    # atomics and intrinsics
    int64_atomics: bool
    float_atomic_add_global: bool  # cl_ext_float_atomics, float32
    float_atomic_add_local: bool
    double_atomic_add_global: bool
    double_atomic_add_local: bool
    inline_ptx: bool
    subgroups: bool
    subgroup_size: int  # of a small kernel; 0 without subgroups (drivers with several sizes choose per kernel)
    subgroup_shuffle: bool
    required_subgroup_size: bool
    printf: bool
    # compiler
    language_option: str  # build option under which subgroups and float atomics compile ("" or "-cl-std=CL3.0")
    line_directives: bool  # the driver reports user positions through #line (Oclgrind)
    max_registers_option: bool  # -cl-nv-maxrregcount and -cl-nv-verbose are understood
    allows_build_option_g: bool
    extensions: frozenset[str]
    measured_gflops: float  # float32 rate of a small kernel when probed: ranks devices, is no peak figure
    single_barriers: bool = True  # False: barriers are written twice
    compares_ids: bool = True  # False: work-items run what only a negative id, which none has, would run
    conditional_barriers: bool = True  # False: no barrier stands under a branch, even if a whole block takes it
    measured_gflops_double: float = 0.0  # the same in float64; 0.0 where it is missing
    ptx_target: tuple[int, int] = (0, 0)  # architecture whose PTX inline text may use, such as (9, 0)
    architecture_ptx: bool = (
        False  # instructions of that architecture alone work (`portagpu.backends.opencl.architecture_ptx`)
    )
    subgroup_sizes: tuple[int, ...] = ()  # that a kernel can ask for, ascending
    subgroup_block_io: bool = False  # a subgroup loads and stores consecutive elements at once
    matrix_units: tuple[str, ...] = ()  # kinds of instructions: `portagpu.frontend.intrinsics.subgroup_matrix`
    thread_registers: int = 256  # of 32 bits that a thread can have, in the smallest subgroups
    max_blocks: int = 2**64 - 1  # of a launch, over all axes
    max_blocks_of_axis: int = 2**63 - 1
    packed_dot_product: bool = False  # cl_khr_integer_dot_product of a GPU works, under `language_option`
    builtin_prefetch: bool = False  # the compiler takes __builtin_prefetch: a CPU's, where OpenCL's may do nothing
    scoped_fences: bool = False  # atomic_work_item_fence over the device, in sequence, works under `language_option`
    compiles_for_binaries: bool = False  # to hand a program's binary out the driver compiles kernels once more
    diverging_nests: bool = True  # False: loops in loops that threads leave apart must not run in lanes of vectors
    cuts_subscripts: bool = True  # False: 64-bit subscripts of local memory are converted to 32 bits, not cast
    crashing_compiler: bool = False  # over some valid programs the compiler ends its process: another one builds
    optimised_rotations: bool = True  # the driver runs what its optimiser makes of `x << k | x >> 32 - k`
