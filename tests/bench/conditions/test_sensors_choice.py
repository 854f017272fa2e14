"""Which sensors a device gets, and where it is on the PCI bus."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from portagpu.bench.conditions import Monitor, NoSensors, Reading, sensors_for
from portagpu.bench.conditions.cpu import CpuSensors
from portagpu.bench.conditions.nvml import Nvml
from portagpu.bench.conditions.pci import PciAddress, driver_answer, parsed, pci_address
from portagpu.bench.conditions.sysfs_gpu import SysfsGpu
from portagpu.device import DeviceType

DEVICE = "sys/class/drm/card0/device"
SHOWN = {
    f"{DEVICE}/uevent": "PCI_SLOT_NAME=0000:65:00.0",
    f"{DEVICE}/vendor": "0x10de",
    f"{DEVICE}/hwmon/hwmon1/freq1_input": 1_000_000_000,
    f"{DEVICE}/hwmon/hwmon1/energy1_input": 3_000_000,
}


def refused(*_):
    raise RuntimeError("Not Supported")


def library(**functions):
    """``pynvml`` with one card."""
    told = {
        "nvmlInit": lambda: None,
        "nvmlSystemGetNVMLVersion": lambda: b"13.6",
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetPciInfo": lambda card: SimpleNamespace(busId=b"00000000:65:00.0"),
        "nvmlDeviceGetName": lambda card: b"Card X",
        "nvmlDeviceGetClockInfo": lambda card, kind: 1980 if kind == 1 else 2600,
        "nvmlDeviceGetPowerUsage": lambda card: 300_000,
        "nvmlDeviceGetTemperature": lambda card, where: 50,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda card: 0,
        "nvmlDeviceGetTotalEnergyConsumption": lambda card: 1000,
    }
    return SimpleNamespace(**told | functions)


@pytest.fixture
def gpu(card):
    return card(vendor_id=0x10DE, pci_bus_id_nv=0x65, pci_slot_id_nv=0)


def missing_module(name):
    raise ModuleNotFoundError(f"No module named {name!r}")


def test_a_card_has_the_sensors_of_its_library(tree, gpu):
    found = sensors_for(gpu, root=tree(SHOWN), load=lambda name: library())
    assert isinstance(found, Nvml) and (found.name, found.missing) == ("NVML 13.6", "")
    assert found.read().core_clock_mhz == 1980


def test_what_a_library_does_not_tell_linux_may(tree, gpu):
    silent = library(nvmlDeviceGetClockInfo=refused, nvmlDeviceGetTotalEnergyConsumption=refused)
    found = sensors_for(gpu, root=tree(SHOWN), load=lambda name: silent)
    reading = found.read()
    assert found.name == "NVML 13.6 and Linux" and found.energy() == 3 and found.least_window_s == 0.1
    assert (reading.core_clock_mhz, reading.power_w, reading.temperature_c) == (1000, 300, 50)
    assert found.missing == "NVML 13.6 and Linux tells no memory clock"


def test_without_its_library_a_card_is_read_by_linux(tree, gpu):
    found = sensors_for(gpu, root=tree(SHOWN), load=missing_module)
    assert isinstance(found, SysfsGpu) and found.read().core_clock_mhz == 1000
    assert found.missing.startswith(
        "the module pynvml is not installed: pip install 'portagpu[bench]'; Linux tells no "
    )


def test_without_anything_a_card_says_why(tree, gpu):
    found = sensors_for(gpu, root=tree({"sys/x": ""}), load=missing_module)
    assert isinstance(found, NoSensors) and found.read() == Reading() and found.energy() is None
    assert "pynvml is not installed" in found.missing and "sys/class/drm: no card" in found.missing


def broken(name):
    raise OSError("libamd_smi.so: cannot open shared object file")


@pytest.mark.parametrize(
    "load, words",
    [
        (broken, "the module amdsmi does not load: libamd_smi.so"),
        (lambda name: SimpleNamespace(), "amdsmi does not work"),
        (lambda name: None, "amdsmi does not work"),
    ],
)
def test_a_library_that_is_broken_says_so(tree, card, load, words):
    found = sensors_for(card(vendor_id=0x1002), root=tree({"sys/x": ""}), load=load)
    assert isinstance(found, NoSensors) and words in found.missing


def test_unknown_vendors_have_no_library(tree, card):
    def load(name):
        pytest.fail(f"{name} is none of theirs")

    for told in ({"vendor_id": 0x5143}, {}, {"vendor_id": "x"}):
        found = sensors_for(card(**told), root=tree({"sys/x": ""}), load=load)
        assert isinstance(found, NoSensors) and "sys/class/drm: " in found.missing


def test_cards_of_unknown_vendors_are_read_by_linux(tree, card):
    told = card(vendor_id=0x5143, pci_bus_id_nv=0x65, pci_slot_id_nv=0)
    found = sensors_for(told, root=tree(SHOWN), load=missing_module)
    assert isinstance(found, SysfsGpu) and found.name == "Linux" and found.energy() == 3


def test_processors_are_read_by_linux(tree, card):
    found = sensors_for(card(kind=DeviceType.CPU, vendor_id=0x8086), root=tree({"sys/x": ""}), load=missing_module)
    assert isinstance(found, CpuSensors)


def test_nothing_raises(tree, card):
    def place(device):
        raise ValueError("no place")

    found = sensors_for(card(), root=tree({}), place=place)
    assert isinstance(found, NoSensors) and "no place" in found.missing


def test_every_device_of_this_machine_has_sensors(device):
    monitor = Monitor(sensors_for(device))
    monitor.look()
    with monitor.energy():
        pass
    found = monitor.conditions()
    assert found.readings + found.idle == 1 and found.source == monitor.sensors.name
    assert found.energy_j is None  # in no time


@pytest.mark.opencl
def test_drivers_answer_by_their_library(device):
    answer = driver_answer(device.native, 0x1001, 4)  # CL_DEVICE_VENDOR_ID
    assert struct.unpack("I", answer) == (device.native.vendor_id,)
    assert driver_answer(device.native, 0xFFFF, 4) is None


def test_a_process_without_opencl_has_no_answers(tree):
    assert (
        driver_answer(None, 0x1001, 4, tree({"proc/self/maps": "7f00-7f01 r-xp 00000000 /usr/lib/libc.so.6"})) is None
    )


def test_places_by_the_extension(card):
    asked = []

    def query(native, fact, size):
        asked.append((fact, size))
        return struct.pack("4I", 1, 0x17, 2, 3)

    told = card(extensions="cl_khr_fp64 cl_khr_pci_bus_info", pci_bus_id_nv=9, pci_slot_id_nv=0)
    assert pci_address(told, query) == PciAddress(1, 0x17, 2, 3) and asked == [(0x410F, 16)]
    assert pci_address(told, refused) == PciAddress(None, 9, 0)
    assert pci_address(told, lambda *_: b"short") == PciAddress(None, 9, 0)
    assert pci_address(card(extensions="cl_khr_fp64"), query) is None


def test_places_by_what_drivers_tell(card):
    slot = card(pci_bus_id_nv=0x65, pci_slot_id_nv=0x09, pci_domain_id_nv=2)
    assert pci_address(slot) == PciAddress(2, 0x65, 1, 1)
    assert pci_address(card(pci_bus_id_nv="x", pci_slot_id_nv=0)) is None
    topology = card(topology_amd=SimpleNamespace(bus=-125, device=0, function=0))
    assert pci_address(topology) == PciAddress(None, 0x83, 0)
    assert pci_address(card(topology_amd=SimpleNamespace(bus=1))) is None
    assert pci_address(card()) is None


@pytest.mark.parametrize(
    "text, address",
    [
        ("0000:03:00.0", PciAddress(0, 3, 0)),
        (b"00000001:AF:1f.7", PciAddress(1, 0xAF, 0x1F, 7)),
        ("03:00.1", PciAddress(None, 3, 0, 1)),
        ("03:00", None),
        ("", None),
        (None, None),
        (5, None),
    ],
)
def test_addresses_are_parsed(text, address):
    assert parsed(text) == address


def test_a_place_without_a_domain_is_in_any():
    assert PciAddress(None, 3, 0).is_place_of(PciAddress(7, 3, 0)) and str(PciAddress(None, 3, 0)) == "0000:03:00.0"
    assert not PciAddress(1, 3, 0).is_place_of(PciAddress(7, 3, 0))
    assert not PciAddress(1, 3, 0).is_place_of(None) and not PciAddress(1, 3, 0).is_place_of(PciAddress(1, 3, 0, 1))
