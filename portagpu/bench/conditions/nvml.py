"""NVML, the management library of one vendor's GPUs, through ``pynvml`` of the package nvidia_ml_py.

The counter of energy steps every 20 to 100 ms, so a window should have half a second or more. What NVML calls the
power's usage is a mean over the last second on newer cards; the instant one is read where there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from portagpu.bench.conditions.pci import Candidate, PciAddress, parsed, sensors_of_card
from portagpu.bench.conditions.reading import (
    APPLICATION_CLOCKS,
    DISPLAY_CLOCKS,
    HARDWARE_SLOWDOWN,
    HARDWARE_THERMAL,
    POWER_BRAKE,
    POWER_CAP,
    SOFTWARE_THERMAL,
    SYNC_BOOST,
    VOLTAGE_LIMIT,
    Reading,
    Sensors,
    attempt,
    plausible,
    scaled,
    within,
)
from portagpu.device import DeviceRecord

MODULE = "pynvml"
_IDLE = 0x1
_REASONS = {
    0x2: APPLICATION_CLOCKS,
    0x4: POWER_CAP,
    0x8: HARDWARE_SLOWDOWN,
    0x10: SYNC_BOOST,
    0x20: SOFTWARE_THERMAL,
    0x40: HARDWARE_THERMAL,
    0x80: POWER_BRAKE,
    0x100: DISPLAY_CLOCKS,
    0x200: "board limit",
    0x400: VOLTAGE_LIMIT,  # for the card's reliability
}
_CORE, _MEMORY, _TEMPERATURE = 1, 2, 0  # NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU
_INSTANT_POWER = 186  # NVML_FI_DEV_POWER_INSTANT
_LARGEST = 2.0**63


class Nvml:
    """One card as NVML knows it."""

    least_window_s = 0.5

    def __init__(self, library: Any, handle: Any) -> None:
        self.missing = ""
        self._library, self._handle = library, handle
        version = attempt(library.nvmlSystemGetNVMLVersion)
        version = version.decode("ascii", "replace") if isinstance(version, bytes) else version
        self.name = f"NVML {version}" if isinstance(version, str) else "NVML"

    def read(self) -> Reading:
        """How the card is now."""
        events = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if events is None:  # as older drivers call it
            events = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        bits = int(events) if within(events, 0, _LARGEST) is not None else None
        temperature = self._ask("nvmlDeviceGetTemperatureV", _TEMPERATURE)
        if temperature is None:
            temperature = self._ask("nvmlDeviceGetTemperature", _TEMPERATURE)
        return plausible(
            core_clock_mhz=self._ask("nvmlDeviceGetClockInfo", _CORE),
            memory_clock_mhz=self._ask("nvmlDeviceGetClockInfo", _MEMORY),
            power_w=scaled(self._milliwatts(), 1e-3),
            temperature_c=temperature,
            reasons=None if bits is None else frozenset(word for bit, word in _REASONS.items() if bits & bit),
            idle=bool((bits or 0) & _IDLE),
        )

    def energy(self) -> float | None:
        """Joules since the driver was loaded."""
        return scaled(within(self._ask("nvmlDeviceGetTotalEnergyConsumption"), 0, _LARGEST), 1e-3)

    def _milliwatts(self) -> Any:
        fields = self._ask("nvmlDeviceGetFieldValues", [_INSTANT_POWER])
        value = attempt(lambda: fields[0].value.uiVal if fields[0].nvmlReturn == 0 else None)
        return value or self._ask("nvmlDeviceGetPowerUsage")

    def _ask(self, name: str, *arguments: Any) -> Any:
        return attempt(lambda: getattr(self._library, name)(self._handle, *arguments))


def sensors(library: Any, device: DeviceRecord, address: PciAddress | None) -> Sensors:
    """The sensors of a device's card."""
    return sensors_of_card("NVML", partial(_cards, library), partial(Nvml, library), device, address)


def _cards(library: Any) -> Iterator[Candidate]:
    library.nvmlInit()
    for index in range(library.nvmlDeviceGetCount()):
        handle = attempt(library.nvmlDeviceGetHandleByIndex, index)
        if handle is not None:  # others may be forbidden to this user
            place = attempt(lambda card=handle: parsed(library.nvmlDeviceGetPciInfo(card).busId))
            name = attempt(library.nvmlDeviceGetName, handle)
            name = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
            yield Candidate(handle, place, (name,))


__all__ = ["MODULE", "Nvml", "sensors"]
