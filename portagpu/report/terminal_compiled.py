"""Kernels that were only compiled, as tables for terminals: kernels by targets, or all figures of one target."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from portagpu.report.compiled import HEADINGS, CompiledRow, Kind
from portagpu.report.compiled_grid import Kernel, Target, kernels, targets
from portagpu.report.terminal_sheet import Names, Series, draw, draw_folded, plain

_TITLE = "compiled for hardware that was not there; nothing was run"
_MARKS = {Kind.FITS: "", Kind.SPILLS: "!", Kind.FAILED: ""}


def show_compiled(console: Console, rows: Sequence[CompiledRow]) -> None:
    """A table of kernels by targets where there are several, else one with all figures, and the problems below."""
    if not rows:
        return
    found, columns = kernels(rows), targets(rows)
    notes: list[str] = []
    names = Names(
        heading="kernel",
        texts=[_name(kernel) for kernel in found],
        groups=[kernel.group for kernel in found],
    )
    if len(columns) == 1:
        _one_target(console, columns[0], names, [kernel.rows[0] for kernel in found], notes)
    else:
        _several(console, columns, names, found, notes)
    for number, note in enumerate(notes, 1):
        console.print(plain(f"({number}) {note}"), soft_wrap=True)


def _name(kernel: Kernel) -> str:
    """The kernel's, and the case where that is another word."""
    same = kernel.detail.replace("-", "_") == kernel.name.replace("-", "_")
    return kernel.name if same or not kernel.detail else f"{kernel.name} {kernel.detail}"


def _several(
    console: Console, columns: Sequence[Target], names: Names, found: Sequence[Kernel], notes: list[str]
) -> None:
    by_place = {(number, row.where): row for number, kernel in enumerate(found) for row in kernel.rows}
    series = [
        Series(
            heading=target.code,
            texts=[_brief(by_place.get((number, target.key)), notes) for number in range(len(found))],
        )
        for target in columns
    ]
    draw_folded(console, _TITLE, names, series)
    told = "registers, and subgroups that a compute unit holds / that are possible"
    console.print(plain(f"{told}{'; !: registers are spilled' if _spilling(found) else ''}"), soft_wrap=True)
    for target in columns:
        console.print(plain(f"{target.code}: {target.title}, {target.compiler or 'no compiler'}"), soft_wrap=True)


def _spilling(found: Sequence[Kernel]) -> bool:
    return any(row.kind is Kind.SPILLS for kernel in found for row in kernel.rows)


def _brief(row: CompiledRow | None, notes: list[str]) -> str:
    if row is None:
        return ""
    told = dict(zip(HEADINGS, row.texts, strict=True))
    held = told["occupancy"].partition(" (")[0].replace(" of ", "/")
    figures = " ".join(text for text in (told["registers"] + _MARKS[row.kind], held) if text not in ("-", ""))
    if row.ok and told["registers"] != "-":
        return figures
    note = _noted(row, notes)
    return f"{figures if told['registers'] != '-' else row.texts[4].partition(':')[0]}{note}"


def _noted(row: CompiledRow, notes: list[str]) -> str:
    """The number of what is wrong; "" for what is not."""
    if row.ok:
        return ""
    text = row.texts[4]
    if text not in notes:
        notes.append(text)
    return f" ({notes.index(text) + 1})"


def _one_target(console: Console, target: Target, names: Names, rows: Sequence[CompiledRow], notes: list[str]) -> None:
    told = [dict(zip(HEADINGS, row.texts, strict=True)) for row in rows]
    status = [f"{one['status'].partition(':')[0]}{_noted(row, notes)}" for one, row in zip(told, rows, strict=True)]
    held = [one["occupancy"].partition(" (") for one in told]
    figures = {name: [one[name] for one in told] for name in ("registers", "spills")}
    figures |= {"occupancy": [one[0] for one in held], "limited by": [one[2].removesuffix(")") for one in held]}
    figures["local memory"] = [one["local memory"] for one in told]
    optional = ("limited by", "local memory")
    series = [Series(heading="status", texts=status, left=True)]
    series += [Series(heading=name, texts=figures[name], needed=name not in optional) for name in figures]
    console.print(plain(f"{target.title}, {target.compiler or 'no compiler'}"), soft_wrap=True)
    draw(console, _TITLE, names, series)


__all__ = ["show_compiled"]
