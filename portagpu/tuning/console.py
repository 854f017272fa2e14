"""A progress bar for searches: best so far against the model's roof, and what is skipped."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from portagpu.tuning.searches.report import shown
from portagpu.tuning.searches.search import Progress
from portagpu.tuning.tunables.outcomes import Measured, describe, duration

if TYPE_CHECKING:
    from rich.console import Console


def on_terminal() -> bool:
    """Whether the standard error stream is a terminal."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


class Bar:
    """Shows a search while it runs; a context manager. Call it with each `Progress`."""

    def __init__(self, title: str, budget: float, console: Console | None = None) -> None:
        from rich.console import Console  # products use tuning results, and rich takes long to import
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[best]}"))
        self._console = console or Console(stderr=True)
        self._bar = RichProgress(*columns, TimeRemainingColumn(), console=self._console)
        self._title = title
        self._task = self._bar.add_task(title, total=budget, best="")

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, state: Progress) -> None:
        """Show the state after a trial; a trial without a time gets a line of its own."""
        if not isinstance(state.outcome, Measured):
            self._bar.console.print(
                f"skipped {shown(state.point)}: {describe(state.outcome)}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
        self._bar.update(
            self._task,
            completed=state.elapsed,
            description=f"{self._title}: {stage_of(state)}",
            best=best_of(state),
        )


def stage_of(state: Progress) -> str:
    """What a search is at, for a progress bar."""
    if state.run_off is not None:
        return f"run-off {state.run_off[0]} of {state.run_off[1]}"
    return f"trial {state.trials + state.resumed}"


def best_of(state: Progress, flops: float | None = None) -> str:
    """Best so far and its share of the roof, for a progress bar; ``flops`` shows a rate instead of a time."""
    if state.best is None:
        return ""
    speed = duration(state.best) if flops is None else f"{flops / state.best / 1e9:.0f} GFLOP/s"
    share = "" if state.share is None else f", {state.share:.0%} of the roof"
    return f"best {speed}{share}"
