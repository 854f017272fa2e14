"""Devices that need not be present: what they can do, and which of their makers' compilers builds for them offline.

The records stand for what the makers' documents and drivers say of one typical product of each architecture; a device
that is present is probed instead (`opencl.probing.prober`). Sizes of chips (compute units, clock, memory) rank
configurations only, they decide nothing about what compiles.

Sources: AMD's instruction set manuals of CDNA 2 and 3, RDNA 3 and 4, LLVM's "User Guide for AMDGPU Backend"; Intel's
oneAPI GPU optimisation guide and its OpenCL extension documents. NVIDIA's GPUs and CPUs are in modules of their own.
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.backends.opencl.offline.cpu_targets import CPUS
from portagpu.backends.opencl.offline.nvidia_targets import NVIDIA
from portagpu.backends.opencl.offline.residency import Core
from portagpu.backends.opencl.offline.target import Target
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.device.ideal_device import IDEAL

_COMMON = frozenset(
    {
        *("cl_khr_fp16", "cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"),
        *("cl_khr_byte_addressable_store", "cl_khr_subgroups"),
    }
)

# four vector units of a compute unit, or of a pair of them, which a block may have as one
_GCN = Core(units=4, slots=10, registers=256, granule=4, scalars=800, local=64 << 10, blocks=40, joined=16)
_CDNA = replace(_GCN, slots=8, registers=512, granule=8)
_RDNA_2 = Core(units=4, slots=16, registers=1024, granule=16, local=128 << 10, blocks=64, joined=32)
_RDNA = replace(_RDNA_2, registers=1536, granule=24)

_WAVES = replace(
    IDEAL,
    opencl_c_version=(2, 0),
    global_memory=2**34,
    max_allocation=2**33,
    constant_memory=2**30,
    local_memory_static=65536,
    local_memory_argument=65536,
    global_cache=2**23,
    max_work_group_size=256,  # what the driver reports by default
    max_named_group_size=1024,
    float_atomic_add_global=False,
    float_atomic_add_local=False,
    double_atomic_add_global=False,
    double_atomic_add_local=False,
    **from_ptx(False),
    subgroup_shuffle=False,
    required_subgroup_size=False,
    subgroup_sizes=(),
    subgroup_block_io=False,
    language_option="-cl-std=CL2.0",
    scoped_fences=True,
    extensions=_COMMON,
)


def _waves(
    name: str,
    title: str,
    lanes: int,
    *,
    units: int,
    mhz: int,
    cache: int,
    libraries: tuple[str, ...],
    core: Core,
    matrices: tuple[str, ...] = (),
) -> Target:
    """A device of AMD's: wavefronts of 64 lanes on CDNA, of 32 on RDNA."""
    caps = replace(
        _WAVES,
        compute_units=units,
        clock_mhz=mhz,
        global_cache=cache,
        preferred_multiple=lanes,
        warp_size=lanes,
        subgroup_size=lanes,
        matrix_units=matrices,
        measured_gflops=units * mhz * 0.256,
    )
    return Target(name=name, title=title, compiler="amdgcn", capabilities=caps, math_libraries=libraries, core=core)


# vector units keep eight hardware threads of 128 registers, or four of 256
_XE = Core(units=8, slots=8, registers=8 * 128, granule=128, local=128 << 10, blocks=64)
_XE_HPG = replace(_XE, units=16, blocks=128)
_XE_LP = replace(_XE_HPG, slots=7, registers=7 * 128)

_EXECUTION_UNITS = replace(
    IDEAL,
    global_memory=2**34,
    max_allocation=2**32,
    constant_memory=2**32,
    local_memory_static=65536,
    local_memory_argument=65536,
    float_atomic_add_global=False,
    float_atomic_add_local=False,
    double_atomic_add_global=False,
    double_atomic_add_local=False,
    **from_ptx(False),
    extensions=_COMMON
    | {
        *("cl_khr_subgroup_shuffle", "cl_intel_subgroups", "cl_intel_subgroups_short", "cl_intel_subgroups_char"),
        "cl_intel_required_subgroup_size",
    },
)


def _execution_units(
    name: str,
    title: str,
    *,
    sizes: tuple[int, ...],
    fp64: bool,
    threads: int,
    local: int,
    units: int,
    mhz: int,
    cache: int,
    core: Core,
    matrices: tuple[str, ...] = (),
) -> Target:
    """A GPU of Intel's: its compiler chooses among several sizes of a subgroup, 16 is preferred."""
    lanes = 16
    caps = replace(
        _EXECUTION_UNITS,
        compute_units=units,
        clock_mhz=mhz,
        global_cache=cache,
        local_memory_static=local,
        local_memory_argument=local,
        max_work_group_size=threads,
        max_work_item_sizes=(threads, threads, threads),
        preferred_multiple=lanes,
        warp_size=lanes,
        subgroup_size=lanes,
        subgroup_sizes=sizes,
        matrix_units=matrices,
        thread_registers=128,
        unit_lanes=8,
        fp64=fp64,
        scoped_fences=True,
        language_option="-cl-std=CL2.0",  # ocloc of Debian 12 refuses CL3.0 where a device has no images
        extensions=_EXECUTION_UNITS.extensions - (frozenset() if fp64 else {"cl_khr_fp64"}),
        measured_gflops=units * mhz * 0.016,
    )
    return Target(name=name, title=title, compiler="ocloc", capabilities=caps, core=core)


_ALL = (
    _waves(
        "gfx1100",
        "AMD Radeon RX 7900 (RDNA 3)",
        32,
        units=48,
        mhz=2500,
        cache=6 << 20,
        libraries=("1100", "1030"),
        matrices=("wmma",),
        core=_RDNA,
    ),
    _waves(
        "gfx1201",
        "AMD Radeon RX 9070 (RDNA 4)",
        32,
        units=32,
        mhz=2970,
        cache=8 << 20,
        libraries=("1201", "1030"),
        matrices=("wmma_halves",),
        core=_RDNA,
    ),
    _waves(
        "gfx1030",
        "AMD Radeon RX 6800 (RDNA 2)",
        32,
        units=36,
        mhz=2105,
        cache=4 << 20,
        libraries=("1030",),
        core=_RDNA_2,
    ),
    _waves("gfx906", "AMD Radeon VII (Vega 20)", 64, units=60, mhz=1750, cache=4 << 20, libraries=("906",), core=_GCN),
    _waves(
        "gfx908",
        "AMD Instinct MI100 (CDNA)",
        64,
        units=120,
        mhz=1502,
        cache=8 << 20,
        libraries=("908",),
        matrices=("mfma", "mfma_int8"),
        core=_GCN,
    ),
    _waves(
        "gfx90a",
        "AMD Instinct MI210 (CDNA 2)",
        64,
        units=104,
        mhz=1700,
        cache=8 << 20,
        libraries=("90a",),
        matrices=("mfma", "mfma_int8", "mfma_bfloat16", "mfma_float64"),
        core=_CDNA,
    ),
    _waves(
        "gfx942",
        "AMD Instinct MI300X (CDNA 3)",
        64,
        units=304,
        mhz=2100,
        cache=4 << 20,
        libraries=("942", "940", "90a"),
        matrices=("mfma", "mfma_int8_wide", "mfma_bfloat16", "mfma_float64", "mfma_tfloat32"),
        core=_CDNA,
    ),
    _execution_units(
        "dg2",
        "Intel Arc A770 (Xe-HPG)",
        sizes=(8, 16, 32),
        matrices=("subgroup",),
        fp64=False,
        threads=1024,
        local=65536,
        units=512,
        mhz=2400,
        cache=16 << 20,
        core=_XE_HPG,
    ),
    _execution_units(
        "pvc",
        "Intel Data Center GPU Max 1550 (Xe-HPC)",
        sizes=(16, 32),
        matrices=("subgroup",),
        fp64=True,
        threads=1024,
        local=131072,
        units=1024,
        mhz=1600,
        cache=408 << 20,
        core=_XE,
    ),
    _execution_units(
        "bmg",
        "Intel Arc B580 (Xe2)",
        sizes=(16, 32),
        matrices=("subgroup",),
        fp64=True,
        threads=1024,
        local=131072,
        units=160,
        mhz=2670,
        cache=18 << 20,
        core=_XE,
    ),
    _execution_units(
        "tgllp",
        "Intel Iris Xe (Gen 12)",
        sizes=(8, 16, 32),
        fp64=False,
        threads=512,
        local=65536,
        units=96,
        mhz=1350,
        cache=3 << 20,
        core=_XE_LP,
    ),
    *NVIDIA,
    *CPUS,
)

TARGETS: dict[str, Target] = {target.name: target for target in _ALL}
