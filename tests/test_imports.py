"""Imports go down: between modules, and between the folders and files beside each other in every package.

Imports for type checkers only count, too: a circle of them shows that two modules cannot be understood apart.
"""

from __future__ import annotations

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
