"""Every shipped example runs on every device and checks itself, and its check notices when a kernel did nothing."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from own_contexts import native_context

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
SMALL = {  # sizes for simulators, and unlike the default ones in what they divide by
    "bitonic_sort": 1000,
    "conjugate_gradient": 9,
    "fdtd": 9,
    "fft_stockham": 512,
    "floyd_warshall": 41,
    "k_means": 500,
    "lattice_boltzmann": 3,
    "matrix_profile": 300,
    "monte_carlo_pricing": 100,
    "n_body": 150,
    "radix_sort": 1500,
    "scan": 5000,
    "spmv_csr": 70,
    "tuned_stencil": 700,
}
PROGRAMS = [path for path in EXAMPLES if path.stem in SMALL]
STEERING = {"count_digits", "scan_counts"}  # tell others where to write: without them they would write anywhere
KERNELS = [
    (path, name)
    for path in PROGRAMS
    for name in re.findall(r"^@cuda\.jit\ndef (\w+)", path.read_text(encoding="utf-8"), re.M)
    if name not in STEERING
]


def load(path):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.oclgrind
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, device):
    simulated = "oclgrind" in device.platform.lower()
    load(path).main(*([SMALL[path.stem]] if simulated and path.stem in SMALL else []))


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_small_size(path, device, capsys):
    load(path).main(SMALL[path.stem])
    first, *results = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{device.name}: ") and re.search(r"\d", first)
    assert results


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_needs_no_float64(path, device):
    """Some GPUs have none; here the compiler is told that the device is such a one."""
    without = dataclasses.replace(device, capabilities=dataclasses.replace(device.capabilities, fp64=False))
    context = Context(without, native_context(device), Settings.from_environment())
    with context:
        load(path).main()
    context.close()


class Idle:
    """A kernel whose launches do nothing."""

    def __getitem__(self, configuration):
        return lambda *args: None


@pytest.mark.one_device
@pytest.mark.parametrize(("path", "name"), KERNELS, ids=lambda v: v.stem if isinstance(v, Path) else v)
def test_check_notices_a_kernel_that_does_nothing(device, path, name, monkeypatch):
    def zeros(shape, dtype, **_):  # new memory may be old memory, with the right results of an earlier run
        return cuda.to_device(np.zeros(shape, dtype))

    module = load(path)
    assert isinstance(getattr(module, name), Dispatcher)
    monkeypatch.setattr(module, name, Idle())
    monkeypatch.setattr(cuda, "device_array", zeros)
    monkeypatch.setattr(cuda, "device_array_like", lambda other: zeros(other.shape, other.dtype))
    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        module.main(SMALL[path.stem])


@pytest.mark.thorough
def test_program_fails_when_its_check_does(tmp_path):
    """As a command: status 0 with a size, another one when what it computes is wrong."""
    text = (FOLDER / "scan.py").read_text(encoding="utf-8")
    assert "+= left_sum" in text
    for change, status in (("+= left_sum", 0), ("+= 2 * left_sum", 1)):
        path = tmp_path / "program.py"
        path.write_text(text.replace("+= left_sum", change), encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER.parent), *filter(None, sys.path)])}
        done = subprocess.run([sys.executable, str(path), "3000"], capture_output=True, text=True, env=environment)
        assert done.returncode == status, done.stderr
        assert ("prefix sums exactly" in done.stdout) == (status == 0)


def test_all_are_there():
    assert len(EXAMPLES) >= 10 + len(SMALL) and len(PROGRAMS) == len(SMALL)
