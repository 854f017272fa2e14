"""Which back end's devices a program sees: selectors with a back end's name, and PORTAGPU_BACKEND."""

from __future__ import annotations

import dataclasses
import json

import pytest
from click.testing import CliRunner
from neutral import tiny

from portagpu import cuda
from portagpu.backends import registry
from portagpu.cli.devices import devices_command
from portagpu.device import all_devices, default_device, devices, find_device
from portagpu.device import registry as known
from portagpu.errors import DeviceSelectionError, NoDeviceError, SettingsError
from portagpu.settings import Settings


@pytest.fixture
def settings():
    return Settings.from_environment()


@pytest.mark.parametrize("selector", ["tiny:", "tiny:0", "TINY: 0", "tiny:tiny 0"])
def test_a_selector_names_a_back_end(selector):
    assert find_device(selector) is tiny.records[0]


def test_a_selector_reaches_the_first_back_end_too(monkeypatch):
    monkeypatch.setenv("PORTAGPU_BACKEND", "tiny")
    assert find_device("opencl:cpu").backend == "opencl" and find_device("cpu").backend == "tiny"


def test_numbers_and_keys_are_those_of_a_back_end(monkeypatch):
    monkeypatch.setenv("PORTAGPU_BACKEND", "opencl")
    first, own = find_device(0), tiny.records[0]
    assert first.index == own.index == 0 and first is not own
    assert (first.label, first.selector) == ("0", "opencl:0") and own.label == own.selector == "tiny:0"
    assert own.key == f"tiny:{dataclasses.replace(own, backend='opencl').key}"
    assert not first.key.startswith("opencl:")  # as stores of earlier releases have it
    assert find_device(first.selector) is first and find_device(own.selector) is own


def test_the_environment_chooses_a_back_end(monkeypatch):
    monkeypatch.setenv("PORTAGPU_BACKEND", " Tiny ")
    assert devices() == tiny.records and default_device().backend == "tiny" and registry.chosen() is tiny.backend
    assert cuda.gpus[0].record is tiny.records[0]
    monkeypatch.setenv("PORTAGPU_BACKEND", "")
    assert default_device().backend == "opencl"


def test_the_default_device_may_be_another_back_ends(settings):
    assert default_device(dataclasses.replace(settings, device="tiny:0")) is tiny.records[0]
    assert default_device(dataclasses.replace(settings, backend="tiny", device="opencl:")).backend == "opencl"


def test_a_back_end_that_is_unknown(monkeypatch):
    monkeypatch.setenv("PORTAGPU_BACKEND", "tinny")
    with pytest.raises(SettingsError, match="no back end 'tinny'") as caught:
        default_device()
    assert "did you mean `tiny`" in str(caught.value) and "PORTAGPU_BACKEND" in str(caught.value)


def test_a_device_that_a_back_end_does_not_have():
    with pytest.raises(DeviceSelectionError, match="no device matches 'tiny:gpu'") as caught:
        find_device("tiny:gpu")
    assert [note for note in caught.value.notes if note.startswith("tiny:0: ")]
    with pytest.raises(DeviceSelectionError) as caught:
        find_device("tinny:0")
    assert "`tiny:`" in caught.value.hint


def test_a_back_end_without_devices(monkeypatch, settings):
    monkeypatch.setitem(known._devices, "tiny", ())
    with pytest.raises(NoDeviceError, match="no Tiny device was found") as caught:
        find_device("tiny:")
    assert tiny.backend.to_install in caught.value.hint
    with pytest.raises(DeviceSelectionError, match="'tiny:cpu'") as refused:
        find_device("tiny:cpu")
    assert refused.value.hint == tiny.backend.to_install and refused.value.notes == ("there is no Tiny device",)


def test_each_has_a_name_for_people():
    for backend in registry.registered():
        assert isinstance(backend.title, str) and backend.title, backend.name


def test_all_of_them_are_listed(monkeypatch, settings):
    chosen = registry.chosen().name
    own = [record for record in all_devices() if record.backend == chosen]
    assert [*all_devices()][: len(own)] == own and tiny.records[0] in all_devices()
    listed = all_devices(dataclasses.replace(settings, backend="tiny"))
    assert listed[0] is tiny.records[0] and {*listed} == {*all_devices()}
    told = json.loads(CliRunner().invoke(devices_command, ["--json"]).output)
    assert {(one["backend"], one["index"]) for one in told} == {(one.backend, one.index) for one in listed}
    assert "tiny:0" in CliRunner().invoke(devices_command, []).output
