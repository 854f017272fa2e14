"""Registration of drivers, with made-up folders and libraries."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from portagpu.backends.opencl.drivers import register as drivers
from portagpu.backends.opencl.drivers.check import LoadOutcome, LoadResult, PlatformInfo
from portagpu.backends.opencl.drivers.records import DriverRecord, DriverSource, DriverState
from portagpu.backends.opencl.drivers.register import Places, Registration, _filled, perform
from portagpu.backends.opencl.drivers.search import DriverFamily
from portagpu.settings import Settings

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux loaders read a folder")

Outcomes = dict[str, LoadResult]


class Machine:
    """A made-up machine: folders, libraries, and what loading each library leads to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.system = root / "etc" / "OpenCL" / "vendors"
        self.prefix = root / "env"
        self.environment = self.prefix / "etc" / "OpenCL" / "vendors"
        self.system.mkdir(parents=True)
        self.environment.mkdir(parents=True)
        self.outcomes: Outcomes = {}
        self.environ: dict[str, str] = {}
        self.places = Places(
            system_vendors=self.system,
            prefix=self.prefix,
            packages=(),
            families=(DriverFamily(name="Made up", reason="test", patterns=("{prefix}/lib/libfound*.so",)),),
            linker_cache=b"",
        )

    def library(self, place: str, outcome: LoadResult | None = None) -> str:
        path = self.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(place)
        if outcome is not None:
            self.outcomes[str(path)] = outcome
        return str(path)

    def icd(self, folder: Path, name: str, library: str) -> str:
        path = folder / name
        path.write_text(library + "\n")
        return str(path)

    def check(self, libraries: Sequence[str], cache_dir: Path, *, fresh: bool = False) -> Mapping[str, LoadResult]:
        good = LoadResult(outcome=LoadOutcome.LOADED, platforms=(PlatformInfo(name="P", version="V", devices=("D",)),))
        return {library: self.outcomes.get(library, replace(good, path=library)) for library in libraries}

    def register(self, settings: Settings, *, dry: bool = False) -> Registration:
        return perform(settings, self.environ, self.places, dry=dry)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setattr(drivers, "check_libraries", made.check)
    return made


def _listed(registration: Registration) -> set[str]:
    assert registration.vendors_folder is not None
    return {path.read_text() for path in registration.vendors_folder.iterdir()}


def _one(registration: Registration, library: str) -> DriverRecord:
    (found,) = [driver for driver in registration.drivers if driver.library == library]
    return found


def test_nothing_is_changed_where_nothing_is_missing(machine: Machine, settings: Settings) -> None:
    library = machine.library("usr/lib/libsystem.so")
    icd = machine.icd(machine.system, "system.icd", library)
    registration = machine.register(settings)
    assert registration.vendors_folder is None and machine.environ == {}
    record = _one(registration, library)
    assert (record.state, record.source, record.icd_file) == (DriverState.REGISTERED, DriverSource.SYSTEM, icd)
    assert not settings.cache_dir.exists()


def test_a_found_library_joins_the_systems(machine: Machine, settings: Settings) -> None:
    system = machine.library("usr/lib/libsystem.so")
    machine.icd(machine.system, "system.icd", system)
    found = machine.library("env/lib/libfound.so")
    registration = machine.register(settings)
    assert machine.environ == {"OCL_ICD_VENDORS": str(registration.vendors_folder)}
    assert _listed(registration) == {system, found}
    assert _one(registration, found).state is DriverState.ADDED
    assert registration.vendors_folder is not None
    assert all(path.suffix == ".icd" for path in registration.vendors_folder.iterdir())
    assert [path.name for path in registration.vendors_folder.parent.iterdir()] == [registration.vendors_folder.name]


def test_no_platform_appears_twice(machine: Machine, settings: Settings) -> None:
    library = machine.library("env/lib/libfound.so")
    link = machine.prefix / "lib" / "libfound-link.so"
    link.symlink_to(library)
    machine.icd(machine.system, "a.icd", library)
    machine.icd(machine.system, "b.icd", str(link))
    machine.icd(machine.environment, "c.icd", library)
    registration = machine.register(settings)
    assert [driver.library for driver in registration.drivers] == [library]
    assert registration.vendors_folder is None


def test_the_same_file_under_a_bare_name_is_one_driver(machine: Machine, settings: Settings) -> None:
    """Only the child that loaded a bare name knows which file it is."""
    library = machine.library("env/lib/libfound.so")
    machine.icd(machine.system, "bare.icd", "libfound.so.2.1")
    machine.outcomes["libfound.so.2.1"] = LoadResult(outcome=LoadOutcome.LOADED, path=library)
    registration = machine.register(settings)
    assert [driver.library for driver in registration.drivers] == ["libfound.so.2.1"]
    assert registration.vendors_folder is None


def test_an_icd_that_names_nothing_is_reported_with_the_remedy(machine: Machine, settings: Settings) -> None:
    icd = machine.icd(machine.environment, "broken.icd", "/build/machine/lib/libfound.so")
    found = machine.library("env/lib/libfound.so")
    machine.icd(machine.system, "empty.icd", "")
    registration = machine.register(settings)
    record = _one(registration, "/build/machine/lib/libfound.so")
    assert record.state is DriverState.MISSING
    assert record.problem == f"{icd} names /build/machine/lib/libfound.so, which does not exist"
    assert record.remedy is not None and icd in record.remedy
    assert _listed(registration) == {found}


def test_the_users_choice_is_respected(machine: Machine, settings: Settings) -> None:
    mine = machine.root / "mine"
    mine.mkdir()
    chosen = machine.library("opt/libchosen.so")
    machine.icd(mine, "chosen.icd", chosen)
    found = machine.library("env/lib/libfound.so")
    machine.icd(machine.system, "system.icd", machine.library("usr/lib/libsystem.so"))
    for value in (str(mine), str(mine / "chosen.icd"), chosen):
        machine.environ = {"OCL_ICD_VENDORS": value}
        registration = machine.register(settings)
        assert machine.environ == {"OCL_ICD_VENDORS": value}
        assert [driver.library for driver in registration.drivers] == [chosen, found]
        assert _one(registration, chosen).source is DriverSource.USER
        unused = _one(registration, found)
        assert unused.state is DriverState.NOT_USED
        assert unused.remedy is not None and "OCL_ICD_VENDORS" in unused.remedy


def test_portagpu_drivers_count_even_then(machine: Machine, settings: Settings) -> None:
    chosen, extra = machine.library("opt/libchosen.so"), machine.library("opt/libextra.so")
    mine = machine.root / "mine"
    mine.mkdir()
    machine.icd(mine, "chosen.icd", chosen)
    machine.environ = {"OCL_ICD_VENDORS": str(mine)}
    missing = str(machine.root / "libmissing.so")
    registration = machine.register(replace(settings, driver_paths=(extra, missing)))
    assert _listed(registration) == {chosen, extra}
    assert registration.previous_vendors == str(mine)
    assert _one(registration, missing).state is DriverState.MISSING


def test_a_library_that_crashes_is_kept_out(machine: Machine, settings: Settings) -> None:
    crash = LoadResult(outcome=LoadOutcome.CRASHED, error="loading it ends the process (signal 11)")
    bad = machine.library("usr/lib/libbad.so", crash)
    good = machine.library("usr/lib/libgood.so")
    machine.icd(machine.system, "bad.icd", bad)
    machine.icd(machine.system, "good.icd", good)
    registration = machine.register(settings)
    assert _listed(registration) == {good}
    record = _one(registration, bad)
    assert record.state is DriverState.EXCLUDED
    assert record.problem is not None and "signal 11" in record.problem and record.remedy is not None


def test_a_library_that_lacks_another_is_named_with_it(machine: Machine, settings: Settings) -> None:
    error = "libimf.so: cannot open shared object file: No such file or directory"
    failing = machine.library("env/lib/libfound.so", LoadResult(outcome=LoadOutcome.FAILED, error=error))
    record = _one(machine.register(settings), failing)
    assert record.state is DriverState.FAILED and record.problem == error
    assert record.remedy is not None and "libimf.so" in record.remedy


def test_a_child_process_inherits_the_folder_and_keeps_it(machine: Machine, settings: Settings) -> None:
    machine.icd(machine.system, "system.icd", machine.library("usr/lib/libsystem.so"))
    machine.library("env/lib/libfound.so")
    first = machine.register(settings)
    second = machine.register(settings)
    assert second.vendors_folder is None, "the inherited folder holds everything"
    assert machine.environ == {"OCL_ICD_VENDORS": str(first.vendors_folder)}
    assert {driver.state for driver in second.drivers} == {DriverState.REGISTERED}
    third_library = machine.library("env/lib/libfound3.so")
    third = machine.register(settings)
    assert _listed(third) == _listed(first) | {third_library}


def test_many_processes_at_once_make_one_whole_folder(machine: Machine, settings: Settings) -> None:
    for index in range(5):
        machine.library(f"env/lib/libfound{index}.so")
    folders: list[Path | None] = []
    start = threading.Barrier(8)

    def register() -> None:
        start.wait()
        folders.append(perform(settings, {}, machine.places).vendors_folder)

    threads = [threading.Thread(target=register) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (folder,) = set(folders)
    assert len(folders) == 8 and folder is not None
    assert len(list(folder.iterdir())) == 5
    assert [path.name for path in folder.parent.iterdir()] == [folder.name], "nothing is left behind"


def test_a_damaged_folder_is_repaired(machine: Machine, settings: Settings) -> None:
    found = machine.library("env/lib/libfound.so")
    registration = machine.register(settings)
    assert registration.vendors_folder is not None
    (file,) = registration.vendors_folder.iterdir()
    for damage in ("", "/elsewhere"):
        file.write_text(damage)
        machine.environ.clear()
        assert _listed(machine.register(settings)) == {found}
    file.unlink()
    machine.environ.clear()
    assert _listed(machine.register(settings)) == {found}


def test_without_a_cache_folder_a_temporary_one_serves(
    machine: Machine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = machine.library("env/lib/libfound.so")
    blocked = machine.root / "blocked"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setattr(tempfile, "tempdir", str(machine.root))
    registration = machine.register(replace(settings, cache_dir=blocked))
    assert _listed(registration) == {found}


def test_the_temporary_folder_goes_with_the_process_that_made_it(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where the folder should be")
    text = """
import os, sys
from pathlib import Path
from portagpu.backends.opencl.drivers.register import _vendors_folder
assert _vendors_folder(Path(sys.argv[1]), ()).is_dir()
if os.fork():
    assert os.waitpid(-1, 0)[1] == 0
    assert any(name.startswith("portagpu-vendors-") for name in os.listdir(os.environ["TMPDIR"]))
"""
    command = [sys.executable, "-c", text, str(tmp_path / "blocked" / "vendors")]
    subprocess.run(command, env={**os.environ, "TMPDIR": str(tmp_path)}, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["blocked"]


def test_a_full_disk_leaves_no_half_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        _filled(tmp_path / "folder", {"00-a.icd": "a"})
    assert not list(tmp_path.iterdir())


def test_a_dry_run_changes_nothing(machine: Machine, settings: Settings) -> None:
    machine.library("env/lib/libfound.so")
    registration = machine.register(settings, dry=True)
    assert registration.drivers[0].state is DriverState.ADDED
    assert machine.environ == {} and not settings.cache_dir.exists()


def test_inside_the_simulator_nothing_is_registered(machine: Machine, settings: Settings) -> None:
    machine.library("env/lib/libfound.so")
    machine.environ = {"LD_PRELOAD": "/usr/lib/oclgrind/liboclgrind-rt.so"}
    registration = machine.register(settings)
    assert registration.simulator and registration.drivers == ()
    assert "OCL_ICD_VENDORS" not in machine.environ


def test_a_loaded_driver_library_means_that_we_are_late(
    machine: Machine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = machine.library("env/lib/libfound.so")
    monkeypatch.setattr(drivers, "_any_mapped", lambda endings: found in endings)
    registration = machine.register(settings)
    record = _one(registration, found)
    assert record.state is DriverState.NOT_USED and "before PortaGPU" in str(record.problem)
    assert registration.late and registration.vendors_folder is None and machine.environ == {}


_LATE = """
import pyopencl
try:
    platforms = pyopencl.get_platforms()
except pyopencl.Error:
    platforms = []
from portagpu.backends.opencl.drivers.register import registration
from portagpu.settings import Settings
found = registration(Settings.from_environment())
print(int(found.late or found.simulator or not platforms), int(found.vendors_folder is None or not platforms))
"""

_EARLY = """
import portagpu.device
from portagpu.backends.opencl.drivers.register import registration
from portagpu.settings import Settings
print(int(not registration(Settings.from_environment()).late))
"""


@pytest.mark.parametrize("program", [_LATE, _EARLY], ids=["late", "early"])
def test_in_a_real_process(program: str, tmp_path: Path) -> None:
    root = Path(drivers.__file__).resolve().parents[4]
    path = os.pathsep.join(p for p in (str(root), os.environ.get("PYTHONPATH")) if p)
    environment = {**os.environ, "PORTAGPU_CACHE_DIR": str(tmp_path), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == {"1"}
