"""Files of a report: runs of benchmarks, and checks of kernels for hardware that is not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from portagpu.bench.records import files
from portagpu.report import compiled
from portagpu.report.compiled import CompiledRow
from portagpu.report.matrix import Matrix
from portagpu.report.merging import merge


def load_all(paths: Sequence[Path]) -> tuple[Matrix, tuple[CompiledRow, ...]]:
    """The merged runs, and the kernels that were compiled. Raises `StoreError` for a file that is none of both."""
    names = [path.name for path in paths]
    if len(set(names)) < len(set(paths)):
        names = list(map(str, paths))
    runs, told, rows = [], [], dict[CompiledRow, None]()
    for path, name in zip(paths, names, strict=True):
        if compiled.is_check(path):
            rows |= dict.fromkeys(compiled.load(path))
        else:
            runs.append(files.load(path))
            told.append(name)
    return merge(runs, told), tuple(rows)


__all__ = ["load_all"]
