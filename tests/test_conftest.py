"""Warnings of tests are errors, those of other people's plugins are none."""

from __future__ import annotations

import os
import subprocess
import sys

PLUGIN = """
import warnings


def pytest_configure(config):
    warnings.warn("configured")


def pytest_sessionstart(session):
    warnings.warn("started")


def pytest_terminal_summary():
    warnings.warn("summed up")
"""
TESTS = """
import warnings

import pytest


def test_that_warns():
    warnings.warn("of a test")


@pytest.mark.filterwarnings("ignore:of a test")
def test_that_may_warn():
    warnings.warn("of a test")


def test_that_does_not():
    pass
"""
OF_A_MODULE = "import warnings\n\nwarnings.warn('of a module')\n"


def test_warnings_of_plugins_and_of_tests(pytestconfig, tmp_path):
    """With the hooks of these tests' conftest."""
    (tmp_path / "plugin_that_warns.py").write_text(PLUGIN)
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_of_a_module.py").write_text(OF_A_MODULE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    plugins = ["-p", "plugin_that_warns", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    root = str(pytestconfig.rootpath)
    path = [str(tmp_path), root, f"{root}/tests/helpers", os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--continue-on-collection-errors", *plugins, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "1 failed, 2 passed" in done.stdout and "1 error" in done.stdout, done.stdout + done.stderr
    assert "FAILED test_some.py::test_that_warns" in done.stdout and "UserWarning: of a module" in done.stdout
