"""Versioned result files."""

from __future__ import annotations

import json
import platform
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.bench.cells import Cell, quartiles
from portagpu.bench.peers import numpy_blas
from portagpu.bench.reading import check_cell, check_machine, check_samples, read_object
from portagpu.errors import StoreError
from portagpu.escaping import visible
from portagpu.files import write_atomically
from portagpu.version import __version__

SCHEMA = 3  # 2 had no samples, 1 square matrices only, with their size
_DERIVED = ("quartiles", "peer_quartiles")  # written for other readers, computed anew here


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Cells of one run and the machine they were measured on."""

    machine: dict[str, str]
    cells: tuple[Cell, ...]


def machine_facts() -> dict[str, str]:
    """What one must know about a machine to judge its numbers."""
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "portagpu": __version__,
        "python": platform.python_version(),
        "numpy": f"{np.__version__} ({numpy_blas()})",
        "system": platform.platform(),
        "processor": _processor(),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        return platform.processor()
    return platform.processor()


def save(path: Path, results: Results) -> None:
    """Write a result file atomically: a line for each cell, as their samples would be very long columns."""
    head = json.dumps({"schema": SCHEMA, "machine": results.machine}, indent=1).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(_as_json(cell))}" for cell in results.cells)
    cells = f"[\n{lines}\n ]" if lines else "[]"
    write_atomically(path, f'{head},\n "cells": {cells}\n}}\n'.encode())


def _as_json(cell: Cell) -> dict[str, Any]:
    derived = zip(_DERIVED, (cell.samples, cell.peer_samples), strict=True)
    return {**asdict(cell), **{name: quartiles(samples) for name, samples in derived}}


def load(path: Path) -> Results:
    """Read a result file. Raises `StoreError` for an unreadable one, one of another kind or of a newer version."""
    try:
        data = read_object(path)
        if "kind" in data:
            raise ValueError(f"it is one of the {visible(str(data['kind']), 60)}, which is another kind of file")
        schema = int(data["schema"])
    except (OSError, ValueError, TypeError, OverflowError) as error:
        raise StoreError(
            f"{path} is no benchmark result: {error}", hint="make one with `portagpu bench -o FILE`"
        ) from error
    if schema > SCHEMA:
        raise StoreError(
            f"{path} has schema {schema}; this version of PortaGPU reads up to {SCHEMA}", hint="update PortaGPU"
        )
    try:
        cells = tuple(_cell(c, schema) for c in data["cells"])
        return Results(machine=check_machine(data["machine"]), cells=cells)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise StoreError(f"{path} is damaged: {visible(str(error), 200)}") from error


def _cell(values: dict[str, Any], schema: int) -> Cell:
    if not isinstance(values, dict):
        raise ValueError("a cell is no object")
    values = {name: value for name, value in values.items() if name not in _DERIVED}
    if schema == 1:
        values["m"] = values["n"] = values["k"] = values.pop("size")
    check_cell(values)
    for name in ("samples", "peer_samples"):
        values[name] = check_samples(name, values.get(name, []))
    return Cell(**values)
