"""Builds and runs probe kernels on one device, in the process that may die of them."""

from __future__ import annotations

import warnings
from contextlib import suppress
from importlib.resources import files
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from portagpu.backends.opencl.declarations import NO_HEADER, with_own_declarations
from portagpu.backends.opencl.quirks import Hints

Argument = NDArray[Any] | np.generic | cl.LocalMemory
# What PyOpenCL makes of a driver's answers: error codes, strings that are no UTF-8, queries that the driver refuses.
DRIVER_ERRORS = (cl.Error, RuntimeError, ValueError, TypeError, AttributeError, OSError, MemoryError)


class ContextLostError(Exception):
    """The context no longer runs even the simplest kernel: the process must be replaced."""


def kernel_source(name: str) -> str:
    """Text of a probe kernel that is shipped with the package."""
    return (
        files("portagpu.backends.opencl.probing").joinpath("kernels").joinpath(f"{name}.cl").read_text(encoding="utf-8")
    )


def first_telling_line(error: BaseException) -> str:
    """The line of a driver's error that says most, at most 200 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "error:" in line.lower()]
    return (telling or lines or [type(error).__name__])[0][:200]


class Workbench:
    """A context and a queue of one device. Errors of the driver come out as they are (`cl.Error`, `RuntimeError`)."""

    def __init__(self, device: cl.Device, hints: Hints) -> None:
        self.device = device
        self.hints = hints
        self.extensions = frozenset(device.extensions.split())
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)

    def build(self, name: str, *options: str) -> cl.Kernel:
        """The kernel of that name from the file of that name."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # compilers' remarks on probes are of no interest
            return cl.Kernel(self._program(kernel_source(name), ("-w", *options)), name)

    def _program(self, source: str, options: tuple[str, ...]) -> Any:
        """The program, compiled without the driver's header where that saves time, and as it is where that fails."""
        if self.hints.declares_all and not any(option.startswith("-cl-std") for option in options):
            with suppress(*DRIVER_ERRORS):
                spared: Any = cl.Program(self.context, with_own_declarations(source))
                return spared.build([*options, NO_HEADER], cache_dir=False)
        program: Any = cl.Program(self.context, source)
        return program.build(list(options), cache_dir=False)  # no cache: the compiler itself is on trial

    def run(self, kernel: cl.Kernel, items: int, group: int | None, *arguments: Argument) -> None:
        """Run a kernel to its end. Arrays are copied in before and back after; scalars are passed by value."""
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        copies: list[tuple[NDArray[Any], cl.Buffer]] = []
        for index, argument in enumerate(arguments):
            value: Any = argument
            if isinstance(argument, np.ndarray):
                value = cl.Buffer(self.context, flags, hostbuf=argument)
                copies.append((argument, value))
            kernel.set_arg(index, value)
        cl.enqueue_nd_range_kernel(self.queue, kernel, (items,), None if group is None else (group,))
        for array, buffer in copies:
            cl.enqueue_copy(self.queue, array, buffer)
        self.queue.finish()

    def basic_problem(self, *options: str) -> str | None:
        """None if the basic kernel builds, runs and is right, else what went wrong."""
        items, group = 64, min(16, int(self.device.max_work_group_size))
        try:
            kernel = self.build("basic", *options)
        except DRIVER_ERRORS as error:
            return f"it cannot build a kernel: {first_telling_line(error)}"
        source = np.arange(items, dtype=np.int32) * 7 - 11
        target = np.zeros_like(source)
        try:
            self.run(kernel, items, group, source, target, cl.LocalMemory(4 * group))
        except DRIVER_ERRORS as error:
            return f"it cannot run a kernel: {first_telling_line(error)}"
        expected = 3 * source.reshape(-1, group)[:, ::-1].ravel() + np.arange(items, dtype=np.int32)
        return None if np.array_equal(target, expected) else "a kernel's result is wrong"

    def check_alive(self) -> None:
        """Raise `ContextLostError` where a kernel before this call has killed the context."""
        problem = self.basic_problem()
        if problem is not None:
            raise ContextLostError(problem)
