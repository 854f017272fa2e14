"""The golden SYCL C++ compiles by SYCL's run-time compiler, on each SYCL device of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from portagpu.backends import registry
from portagpu.backends.sycl.codegen.flags import FLAGS
from portagpu.settings import Settings

HERE = Path(__file__).parent
SYCL = registry.named("sycl")
pytestmark = pytest.mark.one_device


@pytest.fixture(scope="module")
def drivers():
    """An open driver for each SYCL device that works."""
    found = SYCL.discover(Settings.from_environment(), fresh=False, renumber=False).records
    opened = [SYCL.open(record) for record in found if record.problem is None]
    if not opened:
        pytest.skip("no SYCL device: pip install 'portagpu[sycl]' brings a CPU's")
    yield opened
    for driver in opened:
        driver.close()


# no device here has matrix units: tests/sycl/test_sycl_subgroup_products.py compiles these
WITHOUT_DEVICE = "subgroup_products"
PATHS = [path for path in sorted(HERE.glob("*.cpp")) if not path.stem.startswith(WITHOUT_DEVICE)]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_golden_sources_compile(drivers, path):
    for driver in drivers:
        assert driver.compile(path.read_text(encoding="utf-8"), FLAGS, (), apart=False).program is not None
