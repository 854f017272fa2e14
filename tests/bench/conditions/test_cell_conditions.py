"""What readings of a cell come to, when it is throttled, and windows of energy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from portagpu.bench.conditions import Monitor, NoSensors, Reading, Spread, summary
from portagpu.bench.conditions.reading import plausible

NONE = frozenset()


def reading(clock=None, *reasons, known=True, **more):
    return Reading(core_clock_mhz=clock, reasons=frozenset(reasons) if known else None, **more)


def clocks(*values):
    """Readings of a device that tells no reasons."""
    return [reading(value, known=False) for value in values]


def test_readings_come_to_least_median_and_most():
    found = summary([reading(1000.0, power_w=50.0), reading(1980.0, power_w=70.0), reading(1500.0, temperature_c=60.0)])
    assert found.core_clock_mhz == Spread(least=1000, median=1500, most=1980)
    assert found.power_w == Spread(least=50, median=60, most=70)
    assert found.temperature_c == Spread(least=60, median=60, most=60)
    assert found.memory_clock_mhz is None
    assert (found.readings, found.idle, found.reasons, found.throttled) == (3, 0, (), None)


def test_nothing_that_was_read_is_unknown_and_not_throttled():
    found = summary([Reading(), Reading()])
    assert found.core_clock_mhz is None and found.reasons is None and found.throttled is None
    assert summary([]).readings == 0 and summary([]).reasons is None


@pytest.mark.parametrize(
    "reason",
    ["thermal slowdown", "software thermal slowdown", "hardware thermal slowdown", "hardware slowdown", "power brake"],
)
def test_slowdowns_throttle_a_cell(reason):
    found = summary([reading(1980.0), reading(1200.0, reason), reading(1900.0, "power cap")])
    assert found.throttled == f"{reason} in 1 of 3 readings"
    assert found.reasons == tuple(sorted([reason, "power cap"]))


@pytest.mark.parametrize("reason", ["power cap", "current limit", "sync boost", "application clocks", "a new reason"])
def test_limits_are_recorded_and_do_not_throttle(reason):
    found = summary([reading(1980.0), reading(600.0, reason)])
    assert found.throttled is None and found.reasons == (reason,)


def test_a_hardware_slowdown_is_named_by_what_says_more():
    both = summary([reading(None, "hardware slowdown", "power brake")])
    assert both.throttled == "power brake in 1 of 1 readings"
    assert (
        summary([reading(None, "hardware slowdown", "power cap")]).throttled == "hardware slowdown in 1 of 1 readings"
    )


def test_without_reasons_a_clock_that_fell_throttles():
    assert summary(clocks(1980, 1200)).throttled == "clock fell from 1980 to 1200 MHz"
    assert summary(clocks(1200, 1980)).throttled == "clock rose from 1200 to 1980 MHz"
    assert summary(clocks(1200, 1980, 1200)).throttled == "clock fell from 1980 to 1200 MHz"
    assert summary(clocks(1000, 800)).throttled is None  # 0.8 of the highest is steady
    assert summary(clocks(1000, 799)).throttled is not None
    assert summary([reading(1980), reading(1200)]).throttled is None  # reasons are told, and there are none


def test_idle_readings_do_not_count():
    idle = reading(210.0, "hardware slowdown", idle=True)
    found = summary([idle, reading(1980.0), idle])
    assert found.core_clock_mhz == Spread(least=1980, median=1980, most=1980)
    assert (found.readings, found.idle, found.reasons, found.throttled) == (1, 2, (), None)
    assert summary([*clocks(1980), replace(clocks(210)[0], idle=True)]).throttled is None


@pytest.mark.parametrize("value", [-1, 0xFFFFFFFF, float("nan"), float("inf"), "N/A", None, True, b"5", 10**400])
def test_what_cannot_be_true_is_unknown(value):
    assert plausible(core_clock_mhz=value, memory_clock_mhz=value, power_w=value) == Reading()
    assert plausible(temperature_c=value).temperature_c in (None, -1)


def test_energy_of_one_run_and_mean_power():
    found = summary([], energy=(12.5, 2.0, 5))
    assert (found.joules_per_run, found.mean_power_w) == (2.5, 6.25)
    unknown = summary([], energy=(12.5, 2.0, 0))
    assert unknown.joules_per_run is None and summary([]).joules_per_run is None and summary([]).mean_power_w is None


class Meter:
    """Sensors that tell what they are told to tell."""

    name, missing, least_window_s = "meter", "", 0.5

    def __init__(self):
        self.joules = 7.0
        self.now = Reading(core_clock_mhz=1000.0)

    def read(self):
        if isinstance(self.now, Exception):
            raise self.now
        return self.now

    def energy(self):
        if isinstance(self.joules, Exception):
            raise self.joules
        return self.joules


def test_a_monitor_takes_readings_and_begins_anew(clock):
    meter = Meter()
    monitor = Monitor(meter, clock)
    assert monitor.look() == meter.now
    meter.now = OSError("gone")
    assert monitor.look() == Reading()
    found = monitor.conditions()
    assert found.readings == 2 and found.core_clock_mhz.median == 1000 and found.source == "meter"
    assert monitor.conditions().readings == 0


def test_a_cell_begins_without_what_was_before(clock):
    meter = Meter()
    monitor = Monitor(meter, clock)
    monitor.look()
    with monitor.energy():
        clock.wait(1)
    asked = []
    meter.read = lambda: asked.append("read")
    monitor.begin()  # counts since the reading before are of no cell
    assert asked == ["read"]
    found = monitor.conditions()
    assert (found.readings, found.energy_j) == (0, None)
    meter.read = lambda: 1 / 0
    monitor.begin()


def test_a_window_has_the_energy_between_its_ends(clock):
    meter = Meter()
    monitor = Monitor(meter, clock)
    with monitor.energy() as window:
        meter.joules += 30.0
        clock.wait(0.6)
        window.runs = 10
    assert (window.joules, window.problem, window.seconds) == (30.0, "", pytest.approx(0.6))
    found = monitor.conditions()
    assert (found.energy_j, found.energy_runs, found.joules_per_run) == (30.0, 10, 3.0)
    assert monitor.conditions().energy_j is None


@pytest.mark.parametrize("after", [None, OSError("gone"), 6.0, float("nan")])
def test_a_window_without_a_counter_has_no_energy(clock, after):
    meter = Meter()
    monitor = Monitor(meter, clock)
    with monitor.energy() as window:
        meter.joules = after
        clock.wait(1)
    assert window.joules is None and "tells no energy" in window.problem
    assert monitor.conditions().energy_j is None


def test_a_short_window_has_no_energy(clock):
    monitor = Monitor(Meter(), clock)
    with monitor.energy() as window:
        clock.wait(0.25)
    assert window.joules is None and window.problem == "0.250 s are too short for meter, which needs 0.5 s"


def test_an_exception_leaves_a_window_without_energy(clock):
    monitor = Monitor(Meter(), clock)
    with pytest.raises(ZeroDivisionError), monitor.energy() as window:
        clock.wait(1)
        raise ZeroDivisionError
    assert window.joules is None and monitor.conditions().energy_j is None


def test_without_sensors_everything_is_unknown_and_says_why(clock):
    monitor = Monitor(NoSensors("no library"), clock)
    assert monitor.look() == Reading()
    with monitor.energy() as window:
        clock.wait(9)
    assert window.joules is None and window.problem == "no library"
    assert monitor.conditions().missing == "no library"
