"""Textbook kernels beside the same text in CUDA C, OpenCL C and other languages (`portagpu.bench.textbook.rivals`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from portagpu import cuda
from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.case import Case, Contender, Entry, Options, Peers
from portagpu.bench.textbook import shared_tasks, tasks
from portagpu.bench.textbook.rivals import of_numpy, of_opencl, of_other_languages, of_the_maker
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
        n = least if options.small else on_gpu if options.are_large(device) else on_cpu
        yield Entry(
            path=f"{name}/{kernel}/{n}",
            make=partial(_cases, kernel, make, n, options),
            command=(name, "--kernel", kernel),
        )


def _cases(kernel: str, make: Callable[[int], Task], n: int, options: Options, context: Context) -> Iterator[Case]:
    made = make(n)
    workload = Workload(
        suite=name,
        name=kernel,
        arithmetic="",
        size=str(n),
        unit=Unit.MICROSECONDS,
        flops=made.flops,
        nbytes=made.nbytes,
    )
    for memory, rivals in _rivals(made, options.peers, context).items():
        contenders = (_ours(made, memory, context), *rivals)
        yield Case(workload=workload, memory=memory, contenders=contenders, check=made.error)


def _rivals(made: Task, peers: Peers, context: Context) -> dict[Memory, list[Contender]]:
    """Who is measured beside the kernel, by the memory of the arrays."""
    if peers is Peers.NONE:
        return {Memory.DEVICE: []}
    device = context.device
    found = list(of_the_maker(made, device))
    if peers is Peers.VENDOR:
        return {Memory.DEVICE: found or list(of_opencl(made, context))}
    on_device = [*found, *of_other_languages(made, device), *of_opencl(made, context)]
    on_host = list(of_numpy(made)) if device.device_type is DeviceType.CPU else []
    return {Memory.DEVICE: on_device, **({Memory.HOST: on_host} if on_host else {})}


def _ours(made: Task, memory: Memory, context: Context) -> Contender:
    """The kernel in the dialect, on arrays of the device or of NumPy."""

    def prepare() -> Call:
        if memory is Memory.HOST:
            return _on_host(made)
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


def _on_host(made: Task) -> Call:
    """A launch on NumPy's arrays, which is waited for."""
    arrays = {label: array.copy() for label, array in made.arrays.items()}
    arguments = tuple(arrays[a] if isinstance(a, str) else a for a in made.arguments)
    launch = made.kernel[made.grid, made.block]
    return Call(enqueue=lambda: launch(*arguments), fetch=lambda: arrays)


__all__ = ["TASKS", "entries", "name", "summary"]
