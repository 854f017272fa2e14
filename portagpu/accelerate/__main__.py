"""``python -m portagpu.accelerate script.py [args]``: run a NumPy program with its products on a device."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass

import click

from portagpu.accelerate.acceleration import Acceleration, accelerate
from portagpu.accelerate.script import run_module, run_script
from portagpu.errors import PortaGPUError
from portagpu.escaping import for_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    device: str | None
    threshold: float | None
    report: bool
    module: bool
    program: str
    arguments: tuple[str, ...]


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--device", help='The device: a number, "gpu", "cpu", or a part of its name; default: the fastest.')
@click.option("--threshold", type=float, help="Operations from which on a product is taken over; default: as measured.")
@click.option("--report/--no-report", default=True, help="Print at the end what was taken over, to the error output.")
@click.option("-m", "module", is_flag=True, help="Run a module, as python -m does.")
@click.argument("program", metavar="SCRIPT.py")
@click.argument("arguments", metavar="[ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED)
def command(
    *,
    device: str | None,
    threshold: float | None,
    report: bool,
    module: bool,
    program: str,
    arguments: tuple[str, ...],
) -> _Request:
    """Run a Python program whose products of NumPy arrays are computed on a device where that is faster.

    The program is not changed; arguments behind its name are its own.
    """
    return _Request(
        device=device, threshold=threshold, report=report, module=module, program=program, arguments=arguments
    )


def main() -> None:
    """Run what the command line names. The program runs outside of click, which it may use itself."""
    try:
        request = command.main(prog_name="python -m portagpu.accelerate", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    if not isinstance(request, _Request):  # --help
        sys.exit(request)
    try:
        block = accelerate(device=request.device, threshold=request.threshold)
    except PortaGPUError as error:
        click.echo(for_lines(f"error: {error}"), err=True)
        sys.exit(1)
    at_end = functools.partial(_report, block, wanted=request.report)
    try:
        run = run_module if request.module else run_script
        run(request.program, request.arguments, block, at_end)
    except OSError as error:
        click.echo(for_lines(f"error: {request.program!r} cannot be read: {error.strerror}"), err=True)
        sys.exit(2)  # as Python's own
    except ImportError as error:
        click.echo(for_lines(f"error: {error}"), err=True)
        sys.exit(1)


def _report(block: Acceleration, *, wanted: bool) -> None:
    if wanted and sys.stderr is not None:
        print(for_lines(str(block)), file=sys.stderr, flush=True)


main()
