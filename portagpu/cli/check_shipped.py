"""``portagpu check --shipped``: bars while kernels are compiled, and a file that has all that is finished."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from portagpu.backends.offline import OfflineTarget
from portagpu.checking.examination import Rules
from portagpu.checking.records import Result, Status
from portagpu.checking.shipped.collections import groups_of
from portagpu.checking.shipped.job import Found, Step
from portagpu.checking.shipped.run import check_shipped, in_order, results_and_notes
from portagpu.checking.shipped.tables import show_shipped
from portagpu.cli.check_output import Sink
from portagpu.cli.interruption import keep_in, terminable
from portagpu.cli.output import console, stdout_to_stderr

_KEEP_S = 5.0  # between writings of what is finished

Tell = Callable[[Found | Step], None]


def shipped(name: str, targets: tuple[OfflineTarget, ...], rules: Rules, sink: Sink) -> list[Result]:
    """All kernels of a group; what is finished is in the file all the while."""
    found: list[Found] = []
    kept = time.monotonic()

    def keep() -> None:
        nonlocal kept
        results, notes = results_and_notes(in_order(found, targets))
        sink.keep(results, notes)
        kept = time.monotonic()

    with terminable(), stdout_to_stderr(), _shown(targets) as show:

        def tell(one: Found | Step) -> None:
            show(one)
            if not isinstance(one, Step):
                found.append(one)
            if time.monotonic() - kept > _KEEP_S:
                keep()

        if sink.place is not None and sink.form != "table":
            keep_in(sink.place, ", and compilations for the next run")
        try:
            whole = check_shipped(targets, groups_of(name), rules, tell=tell)
        except BaseException:
            keep()
            raise
    results, notes = results_and_notes(whole)
    sink.put(results, lambda shown: show_shipped(shown, results, notes), notes)
    return results


@contextlib.contextmanager
def _shown(targets: tuple[OfflineTarget, ...]) -> Iterator[Tell]:
    """On a terminal a bar for each target; in a log a line for each that is finished."""
    screen = console(stderr=True)
    if screen.is_terminal:
        with _bars(screen, targets) as tell:
            yield tell
        return
    begin = time.monotonic()
    counts: Counter[str] = Counter()

    def tell_line(one: Found | Step) -> None:
        if isinstance(one, Result):
            counts[one.target.name] += one.status is Status.COMPILED
        elif isinstance(one, Step) and one.done == one.total:
            seconds = time.monotonic() - begin
            screen.print(f"{one.target}: {counts[one.target]} programs compiled after {seconds:.0f} s", highlight=False)

    yield tell_line


@contextlib.contextmanager
def _bars(screen: Console, targets: tuple[OfflineTarget, ...]) -> Iterator[Tell]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("calls, {task.fields[programs]} programs"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as bars:
        tasks = {t.name: bars.add_task(t.name, total=None, start=False, programs=0) for t in targets}
        counts: Counter[str] = Counter()

        def tell(one: Found | Step) -> None:
            if isinstance(one, Step):
                if one.done == 0:
                    bars.start_task(tasks[one.target])
                bars.update(tasks[one.target], completed=one.done, total=one.total)
                if one.done == one.total:
                    bars.stop_task(tasks[one.target])
            elif isinstance(one, Result):
                counts[one.target.name] += 1
                bars.update(tasks[one.target.name], programs=counts[one.target.name])

        yield tell
