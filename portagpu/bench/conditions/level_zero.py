"""Level Zero's Sysman, the management interface of one vendor's GPUs, through the Python package ``pyzes``.

It tells energy, and not power, which is what the energy gained since the reading before.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from portagpu.bench.conditions.counters import Counter, MeanPower
from portagpu.bench.conditions.pci import Candidate, PciAddress, sensors_of_card
from portagpu.bench.conditions.reading import (
    CURRENT_LIMIT,
    HARDWARE_RANGE,
    POWER_BRAKE,
    POWER_CAP,
    SOFTWARE_RANGE,
    THERMAL,
    VOLTAGE_LIMIT,
    Reading,
    Sensors,
    attempt,
    plausible,
    scaled,
)
from portagpu.device import DeviceRecord

MODULE = "pyzes"
_REASONS = {
    0x1: POWER_CAP,  # a mean's
    0x2: POWER_CAP,  # a burst's
    0x4: CURRENT_LIMIT,
    0x8: THERMAL,
    0x10: POWER_BRAKE,  # the power supply's alert
    0x20: SOFTWARE_RANGE,
    0x40: HARDWARE_RANGE,
    0x80: VOLTAGE_LIMIT,
    0x100: THERMAL,
    0x200: POWER_CAP,
}
_GPU, _MEMORY = 0, 1  # ZES_FREQ_DOMAIN_*
_TEMPERATURES = (1, 0)  # ZES_TEMP_SENSORS_GPU, or else ZES_TEMP_SENSORS_GLOBAL


class LevelZero:
    """One device as Sysman knows it: the first clock and sensor of each kind, and the power of the whole card."""

    least_window_s = 0.1
    name = "Level Zero"

    def __init__(self, library: Any, handle: Any, now: Callable[[], float] = time.monotonic) -> None:
        self.missing = ""
        self._library = library
        domains = _handles(library, handle, "FrequencyDomains", "freq")
        clocks = _by_kind(library, "Frequency", "freq", domains)
        self._core, self._memory = clocks.get(_GPU), clocks.get(_MEMORY)
        places = _handles(library, handle, "TemperatureSensors", "temp")
        heats = _by_kind(library, "Temperature", "temp", places)
        self._heat = next((heats[kind] for kind in _TEMPERATURES if kind in heats), None)
        self._meter = _whole(library, _handles(library, handle, "PowerDomains", "pwr"))
        self._counter = Counter()
        self._power = MeanPower(self.energy, now)

    def read(self) -> Reading:
        """How the device is now."""
        core, memory = self._clock(self._core), self._clock(self._memory)
        flags = None if core is None else int(core.throttleReasons)
        clock = None if core is None else float(core.actual)
        return plausible(
            core_clock_mhz=clock,
            memory_clock_mhz=None if memory is None else float(memory.actual),
            power_w=self._power.watts(),
            temperature_c=self._celsius(),
            reasons=None if flags is None else frozenset(word for bit, word in _REASONS.items() if flags & bit),
            idle=clock == 0,  # it sleeps
        )

    def energy(self) -> float | None:
        """Joules since some moment."""
        if self._meter is None:
            return None
        counted = self._library.zes_power_energy_counter_t()
        if attempt(self._library.zesPowerGetEnergyCounter, self._meter, ctypes.byref(counted)) != 0:
            return None
        return scaled(self._counter.total(float(counted.energy)), 1e-6)

    def _clock(self, domain: Any) -> Any:
        if domain is None:
            return None
        state = self._library.zes_freq_state_t()
        state.stype = self._library.ZES_STRUCTURE_TYPE_FREQ_STATE
        return state if attempt(self._library.zesFrequencyGetState, domain, ctypes.byref(state)) == 0 else None

    def _celsius(self) -> float | None:
        celsius = ctypes.c_double()
        if self._heat is None or attempt(self._library.zesTemperatureGetState, self._heat, ctypes.byref(celsius)) != 0:
            return None
        return celsius.value


def sensors(library: Any, device: DeviceRecord, address: PciAddress | None) -> Sensors:
    """The sensors of a device's card."""
    return sensors_of_card("Level Zero", partial(_cards, library), partial(LevelZero, library), device, address)


def _cards(library: Any) -> Iterator[Candidate]:
    if library.zesInit(0) != 0:
        raise RuntimeError("it does not start")
    for driver in _listed(library.zesDriverGet, library.zes_driver_handle_t):
        for handle in _listed(partial(library.zesDeviceGet, driver), library.zes_device_handle_t):
            yield _card(library, handle)


def _card(library: Any, handle: Any) -> Candidate:
    facts, place = library.zes_device_properties_t(), library.zes_pci_properties_t()
    facts.stype = library.ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES
    place.stype = library.ZES_STRUCTURE_TYPE_PCI_PROPERTIES
    names: tuple[str, ...] = ()
    if attempt(library.zesDeviceGetProperties, handle, ctypes.byref(facts)) == 0:
        names = tuple(bytes(name).decode("utf-8", "replace") for name in (facts.core.name, facts.modelName))
    address = None
    if attempt(library.zesDevicePciGetProperties, handle, ctypes.byref(place)) == 0:
        at = place.address
        address = PciAddress(at.domain, at.bus, at.device, at.function)
    return Candidate(handle, address, names)


def _listed(call: Callable[..., Any], kind: Any) -> list[Any]:
    """What one of the interface's lists has: it is asked for its length, and then filled."""
    count = ctypes.c_uint32(0)
    if call(ctypes.byref(count), None) != 0 or not 0 < count.value < 1000:
        return []
    found = (kind * count.value)()
    return list(found) if call(ctypes.byref(count), found) == 0 else []


def _handles(library: Any, device: Any, plural: str, short: str) -> list[Any]:
    def ask() -> list[Any]:
        listing = partial(getattr(library, f"zesDeviceEnum{plural}"), device)
        return _listed(listing, getattr(library, f"zes_{short}_handle_t"))

    return attempt(ask) or []


def _by_kind(library: Any, noun: str, short: str, handles: list[Any]) -> dict[int, Any]:
    """The first handle of each kind."""
    found: dict[int, Any] = {}
    for handle in handles:
        facts = getattr(library, f"zes_{short}_properties_t")()
        facts.stype = getattr(library, f"ZES_STRUCTURE_TYPE_{short.upper()}_PROPERTIES")
        if attempt(getattr(library, f"zes{noun}GetProperties"), handle, ctypes.byref(facts)) == 0:
            found.setdefault(int(facts.type), handle)
    return found


def _whole(library: Any, meters: list[Any]) -> Any:
    """The first domain of power that is not of a part of the card, or else the first."""
    for meter in meters:
        facts = library.zes_power_properties_t()
        facts.stype = library.ZES_STRUCTURE_TYPE_POWER_PROPERTIES
        if attempt(library.zesPowerGetProperties, meter, ctypes.byref(facts)) == 0 and not facts.onSubdevice:
            return meter
    return meters[0] if meters else None


__all__ = ["MODULE", "LevelZero", "sensors"]
