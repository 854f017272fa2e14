"""CPUs as targets of offline compilation, by what their vector units can do.

The records stand for a driver that maps blocks to loops over threads, as all known ones do. Sources: the x86-64 psABI,
"Micro-architecture levels"; Arm's Neoverse V1 software optimisation guide.
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.backends.opencl.offline.target import Target
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.device.capabilities import DeviceType
from portagpu.device.ideal_device import IDEAL

_CPU = replace(
    IDEAL,
    device_type=DeviceType.CPU,
    opencl_c_version=(1, 2),
    global_memory=2**34,
    max_allocation=2**32,
    constant_memory=131072,
    local_memory_static=2**18,
    local_memory_argument=2**18,
    local_memory_dedicated=False,
    global_cache=2**25,
    host_unified_memory=True,
    max_work_group_size=4096,
    max_work_item_sizes=(4096, 4096, 4096),
    fp16=False,
    fp16_functions=False,
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
    builtin_prefetch=True,
    extensions=frozenset(
        {
            *("cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"),
            "cl_khr_byte_addressable_store",
        }
    ),
)


def _cpu(name: str, title: str, triple: str, *options: str, floats: int, cores: int, mhz: int) -> Target:
    """A CPU whose vectors hold so many floats."""
    caps = replace(
        _CPU,
        vector_width_float=floats,
        vector_width_double=floats // 2,
        preferred_multiple=floats,
        compute_units=cores,
        clock_mhz=mhz,
        measured_gflops=cores * mhz * floats * 0.004,
    )
    return Target(name=name, title=title, compiler="cpu", capabilities=caps, options=("-target", triple, *options))


_LINUX = "unknown-linux-gnu"

CPUS = (
    _cpu(
        *("x86-64-v3", "x86-64 CPU with AVX2", f"x86_64-{_LINUX}", "-march=x86-64-v3"),
        floats=8,
        cores=8,
        mhz=3000,
    ),
    _cpu(
        *("x86-64-v4", "x86-64 CPU with AVX-512", f"x86_64-{_LINUX}", "-march=x86-64-v4"),
        "-mprefer-vector-width=512",
        floats=16,
        cores=8,
        mhz=3000,
    ),
    _cpu(
        *("neoverse-v1", "Arm Neoverse V1 (AWS Graviton 3)", f"aarch64-{_LINUX}", "-mcpu=neoverse-v1"),
        floats=4,
        cores=64,
        mhz=2600,
    ),
)
