"""Fixtures: every test that asks for ``device`` runs on each working OpenCL device of the machine."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import os
import tempfile
import warnings
from pathlib import Path

# before portagpu is imported: the user's caches and tuning results stay untouched
_folder = tempfile.TemporaryDirectory(prefix="portagpu-tests-")
os.environ.setdefault("PORTAGPU_CACHE_DIR", str(Path(_folder.name, "cache")))
os.environ.setdefault("BYTECODE_OF_TESTS", str(Path(_folder.name, "bytecode")))  # of all workers
if "PYTEST_XDIST_WORKER" in os.environ:  # NumPy's threads wait actively, on cores that other workers need
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take most of a GPU's memory
os.environ["PORTAGPU_WARNINGS"] = "0"  # tests are small, and a warning is an error
os.environ["PORTAGPU_SHIPPED"] = "0"  # results for some devices must not make tests differ from others
os.environ["PORTAGPU_DATA_DIR"] = str(Path(_folder.name, "data"))

import pairwise  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from portagpu import cuda  # noqa: E402
from portagpu.backends import registry  # noqa: E402
from portagpu.device import working_devices  # noqa: E402

# most examples are a kernel of their own to compile
settings.register_profile("portagpu", deadline=None, derandomize=True, max_examples=4)
settings.register_profile("thorough", settings.get_profile("portagpu"), max_examples=6)
settings.register_profile("all-combinations", settings.get_profile("portagpu"), max_examples=60)
settings.load_profile("portagpu")

_DEVICES = working_devices()
_FINISHED = itertools.count(1)  # tests
gc.set_threshold(20_000, 20, 20)  # compiling makes many objects: a tenth of its time went by with counting them


def pytest_addoption(parser):
    parser.addoption(
        "--all-combinations",
        action="store_true",
        help="run every combination of parameters, not only each pair of values, and more examples",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="run each pair of values, on all devices also where one has a share of them, and long tests",
    )
    parser.addoption(
        "--turn",
        default="0",
        help="which fifth of the tests that take long the whole suite runs (tests/helpers/long_tests.txt); or: all",
    )


def pytest_configure(config):
    """Before any test is made."""
    makes_workers = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if not makes_workers and os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        # hundreds of child processes would compile the package anew; this one reads what lies beside its libraries
        os.environ["PYTHONPYCACHEPREFIX"] = os.environ["BYTECODE_OF_TESTS"]
    if config.getoption("--all-combinations"):
        settings.load_profile("all-combinations")
    elif config.getoption("--thorough"):
        settings.load_profile("thorough")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each worker begins with a run of neighbours, which mostly have one device and kernels of one module, and takes
    tests from others when it has none left.
    """
    if config.getvalue("dist") != "load":  # another way was asked for
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Warnings of tests' modules are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return (yield)


def pytest_collection_modifyitems(config, items):
    """Leave out what is not for the chosen back end, and combinations all of whose pairs others have, unless one was
    asked for by its name.

    Warnings of tests are errors. A setting of pytest's would say so of other people's plugins, too, which then stop it.
    """
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("error"), append=False)
    if registry.chosen().name != "opencl":
        alone = [item for item in items if item.get_closest_marker("opencl")]
        config.hook.pytest_deselected(items=alone)
        items[:] = [item for item in items if not item.get_closest_marker("opencl")]
    if config.getoption("--all-combinations") or any("[" in argument for argument in config.args):
        return
    slow = frozenset(id(d) for d in _DEVICES if _compiles_slowly(d))
    spared = pairwise.left_out(items, slow, thorough=config.getoption("--thorough"))
    is_whole = [Path(argument).resolve() for argument in config.args] == [config.rootpath / "tests"]
    if is_whole and not config.getoption("--thorough") and config.getoption("--turn") != "all":
        spared |= pairwise.of_other_turns(items, int(config.getoption("--turn")))
    if any("::" in argument for argument in config.args):  # asked for by its name
        spared -= {item.nodeid for item in items if item.get_closest_marker("thorough")}
    else:
        spared |= {item.nodeid for item in items if item.get_closest_marker("exhaustive")}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in spared])
    items[:] = [item for item in items if item.nodeid not in spared]


def pytest_collection_finish(session):
    """Thousands of collected tests are never garbage: tests that look for garbage need not go through them."""
    _leave_alone()


def pytest_runtest_logfinish(nodeid, location):
    """Nor through what hundreds of tests have left in caches, which takes half a second in the end."""
    if next(_FINISHED) % 64 == 0:
        _leave_alone()


def _leave_alone():
    """Collect garbage now, and what is there then never."""
    gc.collect()
    gc.freeze()


def _compiles_slowly(device):
    """Whether a driver takes several times as long for a program as others do: it compiles it more than once."""
    return device.capabilities.compiles_for_binaries


def pytest_generate_tests(metafunc):
    """One run for each working device; without any, the tests fail instead of vanishing."""
    if "device" in metafunc.fixturenames:
        found = getattr(metafunc.module, "DEVICES", _DEVICES)  # of another back end, where a module has some
        names = [f"{d.index}-{d.platform.split('(')[0].split()[0]}" for d in found]
        metafunc.parametrize("device", found or [None], ids=names or ["none"], indirect=True, scope="session")


@pytest.fixture(scope="session")
def all_combinations(request):
    """Whether tests of several combinations run all of them, not only a share."""
    return request.config.getoption("--all-combinations")


@pytest.fixture(scope="session")
def share(request):
    """``share(values, first)``: what a test goes through of many values, each with kernels of its own. All with
    `--thorough`, else every second: those from the first on, or the others, which a test of other parameters has.
    """
    every = request.config.getoption("--thorough") or request.config.getoption("--all-combinations")
    return lambda values, first: values if every else values[not first :: 2]


@pytest.fixture(scope="session")
def device(request):
    """A working device."""
    if request.param is None:
        pytest.fail("no OpenCL device works; `portagpu doctor` tells why")
    return request.param


@pytest.fixture(autouse=True)
def _current_device(request):
    """Make the test's device current."""
    if "device" not in request.fixturenames:
        yield
        return
    with cuda.select_device(request.getfixturevalue("device")):
        yield


@pytest.fixture
def telling(device, monkeypatch):
    """The device's context with warnings about launches and kernels, which other tests are spared."""
    context = cuda.current_context()
    monkeypatch.setattr(context, "settings", dataclasses.replace(context.settings, warnings=True))
