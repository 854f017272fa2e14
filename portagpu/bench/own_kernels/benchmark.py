"""`portagpu.benchmark`: how fast a kernel is, by the method of `portagpu bench`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from portagpu.bench.conditions import Monitor, sensors_for
from portagpu.bench.method.plan import FULL, QUICK
from portagpu.bench.method.statistics import interval, median
from portagpu.bench.own_kernels.launch import Expected, Launch
from portagpu.bench.own_kernels.shown import lines, table, time_text
from portagpu.bench.records.cell import Cell, Memory, Role, Status
from portagpu.bench.records.files import save
from portagpu.bench.records.run import Run
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.case import Case, Contender, Options
from portagpu.bench.running.facts import now
from portagpu.bench.running.measuring import measure
from portagpu.bench.running.session import new_run
from portagpu.dispatch.counting.work import Work
from portagpu.errors import DeviceError
from portagpu.files import user_path
from portagpu.runtime.execution.context import Context, current_context


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Benchmark:
    """What `portagpu.benchmark` found; ``print`` shows a table with the peers, notebooks do by themselves.

    ``seconds``: the median of a call; ``interval``: that median's at 95%; ``device_seconds``: a call by the device's
    own events. ``work``: FLOP and bytes of a call, as the compiler counts them; None where it cannot. ``error``: of the
    result, relative to the tolerance; None where nothing was expected. ``cells``: the kernel's and its peers', with all
    samples. ``run``: the same as result files have it.
    """

    name: str
    device: str
    seconds: float
    interval: tuple[float, float]
    device_seconds: float | None
    work: Work | None
    error: float | None
    cells: tuple[Cell, ...]
    run: Run

    @property
    def gflops(self) -> float | None:
        """Floating-point operations, 1e9 in a second."""
        return None if self.work is None else self.work.flops / self.seconds / 1e9

    @property
    def gbytes(self) -> float | None:
        """Different bytes of main memory read and written, 1e9 in a second: see `Work.touched_bytes`."""
        touched = None if self.work is None else self.work.touched_bytes
        return None if touched is None else touched / self.seconds / 1e9

    @property
    def peers(self) -> dict[str, float]:
        """Medians of the peers that were measured, in seconds, by name."""
        return {c.implementation: s for c in self.cells[1:] if (s := c.seconds) is not None}

    def save(self, path: str | Path) -> None:
        """Write a result file, which `portagpu matrix` merges with others; it is replaced atomically.

        In it, a kernel of which nothing was expected has no numbers: it was not verified. Raises `StoreError`.
        """
        save(user_path(path), self.run)

    def __repr__(self) -> str:
        low, high = map(time_text, self.interval)
        parts = [f"{self.name} on {self.device}: {time_text(self.seconds)} ({low} to {high})"]
        if self.work is not None:
            rates = ((self.gbytes, "GB/s"), (self.gflops, "GFLOP/s"), (self.work.intensity, "FLOP/byte"))
            parts += [f"{rate:.4g} {unit}" for rate, unit in rates if rate]
        parts.append("not verified" if self.error is None else f"error {self.error:.2g} of the tolerance")
        parts += [f"{self.seconds / seconds:.2f} of the time of {label}" for label, seconds in self.peers.items()]
        return ", ".join(parts)

    def __str__(self) -> str:
        return lines(self._title, self.name, self.cells, verified=self.error is not None)

    def _repr_html_(self) -> str:
        return table(self._title, self.name, self.cells, verified=self.error is not None)

    @property
    def _title(self) -> str:
        work = self.work.intensity if self.work is not None else None
        return f"{self.name} on {self.device}{f', {work:.4g} FLOP/byte' if work else ''}"


def benchmark(
    kernel: Callable[..., Any],
    /,
    *arguments: Any,
    expected: Expected | None = None,
    tolerance: float | None = None,
    peers: Mapping[str, Callable[..., Any]] | None = None,
    name: str | None = None,
    quick: bool = False,
    progress: Callable[[str], object] | None = None,
) -> Benchmark:
    """Measure ``kernel[grid, block]`` with these arguments, or any function that enqueues work, on the current device.

    Copies of the arguments are used, so that they stay as they are; NumPy arrays become device arrays before the
    clock runs. ``expected``: what the arrays must hold after one call, by the arguments' positions or the parameters'
    names, or a function that changes NumPy copies of the arguments in the same way; ``tolerance``: relative to the
    largest magnitude of each array (default: 100 roundings of its dtype, 10 of one of 16 bits; integers must be
    equal). ``peers``: other implementations, functions of the same arguments, timed in turns with it. ``quick``:
    wider intervals in less time. ``name``: in result files (default: the kernel's). ``progress``: told what happens,
    as ``print`` would be.

    Warm-up, rounds, the rule that ends them and the intervals: `portagpu.bench.method`. Raises `ArgumentTypeError` for
    what is no launch, `DeviceError` where the result is wrong, the device was throttled or a call failed; what the
    launch raises.
    """
    tell = progress or (lambda text: None)
    launch = Launch(kernel=kernel, arguments=arguments, expected=expected, tolerance=tolerance, peers=dict(peers or {}))
    context, method = current_context(), QUICK if quick else FULL
    work = launch.work()
    own = case_of(launch, context, work, name or launch.name, "", suite="kernel")
    timed = replace(own, check=own.check or (lambda found: 0.0))  # nothing expected: the caller knows that
    with context:
        monitor = sensors_for(context.device)
        made = measure(timed, method, monitor=lambda: Monitor(monitor), progress=tell, failed=_raise_ours)
        cells = tuple(replace(cell, error=cell.error if own.check else None) for cell in made)
    first = cells[0]
    if first.status is not Status.MEASURED:
        raise DeviceError(f"`{launch.name}` has no time: {first.status.value}: {first.reason}")
    seconds = median(first.samples) or 0.0
    run = new_run([context.device], Options(quick=quick), method, command="portagpu.benchmark")
    return Benchmark(
        name=name or launch.name,
        device=context.device.name,
        seconds=seconds,
        interval=interval(first.samples) or (seconds, seconds),
        device_seconds=first.device_seconds,
        work=work,
        error=None if own.check is None else first.error,
        cells=cells,
        run=replace(run, finished=now(), cells=tuple(_kept(cell, verified=own.check is not None) for cell in cells)),
    )


def case_of(launch: Launch, context: Context, work: Work | None, name: str, size: str, *, suite: str) -> Case:
    """A launch as a case, shown in microseconds; its work places it on a roofline."""
    flops = float(work.flops) if work is not None and work.flops else None
    nbytes = float(work.touched_bytes) if work is not None and work.touched_bytes else None
    workload = Workload(
        suite=suite, name=name, arithmetic="", size=size, unit=Unit.MICROSECONDS, flops=flops, nbytes=nbytes
    )
    return Case(
        workload=workload,
        memory=Memory.DEVICE,
        contenders=launch.contenders(context),
        check=launch.check(),
        unchecked="nothing was expected: name a function with --reference, or pass expected= to portagpu.Launch",
    )


def _raise_ours(contender: Contender, failure: BaseException) -> None:
    """The user's own launch fails with its own error, which tells the line; a peer's is a reason in its cell."""
    if contender.role is Role.OURS:
        raise failure


def _kept(cell: Cell, *, verified: bool) -> Cell:
    """A cell for a file: without numbers where nothing says what is right."""
    if verified or cell.status is not Status.MEASURED:
        return cell
    reason = "nothing was expected: pass expected="
    return replace(cell, status=Status.UNVERIFIED, reason=reason, samples=(), error=None)


__all__ = ["Benchmark", "benchmark", "case_of"]
