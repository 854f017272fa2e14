"""Level Zero's Sysman, as a faked ``pyzes`` with the real one's names and structures tells of devices."""

from __future__ import annotations

from ctypes import Structure, c_char, c_double, c_int32, c_uint32, c_uint64, c_void_p
from types import SimpleNamespace

import pytest

from portagpu.bench.conditions import Reading, level_zero
from portagpu.bench.conditions.pci import PciAddress

HERE = PciAddress(0, 3, 0)
UNSUPPORTED = 0x78000003


def structure(*fields):
    return type("Structure", (Structure,), {"_fields_": [("stype", c_int32), ("pNext", c_void_p), *fields]})


class Core(Structure):
    _fields_ = [("name", c_char * 256)]


class Address(Structure):
    _fields_ = [("domain", c_uint32), ("bus", c_uint32), ("device", c_uint32), ("function", c_uint32)]


class Energy(Structure):
    _fields_ = [("energy", c_uint64), ("timestamp", c_uint64)]


def handle(name):
    return type(name, (c_void_p,), {})


def place(bus=3):
    return {"address": {"domain": 0, "bus": bus, "device": 0, "function": 0}}


def gpu(bus=3, name=b"Card X", **change):
    """A device: its clocks, sensors and meters, by the numbers of their handles."""
    return {
        "core": {"name": name},
        **place(bus),
        "clocks": {1: (1, 2000.0, 0), 2: (0, 2400.0, 0x1)},  # kind, MHz, reasons
        "heats": {5: (2, 80.0), 6: (0, 66.0), 7: (1, 70.0)},  # kind, degrees
        "meters": {8: (1, 10**6), 9: (0, 5 * 10**6)},  # whether of a part, microjoules
    } | change


class Library:
    """``pyzes``: functions fill structures, and return a status."""

    zes_driver_handle_t = handle("zes_driver_handle_t")
    zes_device_handle_t = handle("zes_device_handle_t")
    zes_freq_handle_t = handle("zes_freq_handle_t")
    zes_temp_handle_t = handle("zes_temp_handle_t")
    zes_pwr_handle_t = handle("zes_pwr_handle_t")
    zes_device_properties_t = structure(("core", Core), ("modelName", c_char * 64))
    zes_pci_properties_t = structure(("address", Address))
    zes_freq_properties_t = structure(("type", c_int32))
    zes_temp_properties_t = structure(("type", c_int32))
    zes_power_properties_t = structure(("onSubdevice", c_uint32))
    zes_freq_state_t = structure(("actual", c_double), ("throttleReasons", c_uint32))
    zes_power_energy_counter_t = Energy
    ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES = 0x1
    ZES_STRUCTURE_TYPE_PCI_PROPERTIES = 0x2
    ZES_STRUCTURE_TYPE_FREQ_PROPERTIES = 0x9
    ZES_STRUCTURE_TYPE_POWER_PROPERTIES = 0xD
    ZES_STRUCTURE_TYPE_TEMP_PROPERTIES = 0x14
    ZES_STRUCTURE_TYPE_FREQ_STATE = 0x1B

    def __init__(self, *gpus, starts=0):
        self.gpus = dict(enumerate(gpus, 100))
        self.starts = starts

    def zesInit(self, flags):
        return self.starts

    def zesDriverGet(self, count, found):
        return self._list([77], count, found)

    def zesDeviceGet(self, driver, count, found):
        assert driver.value == 77
        return self._list(list(self.gpus), count, found)

    def zesDeviceGetProperties(self, device, facts):
        assert facts._obj.stype == 0x1
        facts._obj.core.name = self.gpus[device.value]["core"]["name"]
        return 0

    def zesDevicePciGetProperties(self, device, facts):
        assert facts._obj.stype == 0x2
        told = self.gpus[device.value].get("address")
        if told is None:
            return UNSUPPORTED
        facts._obj.address = Address(**told)
        return 0

    def zesDeviceEnumFrequencyDomains(self, device, count, found):
        return self._list(list(self.gpus[device.value]["clocks"]), count, found)

    def zesDeviceEnumTemperatureSensors(self, device, count, found):
        return self._list(list(self.gpus[device.value]["heats"]), count, found)

    def zesDeviceEnumPowerDomains(self, device, count, found):
        return self._list(list(self.gpus[device.value]["meters"]), count, found)

    def zesFrequencyGetProperties(self, domain, facts):
        assert facts._obj.stype == 0x9
        facts._obj.type = self._any("clocks", domain)[0]
        return 0

    def zesFrequencyGetState(self, domain, state):
        assert state._obj.stype == 0x1B
        told = self._any("clocks", domain)
        if told[1] is None:
            return UNSUPPORTED
        _, state._obj.actual, state._obj.throttleReasons = told
        return 0

    def zesTemperatureGetProperties(self, sensor, facts):
        assert facts._obj.stype == 0x14
        facts._obj.type = self._any("heats", sensor)[0]
        return 0

    def zesTemperatureGetState(self, sensor, celsius):
        told = self._any("heats", sensor)[1]
        if told is None:
            return UNSUPPORTED
        celsius._obj.value = told
        return 0

    def zesPowerGetProperties(self, meter, facts):
        assert facts._obj.stype == 0xD
        facts._obj.onSubdevice = self._any("meters", meter)[0]
        return 0

    def zesPowerGetEnergyCounter(self, meter, counter):
        told = self._any("meters", meter)[1]
        if told is None:
            return UNSUPPORTED
        counter._obj.energy = told
        return 0

    def _any(self, kind, which):
        return next(told[kind][which.value] for told in self.gpus.values() if which.value in told[kind])

    @staticmethod
    def _list(numbers, count, found):
        if found is None:
            count._obj.value = len(numbers)
        else:
            for index, number in enumerate(numbers):
                found[index] = number
        return 0


def test_a_device_tells_everything(card, clock):
    library = Library(gpu())
    (device,) = library.gpus
    sensors = level_zero.LevelZero(library, library.zes_device_handle_t(device), clock)
    assert sensors.energy() == pytest.approx(5)
    library.gpus[device]["meters"][9] = (0, 155 * 10**6)
    clock.wait(1.5)
    assert sensors.read() == Reading(
        core_clock_mhz=2400,
        memory_clock_mhz=2000,
        power_w=pytest.approx(100),
        temperature_c=70,
        reasons=frozenset({"power cap"}),
    )


@pytest.mark.parametrize(
    "bits, words",
    [
        (0, set()),
        (0x3, {"power cap"}),
        (0x4, {"current limit"}),
        (0x8, {"thermal slowdown"}),
        (0x100, {"thermal slowdown"}),
        (0x10, {"power brake"}),
        (0x20 | 0x40, {"software clock range", "hardware clock range"}),
        (1 << 30, set()),
    ],
)
def test_reasons_are_in_the_fields_words(card, bits, words):
    found = level_zero.sensors(Library(gpu(clocks={1: (0, 900.0, bits)})), card(), HERE).read()
    assert found.reasons == words and found.memory_clock_mhz is None


def test_a_device_that_sleeps_is_idle(card):
    found = level_zero.sensors(Library(gpu(clocks={1: (0, 0.0, 0)})), card(), HERE).read()
    assert found.idle and found.core_clock_mhz is None


@pytest.mark.parametrize("kinds", [{}, {4: (0, None)}])
def test_what_a_device_refuses_is_unknown(card, kinds):
    clocks = {number: (*told, 0) for number, told in kinds.items()}
    sensors = level_zero.sensors(Library(gpu(clocks=clocks, heats=kinds, meters=kinds)), card(), HERE)
    assert sensors.read() == Reading() and sensors.energy() is None


def test_energy_is_of_the_whole_card_or_else_of_its_first_part(card):
    assert level_zero.sensors(Library(gpu()), card(), HERE).energy() == pytest.approx(5)
    parts = gpu(meters={8: (1, 10**6), 9: (1, 5 * 10**6)})
    assert level_zero.sensors(Library(parts), card(), HERE).energy() == pytest.approx(1)


def test_what_a_device_cannot_mean_is_unknown(card):
    wild = gpu(clocks={1: (0, -1.0, 0), 2: (1, float("nan"), 0)}, heats={3: (1, 1e9)})
    found = level_zero.sensors(Library(wild), card(), HERE).read()
    assert (found.core_clock_mhz, found.memory_clock_mhz, found.temperature_c) == (None, None, None)


def test_devices_are_told_by_place_or_name(card):
    def both(**change):
        other = gpu(4, clocks={21: (0, 300.0, 0)}, heats={}, meters={}, **change)
        return Library(gpu(heats={}, meters={}), other)

    assert level_zero.sensors(both(), card(), PciAddress(0, 4, 0)).read().core_clock_mhz == 300
    assert "2 cards are called Card X" in level_zero.sensors(both(), card(), None).missing
    assert level_zero.sensors(both(name=b"Card Y"), card("Card Y"), None).read().core_clock_mhz == 300


def test_a_library_that_does_not_start_says_so(card):
    assert level_zero.sensors(Library(starts=1), card(), HERE).missing == "Level Zero does not work: it does not start"
    broken = SimpleNamespace(zesInit=lambda flags: 0)
    assert "Level Zero does not work" in level_zero.sensors(broken, card(), HERE).missing
    assert "no card" in level_zero.sensors(Library(), card(), HERE).missing
