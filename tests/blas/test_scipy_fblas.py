"""SciPy's tests of single BLAS functions (`scipy/linalg/tests/test_fblas.py`), with ours in their place."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import types
from pathlib import Path

import pytest

import portagpu.blas

scipy_linalg = pytest.importorskip("scipy.linalg")
_FILE = Path(scipy_linalg.__file__).parent / "tests" / "test_fblas.py"
if not _FILE.exists():  # distributions may leave tests out
    pytest.skip("SciPy is installed without its tests", allow_module_level=True)

pytestmark = [pytest.mark.one_device, pytest.mark.thorough, pytest.mark.usefixtures("device")]


class _Function:
    """A function that classes do not bind as a method, as those of f2py."""

    def __init__(self, function):
        self._function = function

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)


def _functions():
    module = types.ModuleType("scipy.linalg._fblas")
    for name in dir(portagpu.blas):
        value = getattr(portagpu.blas, name)
        setattr(module, name, _Function(value) if inspect.isfunction(value) else value)
    return module


def _loaded():
    ours = _functions()
    specification = importlib.util.spec_from_file_location("scipy_test_fblas", _FILE)
    module = importlib.util.module_from_spec(specification)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scipy_linalg, "_fblas", ours)
        patch.setitem(sys.modules, "scipy.linalg._fblas", ours)
        specification.loader.exec_module(module)
    assert module.fblas is ours
    return module


globals().update({name: value for name, value in vars(_loaded()).items() if name.lower().startswith("test")})
