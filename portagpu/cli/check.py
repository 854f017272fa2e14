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
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portagpu.cuda.dispatcher import Dispatcher
from portagpu.cuda.offline import OfflineKernel
from portagpu.device.offline_compilers import is_available
from portagpu.device.targets import TARGETS, find_target
from portagpu.errors import MissingCompilerError, PortaGPUError


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

    Prints registers, spills, memory and occupancy for each target, as the maker's own compiler tells them. Exit status
    1 where a target's compiler refuses the kernel, or spills registers.
    """
    if lists or kernel is None:
        Console().print(_target_table())
        if kernel is None and not lists:
            raise click.UsageError("name a kernel: portagpu check FILE.py:KERNEL --target gfx1100")
        return
    found = _kernel(kernel)
    values = dict(map(_constant, constants))
    extents = None if block is None else _extents(block)
    results: dict[str, OfflineKernel | PortaGPUError] = {}
    for target in [find_target(name) for name in targets] or list(TARGETS.values()):
        try:
            results[target.name] = found.compile_for(target, signature, constants=values, block=extents)
        except MissingCompilerError as error:
            if targets:  # it was asked for
                raise
            results[target.name] = error
        except PortaGPUError as error:
            results[target.name] = error
    if to_json:
        click.echo(json.dumps({name: _as_json(result) for name, result in results.items()}, indent=2))
    else:
        _show(found.__name__, results)
    if any(_is_bad(result) for result in results.values()):
        raise SystemExit(1)


def _is_bad(result: OfflineKernel | PortaGPUError) -> bool:
    if isinstance(result, PortaGPUError):
        return not isinstance(result, MissingCompilerError)
    return result.figures.spills


def _as_json(result: OfflineKernel | PortaGPUError) -> dict[str, Any]:
    if isinstance(result, PortaGPUError):
        return {"error": str(result)}
    return {**asdict(result.figures), "spills": result.figures.spills}


def _show(name: str, results: dict[str, OfflineKernel | PortaGPUError]) -> None:
    console = Console()
    table = Table(box=None, header_style="bold", pad_edge=False, title=escape(name), title_justify="left")
    columns = ("target", "registers", "scalar", "spilled", "scratch", "local memory", "lanes", "occupancy")
    for column in columns:
        table.add_column(column, justify="left" if column == "target" else "right")
    for target, result in results.items():
        if isinstance(result, OfflineKernel):
            f = result.figures
            style = "red" if f.spills else "green"
            count = str(f.registers) + (f" ({f.matrix_registers} of matrix units)" if f.matrix_registers else "")
            cells = (
                count,
                _number(f.scalar_registers),
                _number(f.spilled),
                f"{f.scratch_bytes} B",
                f"{f.local_bytes} B",
            )
            table.add_row(f"[{style}]{target}[/{style}]", *cells, str(f.lanes), str(f.occupancy))
    if table.row_count:
        console.print(table)
    for target, result in results.items():
        if isinstance(result, PortaGPUError):
            console.print(f"[red]{target}[/red]: {escape(str(result))}", highlight=False)


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _target_table() -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("target", "device", "compiler"):
        table.add_column(column)
    for target in TARGETS.values():
        there = "[green]installed[/green]" if is_available(target) else "[yellow]not installed[/yellow]"
        table.add_row(target.name, target.title, there)
    return table


def _kernel(text: str) -> Dispatcher:
    """The kernel that ``FILE.py:NAME`` names; the file is run as a module."""
    path, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        raise click.BadParameter(f"{text!r} names no kernel; write FILE.py:KERNEL")
    found = getattr(_module(Path(path)), name, None)
    if not isinstance(found, Dispatcher) or found.is_device_function:
        raise click.BadParameter(f"{path} has no kernel called {name}; kernels are decorated with @cuda.jit")
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
