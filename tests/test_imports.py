"""Imports go down: between modules, and between the folders and files beside each other in every package.

Imports for type checkers only count, too: a circle of them shows that two modules cannot be understood apart.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

Graph = dict[str, set[str]]


@pytest.fixture(scope="module")
def imports() -> Graph:
    """What each module of the package imports."""
    graph = grimp.build_graph("portagpu", cache_dir=None, exclude_type_checking_imports=False)
    return {module: graph.find_modules_directly_imported_by(module) for module in sorted(graph.modules)}


def _between_neighbours(imports: Graph) -> Iterator[tuple[str, str, str]]:
    """A package, and two of its folders or files of which one imports from the other."""
    for importer, found in imports.items():
        for imported in found:
            one, other = importer.split("."), imported.split(".")
            common = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
            if common is not None:  # else a package and what is in it
                yield ".".join(one[:common]), one[common], other[common]


def _circle(graph: Graph) -> list[str] | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


def test_modules_have_no_circle(imports: Graph) -> None:
    assert len(imports) > 400
    assert _circle(imports) is None


def test_folders_have_no_circle(imports: Graph) -> None:
    packages: dict[str, Graph] = {}
    for package, importer, imported in _between_neighbours(imports):
        packages.setdefault(package, {}).setdefault(importer, set()).add(imported)
    assert {"portagpu", "portagpu.frontend", "portagpu.blas.gemm"} <= set(packages)
    circles = {package: _circle(graph) for package, graph in packages.items()}
    assert not {package: circle for package, circle in circles.items() if circle}


USES_DEVICES = """
import os, sys
before = [*sys.path], [*sys.meta_path], os.getcwd()
import numpy as np
import portagpu
from portagpu import cuda
a = np.ones((64, 64), np.float32)
portagpu.matmul(a, a)
(cuda.to_device(a) + 1).sum().copy_to_host()
assert ([*sys.path], [*sys.meta_path], os.getcwd()) == before
from cuda import pathfinder
"""


def test_other_packages_are_found_after_devices_were_used(tmp_path):
    """One folder of ours is called cuda: on the path it would hide NVIDIA's namespace, without which CuPy is no use."""
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "pathfinder.py").touch()
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    subprocess.run([sys.executable, "-c", USES_DEVICES], env={**os.environ, "PYTHONPATH": path}, check=True)
