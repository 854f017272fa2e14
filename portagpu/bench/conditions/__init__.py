"""Under which conditions a benchmark ran: clocks, power, temperature, throttle reasons, and energy.

`sensors_for` finds a device's sensors, `Monitor` reads them when it is told to, and `Conditions` are what the readings
of a cell come to: `summary` has the policy by which a throttled cell shows the reason in place of its numbers.
All of it works without root, and without any sensor: what cannot be read is None.
"""

from portagpu.bench.conditions.choice import sensors_for
from portagpu.bench.conditions.monitor import EnergyWindow, Monitor
from portagpu.bench.conditions.reading import NoSensors, Reading, Sensors
from portagpu.bench.conditions.summary import THROTTLES, Conditions, Spread, summary

__all__ = [
    "THROTTLES",
    "Conditions",
    "EnergyWindow",
    "Monitor",
    "NoSensors",
    "Reading",
    "Sensors",
    "Spread",
    "sensors_for",
    "summary",
]
