"""How SYCL's devices are found: in a process of its own, remembered, and without harm where the run time is faulty."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from sycl_devices import WORKING, needs_dpnp, needs_sycl

from portagpu import cuda, errors, notices
from portagpu.backends import registry
from portagpu.backends.sycl import discovery, doctor, shim_build, survey
from portagpu.backends.sycl.drivers import installed
from portagpu.backends.sycl.drivers.installed import SyclRuntime
from portagpu.cli.doctor import doctor_command
from portagpu.settings import Settings

_ROOT = Path(__file__).parents[2]


@pytest.fixture
def settings(tmp_path):
    return dataclasses.replace(Settings.from_environment(), cache_dir=tmp_path / "cache")


@pytest.fixture
def nothing(monkeypatch):
    """No run time."""
    for module in (discovery, doctor, installed):
        monkeypatch.setattr(module, "find_runtime", lambda: None)


def test_without_a_run_time_it_is_said_what_to_install(nothing, settings):
    backend = registry.named("sycl")
    assert backend.discover(settings, fresh=False, renumber=False).records == ()
    (unused,) = backend.unused_drivers(settings)
    assert "not installed" in unused.problem and unused.remedy == "pip install 'portagpu[sycl]'"
    assert backend.examine(settings, (), fresh=False).drivers == ()


@pytest.fixture
def fake(tmp_path):
    """A run time that is none."""
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "libsycl.so.9").write_bytes(b"nothing")
    headers = tmp_path / "include"
    (headers / "sycl").mkdir(parents=True)
    return SyclRuntime(library=folder / "libsycl.so.9", headers=headers)


@pytest.fixture
def unwritable(settings, tmp_path, monkeypatch):
    """Settings whose cache folder is a file, in a process that has told nothing yet."""
    monkeypatch.setattr(notices, "_reported", set())
    monkeypatch.setattr(shim_build, "_temporary", {})
    (tmp_path / "file").write_bytes(b"")
    return dataclasses.replace(settings, cache_dir=tmp_path / "file", warnings=True)


def test_a_cache_that_cannot_be_written(fake, unwritable, monkeypatch):
    """The library is compiled once, to a temporary folder, and one warning says why."""
    compiled = []
    monkeypatch.setattr(shim_build, "_compiled", lambda _: compiled.append(1) or b"library")
    with pytest.warns(errors.PortaGPUWarning, match="cannot be kept in .*PORTAGPU_CACHE_DIR"):
        found = shim_build.shim_library(fake, unwritable)
    assert found.read_bytes() == b"library" and not found.is_relative_to(unwritable.cache_dir)
    assert shim_build.shim_library(fake, unwritable) == found and compiled == [1]


def test_a_library_that_can_be_written_nowhere(fake, unwritable, monkeypatch):
    monkeypatch.setattr(shim_build, "_compiled", lambda _: b"library")
    monkeypatch.setattr(tempfile, "tempdir", str(unwritable.cache_dir))
    with pytest.raises(errors.BuildError, match="kept nowhere") as caught:
        shim_build.shim_library(fake, unwritable)
    assert "PORTAGPU_CACHE_DIR" in caught.value.hint and "TMPDIR" in caught.value.hint


def test_a_survey_that_cannot_be_written_is_made_once(fake, unwritable, monkeypatch):
    runs = []

    def run(settings, arguments, folder, log):
        runs.append(1)
        Path(arguments[1]).write_text(json.dumps({"devices": []}))
        return 0

    monkeypatch.setattr(survey, "_run", run)
    assert all(survey.surveyed(fake, unwritable, fresh=fresh).problem is None for fresh in (False, False, True, False))
    assert len(runs) == 2


@needs_sycl
@pytest.mark.thorough
def test_kernels_run_without_a_cache(run, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    program = "from checks import check; check('sycl:cpu'); print('fine')"
    said = run(program, PORTAGPU_CACHE_DIR=str(tmp_path / "file"), TMPDIR=str(tmp_path), PORTAGPU_BACKEND="sycl")
    assert said.strip() == "fine"
    assert not list(tmp_path.glob("portagpu-*"))  # it tidies up


def test_without_a_compiler(fake, settings, monkeypatch):
    monkeypatch.setattr(shim_build, "find_compiler", lambda: None)
    with pytest.raises(errors.MissingCompilerError, match="needs a C\\+\\+ compiler") as caught:
        shim_build.shim_library(fake, settings)
    assert "apt install g++" in caught.value.hint


def test_without_headers(fake, settings):
    with pytest.raises(errors.MissingCompilerError, match="no headers"):
        shim_build.shim_library(dataclasses.replace(fake, headers=None), settings)


def test_a_compiler_that_refuses(fake, settings):
    if shim_build.find_compiler() is None:
        pytest.skip("there is no C++ compiler")
    with pytest.raises(errors.BuildError, match="does not compile") as caught:
        shim_build.shim_library(fake, settings)
    assert "sycl" in caught.value.log


def test_a_survey_that_dies_costs_its_devices_alone(fake, settings, monkeypatch):
    monkeypatch.setattr(survey, "_run", lambda *arguments: -11)
    monkeypatch.setattr(survey, "_tail", lambda log, status: "signal 11")
    found = survey.surveyed(fake, settings, fresh=True)
    assert found.devices == () and "ends the process" in found.problem
    monkeypatch.setattr(discovery, "find_runtime", lambda: fake)
    assert discovery.discover(settings, fresh=False).records == ()  # remembered
    assert "ends the process" in discovery.unused_drivers(settings)[0].problem
    report = doctor.examine(settings, (), fresh=False)
    assert not report.facts.get("healthy")


def test_a_trial_that_dies_is_left_out(fake, settings, monkeypatch):
    """The journal of the device says which; the next child goes on without it."""
    runs = []

    def run(settings, arguments, folder, log):
        runs.append(1)
        journals, result = map(Path, arguments)
        if len(runs) == 1:
            (journals / "0").write_text('{"begin": "fp64"}\n')
            return -11
        result.write_text(json.dumps({"devices": []}))
        return 0

    monkeypatch.setattr(survey, "_run", run)
    assert survey.surveyed(fake, settings, fresh=True).problem is None and len(runs) == 2


def test_damaged_memories_are_no_memories(fake, settings, monkeypatch):
    monkeypatch.setattr(survey, "_run", lambda *arguments: -11)
    monkeypatch.setattr(survey, "_tail", lambda log, status: "signal 11")
    survey.surveyed(fake, settings, fresh=True)
    (entry,) = (settings.cache_dir / "sycl").glob("devices-*.json")
    entry.write_text("{")
    assert survey.surveyed(fake, settings, fresh=False).problem


@needs_sycl
def test_devices_are_listed_and_selected():
    record = WORKING[0]
    cuda.select_device(f"sycl:{record.device_type.value}")
    context = cuda.current_context()
    assert context.backend.name == "sycl" and context.device.key.startswith("sycl:")
    assert record.backend == "sycl" and record.works
    said = CliRunner().invoke(doctor_command, ["--cached"]).output
    assert "SYCL 20" in said and "libsycl.so" in said
    values = json.loads(CliRunner().invoke(doctor_command, ["--cached", "--json"]).output)
    assert values["sycl"]["compiler"] and values["sycl"]["adapters"]
    cuda.select_device(0)


@pytest.fixture
def run(tmp_path):
    """What a program in a process of its own prints; ``check(selector)`` runs a kernel."""
    (tmp_path / "checks.py").write_text(_KERNEL)

    def runs(program, **variables):
        environment = {**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{tmp_path}", **variables}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return runs


_KERNEL = """
import numpy as np
from portagpu import cuda
@cuda.jit
def double(x):
    x[cuda.grid(1)] *= 2
def check(name):
    with cuda.select_device(name):
        x = cuda.to_device(np.ones(8)); double[1, 8](x); assert x.copy_to_host().sum() == 16
"""


@needs_sycl
@pytest.mark.parametrize("order", [("opencl:cpu", "sycl:cpu"), ("sycl:cpu", "opencl:cpu")])
def test_both_back_ends_in_one_process(run, order):
    assert run("from checks import check\n" + "".join(f"check({n!r})\n" for n in order)) == ""


@needs_sycl
def test_the_chosen_back_end(run):
    program = "from checks import check, cuda\ncheck('cpu')\nprint(cuda.current_context().backend.name)"
    assert run(program, PORTAGPU_BACKEND="sycl").strip() == "sycl"


@needs_sycl
@pytest.mark.parametrize("first", ["dpctl", "dpnp", "pyopencl"])
def test_after_other_libraries(run, first):
    """What loads the run time first decides which drivers it sees: the CPU driver is where its package lies."""
    if first != "pyopencl":
        needs_dpnp()
    driver = next(iter(installed.find_runtime().folder.glob("libintelocl.so")), None)
    variables = {} if driver is None else {"OCL_ICD_FILENAMES": str(driver)}
    run(f"import {first}\nfrom checks import check\ncheck('sycl:cpu')\n", **variables)
