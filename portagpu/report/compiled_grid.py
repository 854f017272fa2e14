"""Kernels that were compiled only, as a table: kernels by targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from portagpu.report.compiled import CompiledRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Hardware and the compiler for it: ``code`` is what compilers call it, ``key`` is `CompiledRow.where`."""

    key: tuple[str, str, str]
    code: str
    title: str
    compiler: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel, what of it was compiled, and the rows of all targets."""

    name: str
    detail: str
    group: str
    rows: tuple[CompiledRow, ...]


def targets(rows: Sequence[CompiledRow]) -> list[Target]:
    """The targets in the order of the files."""
    found = dict.fromkeys(row.where for row in rows)
    return [Target(key=key, code=key[0], title=f"{key[1]} ({key[0]})", compiler=key[2]) for key in found]


def kernels(rows: Sequence[CompiledRow]) -> list[Kernel]:
    """The kernels in the order of the files; one that a target has twice, as with other constants, has two lines."""
    seen: Counter[tuple[Any, ...]] = Counter()
    lines: dict[tuple[Any, ...], list[CompiledRow]] = {}
    for row in rows:
        named = (row.group, row.kernel, row.signature, row.case)
        seen[named, row.where] += 1
        lines.setdefault((*named, seen[named, row.where]), []).append(row)
    _join_failed(lines)
    several = Counter((group, kernel, case) for group, kernel, _, case, _ in lines)
    made = []
    for (group, kernel, signature, case, number), found in lines.items():
        key = (group, kernel, case)
        short = case.removeprefix(f"{group} ")
        if kernel in ("", case):
            kernel, short = short, ""
        told = [short, signature if not case or several[key] > 1 else ""]
        told += [f"#{number}"] if number > 1 else []
        made.append(Kernel(name=kernel, detail=" ".join(filter(None, told)), group=group, rows=tuple(found)))
    return made


def _join_failed(lines: dict[tuple[Any, ...], list[CompiledRow]]) -> None:
    """Put what was never compiled, and so has the case's name alone, into the line of its case."""
    for key, found in [*lines.items()]:
        group, kernel, signature, case, _ = key
        if signature or not case or kernel not in ("", case):
            continue
        others = [other for other in lines if other != key and (other[0], other[3]) == (group, case)]
        for row in [*found]:
            free = next((one for one in others if all(known.where != row.where for known in lines[one])), None)
            if free is not None:
                lines[free].append(row)
                found.remove(row)
        if not found:
            del lines[key]


__all__ = ["Kernel", "Target", "kernels", "targets"]
