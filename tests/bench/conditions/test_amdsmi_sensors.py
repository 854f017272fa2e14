"""``amdsmi``, as a faked library with the real one's names tells of cards."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from portagpu.bench.conditions import Reading, amdsmi
from portagpu.bench.conditions.pci import PciAddress

HERE = PciAddress(None, 3, 0)
BUSY = {
    "bdf": "0000:03:00.0",
    "amdsmi_get_gpu_asic_info": {"market_name": "Card X", "target_graphics_version": "gfx942"},
    "amdsmi_get_clock_info": {"GFX": {"clk": 2100, "max_clk": 2100}, "MEM": {"clk": 1300}},
    "amdsmi_get_power_info": {"current_socket_power": 550, "average_socket_power": "N/A", "socket_power": 550},
    "amdsmi_get_temp_metric": {"EDGE": 0, "HOTSPOT": 55, "JUNCTION": 70},
    "amdsmi_get_gpu_activity": {"gfx_activity": 97, "umc_activity": 30},
    "amdsmi_get_violation_status": {"active_ppt_pwr": True, "active_socket_thrm": False, "active_vr_thrm": "N/A"},
    "amdsmi_get_energy_count": {"energy_accumulator": 2_000_000, "counter_resolution": 15.259, "timestamp": 1},
}


class Library:
    """``amdsmi`` with cards that are dictionaries of what its functions return; what is not there is refused."""

    AmdSmiClkType = SimpleNamespace(GFX="GFX", MEM="MEM")
    AmdSmiTemperatureType = SimpleNamespace(EDGE="EDGE", HOTSPOT="HOTSPOT", JUNCTION="JUNCTION")
    AmdSmiTemperatureMetric = SimpleNamespace(CURRENT="CURRENT")

    def __init__(self, *cards):
        self.cards = cards

    def amdsmi_init(self):
        if not self.cards:
            raise RuntimeError("AMDSMI_STATUS_DRIVER_NOT_LOADED")

    def amdsmi_get_lib_version(self):
        return {"major": 26, "minor": 0, "release": 2, "build": "x"}

    def amdsmi_get_processor_handles(self):
        return list(self.cards)

    def amdsmi_get_gpu_device_bdf(self, card):
        return card["bdf"]

    def amdsmi_get_clock_info(self, card, kind):
        return card["amdsmi_get_clock_info"][kind]

    def amdsmi_get_temp_metric(self, card, place, metric):
        assert metric == "CURRENT"
        return card["amdsmi_get_temp_metric"][place]

    def __getattr__(self, name):
        if not name.startswith("amdsmi_get"):
            raise AttributeError(name)
        return lambda card: card[name]


def of(card, **change):
    return amdsmi.sensors(Library(BUSY | change), card(), HERE)


def test_a_card_tells_everything(card):
    sensors = of(card)
    assert sensors.read() == Reading(
        core_clock_mhz=2100,
        memory_clock_mhz=1300,
        power_w=550,
        temperature_c=55,
        reasons=frozenset({"power cap"}),
    )
    assert sensors.energy() == pytest.approx(2_000_000 * 15.259e-6) and sensors.name == "amdsmi 26.0"


@pytest.mark.parametrize(
    "name, word",
    [
        ("active_prochot_thrm", "hardware thermal slowdown"),
        ("active_socket_thrm", "thermal slowdown"),
        ("active_hbm_thrm", "thermal slowdown"),
        ("active_vr_thrm", "thermal slowdown"),
    ],
)
def test_heat_is_a_slowdown(card, name, word):
    assert of(card, amdsmi_get_violation_status={name: True, "active_ppt_pwr": False}).read().reasons == {word}


def test_older_libraries_have_other_names(card):
    sensors = of(
        card,
        amdsmi_get_clock_info={"GFX": {"cur_clk": 1700}, "MEM": {"cur_clk": "N/A"}},
        amdsmi_get_power_info={"current_socket_power": 0xFFFF, "average_socket_power": 300},
        amdsmi_get_energy_count={"power": 1_000_000, "counter_resolution": 15.3},
    )
    found = sensors.read()
    assert (found.core_clock_mhz, found.memory_clock_mhz, found.power_w) == (1700, None, 300)
    assert sensors.energy() == pytest.approx(15.3)


def test_what_is_not_available_is_unknown(card):
    names = [name for name in BUSY if name.startswith("amdsmi_get")]
    for nothing in ("N/A", None, {}, []):
        sensors = of(card, **dict.fromkeys(names[1:], nothing))
        assert sensors.read() == Reading() and sensors.energy() is None
    nothing_told = dict.fromkeys(BUSY["amdsmi_get_violation_status"], "N/A")
    assert of(card, amdsmi_get_violation_status=nothing_told).read().reasons is None


def test_a_card_without_work_is_idle(card):
    assert of(card, amdsmi_get_gpu_activity={"gfx_activity": 0}).read().idle
    assert not of(card, amdsmi_get_gpu_activity={"gfx_activity": "N/A"}).read().idle


def test_a_counter_that_was_reset_tells_nothing(card):
    library = Library(dict(BUSY))
    sensors = amdsmi.sensors(library, card(), HERE)
    assert sensors.energy() > 0
    library.cards[0]["amdsmi_get_energy_count"] = {"energy_accumulator": 5, "counter_resolution": 15.3}
    assert sensors.energy() is None


def test_cards_are_told_by_place_or_name(card):
    slow = BUSY | {"bdf": "0000:83:00.0", "amdsmi_get_clock_info": {"GFX": {"clk": 500}, "MEM": {}}}
    library = Library(BUSY, slow)
    assert amdsmi.sensors(library, card("gfx942"), PciAddress(None, 0x83, 0)).read().core_clock_mhz == 500
    assert "2 cards are called gfx942" in amdsmi.sensors(library, card("gfx942"), None).missing
    assert amdsmi.sensors(Library(BUSY), card("GFX942"), None).read().core_clock_mhz == 2100


def test_a_library_without_a_driver_says_why(card):
    assert "amdsmi does not work: AMDSMI_STATUS_DRIVER" in amdsmi.sensors(Library(), card(), HERE).missing
