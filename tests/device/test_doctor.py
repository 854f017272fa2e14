"""The diagnosis and the two commands that print it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from portagpu.backends.diagnosis import Diagnosis, Severity, as_json
from portagpu.backends.opencl import discovery, doctor
from portagpu.backends.opencl.drivers import search
from portagpu.backends.opencl.drivers.check import PlatformInfo
from portagpu.backends.opencl.drivers.records import DriverRecord, DriverSource, DriverState, too_late
from portagpu.backends.opencl.drivers.register import Registration
from portagpu.backends.survey import diagnose
from portagpu.cli.devices import devices_command
from portagpu.cli.doctor import doctor_command, show
from portagpu.device import DeviceRecord, DeviceType, all_devices, devices, registry, sources
from portagpu.settings import Settings

MakeDevice = Callable[..., DeviceRecord]


def _driver(library: str, state: DriverState, platform: str | None = None, **others: object) -> DriverRecord:
    platforms = () if platform is None else (PlatformInfo(name=platform, version="V", devices=("D",)),)
    values: dict[str, object] = {
        "path": library,
        "family": "PoCL",
        "source": DriverSource.SYSTEM,
        "icd_file": None,
        "problem": None if state in (DriverState.REGISTERED, DriverState.ADDED) else "it is broken",
        "remedy": "mend it",
        **others,
    }
    return DriverRecord(library=library, state=state, platforms=platforms, **values)  # type: ignore[arg-type]


Diagnose = Callable[..., Diagnosis]


@pytest.fixture
def diagnosed(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Diagnose:
    """Diagnoses a made-up machine."""

    def make(drivers: tuple[DriverRecord, ...], records: tuple[DeviceRecord, ...], *, late: bool = False) -> Diagnosis:
        found = Registration(drivers=drivers, vendors_folder=None, late=late)
        monkeypatch.setattr(doctor, "registration", lambda settings: found)
        monkeypatch.setattr(registry, "_devices", {"opencl": records})
        monkeypatch.setattr(discovery, "unused_drivers", lambda settings: [])  # of this machine
        monkeypatch.setattr(search, "DEVICE_FILES", ())
        return diagnose(settings, fresh=False)

    return make


def test_a_healthy_machine(diagnosed: Diagnose, make_device: MakeDevice) -> None:
    diagnosis = diagnosed((_driver("a.so", DriverState.REGISTERED, "P"),), (make_device(0, "D", platform="P"),))
    assert diagnosis.healthy and diagnosis.findings == ()
    assert diagnosis.default is diagnosis.devices[0]


def test_a_driver_that_came_too_late(diagnosed: Diagnose, make_device: MakeDevice) -> None:
    late = too_late(_driver("b.so", DriverState.ADDED, "Q", family="Other"))
    drivers = (_driver("a.so", DriverState.REGISTERED, "P"), late)
    diagnosis = diagnosed(drivers, (make_device(0, "D", platform="P"),), late=True)
    (finding,) = diagnosis.findings
    assert (finding.subject, finding.severity) == ("b.so", Severity.WARNING)
    assert "before PortaGPU" in finding.problem and "portagpu.device.devices()" in str(finding.remedy)
    assert diagnosis.healthy


def test_a_platform_that_the_loader_hides(diagnosed: Diagnose, make_device: MakeDevice) -> None:
    diagnosis = diagnosed((_driver("a.so", DriverState.REGISTERED, "Q"),), (make_device(0, "D", platform="P"),))
    assert "does not list its platform" in diagnosis.findings[0].problem


def test_a_missing_file_matters_only_if_nothing_replaces_it(diagnosed: Diagnose, make_device: MakeDevice) -> None:
    missing = _driver("/old/a.so", DriverState.MISSING)
    device = make_device(0, "D", platform="P")
    replaced = diagnosed((missing, _driver("a.so", DriverState.ADDED, "P")), (device,))
    assert [finding.severity for finding in replaced.findings] == [Severity.NOTE]
    alone = diagnosed((missing,), (device,))
    assert [finding.severity for finding in alone.findings] == [Severity.WARNING]
    asked = diagnosed((_driver("x.so", DriverState.MISSING, source=DriverSource.SETTINGS),), (device,))
    assert [finding.severity for finding in asked.findings] == [Severity.ERROR] and not asked.healthy


def test_a_platform_that_is_offered_twice(diagnosed: Diagnose, make_device: MakeDevice) -> None:
    drivers = (_driver("a.so", DriverState.REGISTERED, "P"), _driver("b.so", DriverState.REGISTERED, "P"))
    (finding,) = diagnosed(drivers, (make_device(0, "D", platform="P"),)).findings
    assert finding.severity is Severity.NOTE and "same platform as a.so" in finding.problem


def test_a_machine_without_devices(diagnosed: Diagnose) -> None:
    diagnosis = diagnosed((), ())
    assert not diagnosis.healthy and diagnosis.default is None
    assert diagnosis.findings[0].severity is Severity.ERROR
    assert "portagpu[cpu]" in str(diagnosis.findings[0].remedy)


def test_a_broken_device(diagnosed: Diagnose, make_device: MakeDevice) -> None:
    broken = make_device(1, "B", DeviceType.GPU, platform="P", problem="it cannot build a kernel")
    diagnosis = diagnosed((_driver("a.so", DriverState.REGISTERED, "P"),), (make_device(0, "D", platform="P"), broken))
    (finding,) = diagnosis.findings
    assert finding.subject == "device 1: B (P)" and finding.remedy == "mend it" and diagnosis.healthy


def test_hardware_without_a_driver(
    diagnosed: Diagnose, make_device: MakeDevice, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Settings
) -> None:
    diagnosed((_driver("a.so", DriverState.REGISTERED, "P"),), (make_device(0, "D", platform="P"),))
    device_file = tmp_path / "gpu"
    device_file.touch()
    monkeypatch.setattr(search, "DEVICE_FILES", ((device_file, ("NVIDIA",)), (tmp_path / "none", ("PoCL",))))
    (finding,) = diagnose(settings, fresh=False).findings
    assert finding.subject == str(device_file) and finding.severity is Severity.WARNING


def test_an_unusable_cache_folder(diagnosed: Diagnose, make_device: MakeDevice, settings: Settings) -> None:
    settings.cache_dir.write_text("a file where the folder should be")
    diagnosis = diagnosed((_driver("a.so", DriverState.REGISTERED, "P"),), (make_device(0, "D", platform="P"),))
    (finding,) = diagnosis.findings
    assert finding.subject == str(settings.cache_dir) and "PORTAGPU_CACHE_DIR" in str(finding.remedy)


def test_the_diagnosis_is_printed_and_is_json(diagnosed: Diagnose, make_device: MakeDevice) -> None:
    drivers = (
        _driver("a.so", DriverState.REGISTERED, "P"),
        _driver("[odd].so", DriverState.EXCLUDED, problem="[red] signal 11"),
    )
    broken = make_device(1, "B", problem="no")
    diagnosis = diagnosed(drivers, (make_device(0, "D", platform="P"), broken))
    console = Console(width=200, record=True, file=None, quiet=False)
    with console.capture() as captured:
        show(diagnosis, console)
    text = captured.get()
    for part in ("a.so", "[odd].so", "[red] signal 11", "excluded: crashes", "* 0", "does not work", "remedy: mend it"):
        assert part in text, part
    values = json.loads(json.dumps(as_json(diagnosis)))
    assert values["default"] == 0 and values["devices"][0]["capabilities"]["device_type"] == "cpu"
    assert [finding["subject"] for finding in values["findings"]] == ["[odd].so", "device 1: B (Platform)"]


@pytest.mark.thorough
def test_the_commands_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PORTAGPU_DEVICE", raising=False)
    runner = CliRunner()
    listed = runner.invoke(devices_command, ["--json"])
    assert listed.exit_code == 0
    assert [entry["name"] for entry in json.loads(listed.output)] == [record.name for record in all_devices()]
    table = runner.invoke(devices_command, [])
    working = [record for record in devices() if record.works]
    assert table.exit_code == (0 if working else 1)
    explained = runner.invoke(doctor_command, ["--json"])
    assert json.loads(explained.output)["healthy"] == (explained.exit_code == 0)


def test_the_devices_command_without_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_devices", {source.name: () for source in sources.registered()})
    result = CliRunner().invoke(devices_command, [])
    assert result.exit_code == 1 and "portagpu doctor" in result.output
