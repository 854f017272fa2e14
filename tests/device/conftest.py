"""Fixtures of the device tests: settings in a temporary folder, made-up devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portagpu.device import DeviceRecord, DeviceType
from portagpu.settings import Settings
from tools.reference.profiles import CPU


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose folders are empty and temporary."""
    return Settings(
        device=None, cache_dir=tmp_path / "cache", data_dir=tmp_path / "data", disk_cache=True, driver_paths=()
    )


_CAPABILITIES = replace(
    CPU,
    compute_units=4,
    clock_mhz=2000,
    global_memory=1 << 30,
    max_allocation=1 << 28,
    local_memory_static=32768,
    local_memory_argument=32768,
    max_work_group_size=1024,
    max_work_item_sizes=(1024, 1024, 64),
    allows_build_option_g=True,
    extensions=frozenset(),
    builtin_prefetch=False,
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
        texts = {"vendor": "Maker", "platform": "Platform", "driver_version": "1.0", "backend": "opencl", **names}
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
