"""The command line: ``portagpu devices | doctor | check | export | tune | bench | matrix | ...``."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys

import click

from portagpu.cli.interruption import InterruptibleGroup
from portagpu.errors import PortaGPUError
from portagpu.escaping import for_lines
from portagpu.version import __version__

_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_COMMANDS = {
    "devices": ("portagpu.cli.devices", "devices_command", "List the devices of this machine."),
    "doctor": (
        "portagpu.cli.doctor",
        "doctor_command",
        "Explain every driver found, what is wrong and how to mend it.",
    ),
    "check": ("portagpu.cli.check", "check_command", "Compile a kernel for hardware that you do not own."),
    "export": ("portagpu.cli.export", "export_command", "Write a kernel as source text for other projects."),
    "tune": ("portagpu.cli.tune", "tune", "Tune kernels for a device."),
    "bench": (
        "portagpu.cli.bench.group",
        "bench",
        "Measure devices against the libraries of their makers, every result verified.",
    ),
    "matrix": (
        "portagpu.cli.matrix",
        "matrix",
        "Merge result files of several machines: tables, plots, a page; compare.",
    ),
    "quickstart": ("portagpu.cli.quickstart", "quickstart", "A tour in under two minutes."),
}


class LazyGroup(InterruptibleGroup):
    """Imports a command's module only when it runs, so that ``portagpu --help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        entry = _COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(importlib.import_module(entry[0]), entry[1])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in _COMMANDS.items()])


@click.group(cls=LazyGroup)
@click.version_option(__version__, prog_name="portagpu")
@click.option("--debug", is_flag=True, help="show tracebacks")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """GPU kernels in Python on any OpenCL device, and a tuned portable GEMM."""
    ctx.obj = debug


def main() -> None:
    """Entry point: our own errors end in one clean message, and so does output that cannot be written."""
    debug = "--debug" in sys.argv[1:]
    try:
        cli(prog_name="portagpu")
    except PortaGPUError as error:
        if debug:
            raise
        click.echo(for_lines(f"error: {error}"), err=True)
        sys.exit(1)
    except OSError as error:
        if debug or error.errno not in _UNWRITABLE:
            raise
        with contextlib.suppress(OSError, ValueError):  # what is left in the buffer is not tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        with contextlib.suppress(OSError):
            click.echo(f"error: the output cannot be written: {error}", err=True)
        sys.exit(1)
