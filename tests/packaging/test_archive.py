"""The package is one tree of folders: it builds and imports from an archive without links, and no file is left out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "portagpu"
IGNORED = shutil.ignore_patterns("__pycache__", "*.egg-info", ".*_cache", "build")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The repository as from an archive that knows no links, and no other files than the package's."""
    folder = tmp_path_factory.mktemp("archive")
    shutil.copytree(PACKAGE, folder / "portagpu", ignore=IGNORED, symlinks=True)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def test_the_package_has_no_links():
    assert not [path for path in PACKAGE.rglob("*") if path.is_symlink()]


@pytest.mark.parametrize("name", ["bench", "blas", "templates"])
def test_links_of_the_repository_lead_into_the_package(name):
    link = ROOT / name
    if link.is_symlink():  # an archive may be without
        assert not link.readlink().is_absolute()
        assert PACKAGE in link.resolve().parents


def test_every_folder_with_modules_is_a_package():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert not {folder for folder in folders if not (folder / "__init__.py").is_file()}


@pytest.mark.thorough
def test_a_wheel_of_it_has_every_file_and_imports(archive, tmp_path):
    build = "from setuptools import build_meta as b; import sys; print(b.build_wheel(sys.argv[1]))"
    made = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=archive, capture_output=True, text=True, timeout=300
    )
    assert made.returncode == 0, made.stderr
    wheel = tmp_path / made.stdout.split()[-1]
    present = {
        path.relative_to(archive).as_posix()
        for path in (archive / "portagpu").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as contents:
        assert {name for name in contents.namelist() if ".dist-info/" not in name} == present
        contents.extractall(tmp_path / "site")
    program = (
        "import portagpu, portagpu.blas.matmul\n"
        "from portagpu.backends.opencl.codegen.rendering import render\n"
        "from importlib import resources\n"
        "assert resources.files('portagpu.backends.opencl.templates').joinpath('kernel.mako').is_file()\n"
        "print(portagpu.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(tmp_path / "site")
