"""NVIDIA's GPUs as targets of offline compilation: what their driver lets programs do, and what a multiprocessor has.

Sources: CUDA C++ Programming Guide, "Compute Capabilities"; what an H100's driver (580) was found to take
(`portagpu.backends.opencl.quirks`). It shows OpenCL C 1.2, no subgroups, and takes inline PTX, which does their work.
"""

from __future__ import annotations

from dataclasses import replace

from portagpu.backends.opencl.offline.residency import Core
from portagpu.backends.opencl.offline.target import Target
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.device.ideal_device import IDEAL

_NEWEST = (9, 0)  # that clang 19 knows; later GPUs run its PTX, too


_CUDA = replace(
    IDEAL,
    opencl_c_version=(1, 2),
    global_memory=2**34,
    max_allocation=2**32,
    constant_memory=65536,
    local_memory_argument=47 << 10,
    max_work_item_sizes=(1024, 1024, 64),
    fp16_functions=False,
    float_atomic_add_global=False,
    float_atomic_add_local=False,
    double_atomic_add_global=False,
    double_atomic_add_local=False,
    subgroups=False,
    subgroup_size=0,
    subgroup_shuffle=False,
    required_subgroup_size=False,
    subgroup_sizes=(),
    subgroup_block_io=False,
    max_registers_option=True,
    max_blocks_of_axis=2**31 - 1,
    extensions=frozenset(
        {
            *("cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"),
            "cl_khr_byte_addressable_store",
        }
    ),
)


def _multiprocessor(warps: int, shared: int, blocks: int = 32, reserved: int = 1024) -> Core:
    """Four schedulers, each with 16384 registers and so many warps, and KiB of shared memory that blocks divide."""
    return Core(units=4, slots=warps, registers=512, granule=8, local=shared << 10, blocks=blocks, reserved=reserved)


def _cuda(
    capability: tuple[int, int], title: str, core: Core, *, local: int, units: int, mhz: int, cache: int
) -> Target:
    """A GPU of this compute capability; ``local``: KiB of static shared memory of a block."""
    name = "sm_{}{}".format(*capability)
    compiled = "sm_{}{}".format(*min(capability, _NEWEST))
    caps = replace(
        _CUDA,
        **from_ptx(True, capability, architecture=capability == (9, 0)),
        cluster_size=8 if capability in _CLUSTERS else 1,
        local_memory_static=local << 10,
        compute_units=units,
        clock_mhz=mhz,
        global_cache=cache << 20,
        measured_gflops=units * mhz * 0.256,
    )
    return Target(name=name, title=title, compiler="nvptx", capabilities=caps, options=(compiled,), core=core)


_CLUSTERS = ((9, 0), (10, 0))  # whose blocks run in clusters
NVIDIA = (
    _cuda((7, 0), "NVIDIA V100 (Volta)", _multiprocessor(16, 96, reserved=0), local=95, units=80, mhz=1530, cache=6),
    _cuda(
        (7, 5),
        "NVIDIA GeForce RTX 2080 (Turing)",
        _multiprocessor(8, 64, 16, reserved=0),
        local=63,
        units=46,
        mhz=1710,
        cache=4,
    ),
    _cuda((8, 0), "NVIDIA A100 (Ampere)", _multiprocessor(16, 164), local=162, units=108, mhz=1410, cache=40),
    _cuda(
        (8, 6), "NVIDIA GeForce RTX 3090 (Ampere)", _multiprocessor(12, 100, 16), local=98, units=82, mhz=1695, cache=6
    ),
    _cuda(
        (8, 9), "NVIDIA GeForce RTX 4090 (Ada)", _multiprocessor(12, 100, 24), local=98, units=128, mhz=2520, cache=72
    ),
    _cuda((9, 0), "NVIDIA H100 (Hopper)", _multiprocessor(16, 228), local=226, units=132, mhz=1980, cache=50),
    _cuda((10, 0), "NVIDIA B200 (Blackwell)", _multiprocessor(16, 228), local=226, units=148, mhz=1965, cache=126),
    _cuda(
        (12, 0),
        "NVIDIA GeForce RTX 5090 (Blackwell)",
        _multiprocessor(12, 100, 24),
        local=98,
        units=170,
        mhz=2407,
        cache=96,
    ),
)
