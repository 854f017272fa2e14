"""NumPy programs with and without `portagpu.accelerate`: the same results, and the times of both.

Run as ``python -m portagpu.bench.accelerate [DEVICE]``. The programs of `numpy_programs` take turns with and without;
what they return must agree within rounding. Entering and leaving a block, once a program, is told apart.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from portagpu.accelerate import Report, accelerate
from portagpu.bench.numpy_programs import PROGRAMS, points
from portagpu.bench.program import Program, chosen, device_argument
from portagpu.device import DeviceRecord

_ROUNDS = 5
_ROUNDING = 1e-3  # of float32's sums of 20000 terms, in any order, relative to the largest value
_NOT_WARM = 4  # turns that compile, measure, record, and find out who is faster
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """Seconds of a program without and within a block, medians of turns, and by how much what they return differs.

    ``around``: seconds of entering and leaving the block.
    """

    name: str
    numpy_seconds: float
    seconds: float
    around: float
    difference: float  # relative to the largest value
    report: Report

    @property
    def agrees(self) -> bool:
        """Whether both returned the same within rounding."""
        return self.difference <= _ROUNDING


def measure(name: str, x: Array, device: DeviceRecord, rounds: int = _ROUNDS) -> Gain:
    """Run a program with and without, in turns."""
    program = PROGRAMS[name]
    times: dict[bool, list[float]] = {False: [], True: []}
    around: list[float] = []
    block = accelerate(device=device)
    results: dict[bool, Array] = {}
    for turn in range(rounds + _NOT_WARM):
        if turn == _NOT_WARM:
            block = accelerate(device=device)  # whose report is of what is timed
        for accelerated in (False, True):
            begin = time.perf_counter()
            with block if accelerated else contextlib.nullcontext():
                entered = time.perf_counter()
                results[accelerated] = program(x)
                left = time.perf_counter()
            if turn >= _NOT_WARM:
                times[accelerated].append(left - entered)
                if accelerated:
                    around.append(time.perf_counter() - begin - (left - entered))
    scale = float(np.abs(results[False]).max())
    return Gain(
        name=name,
        numpy_seconds=statistics.median(times[False]),
        seconds=statistics.median(times[True]),
        around=statistics.median(around),
        difference=float(np.abs(results[True] - results[False]).max()) / scale,
        report=block.report(),
    )


@click.command("accelerate", cls=Program)
@device_argument
@click.option("--rows", type=click.IntRange(1000), default=20000, show_default=True, help="Rows of the data.")
@click.option("--axes", type=click.IntRange(32), default=512, show_default=True, help="Axes of the data.")
@click.option("--reports", is_flag=True, help="Print what was taken over, too.")
def main(selector: str | None, rows: int, axes: int, reports: bool) -> None:
    """Measure plain NumPy programs with and without acceleration."""
    device = chosen(selector)
    click.echo(f"{device.name} ({device.platform}), data of {rows} x {axes}, medians of {_ROUNDS} turns")
    x = points(rows, axes)
    agree = True
    for name in PROGRAMS:
        gain = measure(name, x, device)
        agree = agree and gain.agrees
        verdict = "the same results" if gain.agrees else "OTHER RESULTS"
        click.echo(
            f"{name:22}NumPy {gain.numpy_seconds:7.3f} s, accelerated {gain.seconds:7.3f} s: "
            f"{gain.numpy_seconds / gain.seconds:5.2f} times as fast, {verdict} (within {gain.difference:.1e}); "
            f"to enter and leave: {gain.around:.3f} s"
        )
        if reports:
            click.echo(f"{gain.report}\n")
    if not agree:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
