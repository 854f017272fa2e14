"""``portagpu check``: compile kernels for devices that are not present, with their makers' offline compilers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portagpu.backends import registry, survey
from portagpu.backends.offline import OfflineTarget
from portagpu.checking.examination import Call, Rules
from portagpu.checking.overview import show_overview
from portagpu.checking.records import Result, Status
from portagpu.checking.requirements import parse
from portagpu.checking.shipped.collections import ALL, GROUPS, usual_targets
from portagpu.checking.tables import show
from portagpu.cli.check_output import Sink, as_before
from portagpu.cli.check_own import launched_results, own_results
from portagpu.cli.check_shipped import shipped as check_shipped_kernels
from portagpu.cli.choices import Choice
from portagpu.cli.kernel_files import Broken, Chosen, chosen
from portagpu.cli.options import check_writable
from portagpu.cli.output import console, stdout_to_stderr
from portagpu.cli.user_files import constant, extents
from portagpu.errors import SettingsError
from portagpu.files import user_path


@click.command("check")
@click.argument("kernels", metavar="[FILE.py:KERNEL | FILE.py | FOLDER]...", nargs=-1)
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
@click.option("--format", "form", type=Choice(["table", "json", "sarif"]), default="table", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write the results there; JSON or SARIF leave the table here.")
@click.option("--json", "to_json", is_flag=True, help="Print figures by target, as versions before --format did.")
@click.option("--shipped", type=Choice([*GROUPS, ALL]), help="Check PortaGPU's own kernels instead of one of yours.")
@click.option("--run", "runs", is_flag=True, help="Run FILE.py where nothing is computed, and check what it launches.")
@click.option("--list", "lists", is_flag=True, help="List the targets and whether their compilers are installed.")
def check_command(
    *,
    kernels: tuple[str, ...],
    targets: tuple[str, ...],
    signature: str | None,
    constants: tuple[str, ...],
    block: str | None,
    require: tuple[str, ...],
    suggest: bool,
    form: str,
    output: str | None,
    to_json: bool,
    shipped: str | None,
    runs: bool,
    lists: bool,
) -> None:
    """Compile kernels for hardware that you do not own.

    Prints registers, spills, memory, occupancy and instructions for each target, as its compiler tells them; of several
    kernels, all of a file or of a folder, a line for each. Files are run as modules; what they print goes to the error
    output. Exit status 1 where a target's compiler refuses the kernel
    or spills a GPU's registers (or, with --require, where a condition is not met), where a compiler is missing for a
    target that was named, and where nothing was compiled.
    """
    if lists:
        console().print(_target_table())
        return
    if not kernels and shipped is None:
        console().print(_target_table())
        raise click.UsageError("name a kernel: portagpu check FILE.py:KERNEL --target gfx1100")
    if kernels and shipped is not None:
        raise click.UsageError("--shipped checks PortaGPU's own kernels: name no other")
    rules = _rules(require)
    default = survey.targets() if shipped is None else usual_targets()
    chosen_targets = tuple(dict.fromkeys(map(survey.find_target, targets))) or default
    sink = Sink(form="table" if to_json else form, place=_place(output), targets=chosen_targets, require=require)
    if shipped is not None:
        results = check_shipped_kernels(shipped, chosen_targets, replace(rules, lacking_fails=False), sink)
    elif runs:
        if signature is not None or constants or block is not None or suggest or to_json:
            raise click.UsageError("--run takes types, constants and blocks from the launches: leave out other options")
        with stdout_to_stderr():
            results, notes = launched_results(kernels, chosen_targets, rules)
        sink.put(results, lambda shown: show_overview(shown, results, notes), notes)
    else:
        call = Call(
            signature=signature,
            constants=dict(map(constant, constants)),
            block=None if block is None else extents(block),
        )
        with stdout_to_stderr():
            found = chosen(kernels)
            _check_alone(found, signature=signature, to_json=to_json)
            results = own_results(found, chosen_targets, call, rules, suggest=suggest)
        if to_json:
            click.echo(json.dumps({r.target.name: as_before(r) for r in results}, indent=2))
        else:
            sink.put(results, lambda shown: _show(shown, found, results))
    if _status(results, named=bool(targets)):
        raise SystemExit(1)


def _place(output: str | None) -> Path | None:
    if output is None:
        return None
    place = user_path(output)
    check_writable(place)
    return place


def _check_alone(found: list[Chosen | Broken], *, signature: str | None, to_json: bool) -> None:
    """Refuse options of one kernel for several."""
    if len(found) > 1 and (signature is not None or to_json):
        option, instead = ("--json", "--format json") if to_json else ("--signature", "signatures in cuda.jit(...)")
        raise click.UsageError(f"{option} is of one kernel, and there are {len(found)}: use {instead}")


def _show(shown: Console, found: list[Chosen | Broken], results: list[Result]) -> None:
    """One kernel with all its figures, several with a line each."""
    several = len({(r.subject.kernel, r.subject.span, r.subject.declared) for r in results}) > 1
    first = found[0]
    if several or isinstance(first, Broken):
        show_overview(shown, results)
    else:
        show(shown, first.name, results)


def _rules(require: tuple[str, ...]) -> Rules:
    try:
        return Rules(parse(require))
    except SettingsError as error:
        raise click.BadParameter(f"{error.message}; {error.hint}", param_hint="--require") from error


def _status(results: list[Result], *, named: bool) -> int:
    """The exit status."""
    if not any(result.status is Status.COMPILED for result in results):
        return 1
    return int(any(_fails(result, named=named) for result in results))


def _fails(result: Result, *, named: bool) -> bool:
    """Whether a result is a failure; that a compiler is missing is one for targets that were named."""
    if result.status is not Status.NOT_COMPILED:
        return not result.ok
    return any(p.level == "error" or (named and p.rule == "no-compiler") for p in result.problems)


def _target_table() -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("target", "device", "compiler"):
        table.add_column(column)
    for target in survey.targets():
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
