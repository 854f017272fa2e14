"""`portagpu quickstart`: devices, three kernels, tuning, a product and the small matrix, in under two minutes."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.syntax import Syntax

from portagpu import cuda
from portagpu.bench.method.plan import QUICK
from portagpu.bench.records.run import Run
from portagpu.bench.running import session
from portagpu.bench.running.case import Options
from portagpu.bench.suites import gemm
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.tuning.tuner import TunedProblem, tune_gemm
from portagpu.cli import tune as tune_cli
from portagpu.cli.bench.common import progress_bar
from portagpu.cli.devices import show_devices
from portagpu.cli.options import time_option
from portagpu.cli.output import console as new_console
from portagpu.device import DeviceRecord, default_device, devices, find_device
from portagpu.report import terminal
from portagpu.settings import Settings
from portagpu.tuning import Progress

_TUNING_TIME = "30s"
_SIZE = 2048


@cuda.jit
def saxpy(a, x, y):
    """y = a * x + y, one element a thread."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def block_sum(x, sums):
    """Sum of each block of 256 elements, through shared memory."""
    cache = cuda.shared.array(256, cuda.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    cache[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            cache[t] += cache[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = cache[0]


@cuda.jit
def rotate(points, angle):
    """Rotate points (n, 2) about the origin."""
    i = cuda.grid(1)
    if i < points.shape[0]:
        x, y = points[i, 0], points[i, 1]
        points[i, 0] = x * math.cos(angle) - y * math.sin(angle)
        points[i, 1] = x * math.sin(angle) + y * math.cos(angle)


def run_saxpy() -> tuple[Any, Any]:
    """Launch `saxpy`; returns its result and NumPy's."""
    generator = np.random.default_rng(0)
    x, y = generator.random(100_000, np.float32), generator.random(100_000, np.float32)
    expected = np.float32(2.5) * x + y
    saxpy[(x.size + 255) // 256, 256](2.5, x, y)
    return y, expected


def run_block_sum() -> tuple[Any, Any]:
    """Launch `block_sum`; returns its result and NumPy's."""
    x = np.random.default_rng(1).random(256 * 300, np.float32)
    sums = np.zeros(300, np.float32)
    block_sum[300, 256](x, sums)
    return sums, x.reshape(300, 256).sum(axis=1, dtype=np.float64)


def run_rotate() -> tuple[Any, Any]:
    """Launch `rotate`; returns its result and NumPy's."""
    points = np.random.default_rng(2).random((5000, 2), np.float32)
    c, s = math.cos(0.5), math.sin(0.5)
    expected = points.astype(np.float64) @ np.array([[c, s], [-s, c]])
    rotate[20, 256](points, 0.5)
    return points, expected


_KERNELS: tuple[tuple[Any, Callable[[], tuple[Any, Any]]], ...] = (
    (saxpy, run_saxpy),
    (block_sum, run_block_sum),
    (rotate, run_rotate),
)


@click.command()
@click.option("--device", "selector", default=None, help="index, name part, vendor, gpu or cpu")
@time_option("--tuning-seconds", default=_TUNING_TIME, help="time for tuning GEMM")
def quickstart(selector: str | None, tuning_seconds: float) -> None:
    """Show what PortaGPU does on this machine."""
    console = new_console()
    settings = Settings.from_environment()
    started = time.perf_counter()

    console.rule("1. Devices")
    device = find_device(selector, settings) if selector else default_device(settings)
    show_devices(console, devices(settings), device)
    cuda.select_device(device)
    console.print(f"Using [bold]{device.name}[/bold] ({device.platform})\n")

    console.rule("2. Kernels written in Python")
    for kernel, run in _KERNELS:
        console.print(Syntax(inspect.getsource(kernel.py_func), "python", background_color="default"))
        begin = time.perf_counter()
        found, expected = run()
        seconds = time.perf_counter() - begin
        if not np.allclose(found, expected, rtol=1e-5, atol=1e-6):
            raise click.ClickException(f"{kernel.__name__} gave a result that differs from NumPy's")
        console.print(f"[green]same as NumPy[/green] (compiled and run in {seconds * 1e3:.0f} ms)\n")

    console.rule(f"3. Tuning GEMM for {tuning_seconds:g} s")
    problem = Problem(m=_SIZE, n=_SIZE, k=_SIZE, dtype="float32")

    def search(progress: Callable[[Problem, Progress], None]) -> tuple[TunedProblem, ...]:
        return tune_gemm(device, (problem,), budget=tuning_seconds, settings=settings, progress=progress)

    console.print(tune_cli.table(tune_cli.run(console, search, tuning_seconds)))

    console.rule("4. Products of float32 matrices, against the installed library")
    products = [Problem(m=n, n=n, k=n, dtype="float32") for n in (1024, _SIZE)]
    terminal.show(console, _measured(console, device, products, settings))
    console.print("\nMore: portagpu bench -o mine.json; portagpu matrix mine.json -o mine.md", highlight=False)
    console.print(f"Done in {time.perf_counter() - started:.0f} s.")


def _measured(console: Console, device: DeviceRecord, products: list[Problem], settings: Settings) -> Run:
    """A quick run of products, of which no file is kept."""
    options = Options(quick=True, core_types=False)
    jobs = session.jobs_of([device], lambda one: gemm.entries(one, options, lambda _: products), lambda path: True)
    with progress_bar(console) as progress:
        return session.perform(session.new_run([device], options, QUICK), jobs, options, QUICK, settings, progress)
