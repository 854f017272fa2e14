"""Result files: a run as JSON, written atomically, read with suspicion; older versions are read too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from enum import Enum
from pathlib import Path
from typing import Any

from portagpu.bench.reading import read_object
from portagpu.bench.records import old_versions, schema
from portagpu.bench.records.cell import Caches, Cell, Memory, Role, Status
from portagpu.bench.records.run import Device, Machine, Run
from portagpu.bench.records.workload import Unit, Workload
from portagpu.errors import StoreError
from portagpu.escaping import visible
from portagpu.files import write_atomically

KIND = "benchmark run"
_REQUIRED = ("device", "workload", "implementation")
_ENUMS: Mapping[str, type[Enum]] = {"role": Role, "memory": Memory, "status": Status, "caches": Caches}


def save(path: Path, run: Run) -> None:
    """Write a result file atomically: a line for each cell, as their samples would be very long columns."""
    head = {"$schema": schema.IDENTITY, "schema": schema.VERSION, "kind": KIND}
    rest = {f.name: getattr(run, f.name) for f in fields(run) if f.name not in ("machines", "devices", "cells")}
    parts = {"machines": list(map(asdict, run.machines)), "devices": list(map(asdict, run.devices))}
    text = json.dumps({**head, **rest, **parts}, indent=1, default=dict).removesuffix("\n}")
    lines = ",\n".join(f"  {json.dumps(cell_json(cell))}" for cell in run.cells)
    cells = f"[\n{lines}\n ]" if lines else "[]"
    write_atomically(path, f'{text},\n "cells": {cells}\n}}\n'.encode())


def cell_json(cell: Cell) -> dict[str, Any]:
    """A cell as an object of JSON; what says nothing is left out."""
    found = {f.name: getattr(cell, f.name) for f in fields(cell)}
    found["workload"] = {**asdict(cell.workload), "unit": cell.workload.unit.value}
    found |= {name: found[name].value for name in _ENUMS}
    return {name: value for name, value in found.items() if name in _REQUIRED or value not in ("", None, (), {})}


def load(path: Path) -> Run:
    """Read a result file of this version or an older one.

    Raises `StoreError` for an unreadable one, one of another kind, a damaged one or one of a newer version.
    """
    try:
        data = read_object(path)
        version = int(data["schema"])
        kind = data.get("kind", "")
        if kind not in (KIND, *old_versions.KINDS):
            raise ValueError(f"it is one of the {visible(str(kind), 60)}, which is another kind of file")
    except (OSError, ValueError, TypeError, OverflowError) as error:
        raise StoreError(
            f"{path} is no benchmark result: {error}", hint="make one with `portagpu bench -o FILE`"
        ) from error
    newest = schema.VERSION if kind == KIND else old_versions.KINDS[kind]
    if version > newest:
        raise StoreError(
            f"{path} has schema {version}; this version of PortaGPU reads up to {newest}", hint="update PortaGPU"
        )
    try:
        return _run(data) if kind == KIND else old_versions.read(data)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise StoreError(f"{path} is damaged: {visible(str(error), 200)}") from error


def _run(data: dict[str, Any]) -> Run:
    schema.check(data)
    rest = _whole({f.name: data[f.name] for f in fields(Run) if f.name in data}, "seed")
    rest["machines"] = tuple(Machine(**_whole(machine, "cores", "memory_bytes")) for machine in data["machines"])
    rest["devices"] = tuple(Device(**_whole(device, "machine")) for device in data["devices"])
    rest["cells"] = tuple(map(cell_from_json, data["cells"]))
    return Run(**rest)


def _whole(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Values whose whole numbers are int: in JSON Schema, which allowed them, 2.0 is one, too."""
    return {**values, **{name: int(values[name]) for name in names if isinstance(values.get(name), float)}}


def cell_from_json(values: Mapping[str, Any]) -> Cell:
    """The cell that an object of JSON holds, which the schema allows."""
    found = _whole(values, "device")
    workload = dict(found["workload"])
    found["workload"] = Workload(**{**workload, "unit": Unit(workload["unit"])})
    found |= {name: kind(found[name]) for name, kind in _ENUMS.items() if name in found}
    found["samples"] = tuple(map(tuple, found.get("samples", ())))
    return Cell(**found)


__all__ = ["KIND", "cell_from_json", "cell_json", "load", "save"]
