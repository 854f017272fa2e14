"""Several kernels for people: a line for each, then what is wrong, failures last."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape

from portagpu.checking.advice import suggestion_text
from portagpu.checking.grids import Grid, print_grid
from portagpu.checking.records import Note, Result, Status, relative
from portagpu.checking.tables import print_said
from portagpu.escaping import visible

_LEGEND = "numbers: registers of a thread; details: --format json, or one kernel alone"


def show_overview(console: Console, results: Iterable[Result], notes: Iterable[Note] = ()) -> None:
    """All results of several kernels. ``notes``: where programs ended early that launch them."""
    known = list(results)
    targets = list(dict.fromkeys(r.target.name for r in known))
    rows: dict[str, dict[str, str]] = {}
    for result in known:
        rows.setdefault(_label(result, known), {})[result.target.name] = _cell(result)
    lines = [[escape(label), *(cells.get(name, "") for name in targets)] for label, cells in rows.items()]
    print_grid(console, Grid(columns=["kernel", *targets], rows=lines, left={"kernel"}))
    console.print(_LEGEND, style="dim", highlight=False)
    for result in known:
        if result.suggestion is not None:
            text = f"`{result.subject.kernel}`: {suggestion_text(result.suggestion)}"
            console.print(f"[cyan]{result.target.name}[/cyan]: {escape(text)}", highlight=False, soft_wrap=True)
    for note in notes:
        text = escape(visible(f"{note.case}: {note.message}"))
        console.print(f"[yellow]{note.target.name}[/yellow]: {text}", highlight=False, soft_wrap=True)
    print_said(console, known)
    many = len({_label(result, known) for result in known if result.subject.kernel})
    console.print(summary(known, many, "kernels"), style="bold", highlight=False)


def summary(results: list[Result], many: int, what: str) -> str:
    """How many came to which end."""
    failed = sum(not r.ok and r.status is not Status.NOT_COMPILED for r in results)
    counts = {
        "compiled": sum(r.ok and r.status is Status.COMPILED for r in results),
        "unsupported": sum(r.ok and r.status is Status.UNSUPPORTED for r in results),
        "not compiled": sum(r.status is Status.NOT_COMPILED for r in results),
        "failed": failed,
    }
    targets = len({r.target.name for r in results})
    told = ", ".join(f"{n} {word}" for word, n in counts.items() if n or word in ("compiled", "failed"))
    return f"{_counted(many, what)} on {_counted(targets, 'targets')}: {told}"


def _counted(many: int, what: str) -> str:
    return f"{many} {what.removesuffix('s') if many == 1 else what}"


def _label(result: Result, results: list[Result]) -> str:
    """A kernel with its file, and its types where it has several."""
    subject = result.subject
    place = "" if subject.span is None else relative(subject.span.filename)
    name = f"{place}:{subject.kernel}".strip(":")
    same = {r.subject.declared for r in results if (r.subject.kernel, r.subject.span) == (subject.kernel, subject.span)}
    return f"{name}{subject.declared.removeprefix('void')}" if len(same) > 1 else name


def _cell(result: Result) -> str:
    if result.status is Status.NOT_COMPILED:
        return "[yellow]-[/yellow]"
    if result.status is Status.UNSUPPORTED:
        return "[red]lacks[/red]" if not result.ok else "[yellow]lacks[/yellow]"
    if result.figures is None:
        return "[red]error[/red]"
    rules = {problem.rule for problem in result.problems}
    words = [word for rule, word in (("spill", "spill"), ("requirement", "unmet")) if rule in rules]
    style = "red" if not result.ok else "yellow" if words else "green"
    registers = result.figures.registers
    known = [] if registers is None else [str(registers)]
    return f"[{style}]{' '.join([*known, *words]) or 'ok'}[/{style}]"
