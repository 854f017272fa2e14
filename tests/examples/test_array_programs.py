"""The programs of examples/arrays run with every namespace that is installed, and give NumPy's results."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "arrays"
SIZES = {  # and steps
    "conjugate_gradients": (33, 20),
    "conjugate_gradients_dense": (50, 30),
    "k_means": (3000, 8),
    "shallow_water": (34, 6),
    "shallow_water_joined": (34, 6),
    "shallow_water_in_place": (34, 6),
}


@pytest.fixture(scope="module")
def runner():
    before = {*sys.modules}
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("array_programs_run", FOLDER / "run.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path[:] = [path for path in sys.path if path != str(FOLDER)]
        for name in {*sys.modules} - before:
            if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def test_all_are_there(runner):
    assert set(runner.PROGRAMS) == set(SIZES)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", SIZES)
def test_on_devices(runner, device, name, capsys):
    size, steps = SIZES[name]
    seconds, numpys, error = runner.main(name, "portagpu", None, size, "float64", steps)
    assert seconds > 0 and numpys > 0 and error < 1e-6
    first, second, third = capsys.readouterr().out.splitlines()
    assert device.name in first and "ms a step" in second and "ms a step" in third


@pytest.mark.parametrize("name", SIZES)
def test_by_the_standard_alone(runner, name):
    """What array-api-strict refuses is NumPy's own, and no program of the standard."""
    pytest.importorskip("array_api_strict")
    pytest.importorskip("array_api_compat")
    size, steps = SIZES[name]
    _, _, error = runner.main(name, "array_api_strict", None, size, "float64", steps)
    assert error < 1e-8


@pytest.mark.parametrize("name", ["conjugate_gradients_dense", "k_means"])
def test_wrong_results_are_refused(runner, name):
    make, program, *_ = runner.PROGRAMS[name]
    inputs = make(60, np.dtype("float64"))
    *expected, steps = program(np, *inputs, 60)
    runner.check(name, inputs, expected, expected, steps)
    with pytest.raises(AssertionError, match=r"is left|differ by"):
        runner.check(name, inputs, [1.01 * expected[0], *expected[1:]], expected, steps)


def test_the_three_forms_of_shallow_water_agree(runner):
    compat = pytest.importorskip("array_api_compat.numpy")
    arrays = runner.shallow_water.vortices(20, np.float64)
    first, *others = (
        getattr(runner.shallow_water, name)(compat, *arrays, 10)[:3] for name in ("run", "run_joined", "run_in_place")
    )
    for other in others:
        for a, b in zip(first, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    assert abs(first[2].mean() - arrays[2].mean()) < 1e-12  # the scheme keeps the mass
