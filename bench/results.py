"""Versioned result files and the table made of them."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from portagpu.bench.cells import Cell
from portagpu.bench.peers import numpy_blas
from portagpu.errors import StoreError
from portagpu.files import write_atomically
from portagpu.version import __version__

SCHEMA = 1


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
    """Write a result file atomically."""
    data = {"schema": SCHEMA, "machine": results.machine, "cells": [asdict(c) for c in results.cells]}
    write_atomically(path, (json.dumps(data, indent=1) + "\n").encode())


def load(path: Path) -> Results:
    """Read a result file. Raises `StoreError` for an unreadable one or one of a newer version."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        schema = int(data["schema"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path} is no benchmark result: {error}", hint="make one with `portagpu bench -o FILE`"
        ) from error
    if schema > SCHEMA:
        raise StoreError(
            f"{path} has schema {schema}; this version of PortaGPU reads up to {SCHEMA}", hint="update PortaGPU"
        )
    try:
        return Results(machine=dict(data["machine"]), cells=tuple(Cell(**c) for c in data["cells"]))
    except (KeyError, TypeError) as error:
        raise StoreError(f"{path} is damaged: {error}") from error


def markdown(results: Iterable[Results]) -> str:
    """One table of all cells: device, size, PortaGPU, vendor library, ratio."""
    lines = [
        "| device | dtype | size | PortaGPU GFLOP/s | vendor library GFLOP/s | ratio | vendor library |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    cells = sorted((c for r in results for c in r.cells), key=lambda c: (c.device, c.driver, c.peer, c.dtype, c.size))
    for cell in cells:
        device = f"{cell.device} ({cell.driver})"
        if cell.gflops is None or cell.peer_gflops is None:
            lines.append(f"| {device} | {cell.dtype} | {cell.size} | - | - | - | {cell.problem} |")
            continue
        lines.append(
            f"| {device} | {cell.dtype} | {cell.size} | {cell.gflops:.0f} | {cell.peer_gflops:.0f} |"
            f" {cell.ratio:.2f} | {cell.peer}, {cell.memory} |"
        )
    return "\n".join(lines) + "\n"
