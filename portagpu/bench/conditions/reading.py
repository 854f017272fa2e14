"""One look at the sensors of a device, and what sensors are.

Sensors fail at any time: files vanish, libraries refuse, firmware says -1. What cannot be read, or cannot be true, is a
None, and nothing here raises out of a measurement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

POWER_CAP = "power cap"
CURRENT_LIMIT = "current limit"
VOLTAGE_LIMIT = "voltage limit"
SYNC_BOOST = "sync boost"
APPLICATION_CLOCKS = "application clocks"
DISPLAY_CLOCKS = "display clocks"
SOFTWARE_RANGE = "software clock range"
HARDWARE_RANGE = "hardware clock range"
THERMAL = "thermal slowdown"
SOFTWARE_THERMAL = "software thermal slowdown"
HARDWARE_THERMAL = "hardware thermal slowdown"
HARDWARE_SLOWDOWN = "hardware slowdown"
POWER_BRAKE = "power brake"

_CLOCK = (1.0, 100_000.0)  # MHz
_POWER = (0.0, 100_000.0)  # W
_TEMPERATURE = (-60.0, 200.0)  # degrees Celsius


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One look at the sensors; None where a thing cannot be read.

    ``reasons`` are those why clocks are lower than they could be, in the field's words; empty where there are none, and
    None where they cannot be read. ``idle``: the device did nothing, so the reading says nothing of a measurement.
    """

    core_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    reasons: frozenset[str] | None = None
    idle: bool = False


class Sensors(Protocol):
    """The sensors of one device.

    ``name``: what reads them, such as "RAPL". ``missing``: what cannot be read, why, and what helps, in a sentence;
    empty where nothing is missing. ``least_window_s``: energy over a shorter time says more of the counter than of the
    device. ``energy`` is in joules since some moment, and never falls; None where it cannot be read.
    """

    name: str
    missing: str
    least_window_s: float

    def read(self) -> Reading:
        """How things are now."""

    def energy(self) -> float | None:
        """Joules since some moment."""


class NoSensors:
    """Sensors of a device of which nothing can be read."""

    name = "none"
    least_window_s = 0.0

    def __init__(self, missing: str) -> None:
        self.missing = missing

    def read(self) -> Reading:
        """Nothing."""
        return Reading()

    def energy(self) -> float | None:
        """None."""
        return None


def unread(sensors: Sensors, *, without: tuple[str, ...] = ()) -> str:
    """What sensors do not tell, as a sentence; empty where they tell everything, but for what nobody expects."""
    now, joules = attempt(sensors.read) or Reading(), attempt(sensors.energy)
    told = {
        "core clock": now.core_clock_mhz,
        "memory clock": now.memory_clock_mhz,
        "power": joules if now.power_w is None else now.power_w,  # which energy tells, with the second reading
        "temperature": now.temperature_c,
        "throttle reasons": now.reasons,
        "energy": joules,
    }
    silent = [name for name, value in told.items() if value is None and name not in without]
    return f"{sensors.name} tells no {', no '.join(silent)}" if silent else ""


def attempt(call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call returns; None if it raises: libraries of sensors raise anything."""
    try:
        return call(*arguments)
    except Exception:
        return None


def within(value: object, least: float, most: float) -> float | None:
    """A number if it is one in a range, else None: libraries say "N/A", firmware says -1 or the largest integer."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if least <= value <= most else None  # which nan is not


def scaled(value: object, factor: float) -> float | None:
    """A number times a factor; None where it is none."""
    number = within(value, -1e300, 1e300)
    return None if number is None else number * factor


def plausible(
    *,
    core_clock_mhz: object = None,
    memory_clock_mhz: object = None,
    power_w: object = None,
    temperature_c: object = None,
    reasons: frozenset[str] | None = None,
    idle: bool = False,
) -> Reading:
    """A reading of what sensors said, without what cannot be true."""
    return Reading(
        core_clock_mhz=within(core_clock_mhz, *_CLOCK),
        memory_clock_mhz=within(memory_clock_mhz, *_CLOCK),
        power_w=within(power_w, *_POWER),
        temperature_c=within(temperature_c, *_TEMPERATURE),
        reasons=reasons,
        idle=idle,
    )
