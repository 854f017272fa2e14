"""`portagpu bench kernel FILE.py:KERNEL`, or without the word ``kernel``."""

from __future__ import annotations

import click

from portagpu.bench.own_kernels import file
from portagpu.bench.records.cell import Role, Status
from portagpu.bench.running.facts import without_folders
from portagpu.cli import user_files
from portagpu.cli.bench.common import Wanted, perform, run_options
from portagpu.cli.output import stdout_to_stderr


@click.command("kernel")
@run_options
@click.argument("kernel", metavar="FILE.py:KERNEL")
@click.option("--size", "sizes", multiple=True, type=click.IntRange(min=1), help="elements of each axis")
@click.option("--signature", help='types of the arguments, such as "void(float32[::1], int32)"; default: as declared')
@click.option("--argument", "arguments", multiple=True, metavar="NAME=VALUE", help="a number for a parameter")
@click.option("--block", help="threads of a block, such as 256 or 16,16")
@click.option("--reference", metavar="NAME", help="function of the file that does the same to NumPy arrays")
def own_kernel(
    *,
    wanted: Wanted,
    kernel: str,
    sizes: tuple[int, ...],
    signature: str | None,
    arguments: tuple[str, ...],
    block: str | None,
    reference: str | None,
) -> None:
    """Measure a kernel of a file, or a function of it that returns a portagpu.Launch, verified by what it expects.

    A kernel gets random arrays by its signature, and is verified by --reference: a function of NumPy arrays. FILE.py is
    run as a module; what it prints goes to the error output.
    """
    if wanted.scheduler is not None:
        raise click.UsageError("--dask measures suites, which its workers have; FILE.py is on this machine only")
    with stdout_to_stderr():
        module, name = user_files.load(kernel)
        found = user_files.member(module, name)
        right = None if reference is None else user_files.member(module, reference)
    if reference is not None and not callable(right):
        raise click.BadParameter(f"{reference} is no function", param_hint="--reference")
    values = dict(map(user_files.constant, arguments))
    threads = None if block is None else user_files.extents(block)
    run = perform(
        wanted,
        lambda device, options: file.entries(
            found,
            name,
            values=values,
            sizes=sizes,
            signature=signature,
            block=threads,
            reference=right,
            options=options,
            command=_words(kernel, signature=(signature,), argument=arguments, block=(block,), reference=(reference,)),
        ),
    )
    if any(cell.status is Status.FAILED and cell.role is Role.OURS for cell in run.cells):
        raise click.ClickException("a launch failed; see the table")


def _words(kernel: str, **options: tuple[str | None, ...]) -> tuple[str, ...]:
    """The command line again, without sizes; of the file its name, for folders tell of people."""
    given = ((f"--{name}", value) for name, values in options.items() for value in values if value is not None)
    return (without_folders(kernel), *(word for pair in given for word in pair))
