"""Processors and RAPL as Linux shows them, in trees of files, and counters that begin anew."""

from __future__ import annotations

import pytest

from portagpu.bench.conditions import Reading
from portagpu.bench.conditions.counters import Counter, MeanPower
from portagpu.bench.conditions.cpu import CpuSensors
from portagpu.bench.conditions.rapl import Rapl

CPU = "sys/devices/system/cpu"
ZONE = "sys/class/powercap/intel-rapl:0"
PACKAGE = {f"{ZONE}/name": "package-0", f"{ZONE}/energy_uj": 5_000_000, f"{ZONE}/max_energy_range_uj": 100_000_000}
CLOCKS = {f"{CPU}/cpu{index}/cpufreq/scaling_cur_freq": mhz * 1000 for index, mhz in enumerate((800, 3600, 3400))}
COUNTS = {
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": 7,
    f"{CPU}/cpu0/thermal_throttle/package_throttle_count": 0,
}
HEAT = {
    "sys/class/hwmon/hwmon0/name": "nvme",
    "sys/class/hwmon/hwmon0/temp1_input": 99_000,
    "sys/class/hwmon/hwmon1/name": "coretemp",
    "sys/class/hwmon/hwmon1/temp1_input": 71_000,
    "sys/class/hwmon/hwmon1/temp2_input": 74_000,
}


def ticks(busy, idle, cpus=2):
    return {"proc/stat": "\n".join([f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0", *(f"cpu{i} 0 0" for i in range(cpus)), "x"])}


def test_a_processor_tells_everything(tree, clock):
    root = tree(PACKAGE | CLOCKS | COUNTS | HEAT | ticks(0, 0))
    sensors = CpuSensors(root, clock)
    assert (sensors.name, sensors.missing, sensors.energy()) == ("Linux and RAPL", "", 5.0)
    clock.wait(2)
    tree({f"{ZONE}/energy_uj": 95_000_000} | ticks(20, 0))
    assert sensors.read() == Reading(
        core_clock_mhz=3600, power_w=pytest.approx(45), temperature_c=74, reasons=frozenset()
    )


def test_throttling_is_what_was_counted_since_the_last_reading(tree):
    sensors = CpuSensors(tree(COUNTS))
    tree({f"{CPU}/cpu0/thermal_throttle/package_throttle_count": 1})
    assert sensors.read().reasons == {"thermal slowdown"}
    assert sensors.read().reasons == frozenset()
    tree({f"{CPU}/cpu0/thermal_throttle/core_power_limit_count": 3})  # the first that is known of it
    assert sensors.read().reasons == frozenset()
    tree({f"{CPU}/cpu0/thermal_throttle/core_power_limit_count": 4})
    assert sensors.read().reasons == {"power cap"}


def test_a_processor_with_little_to_do_is_idle(tree):
    sensors = CpuSensors(tree(CLOCKS | ticks(100, 100)))
    tree(ticks(102, 118))  # 2 of 20 ticks of two CPUs: a fifth of one
    assert sensors.read().idle
    tree(ticks(103, 119))  # too short a time to tell
    assert sensors.read().idle
    tree(ticks(122, 120))
    assert not sensors.read().idle


def test_without_cpufreq_the_kernels_list_tells_clocks(tree):
    listed = "flags\t\t: fpu vme\ncpu MHz\t\t: 2400.5\n\nflags\t\t: fpu\ncpu MHz\t\t: 3100.125"
    assert CpuSensors(tree({"proc/cpuinfo": listed})).read().core_clock_mhz == 3100.125


def test_a_virtual_machine_tells_no_clock(tree):
    sensors = CpuSensors(tree({"proc/cpuinfo": "cpu MHz\t\t: 2500\nflags\t\t: fpu hypervisor lm"}))
    assert sensors.read().core_clock_mhz is None
    assert "Linux tells no core clock, no temperature, no throttle reasons" in sensors.missing


def test_thermal_zones_tell_temperature_where_no_chip_does(tree):
    zones = {
        "sys/class/thermal/thermal_zone0/type": "acpitz",
        "sys/class/thermal/thermal_zone0/temp": 30_000,
        "sys/class/thermal/thermal_zone1/type": "x86_pkg_temp",
        "sys/class/thermal/thermal_zone1/temp": 65_000,
        "sys/class/thermal/thermal_zone2/type": "iwlwifi_1",
        "sys/class/thermal/thermal_zone2/temp": 80_000,
    }
    assert CpuSensors(tree(zones)).read().temperature_c == 65
    assert CpuSensors(tree(HEAT)).read().temperature_c == 74


def test_many_cpus_are_sampled(tree, monkeypatch):
    root = tree({f"{CPU}/cpu{index}/cpufreq/scaling_cur_freq": 1_000_000 for index in range(200)})
    sensors = CpuSensors(root)
    asked = []
    number = "portagpu.bench.conditions.sysfs.number"
    monkeypatch.setattr(number, lambda path: asked.append(path))
    sensors.read()
    assert 8 <= len({path for path in asked if path.name == "scaling_cur_freq"}) <= 16


@pytest.mark.parametrize("content", ["", "-5", "garbage", "nan", b"\xff\x00", "9" * 300])
def test_garbage_of_processors_is_unknown(tree, content):
    files = PACKAGE | CLOCKS | COUNTS | HEAT | ticks(0, 0) | {"proc/cpuinfo": "x"}
    sensors = CpuSensors(tree(files))
    sensors.read()
    names = [name for name in files if not name.endswith(("/name", "max_energy_range_uj"))]
    tree(dict.fromkeys(names, content))
    found = sensors.read()
    assert (found.core_clock_mhz, found.power_w, found.idle) == (None, None, False)
    assert found.temperature_c in (None, -0.005) and sensors.energy() is None
    assert found.reasons in (None, frozenset())


def test_rapl_goes_on_over_its_range(tree):
    rapl = Rapl(tree(PACKAGE))
    assert rapl.energy() == 5
    tree({f"{ZONE}/energy_uj": 90_000_000})
    assert rapl.energy() == 90
    tree({f"{ZONE}/energy_uj": 10_000_000})
    assert rapl.energy() == 110
    tree({f"{ZONE}/energy_uj": 500_000_000})  # beyond its range
    assert rapl.energy() is None
    tree({f"{ZONE}/energy_uj": 20_000_000})
    assert rapl.energy() == 120


def test_rapl_counts_all_packages_and_nothing_twice(tree):
    others = {
        "sys/class/powercap/intel-rapl:1/name": "package-1",
        "sys/class/powercap/intel-rapl:1/energy_uj": 3_000_000,
        "sys/class/powercap/intel-rapl:0:0/name": "core",
        "sys/class/powercap/intel-rapl:0:0/energy_uj": 4_000_000,
        "sys/class/powercap/intel-rapl:2/name": "psys",
        "sys/class/powercap/intel-rapl:2/energy_uj": 50_000_000,
        "sys/class/powercap/intel-rapl-mmio:0/name": "package-0",
        "sys/class/powercap/intel-rapl-mmio:0/energy_uj": 5_000_000,
    }
    root = tree(PACKAGE | others)
    rapl = Rapl(root)
    assert rapl.energy() == 8 and rapl.missing == ""
    (root / "sys/class/powercap/intel-rapl:1/energy_uj").unlink()
    assert rapl.energy() is None


def test_rapl_for_root_alone_says_what_helps(tree, monkeypatch):
    root = tree(PACKAGE)
    path = root / ZONE / "energy_uj"
    path_open = type(path).open

    def guarded(self, *arguments, **options):
        if self.name == "energy_uj":
            raise PermissionError(13, "Permission denied", str(self))
        return path_open(self, *arguments, **options)

    monkeypatch.setattr("pathlib.Path.open", guarded)
    monkeypatch.setattr("os.access", lambda *arguments: False)
    rapl = Rapl(root)
    assert rapl.energy() is None and f"`sudo chmod a+r {path}`" in rapl.missing
    sensors = CpuSensors(root)
    assert sensors.name == "Linux" and sensors.missing.startswith("RAPL: ") and sensors.missing.count("RAPL") == 1


def test_without_rapl_it_says_so(tree):
    assert Rapl(tree({"sys/x": ""})).missing.startswith("RAPL is not there: no package in ")
    assert "has no number" in Rapl(tree(PACKAGE | {f"{ZONE}/energy_uj": "?"})).missing


def test_a_counter_without_a_limit_that_falls_is_none():
    counter = Counter()
    assert [counter.total(value) for value in (5, 5, 9, None, 3, 10)] == [5, 5, 9, None, None, None]


def test_a_counter_with_a_limit_begins_anew():
    counter = Counter(10)
    assert [counter.total(value) for value in (8, 2, 2, 9, 0, -1, 11)] == [8, 12, 12, 19, 20, None, None]


def test_power_is_the_mean_since_the_reading_before(clock):
    joules = [0.0]
    power = MeanPower(lambda: joules[0], clock)
    assert power.watts() is None
    joules[0] = 20.0
    clock.wait(0.5)
    assert power.watts() == pytest.approx(40)
    joules[0] = 21.0
    clock.wait(0.001)  # the counter's step would be taken for power
    assert power.watts() == pytest.approx(40)
    joules[0] = None
    clock.wait(1)
    assert power.watts() is None
