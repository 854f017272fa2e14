"""Numbers of devices stay while a driver fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu.backends.opencl.drivers.records import DriverRecord, DriverSource, DriverState
from portagpu.backends.opencl.numbering import memory_of, numbered
from portagpu.device import devices
from portagpu.device.registry import choose
from portagpu.errors import DeviceSelectionError

A, B, C = ("A", ["one", "two"]), ("B", ["three"]), ("C", ["four"])


def test_numbers_are_those_of_the_drivers_order(tmp_path: Path) -> None:
    assert numbered([A, B, C], tmp_path / "n.json").present == (0, 1, 2, 3)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_driver_that_fails_moves_nobody(tmp_path: Path, failing: int) -> None:
    memory, every = tmp_path / "n.json", [A, B, C]
    before = dict(zip([n for p in every for n in p[1]], numbered(every, memory).present, strict=True))
    rest = [platform for platform in every if platform is not every[failing]]
    for _ in range(2):  # and it stays so
        found = numbered(rest, memory)
        assert found.present == tuple(before[name] for platform in rest for name in platform[1])
        name = every[failing][0]
        assert found.absent == {before[device]: f"{device} ({name})" for device in every[failing][1]}
    assert numbered(every, memory).present == (0, 1, 2, 3) and not numbered(every, memory).absent


def test_platforms_of_one_name_are_told_apart(tmp_path: Path) -> None:
    memory = tmp_path / "n.json"
    assert numbered([B, B, C], memory).present == (0, 1, 2)
    assert numbered([B, C], memory).present == (0, 2)


def test_new_platforms_and_other_numbers_of_devices_are_numbered_anew(tmp_path: Path) -> None:
    memory = tmp_path / "n.json"
    assert numbered([B, C], memory).present == (0, 1)
    assert numbered([A, B, C], memory).present == (0, 1, 2, 3)
    assert numbered([("A", ["one"]), C], memory) == numbered([("A", ["one"]), C], tmp_path / "other.json")
    assert numbered([C], memory, anew=True).present == (0,)
    assert numbered([], memory, anew=True).absent == {} == numbered([], memory).absent


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["A|0", "0", "1", "7", "x"]), inner),
    max_leaves=6,
)


@given(JSON)
def test_whatever_is_remembered_every_device_has_a_number_of_its_own(tmp_path_factory, value) -> None:
    memory = tmp_path_factory.mktemp("numbers") / "n.json"
    memory.write_text(json.dumps({"schema": 1, "platforms": value}))
    memory.chmod(0o600)
    found = numbered([A, B], memory)
    assert len(found.present) == 3 == len({*found.present}) and not {*found.present} & {*found.absent}


def test_other_drivers_have_other_numbers(tmp_path: Path) -> None:
    def driver(name: str) -> DriverRecord:
        return DriverRecord(
            library=name,
            path=None,
            family=None,
            source=DriverSource.SYSTEM,
            icd_file=None,
            state=DriverState.REGISTERED,
        )

    one, both = memory_of([driver("a")], tmp_path), memory_of([driver("b"), driver("a")], tmp_path)
    assert one != both == memory_of([driver("a"), driver("b")], tmp_path)


def test_a_number_of_a_failing_driver_names_its_device_and_no_other(make_device) -> None:
    there = (make_device(1, "Fast CPU"),)
    with pytest.raises(DeviceSelectionError, match=r"the device 0 was Old GPU \(Maker\)") as caught:
        choose(there, "0", absent={0: "Old GPU (Maker)"})
    assert "portagpu doctor" in (caught.value.hint or "")
    assert choose(there, 1, absent={0: "Old GPU (Maker)"}) is there[0]


def _selected(folder: Path, number: int, hidden: str) -> tuple[int, str]:
    text = "from portagpu.device import default_device\nprint(default_device().platform)"
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PORTAGPU_DEVICE": str(number), "PORTAGPU_CACHE_DIR": str(folder), **_hiding(hidden)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.strip() or done.stderr


def _hiding(platform: str) -> dict[str, str]:
    """PoCL lists no device where this variable names none that it knows."""
    return {"POCL_DEVICES": "nothing"} if platform.startswith("Portable") else {}


@pytest.mark.thorough
def test_portagpu_device_names_the_same_device_when_another_driver_fails(tmp_path: Path) -> None:
    records = devices()
    hidden = next((one for one in records if one.platform.startswith("Portable")), None)
    later = next(
        (one for one in records if hidden and one.index > hidden.index and one.platform != hidden.platform), None
    )
    if hidden is None or later is None or not later.works:
        pytest.skip("needs two drivers, the first of which can be made to fail")
    assert _selected(tmp_path, later.index, "") == (0, later.platform)
    assert _selected(tmp_path, later.index, hidden.platform) == (0, later.platform)
    status, said = _selected(tmp_path, hidden.index, hidden.platform)
    assert status == 1 and f"the device {hidden.index} was {hidden.name}" in said
