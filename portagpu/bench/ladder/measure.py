"""Measures the ladder.

Protocol, as in `portagpu.bench.suites.gemm`: random operands, one product of each step, verified by Freivalds' check
against float64 before the step gets a number; then rounds in which the steps and the vendor library take turns, with a
pause before each turn; the median over all repetitions counts. A slow step takes part in fewer rounds.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from portagpu.bench.ladder.plan import Operands, Prepared, flops_per_byte
from portagpu.bench.ladder.results import LadderResult, StepResult
from portagpu.bench.ladder.steps import STEPS, Step
from portagpu.bench.method.rounds import FAILURES
from portagpu.bench.method.turns import Product, take_turn
from portagpu.bench.peers.products import Peer, peers_for
from portagpu.bench.running.facts import ladder_facts
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.tuning.verification import ProductCheck
from portagpu.device import DeviceRecord, DeviceType
from portagpu.errors import DeviceError, DTypeError, PortaGPUError, PortaGPUPerformanceWarning
from portagpu.runtime.arrays.array import device_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

_ROUNDS = 5
_STEP_SECONDS = 6.0  # a step takes part in no further round once it has run so long
_FAST_GPU_GFLOPS = 4000.0  # of the probe's small kernel

Progress = Callable[[str], None]


@dataclass(slots=True)
class _Runner:
    """A step, or the library, while it is measured."""

    name: str
    product: Product
    times: list[float] = field(default_factory=list)

    def take_turn(self) -> None:
        """Time it again, unless it has had its share of the time."""
        if sum(self.times) < _STEP_SECONDS:
            self.times += take_turn(self.product)

    def gflops(self, size: int) -> float:
        """Median speed."""
        return 2.0 * size**3 / statistics.median(self.times) / 1e9


def run(
    device: DeviceRecord,
    size: int,
    dtype: str,
    settings: Settings,
    *,
    steps: tuple[Step, ...] = STEPS,
    progress: Progress = lambda text: None,
) -> LadderResult:
    """Measure every step for square matrices of ``size`` against the device's vendor library.

    A step that the device cannot run, that fails or that is wrong becomes a result without a speed that says why.
    Raises `DTypeError` where the device does not have the dtype, `OutOfMemoryError` where the matrices do not fit,
    `DeviceError` where the library fails.
    """
    if dtype == "float64" and device.capabilities is not None and not device.capabilities.fp64:
        raise DTypeError(f"{device.name} has no float64", hint="measure float32, or choose another device")
    generator = np.random.default_rng(size)
    a = generator.standard_normal((size, size)).astype(dtype)
    b = generator.standard_normal((size, size)).astype(dtype)
    check = ProductCheck(a, b)
    peer = peers_for(device)[0]
    context = Context.for_device(device, settings)
    with context:
        operands = Operands(
            a=to_device(a, context=context),
            b=to_device(b, context=context),
            c=device_array((size, size), dtype, context=context),
        )
        progress(f"{peer.name}: first product")
        library = _library(peer, a, b)
        found: dict[str, StepResult] = {}
        runners: list[_Runner] = []
        for step in steps:
            progress(f"{step.name}: compiling, and one product to verify")
            found[step.name], runner = _first_product(step, operands, check)
            runners += [runner] if runner else []
        for number in range(_ROUNDS):
            for runner in (*runners, library):
                progress(f"round {number + 1} of {_ROUNDS}: {runner.name}")
                runner.take_turn()
    speeds = {runner.name: runner.gflops(size) for runner in runners}
    return LadderResult(
        machine=ladder_facts(),
        device=device.name,
        driver=f"{device.platform} {device.driver_version}",
        dtype=dtype,
        size=size,
        peer=f"{peer.name}, {peer.memory.value}",
        peer_gflops=library.gflops(size),
        steps=tuple(replace(result, gflops=speeds.get(name)) for name, result in found.items()),
    )


def _library(peer: Peer, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> _Runner:
    problem = Problem(m=a.shape[0], n=b.shape[1], k=a.shape[1], dtype=a.dtype.name)
    try:
        library = _Runner(peer.name, peer.prepare(problem, a, b).product)
        library.product()
    except FAILURES as error:
        reason = str(error).partition("\n")[0]
        raise DeviceError(
            f"{peer.name} cannot multiply these matrices: {reason}", hint="choose a smaller size"
        ) from error
    return library


def _first_product(step: Step, operands: Operands, check: ProductCheck) -> tuple[StepResult, _Runner | None]:
    """The step's result without its speed, and the step to be timed if its first product was right."""
    obstacle = step.obstacle(operands)
    if obstacle is not None:
        return _without(step, obstacle), None
    operands.c[...] = np.nan  # what a step forgets shows
    try:
        with warnings.catch_warnings():  # the first steps are slow on purpose
            warnings.simplefilter("ignore", PortaGPUPerformanceWarning)
            prepared = step.prepare(operands)
            product = _waiting(prepared, operands.context)
            product()
        error = check.error(operands.c.copy_to_host())
    except PortaGPUError as failure:
        return _without(step, failure.message), None
    if not error <= 1.0:
        return _without(step, f"wrong result: {error:.3g} times the tolerance"), None
    result = StepResult(
        name=step.name,
        gflops=None,
        error=error,
        problem=None,
        global_intensity=flops_per_byte(prepared.tile, operands.itemsize),
        shared_intensity=flops_per_byte(prepared.thread_tile, operands.itemsize),
        note=prepared.note,
    )
    return result, _Runner(step.name, product)


def _waiting(prepared: Prepared, context: Context) -> Product:
    def product() -> None:
        prepared.enqueue()
        context.synchronize()

    return product


def _without(step: Step, problem: str) -> StepResult:
    return StepResult(name=step.name, gflops=None, error=None, problem=problem)


def default_size(device: DeviceRecord) -> int:
    """A size at which the whole ladder takes about a minute: 4096 on large GPUs, 2048 on small ones, 1024 on CPUs."""
    if device.device_type is not DeviceType.GPU:
        return 1024
    fast = device.capabilities is not None and device.capabilities.measured_gflops >= _FAST_GPU_GFLOPS
    return 4096 if fast else 2048


__all__ = ["default_size", "run"]
