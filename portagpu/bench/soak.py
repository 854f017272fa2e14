"""A soak test: memory over many launches.

Run as ``python -m portagpu.bench.soak [DEVICE [LAUNCHES]]``; on Linux. Prints the growth of the resident memory after
each tenth, for arrays that differ each time, NumPy arrays, and arrays that are made and dropped on streams in turns.
Small leaks show after a million launches, which take minutes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from portagpu import cuda
from portagpu.bench.launching.kernels import gather, scale
from portagpu.bench.program import Program, chosen, device_argument
from portagpu.runtime.execution.context import Context

_PAGE_KIB = 4
_LAUNCHES = 100_000
_WARM_UP = 2000
_SYNCHRONISED = 200  # launches after which the queue is emptied


def resident_mib() -> float:
    """Resident memory of this process in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_KIB / 1024


def growth(launch: Callable[[], None], launches: int) -> list[float]:
    """MiB that the process grew by, after each tenth of the launches; those of a warm-up do not count."""

    def run(count: int) -> None:
        for n in range(count):
            launch()
            if n % _SYNCHRONISED == 0:
                cuda.synchronize()
        cuda.synchronize()

    run(_WARM_UP)
    before = resident_mib()
    grown = []
    for _ in range(10):
        run(launches // 10)
        grown.append(resident_mib() - before)
    return grown


def ways() -> dict[str, Callable[[], None]]:
    """The ways of launching that are tried."""
    sets = itertools.cycle([[cuda.to_device(np.zeros(64, np.float32)) for _ in range(16)] for _ in range(30)])
    host = np.zeros(64, np.float32)
    streams = itertools.cycle([cuda.default_stream(), cuda.stream()])

    def fresh() -> None:
        stream = next(streams)
        scale[1, 64, stream](cuda.to_device(host, stream=stream))

    return {
        "16 arrays, other ones each time": lambda: gather[1, 64](*next(sets)),
        "a NumPy array": lambda: scale[1, 64](host),
        "a new array each time, two streams": fresh,
    }


@click.command(cls=Program)
@device_argument
@click.argument("launches", type=click.IntRange(min=10), default=_LAUNCHES)
def main(selector: str | None, launches: int) -> None:
    """Print the growth of memory on DEVICE (index, name part, vendor, gpu or cpu) over so many LAUNCHES."""
    device = chosen(selector)
    click.echo(f"{device.name} ({device.platform} {device.driver_version}), {launches} launches each")
    with Context.for_device(device):
        for name, launch in ways().items():
            click.echo(f"{name}: {' '.join(f'{g:.1f}' for g in growth(launch, launches))} MiB")


if __name__ == "__main__":
    main()
