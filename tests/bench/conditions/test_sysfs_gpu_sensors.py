"""Cards as Linux's drivers show them, in trees of files."""

from __future__ import annotations

import struct

import pytest

from portagpu.bench.conditions import NoSensors, Reading, sysfs_gpu
from portagpu.bench.conditions.pci import PciAddress

HERE = PciAddress(0, 3, 0)
CARD = "sys/class/drm/card0"
DEVICE = f"{CARD}/device"
UEVENT = {f"{DEVICE}/uevent": "DRIVER=x\nPCI_SLOT_NAME=0000:03:00.0", f"{DEVICE}/vendor": "0x1002"}
AMDGPU = {
    f"{DEVICE}/hwmon/hwmon4/power1_average": 210_000_000,
    f"{DEVICE}/hwmon/hwmon4/temp1_input": 61_000,
    f"{DEVICE}/hwmon/hwmon4/freq1_input": 2_100_000_000,
    f"{DEVICE}/hwmon/hwmon4/freq2_input": 1_000_000_000,
    f"{DEVICE}/gpu_busy_percent": 99,
}
I915 = {
    f"{CARD}/gt/gt0/rps_act_freq_mhz": 2050,
    f"{CARD}/gt/gt1/rps_act_freq_mhz": 0,
    f"{CARD}/gt/gt0/throttle_reason_status": 1,
    f"{CARD}/gt/gt0/throttle_reason_pl1": 1,
    f"{CARD}/gt/gt0/throttle_reason_thermal": 0,
    f"{DEVICE}/hwmon/hwmon2/energy1_input": 7_000_000,
}
XE = {
    f"{DEVICE}/tile0/gt0/freq0/act_freq": 1550,
    f"{DEVICE}/tile1/gt1/freq0/act_freq": 1500,
    f"{DEVICE}/tile0/gt0/freq0/throttle/reason_pl2": 0,
    f"{DEVICE}/tile1/gt1/freq0/throttle/reason_prochot": 1,
    f"{DEVICE}/hwmon/hwmon2/temp2_input": 52_000,
    f"{DEVICE}/hwmon/hwmon2/energy2_input": 9_000_000,
}


def of(root, card, address=HERE, vendor=None):
    return sysfs_gpu.sensors(root, card(), address, vendor)


def metrics(reasons, version=(1, 3), place=112, size=120):
    table = bytearray(size)
    struct.pack_into("<HBB", table, 0, size, *version)
    struct.pack_into("<Q", table, place, reasons)
    return bytes(table)


def test_amdgpu(tree, card):
    sensors = of(tree(UEVENT | AMDGPU | {f"{DEVICE}/gpu_metrics": metrics(1 << 0 | 1 << 36)}), card)
    assert sensors.read() == Reading(
        core_clock_mhz=2100,
        memory_clock_mhz=1000,
        power_w=pytest.approx(210),
        temperature_c=61,
        reasons=frozenset({"power cap", "thermal slowdown"}),
    )
    assert sensors.energy() is None


@pytest.mark.parametrize(
    "table, words",
    [
        (metrics(0), set()),
        (metrics(1 << 16), {"current limit"}),
        (metrics(1 << 47), {"hardware thermal slowdown"}),
        (metrics(1 << 32, (2, 2), 120, 128), {"thermal slowdown"}),
        (metrics((1 << 64) - 1), None),  # not filled in
        (metrics(1, (1, 4)), None),  # another table
        (metrics(1)[:100], None),
        (b"", None),
        (b"\xff" * 500, None),
    ],
)
def test_amdgpus_table_of_metrics(tree, card, table, words):
    assert of(tree(UEVENT | AMDGPU | {f"{DEVICE}/gpu_metrics": table}), card).read().reasons == words


def test_amdgpu_without_work_is_idle(tree, card):
    assert of(tree(UEVENT | AMDGPU | {f"{DEVICE}/gpu_busy_percent": 0}), card).read().idle
    assert not of(tree(UEVENT | AMDGPU), card).read().idle


def test_amdgpus_lists_of_clocks(tree, card):
    lists = {f"{DEVICE}/pp_dpm_sclk": "0: 500Mhz\n1: 1200Mhz *\n2: 2100Mhz", f"{DEVICE}/pp_dpm_mclk": "S: 19Mhz *"}
    found = of(tree(UEVENT | lists), card).read()
    assert (found.core_clock_mhz, found.memory_clock_mhz) == (1200, 19)


def test_i915(tree, card, clock):
    root = tree(UEVENT | I915)
    sensors = sysfs_gpu.SysfsGpu(root / CARD, clock)
    assert sensors.energy() == pytest.approx(7)
    clock.wait(2)
    tree({f"{DEVICE}/hwmon/hwmon2/energy1_input": 107_000_000})
    assert sensors.read() == Reading(core_clock_mhz=2050, power_w=pytest.approx(50), reasons=frozenset({"power cap"}))
    assert of(root, card).read().core_clock_mhz == 2050


def test_i915_of_older_kernels(tree, card):
    found = of(tree(UEVENT | {f"{CARD}/gt_act_freq_mhz": 1150}), card).read()
    assert found.core_clock_mhz == 1150 and found.reasons is None


def test_an_engine_that_sleeps_is_idle(tree, card):
    found = of(tree(UEVENT | I915 | {f"{CARD}/gt/gt0/rps_act_freq_mhz": 0}), card).read()
    assert found.idle and found.core_clock_mhz is None


def test_xe(tree, card):
    sensors = of(tree(UEVENT | XE), card)
    found = sensors.read()
    assert (found.core_clock_mhz, found.temperature_c) == (1550, 52)
    assert found.reasons == {"hardware thermal slowdown"} and sensors.energy() == pytest.approx(9)


@pytest.mark.parametrize(
    "told, words",
    [
        ("none", set()),
        ("pl1 thermal", {"power cap", "thermal slowdown"}),
        ("reason_pl4", {"power cap"}),
        ("ratl vr_tdc", {"thermal slowdown", "current limit"}),
        ("vr_thermalert", {"thermal slowdown"}),
        ("psys_crit", {"power brake"}),
        ("psys_pl1 p0_freq", {"power cap", "hardware clock range"}),
        ("a_new_one", {"a new one"}),
    ],
)
def test_newer_xe_tells_all_reasons_at_once(tree, card, told, words):
    files = {f"{DEVICE}/tile0/gt0/freq0/act_freq": 1550, f"{DEVICE}/tile0/gt0/freq0/throttle/reasons": told}
    assert of(tree(UEVENT | files), card).read().reasons == words


@pytest.mark.parametrize("content", ["", "-1", "garbage", "nan", "1e9", "9" * 100, b"\xff\xfe\x00", b"\x00" * 100_000])
def test_garbage_is_unknown(tree, card, content):
    for files in (AMDGPU, I915, XE):
        root = tree(UEVENT | files)
        sensors = of(root, card)
        tree(dict.fromkeys(files, content))
        found = sensors.read()
        assert (found.core_clock_mhz, found.memory_clock_mhz, found.power_w) == (None, None, None)
        assert found.temperature_c in (None, -0.001) and sensors.energy() is None and not found.idle


def test_files_that_vanish_are_unknown(tree, card):
    root = tree(UEVENT | AMDGPU | XE)
    sensors = of(root, card)
    assert sensors.read().core_clock_mhz and sensors.energy()
    for name in AMDGPU | XE:
        (root / name).unlink()
    assert sensors.read() == Reading() and sensors.energy() is None


def test_forbidden_files_are_unknown(tree, card, monkeypatch):
    sensors = of(tree(UEVENT | AMDGPU), card)

    def forbidden(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.open", forbidden)
    assert sensors.read() == Reading()
    monkeypatch.setattr("pathlib.Path.is_file", forbidden)
    assert sensors.read() == Reading()


def test_a_folder_in_place_of_a_file_is_unknown(tree, card):
    root = tree(UEVENT | {f"{DEVICE}/hwmon/hwmon4/power1_average/x": 1, f"{CARD}/gt_act_freq_mhz": 700})
    assert of(root, card).read() == Reading(core_clock_mhz=700)


def test_cards_are_told_by_place(tree, card):
    other = {
        "sys/class/drm/card10/device/uevent": "PCI_SLOT_NAME=0000:83:00.0",
        "sys/class/drm/card10/gt_act_freq_mhz": 300,
        "sys/class/drm/card10-DP-1/device/uevent": "PCI_SLOT_NAME=0000:83:00.0",  # an output
    }
    root = tree(UEVENT | AMDGPU | other)
    assert of(root, card, PciAddress(None, 0x83, 0)).read().core_clock_mhz == 300
    nowhere = of(root, card, PciAddress(0, 9, 0))
    assert isinstance(nowhere, NoSensors) and "no card is listed at 0000:09:00.0" in nowhere.missing


def test_without_a_place_it_is_the_only_card_of_the_vendor(tree, card):
    root = tree(UEVENT | AMDGPU)
    assert of(root, card, None, 0x1002).read().core_clock_mhz == 2100
    assert "0 cards of this vendor" in of(root, card, None, 0x8086).missing
    assert "no card called Card X" in of(root, card, None).missing
    root = tree({"sys/class/drm/card1/device/vendor": "0x1002"})
    assert "2 cards of this vendor" in of(root, card, None, 0x1002).missing


def test_a_card_that_tells_nothing_says_so(tree, card):
    assert "tells nothing of the card" in of(tree(UEVENT), card).missing
    assert "no card called" in of(tree({}) / "elsewhere", card).missing
