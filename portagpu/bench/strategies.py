"""Compares search strategies on recorded measurements: ``python -m portagpu.bench.strategies RECORDING...``.

A recording is a store of trials, such as one exported by ``portagpu tune export``: of a whole space, or so many of its
points that the rest does not matter. Each strategy runs on each task with several seeds; the table shows the median
speed after N trials as a share of the fastest recorded point's, and the median number of trials to 96% of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from portagpu.bench.program import Program
from portagpu.errors import TuningError
from portagpu.tuning import Recording, Store, TaskKey, make_strategy, replay, strategy_names

_TRIALS = (8, 16, 32, 64, 128)
_ENOUGH = 0.96
_FEWEST_POINTS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One strategy on one task; medians over the seeds."""

    task: TaskKey
    points: int  # recorded
    strategy: str
    shares: tuple[float, ...]  # after each number of trials
    enough: float  # trials to `_ENOUGH` of the best; infinite where more than half of the runs do not get there


def compare(
    recordings: Iterable[tuple[TaskKey, Recording]],
    strategies: Sequence[str],
    trials: Sequence[int] = _TRIALS,
    seeds: int = 5,
) -> list[Row]:
    """Run each strategy on each recording."""
    rows: list[Row] = []
    for task, recording in recordings:
        for name in strategies:
            runs = [replay(name, recording, budget=max(trials), seed=seed) for seed in range(seeds)]
            needed = [next((i for i in range(1, max(trials) + 1) if r.share(i) >= _ENOUGH), float("inf")) for r in runs]
            rows.append(
                Row(
                    task=task,
                    points=len(recording.records),
                    strategy=name,
                    shares=tuple(statistics.median(run.share(count) for run in runs) for count in trials),
                    enough=statistics.median_high(needed),
                )
            )
    return rows


def recordings_in(path: Path, fewest: int = _FEWEST_POINTS) -> list[tuple[TaskKey, Recording]]:
    """The tasks of a store with enough points to say something, some of which worked."""
    store = Store(path)
    found = [(task, Recording(store.records(task), store.axes(task))) for task in store.tasks()]
    return [(task, r) for task, r in found if len(r.records) >= fewest and r.best is not None]


def markdown(rows: Sequence[Row], trials: Sequence[int] = _TRIALS) -> str:
    """The rows as a table."""
    lines = [
        "| task | points | strategy | " + " | ".join(f"after {n}" for n in trials) + f" | trials to {_ENOUGH:.0%} |",
        "| --- | ---: | --- |" + " ---: |" * (len(trials) + 1),
    ]
    for row in rows:
        shares = " | ".join(f"{share:.3f}" for share in row.shares)
        enough = "-" if row.enough == float("inf") else f"{row.enough:g}"
        task = f"{row.task.kernel} {row.task.dtype} {row.task.shape_class}"
        lines.append(f"| {task} | {row.points} | {row.strategy} | {shares} | {enough} |")
    return "\n".join(lines) + "\n"


def usable(names: Sequence[str]) -> list[str]:
    """Those strategies whose libraries are installed."""
    found: list[str] = []
    for name in names:
        try:
            make_strategy(name)
        except TuningError as error:
            click.echo(f"{name} is left out: {error.message}", err=True)
            continue
        found.append(name)
    return found


@click.command(cls=Program)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--strategy", "names", multiple=True, help="may be repeated; default: every one")
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True)
def main(files: tuple[Path, ...], names: tuple[str, ...], seeds: int) -> None:
    """Compare search strategies on recorded measurements."""
    recordings = [entry for file in files for entry in recordings_in(file)]
    if not recordings:
        raise click.ClickException(f"no task with at least {_FEWEST_POINTS} trials is in these files")
    click.echo(markdown(compare(recordings, usable(names or strategy_names()), seeds=seeds)), nl=False)


if __name__ == "__main__":
    main()
