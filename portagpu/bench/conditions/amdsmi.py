"""The management library ``amdsmi`` of one vendor's GPUs, through its Python package of that name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from portagpu.bench.conditions.counters import Counter
from portagpu.bench.conditions.pci import Candidate, PciAddress, parsed, sensors_of_card
from portagpu.bench.conditions.reading import (
    HARDWARE_THERMAL,
    POWER_CAP,
    THERMAL,
    Reading,
    Sensors,
    attempt,
    plausible,
    scaled,
    within,
)
from portagpu.device import DeviceRecord

MODULE = "amdsmi"
_VIOLATIONS = {
    "active_prochot_thrm": HARDWARE_THERMAL,
    "active_socket_thrm": THERMAL,
    "active_vr_thrm": THERMAL,
    "active_hbm_thrm": THERMAL,
    "active_ppt_pwr": POWER_CAP,
}
# names of one thing in the library's versions, the best first
_CLOCK = ("clk", "cur_clk")
_POWER = ("current_socket_power", "average_socket_power", "socket_power")
_ENERGY = ("energy_accumulator", "power")
_LARGEST = 2.0**64


class AmdSmi:
    """One card as the library knows it."""

    least_window_s = 0.1

    def __init__(self, library: Any, handle: Any) -> None:
        self.missing = ""
        self._library, self._handle = library, handle
        self._counter = Counter()
        version = attempt(library.amdsmi_get_lib_version)
        parts = [_entry(version, (name,)) for name in ("major", "minor")]
        self.name = "amdsmi" + (f" {parts[0]}.{parts[1]}" if None not in parts else "")

    def read(self) -> Reading:
        """How the card is now."""
        power = self._ask("amdsmi_get_power_info")
        activity = self._ask("amdsmi_get_gpu_activity")
        return plausible(
            core_clock_mhz=self._clock("GFX"),
            memory_clock_mhz=self._clock("MEM"),
            power_w=next((watts for name in _POWER if (watts := _watts(power, name)) is not None), None),
            temperature_c=self._temperature(),
            reasons=self._reasons(),
            idle=within(_entry(activity, ("gfx_activity",)), 0, 0) is not None,
        )

    def energy(self) -> float | None:
        """Joules since the driver was loaded."""
        told = self._ask("amdsmi_get_energy_count")
        count = within(_entry(told, _ENERGY), 0, _LARGEST)
        unit = within(_entry(told, ("counter_resolution",)), 1e-3, 1e6)  # microjoules
        return scaled(self._counter.total(count), unit * 1e-6) if unit is not None else None

    def _clock(self, kind: str) -> Any:
        which = attempt(lambda: getattr(self._library.AmdSmiClkType, kind))
        return _entry(self._ask("amdsmi_get_clock_info", which), _CLOCK)

    def _temperature(self) -> Any:
        """Of the die's edge, or the hottest place where the edge has no sensor."""
        for place in ("EDGE", "HOTSPOT", "JUNCTION"):
            which = attempt(lambda place=place: getattr(self._library.AmdSmiTemperatureType, place))
            now = attempt(lambda: self._library.AmdSmiTemperatureMetric.CURRENT)
            celsius = within(self._ask("amdsmi_get_temp_metric", which, now), 1, 200)
            if celsius is not None:
                return celsius
        return None

    def _reasons(self) -> frozenset[str] | None:
        told = self._ask("amdsmi_get_violation_status")
        known = {name: active for name in _VIOLATIONS if isinstance(active := _entry(told, (name,)), bool)}
        return frozenset(_VIOLATIONS[name] for name, active in known.items() if active) if known else None

    def _ask(self, name: str, *arguments: Any) -> Any:
        return attempt(lambda: getattr(self._library, name)(self._handle, *arguments))


def sensors(library: Any, device: DeviceRecord, address: PciAddress | None) -> Sensors:
    """The sensors of a device's card."""
    return sensors_of_card("amdsmi", partial(_cards, library), partial(AmdSmi, library), device, address)


def _cards(library: Any) -> Iterator[Candidate]:
    library.amdsmi_init()
    for handle in library.amdsmi_get_processor_handles():
        facts = attempt(library.amdsmi_get_gpu_asic_info, handle)
        names = (_entry(facts, (name,)) for name in ("market_name", "target_graphics_version"))
        place = parsed(attempt(library.amdsmi_get_gpu_device_bdf, handle))
        yield Candidate(handle, place, tuple(name for name in names if isinstance(name, str)))


def _entry(told: object, names: tuple[str, ...]) -> Any:
    return next((told[name] for name in names if name in told), None) if isinstance(told, dict) else None


def _watts(told: object, name: str) -> float | None:
    """Power, but not the largest number of 16 or 32 bits, nor zero, which stand for what is not there."""
    return within(_entry(told, (name,)), 1, 65_000)


__all__ = ["MODULE", "AmdSmi", "sensors"]
