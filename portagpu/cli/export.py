"""``portagpu export``: a kernel as source text for other people's projects."""

from __future__ import annotations

import click

from portagpu.cli.kernel_files import Broken, chosen
from portagpu.cli.output import stdout_to_stderr
from portagpu.cli.user_files import constant, extents
from portagpu.errors import SourceUnavailableError
from portagpu.exporting.export import Wishes
from portagpu.exporting.languages import Language, write_export
from portagpu.files import user_path


@click.command("export")
@click.argument("kernel", metavar="FILE.py:KERNEL")
@click.option("--opencl", metavar="FOLDER", help="Write KERNEL.cl and KERNEL_host.c there.")
@click.option("--sycl", metavar="FOLDER", help="Write KERNEL.hpp and KERNEL_main.cpp there.")
@click.option("--signature", help='Types of the arguments, such as "float32[::1], int32"; default: as declared.')
@click.option("--constant", "constants", multiple=True, metavar="NAME=VALUE", help="A compile-time parameter's value.")
@click.option("--block", help="Threads of a block in the host program, such as 256 or 16,16.")
@click.option("--size", type=click.IntRange(min=1), help="Elements of each axis of arrays in the host program.")
@click.option("--argument", "arguments", multiple=True, metavar="NAME=VALUE", help="A number in the host program.")
@click.option("--shared", type=click.IntRange(min=0), default=0, help="Bytes of dynamic shared memory.")
def export_command(
    *,
    kernel: str,
    opencl: str | None,
    sycl: str | None,
    signature: str | None,
    constants: tuple[str, ...],
    block: str | None,
    size: int | None,
    arguments: tuple[str, ...],
    shared: int,
) -> None:
    """Write a kernel as source text that needs neither Python nor PortaGPU, with a host program that launches it.

    The text is for devices that have OpenCL 1.2, or for compilers of SYCL 2020, with the Python lines as comments. The
    host program makes arrays of some numbers, launches the kernel with the shared memory and sizes that it needs, and
    prints sums of the results. FILE.py is run as a module; what it prints goes to the error output. Files are replaced
    atomically.
    """
    folders = {Language.OPENCL: opencl, Language.SYCL: sycl}
    if not any(folders.values()):
        raise click.UsageError("say a language and a folder: --opencl FOLDER, or --sycl FOLDER")
    with stdout_to_stderr():
        found = chosen([kernel])
    if len(found) > 1:
        raise click.BadParameter(f"{kernel} has several kernels; write FILE.py:KERNEL")
    (one,) = found
    if isinstance(one, Broken):
        raise SourceUnavailableError(one.message, span=one.span, hint=one.hint)
    wishes = Wishes(
        block=None if block is None else extents(block),
        size=size,
        shared=shared,
        numbers=dict(map(constant, arguments)),
    )
    bound = dict(map(constant, constants))
    for language, folder in folders.items():
        if folder:
            written = write_export(
                language, user_path(folder), one.kernel, signature=signature, constants=bound, wishes=wishes
            )
            for path in written:
                click.echo(path)
