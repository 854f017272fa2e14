"""SciPy's own tests of its BLAS (`scipy/linalg/tests/test_blas.py` of the package), with ours in its place."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path

import pytest

import portagpu.blas

scipy_linalg = pytest.importorskip("scipy.linalg")
_FILE = Path(scipy_linalg.__file__).parent / "tests" / "test_blas.py"
if not _FILE.exists():  # distributions may leave tests out
    pytest.skip("SciPy is installed without its tests", allow_module_level=True)

pytestmark = [pytest.mark.one_device, pytest.mark.usefixtures("device", "ours_in_place")]


@contextlib.contextmanager
def ours_for_theirs():
    """SciPy's module with our functions where its tests look for its own."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("_fblas", portagpu.blas),
            ("blas", portagpu.blas),
            ("get_blas_funcs", portagpu.blas.get_blas_funcs),
        ):
            patch.setattr(scipy_linalg, name, value)
        # mock.patch.dict would drop modules that are imported meanwhile, of which there would then be two
        patch.setitem(sys.modules, "scipy.linalg._fblas", portagpu.blas)
        yield


def _loaded():
    specification = importlib.util.spec_from_file_location("scipy_test_blas", _FILE)
    module = importlib.util.module_from_spec(specification)
    with ours_for_theirs():
        specification.loader.exec_module(module)
    assert module.fblas is portagpu.blas
    return module


globals().update({name: value for name, value in vars(_loaded()).items() if name.lower().startswith("test")})


@pytest.fixture
def ours_in_place():
    with ours_for_theirs():
        yield
