"""``portagpu check``: compile kernels for devices that are not present, with their makers' offline compilers."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import click
from rich.markup import escape
from rich.table import Table

from portagpu.backends import registry
from portagpu.backends.offline import OfflineTarget
from portagpu.checking.advice import suggestion
from portagpu.checking.examination import Call, Rules, examine
from portagpu.checking.records import Result, Status
from portagpu.checking.requirements import parse
from portagpu.checking.shipped.collections import ALL, GROUPS, usual_targets
from portagpu.checking.tables import show
from portagpu.cli.check_output import Sink, as_before
from portagpu.cli.check_shipped import shipped as check_shipped_kernels
from portagpu.cli.choices import Choice
from portagpu.cli.kernel_files import kernel_of
from portagpu.cli.options import check_writable
from portagpu.cli.output import console, stdout_to_stderr
from portagpu.cli.user_files import constant, extents
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import SettingsError
from portagpu.files import user_path


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
@click.option("--format", "form", type=Choice(["table", "json", "sarif"]), default="table", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write the results there; JSON or SARIF leave the table here.")
@click.option("--json", "to_json", is_flag=True, help="Print figures by target, as versions before --format did.")
@click.option("--shipped", type=Choice([*GROUPS, ALL]), help="Check PortaGPU's own kernels instead of one of yours.")
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
    shipped: str | None,
    lists: bool,
) -> None:
    """Compile a kernel for hardware that you do not own.

    Prints registers, spills, memory, occupancy and instructions for each target, as its compiler tells them. FILE.py is
    run as a module; what it prints goes to the error output. Exit status 1 where a target's compiler refuses the kernel
    or spills a GPU's registers (or, with --require, where a condition is not met), where a compiler is missing for a
    target that was named, and where nothing was compiled.
    """
    if lists:
        console().print(_target_table())
        return
    if kernel is None and shipped is None:
        console().print(_target_table())
        raise click.UsageError("name a kernel: portagpu check FILE.py:KERNEL --target gfx1100")
    if kernel is not None and shipped is not None:
        raise click.UsageError("--shipped checks PortaGPU's own kernels: name no other")
    rules = _rules(require)
    default = registry.targets() if shipped is None else usual_targets()
    chosen = tuple(map(registry.find_target, targets)) or default
    sink = Sink(form="table" if to_json else form, place=_place(output), targets=chosen, require=require)
    if shipped is not None:
        results = check_shipped_kernels(shipped, chosen, replace(rules, lacking_fails=False), sink)
    else:
        assert kernel is not None
        call = Call(
            signature=signature,
            constants=dict(map(constant, constants)),
            block=None if block is None else extents(block),
        )
        with stdout_to_stderr():
            found = kernel_of(kernel)
            results = _checked(found, chosen, call, rules, suggest=suggest)
        if to_json:
            click.echo(json.dumps({r.target.name: as_before(r) for r in results}, indent=2))
        else:
            sink.put(results, lambda shown: show(shown, found.__name__, results))
    if _status(results, named=bool(targets)):
        raise SystemExit(1)


def _place(output: str | None) -> Path | None:
    if output is None:
        return None
    place = user_path(output)
    check_writable(place)
    return place


def _checked(
    kernel: Dispatcher, targets: tuple[OfflineTarget, ...], call: Call, rules: Rules, *, suggest: bool
) -> list[Result]:
    """A kernel on all targets, in threads: compilers are processes of their own."""

    def result_on(target: OfflineTarget) -> Result:
        result = examine(kernel, target, call, rules)
        if not suggest or result.status is not Status.COMPILED:
            return result
        return replace(result, suggestion=suggestion(kernel, target, call))

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(result_on, targets))


def _rules(require: tuple[str, ...]) -> Rules:
    try:
        return Rules(parse(require))
    except SettingsError as error:
        raise click.BadParameter(f"{error.message}; {error.hint}", param_hint="--require") from error


def _status(results: list[Result], *, named: bool) -> int:
    """The exit status."""
    if not any(result.status is Status.COMPILED for result in results):
        return 1
    return int(any(not r.ok and (named or r.status is not Status.NOT_COMPILED) for r in results))


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
