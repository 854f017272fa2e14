"""pyproject.toml names every package and every data file: setuptools drops what is forgotten without a word."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAPPED = ("bench", "blas", "templates")
TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def table(header):
    """The text of a table of pyproject.toml (Python 3.10 has no TOML reader)."""
    return re.split(r"^\[", TEXT.partition(f"\n[{header}]\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def source_folders():
    """Folder of every package, by its dotted name."""
    folders = {f"portagpu.{name}": ROOT / name for name in MAPPED}
    folders["portagpu"] = ROOT / "portagpu"
    for name, top in list(folders.items()):
        for init in top.rglob("__init__.py"):
            inner = init.parent.relative_to(top)
            if not (name == "portagpu" and inner.parts and inner.parts[0] in MAPPED):
                folders[".".join([name, *inner.parts])] = init.parent
    return folders


def test_every_package_is_listed():
    listed = re.findall(r'"([\w.]+)"', table("tool.setuptools").partition("packages = [")[2].partition("]")[0])
    assert listed == sorted(source_folders())


def test_every_data_file_is_named():
    patterns = {
        package: re.findall(r'"([^"]+)"', names)
        for package, names in re.findall(r'^"([\w.]+)" = \[(.*)\]$', table("tool.setuptools.package-data"), re.M)
    }
    folders = source_folders()
    named = {path for package, globs in patterns.items() for glob in globs for path in folders[package].glob(glob)}
    tops = [ROOT / "portagpu", *(ROOT / name for name in MAPPED)]
    suffixes = {".cl", ".json", ".jsonl", ".mako", ".pyi", ".typed"}
    present = {path for top in tops for path in top.rglob("*") if path.suffix in suffixes or path.name == "py.typed"}
    links = [ROOT / "portagpu" / name for name in MAPPED]
    assert named == {path for path in present if not any(link in path.parents for link in links)}


@pytest.mark.parametrize("name", MAPPED)
def test_folders_are_linked_into_the_package(name):
    link = ROOT / "portagpu" / name
    assert link.is_symlink()
    assert not link.readlink().is_absolute()
    assert link.resolve() == (ROOT / name).resolve()


def test_data_files_are_read_where_the_package_is():
    assert resources.files("portagpu.templates").joinpath("kernel.mako").is_file()
    assert resources.files("portagpu").joinpath("py.typed").is_file()
