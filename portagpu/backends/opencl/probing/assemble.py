"""Puts `Capabilities` together: what the driver reports now, what the trials found, what the quirks say."""

from __future__ import annotations

import re

import pyopencl as cl

from portagpu.backends.opencl.probing.results import ProbeResults
from portagpu.backends.opencl.ptx.capabilities import from_ptx
from portagpu.backends.opencl.quirks import Hints
from portagpu.device.capabilities import Capabilities, DeviceType

EMULATED_WARP = 32
_LOCKSTEP_SIZES = (8, 16, 32, 64, 128)


def device_type_of(device: cl.Device) -> DeviceType:
    """The kind of a device; one that claims several kinds (a simulator) counts as a GPU."""
    kind = int(device.type)
    if kind & cl.device_type.GPU:
        return DeviceType.GPU
    return DeviceType.ACCELERATOR if kind & cl.device_type.ACCELERATOR else DeviceType.CPU


def capabilities_of(device: cl.Device, results: ProbeResults, hints: Hints) -> Capabilities:
    """Capabilities of a device whose probe has no problem. Raises `cl.Error` where the driver does not answer."""
    kind = device_type_of(device)
    sizes = [*map(int, device.max_work_item_sizes), 1, 1, 1]
    extensions = frozenset(device.extensions.split())
    return Capabilities(
        device_type=kind,
        opencl_c_version=_c_version(device),
        address_bits=int(device.address_bits),
        compute_units=max(1, int(device.max_compute_units)),
        clock_mhz=int(device.max_clock_frequency),
        global_memory=int(device.global_mem_size),
        max_allocation=int(device.max_mem_alloc_size),
        constant_memory=int(device.max_constant_buffer_size),
        mem_base_alignment=max(1, int(device.mem_base_addr_align) // 8),
        local_memory_static=results.local_memory_static,
        local_memory_argument=results.local_memory_argument,
        local_memory_dedicated=device.local_mem_type == cl.device_local_mem_type.LOCAL,
        global_cache=int(device.global_mem_cache_size),
        host_unified_memory=kind is DeviceType.CPU or bool(device.host_unified_memory),
        max_work_group_size=int(device.max_work_group_size),
        max_named_group_size=_named_group_size(device, hints),
        max_work_item_sizes=(sizes[0], sizes[1], sizes[2]),
        preferred_multiple=results.preferred_multiple,
        warp_size=_warp_size(device, kind, results, hints),
        fp64=results.fp64,
        fp16=results.fp16,
        fp16_functions=results.fp16 and "cl_khr_fp16" in extensions,
        fp16_storage=results.fp16_storage,
        correctly_rounded_divide_sqrt=results.correctly_rounded_divide_sqrt,
        vector_width_float=max(1, int(device.native_vector_width_float)),
        vector_width_double=max(1, int(device.native_vector_width_double)),
        int64_atomics=results.int64_atomics,
        float_atomic_add_global=results.float_atomic_add_global,
        float_atomic_add_local=results.float_atomic_add_local,
        double_atomic_add_global=results.double_atomic_add_global,
        double_atomic_add_local=results.double_atomic_add_local,
        **from_ptx(results.inline_ptx, _ptx_target(device, results, hints), architecture=results.architecture_ptx),
        subgroups=results.subgroups,
        subgroup_size=results.subgroup_size,
        subgroup_shuffle=results.subgroup_shuffle,
        required_subgroup_size=results.required_subgroup_size,
        subgroup_sizes=tuple(map(int, results.subgroup_sizes.split())),
        subgroup_block_io=results.subgroup_block_io,
        matrix_units=tuple(results.matrix_units.split()),
        thread_registers=hints.thread_registers,
        unit_lanes=hints.unit_lanes,
        max_blocks=hints.max_blocks,
        max_blocks_of_axis=hints.max_blocks_of_axis,
        printf=results.printf,
        packed_dot_product=results.packed_dot_product,
        # OpenCL's own function does nothing on CPUs, or calls one that does
        prefetch=kind is not DeviceType.CPU or results.builtin_prefetch or results.inline_ptx,
        builtin_prefetch=results.builtin_prefetch,
        scoped_fences=results.scoped_fences,
        language_option=results.language_option,
        line_directives=hints.line_directives,
        single_barriers=hints.single_barriers,
        compares_ids=hints.compares_ids,
        conditional_barriers=hints.conditional_barriers,
        declares_all=hints.declares_all,
        compiles_for_binaries=hints.compiles_for_binaries,
        diverging_nests=hints.diverging_nests,
        cuts_subscripts=hints.cuts_subscripts,
        keeps_negations=hints.keeps_negations,
        sees_divergence=hints.sees_divergence,
        blends_values=hints.blends_values,
        skips_loads=hints.skips_loads,
        sums_differences=hints.sums_differences,
        chooses_arrays=hints.chooses_arrays,
        takes_all_cases=hints.takes_all_cases,
        takes_known_floats=hints.takes_known_floats,
        divides_products=hints.divides_products,
        crashing_compiler=hints.crashing_compiler,
        staged_copies=hints.staged_copies,
        copies_lists=hints.copies_lists,
        rewritten_ptx=hints.rewritten_ptx,
        runs_optimised=hints.runs_optimised,
        max_registers_option=results.max_registers_option,
        allows_build_option_g=results.allows_build_option_g,
        extensions=extensions,
        measured_gflops=results.measured_gflops,
        measured_gflops_double=results.measured_gflops_double,
    )


def _c_version(device: cl.Device) -> tuple[int, int]:
    found = re.search(r"(\d+)\.(\d+)", device.opencl_c_version)
    return (int(found[1]), int(found[2])) if found else (1, 0)


def _ptx_target(device: cl.Device, results: ProbeResults, hints: Hints) -> tuple[int, int]:
    """The architecture whose instructions inline PTX may use; (0, 0) without inline PTX."""
    if not results.inline_ptx or hints.compute_capability_query is None:
        return (0, 0)
    try:
        major, minor = (int(getattr(device, hints.compute_capability_query.format(p))) for p in ("major", "minor"))
    except (cl.Error, AttributeError):
        return (0, 0)
    return (major, minor)


def _named_group_size(device: cl.Device, hints: Hints) -> int:
    """The largest work-group of kernels that name its size; 0 where nothing tells it apart."""
    if hints.named_group_size_query is None:
        return 0
    try:
        return int(getattr(device, hints.named_group_size_query))
    except (cl.Error, AttributeError):
        return 0


def _warp_size(device: cl.Device, kind: DeviceType, results: ProbeResults, hints: Hints) -> int:
    """Lanes that run in lockstep: what the driver says, else a kernel's subgroup, else the preferred multiple."""
    if kind is not DeviceType.GPU or hints.simulated:
        return EMULATED_WARP
    if hints.warp_size_query is not None:
        try:
            return int(getattr(device, hints.warp_size_query))
        except (cl.Error, AttributeError):
            pass  # an old driver: ask on
    for size in (results.subgroup_size, results.preferred_multiple):
        if size in _LOCKSTEP_SIZES:
            return size
    return EMULATED_WARP
