"""Puts `Capabilities` together: what the device tells, what the trials found, what the quirks say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from portagpu.backends.sycl.drivers.quirks import Hints
from portagpu.device.capabilities import Capabilities, DeviceType

_EMULATED_WARP = 32
_LOCKSTEP_SIZES = (8, 16, 32, 64, 128)


def capabilities_of(facts: Mapping[str, str], answers: Mapping[str, Any], hints: Hints) -> Capabilities:
    """Capabilities of a device without a problem."""
    kind = DeviceType(facts["type"])
    is_cpu = kind is DeviceType.CPU

    def number(name: str, otherwise: int = 0) -> int:
        return int(facts.get(name) or otherwise)

    sizes = [*map(int, facts.get("max_work_item_sizes", "").split()), 1, 1, 1]
    subgroup_size = int(answers["subgroup_size"])
    return Capabilities(
        device_type=kind,
        compute_units=max(1, number("compute_units", 1)),
        clock_mhz=number("clock_mhz"),
        address_bits=number("address_bits", 64),
        measured_gflops=float(answers["gflops"]),
        measured_gflops_double=float(answers["gflops_double"]),
        global_memory=number("global_memory"),
        max_allocation=number("max_allocation"),
        constant_memory=number("max_allocation"),  # constant arrays lie in global memory
        mem_base_alignment=max(16, number("mem_base_alignment")),
        local_memory_static=int(answers["local_static"]),
        local_memory_argument=int(answers["local_argument"]),
        local_memory_dedicated=facts.get("local_dedicated") == "1",
        global_cache=number("global_cache"),
        # what the host allocates, kernels take where it is
        host_unified_memory=is_cpu and facts.get("usm_system") == "1",
        max_work_group_size=number("max_work_group_size", 1),
        max_work_item_sizes=(sizes[0], sizes[1], sizes[2]),
        preferred_multiple=int(answers["preferred_multiple"]),
        cooperative_launch=False,
        fp64=bool(answers["fp64"]),
        fp16=bool(answers["fp16"]),
        fp16_functions=bool(answers["fp16_functions"]),
        fp16_storage=bool(answers["fp16"]),
        correctly_rounded_divide_sqrt=bool(answers["correctly_rounded"]),
        vector_width_float=max(1, number("vector_width_float", 1)),
        vector_width_double=max(1, number("vector_width_double", 1)),
        warp_size=subgroup_size if not is_cpu and subgroup_size in _LOCKSTEP_SIZES else _EMULATED_WARP,
        warp_instructions=False,
        device_fences=False,
        int64_atomics=bool(answers["int64_atomics"]),
        float_atomic_add_global=bool(answers["float_add_global"]),
        float_atomic_add_local=bool(answers["float_add_local"]),
        double_atomic_add_global=bool(answers["double_add_global"]),
        double_atomic_add_local=bool(answers["double_add_local"]),
        subgroups=subgroup_size > 0,
        subgroup_size=subgroup_size,
        subgroup_sizes=tuple(map(int, str(answers["subgroup_sizes"]).split())),
        subgroup_shuffle=subgroup_size > 0,
        subgroup_block_io=bool(answers["subgroup_block_io"]),
        matrix_units=tuple(str(answers["matrix_units"]).split()),
        required_subgroup_size=bool(answers["subgroup_sizes"]),
        async_copies=False,
        prefetch=not is_cpu,
        nanosleep=False,
        printf=bool(answers["printf"]),
        register_aware_scheduling=False,
        compares_ids=hints.compares_ids,
        diverging_nests=hints.diverging_nests,
        cuts_subscripts=hints.cuts_subscripts,
        keeps_negations=hints.keeps_negations,
        blends_values=hints.blends_values,
        skips_loads=hints.skips_loads,
        sums_differences=hints.sums_differences,
        chooses_arrays=hints.chooses_arrays,
        crashing_compiler=hints.crashing_compiler,
        line_directives=False,
        opencl_c_version=(0, 0),
        extensions=frozenset(),
        language_option="",
        max_registers_option=False,
        allows_build_option_g=False,
        inline_ptx=False,
    )
