"""GPUs as Linux's drivers show them below ``/sys/class/drm``: amdgpu, i915 and xe."""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from portagpu.bench.conditions import sysfs
from portagpu.bench.conditions.counters import Counter, MeanPower
from portagpu.bench.conditions.pci import Candidate, PciAddress, parsed, pick
from portagpu.bench.conditions.reading import (
    CURRENT_LIMIT,
    HARDWARE_RANGE,
    HARDWARE_THERMAL,
    POWER_BRAKE,
    POWER_CAP,
    THERMAL,
    NoSensors,
    Reading,
    Sensors,
    plausible,
    scaled,
)
from portagpu.device import DeviceRecord

_CARD = re.compile("card[0-9]+")  # others are its outputs
_NONE = ("", "0", "none")
# what an i915 or xe driver's word for a reason has in it, and ours; the first that fits
_WORDS = (
    ("prochot", HARDWARE_THERMAL),
    ("therm", THERMAL),
    ("ratl", THERMAL),
    ("crit", POWER_BRAKE),
    ("tdc", CURRENT_LIMIT),
    ("iccmax", CURRENT_LIMIT),
    ("fastvmode", CURRENT_LIMIT),
    ("freq", HARDWARE_RANGE),
    ("pl", POWER_CAP),
)
# where amdgpu's table of metrics has 64 bits of reasons, which are the same for all cards, by its version and size
_METRICS = {(1, 3): (112, 120), (2, 2): (120, 128)}
_BITS = ((range(16), POWER_CAP), (range(16, 32), CURRENT_LIMIT), (range(32, 46), THERMAL), ((46, 47), HARDWARE_THERMAL))
_UNSET = (1 << 64) - 1
_MICRO = (1.0, 1e11)  # a number that may be microwatts


class SysfsGpu:
    """One card. Power is what hwmon tells, or what its counter of energy gained since the reading before."""

    least_window_s = 0.1
    name = "Linux"

    def __init__(self, card: Path, now: Callable[[], float] = time.monotonic) -> None:
        self.missing = ""
        self._card, self._device = card, card / "device"
        self._chips = sysfs.matching(self._device, "hwmon/hwmon*")
        self._engines = (
            *sysfs.matching(self._device, "tile*/gt*/freq0"),  # xe
            *sysfs.matching(card, "gt/gt*"),  # i915
        )
        self._counter = Counter()
        self._power = MeanPower(self.energy, now)

    def read(self) -> Reading:
        """How the card is now."""
        watts = scaled(sysfs.first(self._chips, ("power1_input", "power1_average"), *_MICRO), 1e-6)
        gained = self._power.watts()
        names = ("temp1_input", "temp2_input", "temp3_input")
        clock, idle = self._clock()
        return plausible(
            core_clock_mhz=clock,
            memory_clock_mhz=self._memory_clock(),
            power_w=gained if watts is None else watts,
            temperature_c=scaled(sysfs.first(self._chips, names, -60_000, 200_000), 1e-3),
            reasons=self._reasons(),
            idle=idle or sysfs.number(self._device / "gpu_busy_percent") == 0,
        )

    def energy(self) -> float | None:
        """Joules since some moment."""
        microjoules = sysfs.first(self._chips, ("energy1_input", "energy2_input"), 0, 1e20)
        return scaled(self._counter.total(microjoules), 1e-6)

    def _clock(self) -> tuple[float | None, bool]:
        """The clock of the fastest engine, and whether all of them sleep."""
        hertz = sysfs.first(self._chips, ("freq1_input",), 1, 1e11)
        if hertz is not None:
            return hertz / 1e6, False
        found = [sysfs.first((engine,), ("act_freq", "rps_act_freq_mhz"), 0, 1e5) for engine in self._engines]
        found += [sysfs.first((self._card,), ("gt_act_freq_mhz",), 0, 1e5), _level(self._device / "pp_dpm_sclk")]
        clocks = [clock for clock in found if clock is not None]
        return max(clocks, default=None), bool(clocks) and max(clocks) == 0

    def _memory_clock(self) -> float | None:
        hertz = sysfs.first(self._chips, ("freq2_input",), 1, 1e11)
        return _level(self._device / "pp_dpm_mclk") if hertz is None else hertz / 1e6

    def _reasons(self) -> frozenset[str] | None:
        found = [words for words in map(_engine_reasons, self._engines) if words is not None]
        metrics = _metric_reasons(self._device / "gpu_metrics")
        if metrics is not None:
            found.append(metrics)
        return frozenset().union(*found) if found else None


def _level(path: Path) -> float | None:
    """The clock in use of a list such as ``1: 1200Mhz *``."""
    found = re.search(r"^[0-9S]+:\s*([0-9]{1,6})Mhz\s*\*\s*$", sysfs.text(path) or "", re.MULTILINE | re.IGNORECASE)
    return float(found.group(1)) if found else None


def _engine_reasons(engine: Path) -> frozenset[str] | None:
    """Why an engine of i915 or xe is throttled; None where that is not told."""
    told = sysfs.text(engine / "throttle/reasons")  # newer ones tell all at once
    if told is not None:
        return frozenset(_word(name.removeprefix("reason_")) for name in told.split() if name not in _NONE)
    files = (*sysfs.matching(engine, "throttle/reason_*"), *sysfs.matching(engine, "throttle_reason_*"))
    found = {path.name.partition("reason_")[2]: sysfs.number(path) for path in files}
    if all(value is None for value in found.values()):
        return None
    return frozenset(_word(name) for name, value in found.items() if value and name != "status")


def _word(name: str) -> str:
    return next((word for part, word in _WORDS if part in name), name.replace("_", " "))


def _metric_reasons(path: Path) -> frozenset[str] | None:
    """Why amdgpu's card is throttled, by its table of metrics; None for tables that do not tell."""
    table = sysfs.content(path) or b""
    place, size = _METRICS.get((table[2], table[3]), (0, 0)) if len(table) >= 4 else (0, 0)
    if not size or len(table) < size:
        return None
    (bits,) = struct.unpack_from("<Q", table, place)
    return None if bits == _UNSET else frozenset(word for these, word in _BITS if any(bits >> bit & 1 for bit in these))


def sensors(root: Path, device: DeviceRecord, address: PciAddress | None, vendor: int | None = None) -> Sensors:
    """The sensors of a device's card. Where the driver tells no place, it is the only card of the PCI vendor."""
    cards = tuple(_cards(root))
    handle, why = pick(cards, device, address)
    if handle is None and address is None and vendor is not None:
        own = [card.handle for card in cards if sysfs.text(card.handle / "device/vendor") == f"0x{vendor:04x}"]
        handle, why = (own[0], "") if len(own) == 1 else (None, f"{len(own)} cards of this vendor are listed")
    if handle is None:
        return NoSensors(f"{root / 'sys/class/drm'}: {why}")
    found = SysfsGpu(handle)
    if found.energy() is None and found.read() == Reading():
        return NoSensors(f"{handle} tells nothing of the card")
    return found


def _cards(root: Path) -> Iterator[Candidate]:
    for card in sysfs.matching(root / "sys/class/drm", "card*"):
        if _CARD.fullmatch(card.name):
            place = re.search(r"^PCI_SLOT_NAME=(\S+)", sysfs.text(card / "device/uevent") or "", re.MULTILINE)
            yield Candidate(card, parsed(place.group(1)) if place else None)


__all__ = ["SysfsGpu", "sensors"]
