"""Versioned result files and the table made of them."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.bench.cells import Cell, worst
from portagpu.bench.peers import numpy_blas
from portagpu.bench.reading import check_cell, check_machine, read_object
from portagpu.errors import StoreError
from portagpu.escaping import for_markdown, visible
from portagpu.files import write_atomically
from portagpu.version import __version__

SCHEMA = 2  # 1 had square matrices only, with their size


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
    if schema == 1:
        values = dict(values)
        values["m"] = values["n"] = values["k"] = values.pop("size")
    check_cell(values)
    return Cell(**values)


def speed(gflops: float | None) -> str:
    """GFLOP/s for people; "-" where there is none."""
    if gflops is None:
        return "-"
    return f"{gflops:.0f}" if gflops >= 100 else f"{gflops:.3g}"


def worst_text(cells: tuple[Cell, ...]) -> str | None:
    """The cell with the smallest ratio, in words; None if no cell has one."""
    cell = worst(cells)
    if cell is None:
        return None
    return f"worst of {len(cells)}: {cell.arithmetic} {cell.shape} on {cell.device}: {cell.ratio:.2f} of {cell.rival}"


def markdown(results: Iterable[Results], files: Iterable[str] | None = None) -> str:
    """One table of all cells (device, dtypes, sizes, PortaGPU, vendor library, ratio, error), and the worst of them.

    ``files``: what the results' files are called; devices of one name and driver in several are named with them.
    """
    lines = [
        "| device | arithmetic | m x n x k | PortaGPU GFLOP/s | vendor library GFLOP/s | ratio | error / tolerance |"
        " vendor library |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    cells = tuple(sorted(_told_apart([*results], files), key=_order))
    for cell in cells:
        ratio = "-" if cell.ratio is None else f"{cell.ratio:.2f}"
        error = "-" if cell.error is None else f"{cell.error:.2g}"
        what = f"{cell.rival}, {cell.memory}" if cell.problem is None else cell.problem
        device, arithmetic = for_markdown(f"{cell.device} ({cell.driver})"), for_markdown(cell.arithmetic)
        lines.append(
            f"| {device} | {arithmetic} | {cell.shape} | {speed(cell.gflops)} | {speed(cell.peer_gflops)} | {ratio} |"
            f" {error} | {for_markdown(what)} |"
        )
    last = worst_text(cells)
    return "\n".join([*lines, *(["", for_markdown(last)] if last else [])]) + "\n"


def _told_apart(results: Sequence[Results], files: Iterable[str] | None) -> Iterator[Cell]:
    """All cells, with the file in the device's name where several files have one of that name."""
    names = [""] * len(results) if files is None else [*files]
    homes: dict[tuple[str, str], set[str]] = {}
    for found, name in zip(results, names, strict=True):
        for cell in found.cells:
            homes.setdefault((cell.device, cell.driver), set()).add(name)
    for found, name in zip(results, names, strict=True):
        for cell in found.cells:
            several = len(homes[cell.device, cell.driver]) > 1
            yield replace(cell, device=f"{cell.device} of {name}") if several else cell


def _order(cell: Cell) -> tuple[Any, ...]:
    work = cell.m * cell.n * cell.k
    best = ", best core type" in cell.peer  # beside the peer that it belongs to
    return (
        cell.device,
        cell.driver,
        cell.memory,
        cell.dtype,
        cell.precision,
        cell.out,
        cell.batch,
        work,
        best,
        cell.peer,
    )
