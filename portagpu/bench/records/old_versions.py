"""Result files of older versions, as runs of today's.

Until version 3 a cell was a product beside one peer, with both speeds; routines and textbook kernels had files of
their own. Each such pair becomes two cells. What those files did not say is left empty: how much a routine computes
where only the bytes were written, and the other way round.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from portagpu.bench.method.statistics import Samples
from portagpu.bench.problems import shape_text
from portagpu.bench.reading import check_cell, check_machine, check_number, check_samples, check_seconds, check_text
from portagpu.bench.records.cell import Cell, Memory, Role, Status
from portagpu.bench.records.run import Device, Machine, Run
from portagpu.bench.records.workload import Unit, Workload
from portagpu.blas.gemm.core.problem import Problem

KINDS = {"": 3, "BLAS routines": 1, "textbook kernels": 1}
"""The kinds that files named ("" is none: products), and their last versions."""

_MACHINE = ("date", "system", "processor", "command")
Pair = tuple[tuple[str, str], Cell, Cell]
"""A device's name and driver, our cell and the peer's."""


def read(data: Mapping[str, Any]) -> Run:
    """The run that such a file's content was. Raises ValueError, KeyError or TypeError for a damaged one."""
    facts = check_machine(data["machine"])
    kind = data.get("kind", "")
    entries = data["cells" if kind == "" else "rows"]
    if not isinstance(entries, list):
        raise ValueError("its cells are no list")
    made = {"": _product, "BLAS routines": _routine, "textbook kernels": _textbook}[kind]
    pairs = [made(entry, data["schema"]) for entry in entries]
    names = list(dict.fromkeys(device for device, _, _ in pairs))
    return Run(
        identity=f"schema {data['schema']} of {facts.get('date', 'an unknown day')}",
        started=facts.get("date", ""),
        finished=facts.get("date", ""),
        command=facts.get("command", ""),
        machines=(_machine(facts),),
        devices=tuple(Device(machine=0, name=name, platform=driver, driver="") for name, driver in names),
        cells=tuple(_placed(pairs, names)),
    )


def _machine(facts: Mapping[str, str]) -> Machine:
    software = {name: value for name, value in facts.items() if name not in _MACHINE}
    return Machine(system=facts.get("system", ""), processor=facts.get("processor", ""), software=software)


def _placed(pairs: list[Pair], names: list[tuple[str, str]]) -> Iterator[Cell]:
    """Cells with their devices' numbers; ours once, where it stood beside several peers."""
    seen = set()
    for device, *cells in pairs:
        for cell in cells:
            key = json.dumps([device, cell.workload.path, cell.implementation, cell.memory.value])
            if key not in seen:
                seen.add(key)
                yield Cell(**{name: getattr(cell, name) for name in cell.__slots__} | {"device": names.index(device)})


def _product(values: Any, version: int) -> Pair:
    if not isinstance(values, dict):
        raise ValueError("a cell is no object")
    values = {**values, **({"m": values["size"], "n": values["size"], "k": values["size"]} if version == 1 else {})}
    check_cell(values)
    problem = Problem(
        **{name: values[name] for name in ("m", "n", "k", "dtype")},
        **{name: values[name] for name in ("batch", "out", "precision") if name in values},
    )
    workload = Workload(
        suite="gemm",
        name="matmul",
        arithmetic=problem.arithmetic,
        size=shape_text(problem),
        unit=Unit.GFLOPS,
        flops=problem.flops,
        nbytes=problem.nbytes,
    )
    seconds = [_seconds(problem.flops, values.get(name)) for name in ("gflops", "peer_gflops")]
    samples = [check_samples(name, values.get(name, [])) for name in ("samples", "peer_samples")]
    return _pair(workload, values, seconds, samples)


def _seconds(work: float, rate: float | None) -> float | None:
    return work / (rate * 1e9) if rate else None


def _routine(values: Any, version: int) -> Pair:
    work = _checked(values, ("device", "driver", "routine", "dtype", "size", "memory", "peer", "unit"))
    unit = Unit(values["unit"])
    arithmetic = {"flops": work} if unit is Unit.GFLOPS else {"nbytes": work}
    name, dtype, size = values["routine"], values["dtype"], values["size"]
    workload = Workload(suite="blas", name=name, arithmetic=dtype, size=size, unit=unit, **arithmetic)
    return _pair(workload, values, *_times(values))


def _textbook(values: Any, version: int) -> Pair:
    _checked({"work": 1, "memory": "device arrays", **values}, ("device", "driver", "kernel", "size", "peer"))
    name, size = values["kernel"].replace(" ", "-"), values["size"]
    workload = Workload(suite="textbook", name=name, arithmetic="", size=size, unit=Unit.MICROSECONDS)
    return _pair(workload, {"memory": "device arrays", **values}, *_times(values))


def _checked(values: Any, texts: tuple[str, ...]) -> float:
    """The work of a row, whose texts and numbers are what they should be."""
    if not isinstance(values, dict):
        raise ValueError("a row is no object")
    for name in texts:
        check_text(name, values[name])
    for name in ("error", "peer_error", "seconds", "peer_seconds"):
        if values.get(name) is not None:
            check_number(name, values[name])
    return check_number("work", values["work"])


def _times(values: Mapping[str, Any]) -> tuple[list[float | None], list[Samples]]:
    samples = [check_samples(name, [values.get(name) or [1.0]]) for name in ("samples", "peer_samples")]
    told = [bool(values.get(name)) for name in ("samples", "peer_samples")]
    return (
        [values.get("seconds"), values.get("peer_seconds")],
        [one if there else () for one, there in zip(samples, told, strict=True)],
    )


def _pair(workload: Workload, values: Mapping[str, Any], seconds: list[float | None], samples: list[Samples]) -> Pair:
    reason = values.get("problem") or ""
    check_text("problem", reason)
    memory = Memory(values["memory"]) if values["memory"] in {m.value for m in Memory} else Memory.DEVICE
    made = []
    for number, (name, role) in enumerate((("PortaGPU", Role.OURS), (values["peer"], Role.VENDOR))):
        taken = samples[number] or ((check_seconds("seconds", seconds[number]),),) if seconds[number] else ()
        prefix = "peer_" if number else ""
        made.append(
            Cell(
                device=0,
                workload=workload,
                implementation=name,
                role=role if number == 0 or "CLBlast" not in name else Role.PEER,
                memory=memory,
                status=Status.MEASURED if taken else Status.WRONG if "wrong result" in reason else Status.FAILED,
                reason="" if taken else reason or "the file has no time of it",
                samples=taken,
                error=values.get(f"{prefix}error"),
                arithmetic=values.get("peer_arithmetic", "") if number else "",
            )
        )
    return (values["device"], values["driver"]), made[0], made[1]


__all__ = ["KINDS", "read"]
