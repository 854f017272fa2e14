"""`portagpu tune export | import | compact`: the files of tuning results."""

from __future__ import annotations

from pathlib import Path

import click

from portagpu.cli.choices import suggestion
from portagpu.cli.output import console
from portagpu.device import default_device, find_device
from portagpu.settings import Settings
from portagpu.tuning import Store
from portagpu.tuning.choice import export_shipped, shipped_file
from portagpu.tuning.store import t4
from portagpu.tuning.store.tasks import store_path

_FILE = click.Path(dir_okay=False, path_type=Path)
_kernel_option = click.option("--kernel", default="gemm", show_default=True, help="name of the tunable")


@click.command("export")
@click.argument("file", type=_FILE, required=False)
@_kernel_option
@click.option("--shipped", is_flag=True, help="winners only, for all devices of this one's class")
@click.option("--t4", "as_t4", is_flag=True, help="in T4, the form of Kernel Tuner's results, a file for each device")
@click.option("--device", "selector", default=None, help="with --shipped or --t4: index, name part, vendor, gpu or cpu")
def export_command(file: Path | None, kernel: str, shipped: bool, as_t4: bool, selector: str | None) -> None:
    """Write the tuning results to FILE, for another machine with the same devices or for safe keeping.

    FILE gets the last outcome of every trial, failures too, so that nothing is tried again, and all winners of each
    problem: where the fastest one fails later, or is not in the space any more, the next one serves.

    With --t4, FILE.json has all trials on one device as other autotuners read them, and FILE.metadata.json the device.
    """
    if shipped and as_t4:
        raise click.UsageError("--shipped and --t4 are two forms: choose one")
    settings = Settings.from_environment()
    store = Store(store_path(kernel, settings))
    if shipped:
        device = find_device(selector, settings) if selector else default_device(settings)
        file = file or shipped_file(device)
        count = export_shipped(store, file, device)
        console().print(f"{count} winners are in {file}", soft_wrap=True)
        return
    if file is None:
        raise click.UsageError("name the file to write")
    if as_t4:
        for written, count in t4.export(store, file, find_device(selector, settings).key if selector else ""):
            console().print(f"{count} results written to {written}", soft_wrap=True)
        return
    console().print(f"{store.export(file)} results written to {file}", soft_wrap=True)


@click.command("import")
@click.argument("file", type=_FILE)
@click.option("--kernel", default=None, help="name of the tunable, where FILE has results of several")
def import_command(file: Path, kernel: str | None) -> None:
    """Add the tuning results in FILE; of a problem's winners here and there the fastest one counts."""
    found = sorted({task.kernel for task in Store(file).tasks()})
    if (len(found) > 1 and kernel is None) or (found and kernel is not None and kernel not in found):
        listed, others = ", ".join(found), "" if kernel is None else f", none of {kernel}"
        raise click.ClickException(f"{file} has results of {listed}{others}; choose with --kernel NAME")
    chosen = kernel or next(iter(found), "gemm")
    path = store_path(chosen, Settings.from_environment())
    count = Store(path).merge(file, chosen)
    console().print(f"{count} results added to {path}", soft_wrap=True)


@click.command("compact")
@_kernel_option
def compact_command(kernel: str) -> None:
    """Rewrite the file of results with each result once; other programs may go on using it.

    The last outcome of every trial stays, failures too, so that nothing is tried again, and so do all winners of each
    problem: where the fastest one fails later, or is not in the space any more, the next one serves.
    """
    path = store_path(kernel, Settings.from_environment())
    if not path.exists():
        meant = suggestion(kernel, (file.stem for file in path.parent.glob("*.jsonl")))
        raise click.ClickException(f"there are no results of {kernel}: {path} does not exist. {meant}".strip())
    before, after = Store(path).compact()
    console().print(f"{path}: {before} bytes before, {after} after", soft_wrap=True)
