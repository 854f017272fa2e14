"""The command line of ``python -m portagpu.bench.arrays``."""

from __future__ import annotations

from pathlib import Path

import click

from portagpu.bench.arrays import table
from portagpu.bench.arrays.cases import DTYPES, NAMES, entry, problems
from portagpu.bench.method.plan import QUICK, Method
from portagpu.bench.program import Program, chosen
from portagpu.bench.records.cell import Status
from portagpu.bench.records.files import save
from portagpu.bench.records.run import Run
from portagpu.bench.running import session
from portagpu.bench.running.case import Options, Peers
from portagpu.errors import PortaGPUError
from portagpu.settings import Settings

METHOD = Method(limit_seconds=2.0, round_seconds=0.04, sample_seconds=0.01, warm_up_seconds=0.5, energy_seconds=0.0)
"""Less than `portagpu bench` takes: there are some hundred workloads."""


@click.command("arrays", cls=Program)
@click.option("--device", "selector", help="index, name part, vendor, gpu or cpu; default: the default device")
@click.option(
    "--size",
    "sizes",
    type=click.IntRange(1, 2**30),
    multiple=True,
    help="elements; of matrices the largest square within; default: 2^26 on GPUs, 2^16 and 2^22 on CPUs",
)
@click.option("--dtype", "dtypes", type=click.Choice(DTYPES), multiple=True, help="default: both")
@click.option("--operation", "names", type=click.Choice(NAMES), multiple=True, help="default: all")
@click.option("--quick", is_flag=True, help="fewer rounds, wider intervals")
@click.option("--peers", type=click.Choice([Peers.VENDOR.value, Peers.NONE.value]), default=Peers.VENDOR.value)
@click.option("--seed", type=click.IntRange(0, 2**53), default=0, show_default=True, help="of random operands")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="result file (JSON)")
def main(
    selector: str | None,
    sizes: tuple[int, ...],
    dtypes: tuple[str, ...],
    names: tuple[str, ...],
    quick: bool,
    peers: str,
    seed: int,
    output: Path | None,
) -> None:
    """Measure device arrays beside CuPy on a card, beside NumPy elsewhere; print a table."""
    device = chosen(selector)
    options = Options(quick=quick, peers=Peers(peers), seed=seed)
    method = QUICK if quick else METHOD
    wanted = tuple(problems(device, sizes, dtypes, names))
    jobs = [session.Job(number=0, device=device, entry=entry(one, options)) for one in wanted]

    def keep(run: Run) -> None:
        if output is not None:
            save(output, run)

    run = session.new_run((device,), options, method)
    run = session.perform(run, jobs, options, method, Settings.from_environment(), session.Progress(keep=keep))
    click.echo(f"{run.devices[0].title}, beside {_peers(run)}")
    click.echo(table.text(table.rows(wanted, run.cells, device.device_type)))
    wrong = [cell.workload.path for cell in run.cells if cell.status is Status.WRONG]
    if wrong:
        raise PortaGPUError(f"wrong results: {', '.join(wrong)}")


def _peers(run: Run) -> str:
    return ", ".join(dict.fromkeys(cell.implementation for cell in run.cells if cell.role.value != "ours")) or "nobody"


__all__ = ["METHOD", "main"]
