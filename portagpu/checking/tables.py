"""Results for people: figures of each target, instructions of each target, then what is wrong and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.markup import escape

from portagpu.backends.offline import InstructionMix, OfflineFigures
from portagpu.checking.advice import suggestion_text
from portagpu.checking.grids import Grid, print_grid
from portagpu.checking.records import Problem, Result, Status, relative
from portagpu.escaping import visible

_COLOURS = {"error": "red", "warning": "yellow", "note": "yellow"}


def show(console: Console, title: str, results: Iterable[Result]) -> None:
    """All of one kernel's results."""
    known = list(results)
    compiled = {r.target.name: r for r in known if r.figures is not None}
    if compiled:
        print_grid(console, _figures(title, compiled))
        mixes = {name: r.figures.mix for name, r in compiled.items() if r.figures is not None and r.figures.mix}
        if mixes:
            console.print()
            print_grid(console, _mixes(mixes))
    for result in known:
        if result.suggestion is not None:
            text = escape(suggestion_text(result.suggestion))
            console.print(f"[cyan]{result.target.name}[/cyan]: {text}", highlight=False, soft_wrap=True)
    print_said(console, known)


def print_said(console: Console, results: Iterable[Result], *, places: bool = False) -> None:
    """What is wrong, errors last: there a log ends."""
    for text, names in said(results, places=places).items():
        console.print(f"{names}: {text}", highlight=False, soft_wrap=True)


def number(value: int | None) -> str:
    """A number, or "-" where nobody tells."""
    return "-" if value is None else str(value)


def occupancy_text(f: OfflineFigures) -> str:
    """Such as "12/16 (registers)": of the most that there can be, and what allows no more."""
    if f.occupancy is None:
        return "-"
    most = "" if f.slots is None else f"/{f.slots}"
    return f"{f.occupancy}{most}" + (f" ({f.limiter})" if f.limiter and f.occupancy != f.slots else "")


_TEXTS = frozenset({"target", "counted"})


def _figures(title: str, compiled: Mapping[str, Result]) -> Grid:
    columns = ("target", "registers", "scalar", "spilled", "scratch", "local", "lanes", "occupancy")
    return Grid(columns=columns, rows=[_row(*one) for one in compiled.items()], left=_TEXTS, title=escape(title))


def _row(name: str, result: Result) -> tuple[str, ...]:
    f = result.figures
    assert f is not None
    style = "red" if not result.ok else "yellow" if f.spills else "green"
    matrices = f" ({f.matrix_registers} matrix)" if f.matrix_registers else ""
    return (
        f"[{style}]{name}[/{style}]",
        number(f.registers) + matrices,
        number(f.scalar_registers),
        number(f.spilled),
        f"{f.scratch_bytes} B",
        f"{f.local_bytes} B",
        str(f.lanes),
        occupancy_text(f),
    )


_COUNTS = ("matrix", "fma", "special", "local", "scratch", "atomics", "barriers", "branches")


def _mixes(mixes: Mapping[str, InstructionMix | None]) -> Grid:
    """Kinds of instructions that no target has are left out."""
    counts = [name for name in _COUNTS if any(getattr(mix, name) for mix in mixes.values())]
    rows = [
        (
            *(name, mix.form, str(mix.total), _widths(mix.loads), _widths(mix.stores), str(mix.scalar_loads)),
            *(str(getattr(mix, count)) for count in counts),
        )
        for name, mix in mixes.items()
        if mix is not None
    ]
    columns = ("target", "counted", "all", "loads", "stores", "scalar", *counts)
    return Grid(columns=columns, rows=rows, left=_TEXTS)


def _widths(accesses: Mapping[int, int]) -> str:
    """Such as "4x16B, 2x4B": the widest first."""
    return ", ".join(f"{times}x{size}B" for size, times in sorted(accesses.items(), reverse=True)) or "0"


def said(results: Iterable[Result], *, places: bool = False) -> dict[str, str]:
    """Problems and remarks, each once, with the targets that it is about, errors last.

    ``places``: with the calls of kernels.
    """
    found: dict[str, dict[str, None]] = {}
    levels: dict[str, str] = {}
    for result in results:
        texts = [(problem.level, problem_text(problem)) for problem in result.problems]
        if result.remark is not None and result.status is Status.COMPILED:
            texts.append(("note", escape(result.remark)))
        for level, text in texts:
            whole = f"{text}\n  in {escape(visible(result.subject.case))}" if places and result.subject.case else text
            found.setdefault(whole, {})[result.target.name] = None
            levels.setdefault(whole, level)
    order = sorted(found, key=lambda text: list(_COLOURS).index(levels[text]), reverse=True)
    return {text: _coloured(", ".join(found[text]), _COLOURS[levels[text]]) for text in order}


def _coloured(text: str, colour: str) -> str:
    return f"[{colour}]{text}[/{colour}]"


def problem_text(problem: Problem) -> str:
    """What is wrong, and where, in lines for a console."""
    text = visible(problem.message, 4000)
    if problem.span is not None and problem.rule != "no-compiler":  # which is about no line, and of all kernels
        excerpt = problem.span.excerpt().partition("\n")[2]
        text += f"\n  at {relative(problem.span.filename)}:{problem.span.line}\n{excerpt}"
    if problem.related:
        text += "\n  and at " + ", ".join(f"{relative(s.filename)}:{s.line}" for s in problem.related)
    if problem.hint:
        text += f"\n  hint: {problem.hint}"
    return escape(text)
