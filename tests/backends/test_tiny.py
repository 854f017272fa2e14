"""What a back end brings beside what the neutral tests look at: it is found by name, its errors are typed, its programs
are kept."""

from __future__ import annotations

import ast
import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from neutral import tiny

from portagpu import cuda, errors
from portagpu.backends import registry, survey
from portagpu.backends.diagnosis import DriverReport, Finding, InstalledDriver, Severity
from portagpu.backends.offline import Compiled, OfflineFigures
from portagpu.cli.check import check_command
from portagpu.cli.doctor import doctor_command
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

DEVICES = tiny.records


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@pytest.fixture
def own(device):
    context = Context(device, None, Settings.from_environment())
    with context:
        yield context
    context.close()


def test_it_is_found_by_its_name(device):
    assert registry.named("tiny") is registry.backend_of(device) is tiny.backend
    assert registry.chosen() is not tiny.backend and tiny.backend in registry.registered()
    with pytest.raises(errors.SettingsError, match="no back end 'tinny'") as caught:
        registry.named("tinny")
    assert "tiny" in caught.value.hint and "opencl" in caught.value.hint


def test_it_takes_nothing_of_opencl():
    source = Path(tiny.__file__).read_text(encoding="utf-8")
    modules = [node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    assert "portagpu.backends.backend" in modules
    assert not [name for name in modules if name.startswith(("pyopencl", "portagpu.backends.opencl"))]


def test_the_context_reaches_it(own, device):
    assert own.backend is tiny.backend and own.driver.device is device and own.cl_context is own.driver.native
    assert Context.wrap(own.driver.queue()) is Context.wrap(own.driver.queue())
    x = cuda.to_device(np.arange(100.0))
    double[1, 128](x)
    np.testing.assert_array_equal(x.copy_to_host(), 2 * np.arange(100.0))
    assert own.driver.native.launches == [("double", (128,), (128,))]


def test_host_arrays_in_place_and_copied(own, device):
    x = np.ones(5000)
    double[40, 128](x)
    assert (x == 2).all()


def test_memory_runs_out(own):
    with pytest.raises(errors.OutOfMemoryError, match="Tiny"):
        kept = [cuda.device_array(2**19) for _ in range(100)]
        del kept
    assert cuda.to_device(np.ones(3)).copy_to_host().sum() == 3


def test_a_lost_device(own):
    x, native = cuda.to_device(np.ones(8)), own.driver.native
    native.lost = True
    with pytest.raises(errors.DeviceLostError):
        double[1, 8](x)
    assert own.lost and not own.is_alive()
    native.lost = False  # it is closed below


def test_closed_contexts(device):
    context = Context(device, None, Settings.from_environment())
    stream = context.stream()
    context.close()
    for use in (lambda: context.driver, lambda: context.cl_context, stream.synchronize, lambda: context.allocate(8)):
        with pytest.raises(errors.ClosedError):
            use()


def test_programs_are_kept_on_disk(own, tmp_path, monkeypatch):
    monkeypatch.setattr(own, "settings", dataclasses.replace(own.settings, cache_dir=tmp_path, binaries=True))
    x = cuda.to_device(np.ones(8))
    double[1, 8](x)
    monkeypatch.setattr(type(own.driver), "compile", None)  # not needed again
    own.reset()
    double[1, 8](x)
    assert (x.copy_to_host() == 4).all() and len(list((tmp_path / "programs").iterdir())) == 1


def test_objects_of_others_are_not_taken(own):
    with pytest.raises(errors.ArgumentTypeError, match="a stream is needed"):
        double[1, 8, object()](cuda.to_device(np.ones(8)))
    with pytest.raises(errors.ArgumentTypeError, match="no library has arrays on tiny"):
        cuda.to_device(np.ones(8)).to_pyopencl()


@cuda.jit
def roots(x):
    i = cuda.grid(1)
    x[i] = math.sqrt(x[i])


@cuda.jit
def multiplies_fragments(x):
    a, b, c = cuda.local.array(4, np.uint32), cuda.local.array(2, np.uint32), cuda.local.array(4, np.float32)
    cuda.mma_sync("m16n8k16", "float16", c, a, b)
    x[0] = c[0]


@pytest.mark.parametrize(("kernel", "name"), [(roots, "sqrt"), (multiplies_fragments, "mma_sync")])
def test_operations_that_it_does_not_know(own, monkeypatch, kernel, name):
    known = tiny.Tiny.language
    monkeypatch.setattr(tiny.Tiny, "language", dataclasses.replace(known, operations=known.operations - {name}))
    with pytest.raises(errors.LoweringError, match=f"the back end tiny does not know the operation {name}") as caught:
        kernel[1, 8](cuda.to_device(np.ones(8)))
    assert caught.value.span.filename == __file__ and f"{name}(" in caught.value.span.text


@dataclasses.dataclass(frozen=True)
class Target:
    name = "tiny9"
    title = "Tiny 9"
    backend = "tiny"
    is_gpu = True
    capabilities = tiny.records[0].capabilities

    def residency(self, figures, block):
        return None


@pytest.fixture
def target(monkeypatch):
    """Hardware that need not be present, for which it compiles."""
    needs = {"registers": 9, "matrix_registers": 0, "scalar_registers": None, "spilled": 0, "scratch_bytes": 0}
    figures = OfflineFigures(**needs, local_bytes=0, lanes=1, occupancy=None)
    monkeypatch.setattr(tiny.Tiny, "targets", lambda self: (Target(),))
    monkeypatch.setattr(
        tiny.Tiny,
        "compile_offline",
        lambda self, target, source, options: Compiled(figures=figures, log=target.name, assembly=None),
    )
    return Target()


def test_hardware_that_is_not_present(target):
    assert survey.find_target("tiny9") == target
    made = double.compile_for("tiny9", "void(float64[::1])")
    assert (made.target, made.figures.registers, made.log) == (target, 9, "tiny9")
    assert made.source.startswith("tiny ")
    with pytest.raises(errors.DeviceSelectionError, match="tiny8") as caught:
        double.compile_for("tiny8", "void(float64[::1])")
    assert "tiny9" in caught.value.hint


def test_the_command_lists_it(target):
    listed = CliRunner().invoke(check_command, ["--list"]).output
    assert "Tiny 9" in listed and "gfx1100" in listed


def test_the_doctor_asks_it(monkeypatch):
    installed = InstalledDriver(
        path="tiny.so",
        state="asleep",
        serves=False,
        named_by="nobody",
        platforms=(("Tiny", ("T",)),),
        facts={"tiny": 1},
    )
    finding = Finding(severity=Severity.NOTE, subject="tiny.so", problem="it sleeps", remedy="wake it")
    report = DriverReport(drivers=(installed,), findings=(finding,), interface="Tiny 1", notes=("tiny note",))
    monkeypatch.setattr(tiny.Tiny, "examine", lambda self, settings, records, *, fresh: report)
    said = CliRunner().invoke(doctor_command, ["--cached"]).output
    for part in (
        "tiny.so asleep",
        "nobody",
        "Tiny: T",
        "it sleeps",
        "wake it",
        "Tiny 1, cache",
        "tiny note",
        "PyOpenCL",
    ):
        assert part in said, part
    values = json.loads(CliRunner().invoke(doctor_command, ["--cached", "--json"]).output)
    assert {"tiny": 1} in values["drivers"] and values["pyopencl"]
