"""Stub until the report is merged."""

from rich.console import Console

from portagpu.bench.records.run import Run


def show(console: Console, run: Run) -> None:
    for c in run.cells:
        console.print(
            run.devices[c.device].name[:20],
            c.workload.path,
            c.memory.name,
            c.caches.value,
            c.name,
            c.status.value,
            c.reason,
            c.rate and round(c.rate, 2),
            c.error,
            c.stopped,
            c.first_call,
            c.device_seconds,
            c.joules,
            c.tuning,
            c.conditions,
            soft_wrap=True,
        )
