"""``portagpu check``: compile a kernel for devices that are not present, with their makers' offline compilers."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from portagpu.backends import registry
from portagpu.cli.output import console, stdout_to_stderr
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.dispatch.offline import OfflineKernel
from portagpu.errors import MissingCompilerError, PortaGPUError, did_you_mean


@click.command("check")
@click.argument("kernel", metavar="[FILE.py:KERNEL]", required=False)
@click.option("--target", "targets", multiple=True, help="A target, several times for several; all by default.")
@click.option("--signature", help='Types of the arguments, such as "void(float32[::1], int32)"; default: as declared.')
@click.option("--constant", "constants", multiple=True, metavar="NAME=VALUE", help="A compile-time parameter's value.")
@click.option("--block", help="Threads of a block, such as 256 or 16,16, where block_dim= does not say them.")
@click.option("--json", "to_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--list", "lists", is_flag=True, help="List the targets and whether their compilers are installed.")
def check_command(
    *,
    kernel: str | None,
    targets: tuple[str, ...],
    signature: str | None,
    constants: tuple[str, ...],
    block: str | None,
    to_json: bool,
    lists: bool,
) -> None:
    """Compile a kernel for hardware that you do not own.

    Prints registers, spills, memory and occupancy for each target, as its compiler tells them. FILE.py is run as a
    module; what it prints goes to the error output. Exit status 1 where a target's compiler refuses the kernel or
    spills a GPU's registers, where a compiler is missing for a target that was named, and where nothing was compiled.
    """
    if lists or kernel is None:
        console().print(_target_table())
        if kernel is None and not lists:
            raise click.UsageError("name a kernel: portagpu check FILE.py:KERNEL --target gfx1100")
        return
    chosen = tuple(map(registry.find_target, targets)) or registry.targets()
    values = dict(map(_constant, constants))
    extents = None if block is None else _extents(block)
    results: dict[str, OfflineKernel | PortaGPUError] = {}
    with stdout_to_stderr():
        found = _kernel(kernel)
        for target in chosen:
            try:
                results[target.name] = found.compile_for(target, signature, constants=values, block=extents)
            except PortaGPUError as error:
                results[target.name] = error
    if to_json:
        click.echo(json.dumps({name: _as_json(result) for name, result in results.items()}, indent=2))
    else:
        _show(found.__name__, results)
    made = any(isinstance(result, OfflineKernel) for result in results.values())
    if not made or any(_is_bad(result, named=bool(targets)) for result in results.values()):
        raise SystemExit(1)


def _is_bad(result: OfflineKernel | PortaGPUError, *, named: bool) -> bool:
    if isinstance(result, MissingCompilerError):
        return named
    return isinstance(result, PortaGPUError) or (result.figures.spills and result.target.is_gpu)


def _as_json(result: OfflineKernel | PortaGPUError) -> dict[str, Any]:
    if isinstance(result, PortaGPUError):
        return {"error": str(result), "missing_compiler": isinstance(result, MissingCompilerError)}
    return {**asdict(result.figures), "spills": result.figures.spills, "remark": result.remark}


def _show(name: str, results: dict[str, OfflineKernel | PortaGPUError]) -> None:
    """A table of figures; below it what each refused target said, and what several lack in common, once."""
    shown = console()
    table = Table(box=None, header_style="bold", pad_edge=False, title=escape(name), title_justify="left")
    columns = ("target", "registers", "scalar", "spilled", "scratch", "local", "lanes", "occupancy")
    for column in columns:
        table.add_column(column, justify="left" if column == "target" else "right")
    for target, result in results.items():
        if isinstance(result, OfflineKernel):
            f = result.figures
            style = "green" if not f.spills else "red" if result.target.is_gpu else "yellow"
            matrices = f" ({f.matrix_registers} of matrix units)" if f.matrix_registers else ""
            cells = (
                _number(f.registers) + matrices,
                _number(f.scalar_registers),
                _number(f.spilled),
                f"{f.scratch_bytes} B",
                f"{f.local_bytes} B",
            )
            table.add_row(f"[{style}]{target}[/{style}]", *cells, str(f.lanes), _number(f.occupancy))
    if table.row_count:
        shown.print(table)
    for target, result in results.items():
        if isinstance(result, PortaGPUError) and not isinstance(result, MissingCompilerError):
            shown.print(f"[red]{target}[/red]: {escape(str(result))}", highlight=False, soft_wrap=True)
    for said, names in _lacks(results).items():
        shown.print(f"[yellow]{', '.join(names)}[/yellow]: {escape(said)}", highlight=False, soft_wrap=True)


def _lacks(results: dict[str, OfflineKernel | PortaGPUError]) -> dict[str, list[str]]:
    """What to install for more figures, with the targets that it is for."""
    found: dict[str, list[str]] = {}
    for target, result in results.items():
        if isinstance(result, MissingCompilerError):
            absent = "; ".join(result.notes) or result.message
            text = f"not compiled: {absent}" + (f"\n  hint: {result.hint}" if result.hint else "")
        elif isinstance(result, OfflineKernel) and result.remark is not None:
            text = result.remark
        else:
            continue
        found.setdefault(text, []).append(target)
    return found


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _target_table() -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("target", "device", "compiler"):
        table.add_column(column)
    for target in registry.targets():
        missing = registry.named(target.backend).missing_packages(target)
        there = f"[yellow]no {' or '.join(map(escape, missing))}[/yellow]" if missing else ""
        table.add_row(target.name, target.title, there or "[green]installed[/green]")
    return table


def _kernel(text: str) -> Dispatcher:
    """The kernel that ``FILE.py:NAME`` names; the file is run as a module."""
    path, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        raise click.BadParameter(f"{text!r} names no kernel; write FILE.py:KERNEL")
    module = _module(Path(path))
    found = getattr(module, name, None)
    if not isinstance(found, Dispatcher) or found.is_device_function:
        kernels = [one for one, value in vars(module).items() if isinstance(value, Dispatcher)]
        meant = did_you_mean(name, kernels) or "kernels are decorated with @cuda.jit"
        raise click.BadParameter(f"{path} has no kernel called {name}; {meant.strip()}")
    return found


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise click.BadParameter(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))  # as for a script, so that it finds its neighbours
    spec.loader.exec_module(module)
    return module


def _constant(text: str) -> tuple[str, Any]:
    """``NAME=VALUE`` with a Python literal."""
    name, equals, value = text.partition("=")
    try:
        if not equals:
            raise ValueError("there is no =")
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError) as error:
        raise click.BadParameter(f"{text!r} is no NAME=VALUE with a Python literal: {error}") from error


def _extents(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no block; write 256 or 16,16") from error
