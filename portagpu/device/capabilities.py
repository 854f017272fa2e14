"""What one device can do, as a frozen value filled by trying (see `portagpu.backends.opencl.probing.prober`)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DeviceType(Enum):
    """Kind of a device."""

    GPU = "gpu"
    CPU = "cpu"
    ACCELERATOR = "accelerator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Everything that code generation, launch and tuning may ask about a device; sizes in bytes.

    Code asks for a capability, never for a vendor's name, and for the one that it means: what a back end derives from
    another one is a field of its own. The last group is one back end's alone.
    """

    # the device
    device_type: DeviceType
    compute_units: int
    clock_mhz: int
    unit_lanes: int = 128  # float32 multiply-adds that a GPU's compute unit, as its driver counts them, does a cycle
    address_bits: int
    measured_gflops: float  # float32 rate of a small kernel when probed: ranks devices, is no peak figure
    measured_gflops_double: float = 0.0  # the same in float64; 0.0 where it is missing

    # memory
    global_memory: int
    max_allocation: int
    constant_memory: int
    mem_base_alignment: int  # bytes; sub-buffer offsets and vector loads rely on it
    local_memory_static: int  # largest array in a block's shared memory, of a size that is compiled in, that works
    local_memory_argument: int  # largest dynamic shared memory that works
    local_memory_dedicated: bool  # shared memory is on-chip, not emulated in global memory
    global_cache: int
    host_unified_memory: bool
    copies_lists: bool = True  # False: migrations of buffers read their list when the call has returned
    staged_copies: bool = False  # pageable memory moves faster through page-locked memory, copied by several threads

    # launches
    max_work_group_size: int
    max_named_group_size: int = 0  # of kernels that are compiled for one size, where that may be larger
    max_work_item_sizes: tuple[int, int, int]
    max_blocks: int = 2**64 - 1  # of a launch, over all axes
    max_blocks_of_axis: int = 2**63 - 1
    max_blocks_of_later_axes: int = 2**63 - 1  # of y and z, where that is less
    preferred_multiple: int  # multiple of threads of a block that a small kernel prefers
    thread_registers: int = 256  # of 32 bits that a thread can have, in the smallest subgroups
    cooperative_launch: bool  # blocks that run together are not put off, so that they may wait for each other

    # arithmetic
    fp64: bool
    fp16: bool  # half arithmetic works
    fp16_functions: bool  # beside it: functions and vectors of halves, and reading bits as them
    fp16_storage: bool  # halves can be loaded and stored, whatever computes with them
    correctly_rounded_divide_sqrt: bool
    vector_width_float: int  # lanes of the native float vector (16 with AVX-512, 8 with AVX2, 1 on scalar GPUs)
    vector_width_double: int

    # between threads
    warp_size: int  # lanes that run in lockstep; 32 where hardware has no such notion. Kernels have warps of 32
    warp_instructions: bool  # 32 threads exchange, vote and wait by CUDA's warp instructions
    device_fences: bool  # `threadfence` is known to order memory for all blocks of the device, not only for its own
    int64_atomics: bool
    float_atomic_add_global: bool  # native, float32
    float_atomic_add_local: bool
    double_atomic_add_global: bool
    double_atomic_add_local: bool
    subgroups: bool
    subgroup_size: int  # of a small kernel; 0 without subgroups (drivers with several sizes choose per kernel)
    subgroup_sizes: tuple[int, ...] = ()  # that a kernel can ask for, ascending
    subgroup_shuffle: bool
    subgroup_block_io: bool = False  # a subgroup loads and stores consecutive elements at once
    required_subgroup_size: bool

    # copies, hints and instructions of some hardware
    async_copies: bool  # from global to shared memory, while threads compute
    prefetch: bool  # memory can be asked for ahead of its use
    nanosleep: bool  # a thread can pause
    printf: bool
    matrix_units: tuple[str, ...] = ()  # kinds of instructions: `portagpu.frontend.intrinsics.subgroup_matrix`
    ptx_target: tuple[int, int] = (0, 0)  # CUDA architecture whose instructions kernels may name, such as (9, 0)
    architecture_ptx: bool = False  # those of that architecture alone, too
    cluster_size: int = 1  # blocks that run together at most, and reach each other's shared memory

    # what compilers do
    register_aware_scheduling: bool  # loads are moved to the front only as far as registers last
    conditional_barriers: bool = True  # False: no barrier stands under a branch, even if a whole block takes it
    single_barriers: bool = True  # False: barriers are written twice
    compares_ids: bool = True  # False: threads run what only a negative id, which none has, would run
    diverging_nests: bool = True  # False: loops in loops that threads leave apart must not run in lanes of vectors
    cuts_subscripts: bool = True  # False: ids are hidden from compilers that cut 64-bit numbers made of them wrongly
    keeps_negations: bool = True  # False: in kernels with barriers, no compiler may see that a float is negated
    sees_divergence: bool = True  # False: beside barriers, the driver takes what some threads set for uniform
    chooses_arrays: bool = True  # False: kernels whose threads choose between arrays must not be optimised
    sums_differences: bool = True  # False: loops that subtract integers from a sum must not run in lanes of vectors
    blends_values: bool = True  # False: vectorisers take uniform values that some threads' branches assign for uniform
    skips_loads: bool = True  # False: what all threads read at one place is read in branches that none takes
    takes_all_cases: bool = True  # False: before barriers, no compiler may see tests for all values of a number
    takes_known_floats: bool = True  # False: no compiler may see NaN or large arguments of functions of floats
    divides_products: bool = True  # False: products that are divided must be opaque to the compiler
    runs_optimised: bool = True  # False: the driver's interpreter does not know all that its optimiser writes
    line_directives: bool  # the driver reports the user's lines, and wants them in the text
    declares_all: bool = False  # the driver's header of the whole library takes longer than most programs
    compiles_for_binaries: bool = False  # to hand a program's binary out the driver compiles kernels once more
    crashing_compiler: bool = False  # over some valid programs the compiler ends its process: another one builds

    # of OpenCL: `portagpu.backends.opencl` alone decides by these
    opencl_c_version: tuple[int, int]
    extensions: frozenset[str]
    language_option: str  # build option under which subgroups and float atomics compile ("" or "-cl-std=CL3.0")
    max_registers_option: bool  # -cl-nv-maxrregcount and -cl-nv-verbose are understood
    allows_build_option_g: bool
    inline_ptx: bool  # the compiler takes PTX text: `portagpu.backends.opencl.ptx.capabilities` says what that brings
    rewritten_ptx: bool = False  # its PTX has instructions that are compiled wrongly: they are replaced
    packed_dot_product: bool = False  # cl_khr_integer_dot_product of a GPU works, under `language_option`
    builtin_prefetch: bool = False  # the compiler takes __builtin_prefetch: a CPU's, where OpenCL's may do nothing
    scoped_fences: bool = False  # atomic_work_item_fence over the device, in sequence, works under `language_option`

    # of SYCL: `portagpu.backends.sycl` alone decides by it
    free_function_kernels: bool = True  # an extension. False: SYCL 2020 alone, a header for compilers of files

    @property
    def is_serial(self) -> bool:
        """Whether a thread that goes through many elements is better than many threads of few each: on CPUs."""
        return self.device_type is DeviceType.CPU

    @property
    def shares_on_chip(self) -> bool:
        """Whether threads of a block had better exchange numbers in shared memory than work alone."""
        return self.local_memory_dedicated

    @property
    def largest_block(self) -> int:
        """Threads of a block at most: of a kernel that is compiled for its size, where that may be larger."""
        return max(self.max_work_group_size, self.max_named_group_size)
