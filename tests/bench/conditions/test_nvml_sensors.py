"""NVML, as a faked library with the real one's names tells of cards."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from portagpu.bench.conditions import Reading, nvml
from portagpu.bench.conditions.pci import PciAddress

HERE = PciAddress(0, 0x65, 0)


class Library:
    """``pynvml`` with cards that are dictionaries of what its functions return; what is not there is refused."""

    def __init__(self, *cards):
        self.cards = cards

    def nvmlInit(self):
        if not self.cards:
            raise RuntimeError("Driver Not Loaded")

    def nvmlSystemGetNVMLVersion(self):
        return "13.580.1"

    def nvmlDeviceGetCount(self):
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index):
        if self.cards[index] is None:
            raise RuntimeError("Insufficient Permissions")
        return self.cards[index]

    def nvmlDeviceGetPciInfo(self, card):
        return SimpleNamespace(busId=card["busId"])

    def __getattr__(self, name):
        if not name.startswith("nvmlDeviceGet"):
            raise AttributeError(name)

        def call(card, *arguments):
            value = card[(name, *arguments) if name == "nvmlDeviceGetClockInfo" else name]
            if isinstance(value, Exception):
                raise value
            return value

        return call


def busy(bus="00000000:65:00.0", clock=1980, **change):
    return {
        "busId": bus,
        "nvmlDeviceGetName": "Card X",
        ("nvmlDeviceGetClockInfo", 1): clock,
        ("nvmlDeviceGetClockInfo", 2): 2619,
        "nvmlDeviceGetFieldValues": [SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=651_250))],
        "nvmlDeviceGetPowerUsage": 600_000,
        "nvmlDeviceGetTemperatureV": 61,
        "nvmlDeviceGetCurrentClocksEventReasons": 0x4,
        "nvmlDeviceGetTotalEnergyConsumption": 5_000_250,
    } | change


def of(card, **change):
    return nvml.sensors(Library(busy(**change)), card(), HERE)


def test_a_card_tells_everything(card):
    sensors = of(card)
    assert sensors.read() == Reading(
        core_clock_mhz=1980,
        memory_clock_mhz=2619,
        power_w=pytest.approx(651.25),
        temperature_c=61,
        reasons=frozenset({"power cap"}),
    )
    assert sensors.energy() == pytest.approx(5000.25) and sensors.name == "NVML 13.580.1"
    assert sensors.least_window_s == 0.5


@pytest.mark.parametrize(
    "bits, words",
    [
        (0, set()),
        (0x2, {"application clocks"}),
        (0x8 | 0x40, {"hardware slowdown", "hardware thermal slowdown"}),
        (0x8 | 0x80, {"hardware slowdown", "power brake"}),
        (0x20, {"software thermal slowdown"}),
        (0x10 | 0x100, {"sync boost", "display clocks"}),
        (1 << 40, set()),  # what no version has yet
    ],
)
def test_reasons_are_in_the_fields_words(card, bits, words):
    found = of(card, nvmlDeviceGetCurrentClocksEventReasons=bits).read()
    assert found.reasons == words and not found.idle


def test_an_idle_card_says_so(card):
    found = of(card, nvmlDeviceGetCurrentClocksEventReasons=0x1).read()
    assert found.idle and found.reasons == frozenset()


def test_older_drivers_have_other_names(card):
    refused = RuntimeError("Function Not Found")
    found = of(
        card,
        nvmlDeviceGetCurrentClocksEventReasons=refused,
        nvmlDeviceGetCurrentClocksThrottleReasons=0x20,
        nvmlDeviceGetTemperatureV=refused,
        nvmlDeviceGetTemperature=44,
        nvmlDeviceGetFieldValues=refused,
    ).read()
    assert (found.reasons, found.temperature_c, found.power_w) == ({"software thermal slowdown"}, 44, 600)


def test_a_field_that_is_not_supported_is_not_read(card):
    unsupported = [SimpleNamespace(nvmlReturn=3, value=SimpleNamespace(uiVal=0))]
    assert of(card, nvmlDeviceGetFieldValues=unsupported).read().power_w == 600


def test_what_a_card_refuses_is_unknown(card):
    refused = {name: RuntimeError("Not Supported") for name in busy() if name not in ("busId", "nvmlDeviceGetName")}
    library = Library(busy() | refused)
    sensors = nvml.sensors(library, card(), HERE)
    assert sensors.read() == Reading() and sensors.energy() is None


def test_what_a_card_cannot_mean_is_unknown(card):
    sensors = of(
        card,
        nvmlDeviceGetFieldValues=[],
        nvmlDeviceGetPowerUsage="much",
        nvmlDeviceGetTotalEnergyConsumption=-1,
        nvmlDeviceGetCurrentClocksEventReasons=None,
        nvmlDeviceGetCurrentClocksThrottleReasons="busy",
    )
    found = sensors.read()
    assert found.power_w is None and found.reasons is None and sensors.energy() is None


def test_cards_are_told_by_their_place(card):
    library = Library(busy("00000000:17:00.0", 300), busy())
    assert nvml.sensors(library, card(), HERE).read().core_clock_mhz == 1980
    assert nvml.sensors(library, card("Another name"), PciAddress(None, 0x17, 0)).read().core_clock_mhz == 300
    elsewhere = nvml.sensors(library, card(), PciAddress(0, 1, 0))
    assert elsewhere.missing == "NVML: no card is listed at 0000:01:00.0"


def test_without_a_place_cards_are_told_by_their_names(card):
    other = busy("00000000:17:00.0", nvmlDeviceGetName="Card Y")
    assert nvml.sensors(Library(None, other, busy()), card(), None).read().core_clock_mhz == 1980
    twice = nvml.sensors(Library(busy(), busy()), card(), None)
    assert "2 cards are called Card X" in twice.missing and twice.read() == Reading()
    assert "no card called Card Z" in nvml.sensors(Library(busy()), card("Card Z"), None).missing


def test_a_library_without_a_driver_says_why(card):
    assert nvml.sensors(Library(), card(), HERE).missing == "NVML does not work: Driver Not Loaded"


def test_the_real_library_has_the_names_and_numbers():
    library = pytest.importorskip("pynvml")
    for name in (*busy(), "nvmlInit", "nvmlSystemGetNVMLVersion", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"):
        if isinstance(name, str) and name != "busId":
            assert callable(getattr(library, name)), name
    numbers = {
        "NVML_CLOCK_SM": 1,
        "NVML_CLOCK_MEM": 2,
        "NVML_TEMPERATURE_GPU": 0,
        "NVML_FI_DEV_POWER_INSTANT": 186,
        "nvmlClocksThrottleReasonGpuIdle": 0x1,
        "nvmlClocksThrottleReasonSwPowerCap": 0x4,
        "nvmlClocksThrottleReasonHwSlowdown": 0x8,
        "nvmlClocksThrottleReasonSwThermalSlowdown": 0x20,
        "nvmlClocksThrottleReasonHwThermalSlowdown": 0x40,
        "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": 0x80,
    }
    assert {name: getattr(library, name) for name in numbers} == numbers
