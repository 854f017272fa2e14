"""Every shipped example runs on every device and checks itself."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

import pyopencl as cl
import pytest

from portagpu.runtime.context import Context
from portagpu.settings import Settings

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def load(path):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.oclgrind
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, device):
    load(path).main()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_needs_no_float64(path, device):
    """Some GPUs have none; here the compiler is told that the device is such a one."""
    without = dataclasses.replace(device, capabilities=dataclasses.replace(device.capabilities, fp64=False))
    context = Context(without, cl.Context([device.cl_device]), Settings.from_environment())
    with context:
        load(path).main()
    context.close()


def test_all_classics_are_there():
    assert len(EXAMPLES) >= 10
