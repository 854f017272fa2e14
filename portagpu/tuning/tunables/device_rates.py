"""Rates of a device for models: peak arithmetic, bandwidths, resources of a compute unit.

Measured once per device and driver (`portagpu.device.rates`) and kept in the cache folder; until then estimated from
the capabilities.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from portagpu.backends.registry import backend_of
from portagpu.device import DeviceRecord, DeviceType
from portagpu.device.capabilities import Capabilities
from portagpu.device.rates import Rates
from portagpu.errors import TuningError
from portagpu.private_files import read_private_json, write_private
from portagpu.settings import Settings

_SCHEMA = 1
_log = logging.getLogger(__name__)
_generation = 0
# of today's GPUs; drivers tell neither
_GPU_REGISTERS = 65536
_GPU_THREADS = 2048
_GPU_BLOCKS = 32
_BYTES_PER_FLOP = 0.06  # memory bandwidth over float32 rate, where neither could be measured
_CACHE_FACTOR = 3.0  # bandwidth of the cache over the memory's
_LOCAL_FACTOR = 4.0  # bandwidth of a CPU's first-level cache over the last one's
_LAUNCH_SECONDS = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFigures:
    """Rates in operations and bytes a second, sizes in bytes, times in seconds."""

    units: int
    flops: Mapping[str, float]  # peak by dtype's name
    dram: float
    cache: float  # between the last-level cache and the compute units
    local: float  # of local memory, all units together
    launch: float
    registers: int  # 32-bit ones of a unit; 0: they limit nothing
    local_memory: int  # of a unit; 0: there is none on the chip
    threads: int  # of a unit
    blocks: int  # of a unit
    warp: int
    measured: bool

    def peak(self, dtype: str) -> float:
        """Operations a second in a dtype; float16 and narrower ones count as float32 unless they were measured."""
        return self.flops.get(dtype) or self.flops["float32"]


def figures_of(device: DeviceRecord, settings: Settings, *, measure_now: bool = False) -> DeviceFigures:
    """A device's figures: measured ones if an earlier tuning run left them, else estimates.

    ``measure_now`` measures where nothing is known. Raises `TuningError` for a device that does not work.
    """
    caps = device.capabilities
    if caps is None:
        raise TuningError(f"{device.name} does not work: {device.problem}", hint=device.remedy)
    path = _path(device, settings)
    rates = _remembered(path, device.key)
    if rates is None and measure_now:
        rates = backend_of(device).measure(device)
        if rates is not None:
            _remember(path, device.key, rates)
            look_again()
    return _figures(caps, rates)


def look_again() -> None:
    """Rates that another process has measured count from now on."""
    global _generation
    _remembered.cache_clear()
    _generation += 1


def rates_generation() -> int:
    """Grows whenever figures of before may be out of date."""
    return _generation


def _figures(caps: Capabilities, rates: Rates | None) -> DeviceFigures:
    single = (rates.float32 if rates else 0.0) or caps.measured_gflops * 1e9 or _guessed_flops(caps)
    double = (rates.float64 if rates else 0.0) or caps.measured_gflops_double * 1e9 or single / 2
    dram = (rates.dram if rates else 0.0) or single * _BYTES_PER_FLOP
    gpu = caps.device_type is not DeviceType.CPU
    units = max(1, caps.compute_units)
    cache = max(dram, (rates.cache if rates else 0.0) or dram * _CACHE_FACTOR)
    return DeviceFigures(
        units=units,
        flops={"float32": single, "float64": double, "complex64": single, "complex128": double},
        dram=dram,
        cache=cache,
        # 32 banks of 4 bytes a cycle; on CPUs it is the first-level cache
        local=max(cache, units * caps.clock_mhz * 1e6 * 128.0) if gpu else cache * _LOCAL_FACTOR,
        launch=(rates.launch if rates else 0.0) or _LAUNCH_SECONDS,
        registers=_GPU_REGISTERS if gpu else 0,
        local_memory=caps.local_memory_static if caps.local_memory_dedicated else 0,
        threads=max(_GPU_THREADS, caps.max_work_group_size) if gpu else caps.max_work_group_size,
        blocks=_GPU_BLOCKS if gpu else 1,
        warp=max(1, caps.warp_size) if gpu else 1,
        measured=rates is not None,
    )


def _guessed_flops(caps: Capabilities) -> float:
    lanes = 128 if caps.device_type is not DeviceType.CPU else 2 * max(1, caps.vector_width_float)
    return 2.0 * lanes * max(1, caps.compute_units) * max(1, caps.clock_mhz) * 1e6


def _path(device: DeviceRecord, settings: Settings) -> Path:
    digest = hashlib.sha256(device.key.encode()).hexdigest()[:24]
    return settings.cache_dir / "rates" / f"{digest}-v{_SCHEMA}.json"


@lru_cache(maxsize=64)
def _remembered(path: Path, key: str) -> Rates | None:
    found = read_private_json(path)
    if found is None or found.get("key") != key:
        return None
    try:
        values: dict[str, Any] = found["rates"]
        return Rates(**{name: float(value) for name, value in values.items()})
    except (KeyError, TypeError, ValueError):
        return None


def _remember(path: Path, key: str, rates: Rates) -> None:
    try:
        write_private(path, json.dumps({"key": key, "rates": asdict(rates)}, indent=1).encode())
    except OSError as error:
        _log.debug("rates not remembered: %s", error)
