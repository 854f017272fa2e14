"""Textbook kernels timed beside CuPy's `RawKernel` with the same text in CUDA C.

Both take turns in one run. A turn is a batch of launches back to back, enough for 50 ms, with one wait at its end: the
kernels are long enough for a GPU to hide what a launch costs on the host.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.cupy_kernels import cupy_for
from portagpu.bench.textbook import cuda_texts, shared_tasks, tasks
from portagpu.bench.textbook.results import Row
from portagpu.bench.textbook.tasks import Task
from portagpu.bench.turns import BACK_TO_BACK_ROUNDS, BackToBack, Call, Player, play
from portagpu.device import DeviceRecord, DeviceType
from portagpu.errors import PortaGPUError
from portagpu.runtime.execution.context import Context

# sizes: of a GPU, of a CPU, and small ones
TASKS: dict[str, tuple[Callable[[int], Task], int, int, int]] = {
    "saxpy": (tasks.saxpy, 1 << 25, 1 << 22, 1000),
    "saxpy-strided": (tasks.saxpy_strided, 1 << 25, 1 << 22, 1000),
    "stencil": (tasks.stencil, 8192, 2048, 70),
    "transpose": (tasks.transpose, 8192, 2048, 70),
    "matmul-naive": (shared_tasks.matmul_naive, 2048, 256, 40),
    "matmul-tiled": (shared_tasks.matmul_tiled, 2048, 256, 40),
    "n-body": (shared_tasks.n_body, 32768, 2048, 200),
    "black-scholes": (tasks.black_scholes, 1 << 24, 1 << 18, 1000),
    "mandelbrot": (tasks.mandelbrot, 4096, 256, 40),
    "histogram": (shared_tasks.histogram, 1 << 25, 1 << 20, 3000),
    "block-reduction": (shared_tasks.sum_blocks, 1 << 25, 1 << 22, 3000),
    "warp-reduction": (shared_tasks.sum_warps, 1 << 25, 1 << 22, 3000),
    "bitonic-blocks": (shared_tasks.bitonic_blocks, 1 << 24, 1 << 17, 1024),
    "float64-chain": (tasks.chain, 1 << 22, 1 << 14, 100),
    "xoroshiro-pi": (tasks.pi, 1 << 18, 1 << 12, 64),
}
"""The kernels by the names that the command line takes."""


def task(name: str, device: DeviceRecord, *, small: bool = False) -> Task:
    """A kernel's task in the size for a device."""
    make, on_gpu, on_cpu, least = TASKS[name]
    return make(least if small else on_gpu if device.device_type is DeviceType.GPU else on_cpu)


class _Ours:
    """The kernel in the dialect."""

    def __init__(self, made: Task) -> None:
        self._made = made
        self._arrays = {name: cuda.to_device(array) for name, array in made.arrays.items()}
        arguments = tuple(self._arrays[a] if isinstance(a, str) else a for a in made.arguments)
        launch = made.kernel[made.grid, made.block]
        self.call = Call(enqueue=lambda: launch(*arguments), wait=cuda.synchronize)

    def error(self) -> float:
        """How far one launch on fresh arrays is off."""
        self.call.product()
        return self._made.error({name: array.copy_to_host() for name, array in self._arrays.items()})


class _Peer:
    """The same in CUDA C, through CuPy."""

    def __init__(self, cupy: Any, made: Task) -> None:
        self._cupy, self._made = cupy, made
        name = made.kernel.__name__
        kernel = cupy.RawKernel(cuda_texts.program(name), name)
        self._arrays = {n: cupy.asarray(_plain(array)) for n, array in made.arrays.items()}
        given = tuple(self._arrays[a] if isinstance(a, str) else a for a in made.arguments)
        arguments = (*given, *map(np.int32, made.sizes))
        self.call = Call(
            enqueue=lambda: kernel(made.grid, made.block, arguments), wait=cupy.cuda.get_current_stream().synchronize
        )

    def error(self) -> float:
        """How far one launch on fresh arrays is off."""
        self.call.product()
        return self._made.error({name: self._cupy.asnumpy(array) for name, array in self._arrays.items()})


def _plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array without records, which CuPy does not take."""
    return array.view(np.uint64) if array.dtype.names else array


def rows(
    device: DeviceRecord,
    names: Iterable[str],
    *,
    small: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Row]:
    """Measure kernels on a device, one after the other; what cannot be measured says why."""
    cupy = cupy_for(device)
    peer = "no CuPy with this device" if cupy is None else f"CuPy {cupy.__version__} RawKernel"
    for name in names:
        progress(f"{name} on {device.name}")
        with Context.for_device(device):
            yield _row(device, task(name, device, small=small), cupy, peer)


def _row(device: DeviceRecord, made: Task, cupy: Any, peer: str) -> Row:
    driver = f"{device.platform} {device.driver_version}"
    row = Row(device=device.name, driver=driver, kernel=made.name, size=made.size, peer=peer)
    try:
        ours = _Ours(made)
        error = ours.error()
    except PortaGPUError as reason:
        return replace(row, problem=str(reason).splitlines()[0])
    theirs = None if cupy is None else _Peer(cupy, made)
    peer_error = None if theirs is None else theirs.error()
    row = replace(row, error=_finite(error), peer_error=_finite(peer_error))
    wrong = [who for who, e in (("PortaGPU", error), ("CuPy", peer_error)) if e is not None and not e <= 1]
    if wrong:
        return replace(row, problem=f"wrong result of {' and '.join(wrong)}")
    players: list[Player] = [BackToBack(ours.call), *([] if theirs is None else [BackToBack(theirs.call)])]
    own, *others = play(players, BACK_TO_BACK_ROUNDS)
    row = replace(row, seconds=statistics.median(own), samples=tuple(own))
    return row if not others else replace(row, peer_seconds=statistics.median(others[0]), peer_samples=tuple(others[0]))


def _finite(error: float | None) -> float | None:
    """JSON has no infinity: an error that is none of a number is left out."""
    return error if error is not None and math.isfinite(error) else None


__all__ = ["TASKS", "rows", "task"]
