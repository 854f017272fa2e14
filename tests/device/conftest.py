"""Fixtures of the device tests: settings in a temporary folder, made-up devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portagpu.device import Capabilities, DeviceRecord, DeviceType
from portagpu.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose folders are empty and temporary."""
    return Settings(
        device=None, cache_dir=tmp_path / "cache", data_dir=tmp_path / "data", disk_cache=True, driver_paths=()
    )


_CAPABILITIES = Capabilities(
    device_type=DeviceType.CPU,
    opencl_c_version=(1, 2),
    address_bits=64,
    compute_units=4,
    clock_mhz=2000,
    global_memory=1 << 30,
    max_allocation=1 << 28,
    constant_memory=65536,
    mem_base_alignment=128,
    local_memory_static=32768,
    local_memory_argument=32768,
    local_memory_dedicated=False,
    global_cache=1 << 20,
    host_unified_memory=True,
    max_work_group_size=1024,
    max_work_item_sizes=(1024, 1024, 64),
    preferred_multiple=8,
    warp_size=32,
    fp64=True,
    fp16=False,
    fp16_storage=True,
    correctly_rounded_divide_sqrt=True,
    vector_width_float=8,
    vector_width_double=4,
    int64_atomics=True,
    float_atomic_add_global=False,
    float_atomic_add_local=False,
    double_atomic_add_global=False,
    double_atomic_add_local=False,
    inline_ptx=False,
    subgroups=False,
    subgroup_size=0,
    subgroup_shuffle=False,
    required_subgroup_size=False,
    printf=True,
    language_option="",
    line_directives=False,
    max_registers_option=False,
    allows_build_option_g=True,
    extensions=frozenset(),
    measured_gflops=100.0,
)

MakeDevice = Callable[..., DeviceRecord]


@pytest.fixture
def make_device() -> MakeDevice:
    """Makes device records that no driver stands behind."""

    def make(
        index: int,
        name: str,
        kind: DeviceType = DeviceType.CPU,
        *,
        gflops: float = 100.0,
        problem: str | None = None,
        **names: Any,
    ) -> DeviceRecord:
        capabilities = replace(_CAPABILITIES, device_type=kind, measured_gflops=gflops)
        texts = {"vendor": "Maker", "platform": "Platform", "driver_version": "1.0", **names}
        return DeviceRecord(
            index=index,
            name=name,
            device_type=kind,
            native=None,
            capabilities=None if problem else capabilities,
            problem=problem,
            remedy="mend it" if problem else None,
            **texts,
        )

    return make
