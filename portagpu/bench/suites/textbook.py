"""Textbook kernels beside CuPy's `RawKernel` with the same text in CUDA C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.case import Case, Contender, Entry, Options
from portagpu.bench.textbook import cuda_texts, shared_tasks, tasks
from portagpu.bench.textbook.tasks import Task
from portagpu.device import DeviceRecord, DeviceType
from portagpu.runtime.execution.context import Context

name = "textbook"
summary = "the kernels of GPU textbooks"

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


def entries(device: DeviceRecord, options: Options, names: Iterable[str] = ()) -> Iterator[Entry]:
    """The kernels on a device, ``names`` of them if any are named."""
    for kernel in names or TASKS:
        make, on_gpu, on_cpu, least = TASKS[kernel]
        n = least if options.small else on_gpu if device.device_type is DeviceType.GPU else on_cpu
        yield Entry(path=f"{name}/{kernel}/{n}", make=partial(_cases, kernel, make, n))


def _cases(kernel: str, make: Callable[[int], Task], n: int, context: Context) -> Iterator[Case]:
    made = make(n)
    cupy = cupy_for(context.device)
    contenders = [_ours(made, context)]
    if cupy is not None:
        contenders.append(
            Contender(
                implementation=f"CuPy {cupy.__version__} RawKernel, the same text in CUDA C",
                role=Role.VENDOR,
                prepare=lambda: _raw_kernel(cupy, made),
            )
        )
    workload = Workload(suite=name, name=kernel, arithmetic="", size=str(n), unit=Unit.MICROSECONDS)
    yield Case(workload=workload, memory=Memory.DEVICE, contenders=tuple(contenders), check=made.error)


def _ours(made: Task, context: Context) -> Contender:
    """The kernel in the dialect."""

    def prepare() -> Call:
        arrays = {label: cuda.to_device(array) for label, array in made.arrays.items()}
        arguments = tuple(arrays[a] if isinstance(a, str) else a for a in made.arguments)
        launch = made.kernel[made.grid, made.block]
        return Call(
            enqueue=lambda: launch(*arguments),
            wait=context.synchronize,
            fetch=lambda: {label: array.copy_to_host() for label, array in arrays.items()},
            clock=clock_of(context),
        )

    return Contender(implementation="PortaGPU", role=Role.OURS, prepare=prepare)


def _raw_kernel(cupy: Any, made: Task) -> Call:
    """The same in CUDA C, through CuPy."""
    kernel_name = made.kernel.__name__
    kernel = cupy.RawKernel(cuda_texts.program(kernel_name), kernel_name)
    arrays = {label: cupy.asarray(_plain(array)) for label, array in made.arrays.items()}
    given = tuple(arrays[a] if isinstance(a, str) else a for a in made.arguments)
    arguments = (*given, *map(np.int32, made.sizes))
    return Call(
        enqueue=lambda: kernel(made.grid, made.block, arguments),
        wait=cupy.cuda.get_current_stream().synchronize,
        fetch=lambda: {label: cupy.asnumpy(array) for label, array in arrays.items()},
    )


def _plain(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array without records, which CuPy does not take."""
    return array.view(np.uint64) if array.dtype.names else array


__all__ = ["TASKS", "entries", "name", "summary"]
