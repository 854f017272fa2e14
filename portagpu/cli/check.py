"""``portagpu check``: compile kernels for devices that are not present, with their makers' offline compilers."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from portagpu.backends import registry
from portagpu.backends.offline import OfflineTarget
from portagpu.checking.advice import suggestion
from portagpu.checking.examination import Call, Rules, examine
from portagpu.checking.records import Result, Status, as_json, figures_data, report_data
from portagpu.checking.requirements import parse
from portagpu.checking.sarif import as_sarif
from portagpu.checking.tables import show
from portagpu.cli.kernel_files import constant, extents, kernel_of
from portagpu.cli.options import check_writable
from portagpu.cli.output import console, stdout_to_stderr
from portagpu.errors import SettingsError
from portagpu.files import user_path, write_atomically


@click.command("check")
@click.argument("kernel", metavar="[FILE.py:KERNEL]", required=False)
@click.option("--target", "targets", multiple=True, help="A target, several times for several; all by default.")
@click.option("--signature", help='Types of the arguments, such as "void(float32[::1], int32)"; default: as declared.')
@click.option("--constant", "constants", multiple=True, metavar="NAME=VALUE", help="A compile-time parameter's value.")
@click.option("--block", help="Threads of a block, such as 256 or 16,16, where block_dim= does not say them.")
@click.option(
    "--require",
    multiple=True,
    metavar="CONDITION",
    help='What decides the exit status: no-spills, "registers<=64", "occupancy>=50%", matrix-unit, "loads>=16", ...',
)
@click.option("--suggest", is_flag=True, help="Try several blocks, and say which one keeps most subgroups resident.")
@click.option("--format", "form", type=click.Choice(["table", "json", "sarif"]), default="table", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write the results there; JSON or SARIF leave the table here.")
@click.option("--json", "to_json", is_flag=True, help="Print figures by target, as versions before --format did.")
@click.option("--list", "lists", is_flag=True, help="List the targets and whether their compilers are installed.")
def check_command(
    *,
    kernel: str | None,
    targets: tuple[str, ...],
    signature: str | None,
    constants: tuple[str, ...],
    block: str | None,
    require: tuple[str, ...],
    suggest: bool,
    form: str,
    output: str | None,
    to_json: bool,
    lists: bool,
) -> None:
    """Compile a kernel for hardware that you do not own.

    Prints registers, spills, memory, occupancy and instructions for each target, as its compiler tells them. FILE.py is
    run as a module; what it prints goes to the error output. Exit status 1 where a target's compiler refuses the kernel
    or spills a GPU's registers (or, with --require, where a condition is not met), where a compiler is missing for a
    target that was named, and where nothing was compiled.
    """
    if lists or kernel is None:
        console().print(_target_table())
        if kernel is None and not lists:
            raise click.UsageError("name a kernel: portagpu check FILE.py:KERNEL --target gfx1100")
        return
    rules = _rules(require)
    chosen = tuple(map(registry.find_target, targets)) or registry.targets()
    place = None if output is None else user_path(output)
    if place is not None:
        check_writable(place)
    call = Call(
        signature=signature,
        constants=dict(map(constant, constants)),
        block=None if block is None else extents(block),
    )
    with stdout_to_stderr():
        found = kernel_of(kernel)

        def result_on(target: OfflineTarget) -> Result:
            result = examine(found, target, call, rules)
            return _advised(result, found, call) if suggest else result

        with ThreadPoolExecutor(os.cpu_count()) as threads:  # compilers are processes of their own
            results = list(threads.map(result_on, chosen))
    if to_json:
        click.echo(json.dumps({r.target.name: _as_before(r) for r in results}, indent=2))
    else:
        _write(results, chosen, require, form=form, place=place, title=found.__name__)
    if _status(results, named=bool(targets)):
        raise SystemExit(1)


def _rules(require: tuple[str, ...]) -> Rules:
    try:
        return Rules(parse(require))
    except SettingsError as error:
        raise click.BadParameter(f"{error.message}; {error.hint}", param_hint="--require") from error


def _advised(result: Result, kernel: Any, call: Call) -> Result:
    if result.status is not Status.COMPILED:
        return result
    return replace(result, suggestion=suggestion(kernel, result.target, call))


def _write(
    results: list[Result],
    targets: tuple[OfflineTarget, ...],
    require: tuple[str, ...],
    *,
    form: str,
    place: Path | None,
    title: str,
) -> None:
    """The results in the form that was asked for; a file beside the table for people."""
    if form == "table":
        shown = console()
        with shown.capture() as capture:
            show(shown, title, results)
        if place is not None:
            write_atomically(place, capture.get().encode())
    if form == "table" or place is not None:
        show(console(), title, results)
    if form != "table":
        text = as_sarif(results) if form == "sarif" else as_json(report_data(results, targets, require))
        if place is None:
            click.echo(text, nl=False)
        else:
            write_atomically(place, text.encode())


def _status(results: list[Result], *, named: bool) -> int:
    """The exit status."""
    if not any(result.status is Status.COMPILED for result in results):
        return 1
    return int(any(not r.ok and (named or r.status is not Status.NOT_COMPILED) for r in results))


def _as_before(result: Result) -> dict[str, Any]:
    """What ``--json`` prints for a target."""
    if result.figures is None:
        text = "\n".join(
            p.message if p.span is None else f"{p.message}\n  at {p.span.excerpt()}" for p in result.problems
        )
        return {"error": text, "missing_compiler": result.status is Status.NOT_COMPILED}
    return {**figures_data(result.figures), "remark": result.remark}


def _target_table() -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("target", "device", "compiler"):
        table.add_column(column)
    for target in registry.targets():
        backend = registry.named(target.backend)
        missing = backend.missing_packages(target)
        there = f"[yellow]{_absent(missing)}[/yellow]" if missing else f"[green]{_present(target)}[/green]"
        table.add_row(target.name, target.title, there)
    return table


def _absent(missing: tuple[str, ...]) -> str:
    words = [one if " " in one else f"no {one}" for one in missing]
    return escape(", ".join(words))


def _present(target: OfflineTarget) -> str:
    version = registry.named(target.backend).compiler_version(target)
    return "installed" if version is None else escape(str(version))
