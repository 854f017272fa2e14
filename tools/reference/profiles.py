"""Three made-up devices, each with what its class has: the reference shows what code they get."""

from __future__ import annotations

import dataclasses

from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.device.capabilities import DeviceType
from portagpu.device.ideal_device import IDEAL

_EXTENSIONS = frozenset({"cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"})

CPU = dataclasses.replace(
    IDEAL,
    device_type=DeviceType.CPU,
    opencl_c_version=(1, 2),
    compute_units=8,
    clock_mhz=3000,
    global_memory=2**34,
    max_allocation=2**32,
    constant_memory=65536,
    local_memory_static=2**19,
    local_memory_argument=2**19,
    local_memory_dedicated=False,
    host_unified_memory=True,
    max_work_group_size=4096,
    max_work_item_sizes=(4096, 4096, 4096),
    preferred_multiple=8,
    fp16=False,
    fp16_functions=False,
    vector_width_float=8,
    vector_width_double=4,
    float_atomic_add_global=False,
    float_atomic_add_local=False,
    double_atomic_add_global=False,
    double_atomic_add_local=False,
    **from_ptx(False),
    subgroups=False,
    subgroup_size=0,
    subgroup_shuffle=False,
    required_subgroup_size=False,
    subgroup_sizes=(),
    subgroup_block_io=False,
    extensions=_EXTENSIONS,
    measured_gflops=100.0,
    measured_gflops_double=0.0,
    builtin_prefetch=True,
)

SUBGROUPS = dataclasses.replace(
    CPU,
    device_type=DeviceType.GPU,
    compute_units=64,
    local_memory_static=65536,
    local_memory_argument=65536,
    local_memory_dedicated=True,
    host_unified_memory=False,
    max_work_group_size=1024,
    max_work_item_sizes=(1024, 1024, 1024),
    preferred_multiple=32,
    fp16=True,
    fp16_functions=True,
    vector_width_float=1,
    vector_width_double=1,
    subgroups=True,
    subgroup_size=32,
    subgroup_shuffle=True,
    required_subgroup_size=True,
    language_option="-cl-std=CL3.0",
    builtin_prefetch=False,
    extensions=_EXTENSIONS | {"cl_khr_fp16", "cl_khr_subgroups", "cl_khr_subgroup_shuffle"},
)

PTX = dataclasses.replace(
    SUBGROUPS,
    local_memory_static=49152,
    local_memory_argument=49152,
    fp16=False,
    fp16_functions=False,
    **from_ptx(True, (8, 0)),
    subgroups=False,
    subgroup_size=0,
    subgroup_shuffle=False,
    required_subgroup_size=False,
    language_option="",
    max_registers_option=True,
    extensions=_EXTENSIONS,
)

PROFILES = {"CPU": CPU, "AMD, Intel GPU": SUBGROUPS, "NVIDIA": PTX}

# what devices may lack, and what then says so
WITHOUT = {
    "float64 (cl_khr_fp64)": dataclasses.replace(CPU, fp64=False, extensions=_EXTENSIONS - {"cl_khr_fp64"}),
    "64-bit atomics (cl_khr_int64_base_atomics)": dataclasses.replace(CPU, int64_atomics=False),
    "float16, even as a format in memory": dataclasses.replace(CPU, fp16_storage=False),
}
