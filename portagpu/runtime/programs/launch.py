"""Launch of a generated kernel: configuration checks, build, binding of arguments, enqueueing."""

from __future__ import annotations

import itertools
import math
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from portagpu.backends.handles import KernelObject
from portagpu.backends.launches import LaunchSizes
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities
from portagpu.dtypes import BOOL
from portagpu.errors import BuildError, LaunchConfigError, LaunchConfigTypeError
from portagpu.ir.program import GridShape, Parameter, ParameterRole
from portagpu.ir.types import DYNAMIC_SHARED, Pointer, Scalar, element_size
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.errors import translate_errors
from portagpu.runtime.execution.recorder import Launch, active
from portagpu.runtime.execution.weak_registry import of_threads
from portagpu.runtime.programs.build import build
from portagpu.runtime.programs.hang_watch import watch

if TYPE_CHECKING:
    from portagpu.backends.backend import Backend

Extent = tuple[int, int, int]
Tokens = tuple[Any, ...]

_keys = itertools.count()
_MAX_AXIS = 2**63 - 1  # thread indices are signed
_MAX_TOTAL = 2**64 - 1


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """Grid (in blocks), block (in threads) and dynamic shared memory (in bytes) of a launch, ready for the driver.

    The grid that code is compiled for, where that depends on it, is a `portagpu.ir.program.GridShape`.
    """

    grid: Extent
    block: Extent
    shared: int
    sizes: LaunchSizes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Threads of the launch and of a block for the driver: computed once, used by each launch."""
        ndim = self.ndim
        object.__setattr__(self, "sizes", LaunchSizes(self.totals[:ndim], self.block[:ndim]))

    def fused(self, grid: GridShape | None) -> LaunchShape:
        """What the driver launches: the same, or the one work-group that the whole grid became."""
        if grid is None:
            return self
        return LaunchShape((1, 1, 1), (grid.blocks * grid.threads, 1, 1), self.shared)

    @property
    def ndim(self) -> int:
        """Dimensions that the driver must know about."""
        return 3 if self.grid[2] * self.block[2] > 1 else 2 if self.grid[1] * self.block[1] > 1 else 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def totals(self) -> Extent:
        """Threads along each axis."""
        (gx, gy, gz), (bx, by, bz) = self.grid, self.block
        return gx * bx, gy * by, gz * bz

    @property
    def is_large(self) -> bool:
        """Whether a global thread index could exceed what 32-bit subscripts hold."""
        return any(total >= 2**30 for total in self.totals)


_BLOCKS_OF_A_UNIT = 16  # every GPU with inline PTX keeps at least as many small blocks on a compute unit


_INTS = "give an int or a tuple of 1 to 3 ints, each at least 1"


def extent(value: Any, what: str, hint: str | None = None) -> Extent:
    """``value`` as three positive integers. Raises `LaunchConfigError` with the hint, or with one for launches."""
    items: Sequence[Any] = value if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(items) <= 3:
        raise LaunchConfigError(
            f"{what} must be a sequence of 1, 2 or 3 integers, got {list(items)}",
            hint=hint or _INTS,
        )
    numbers = []
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | np.integer):
            advice = (
                "use integer division: (n + block - 1) // block" if isinstance(item, float | np.floating) else _INTS
            )
            raise LaunchConfigTypeError(
                f"{what} must be a sequence of integers, got {list(items)}", hint=hint or advice
            )
        if item <= 0:
            raise LaunchConfigError(
                f"{what} is {value!r}: every extent must be at least 1",
                hint=hint or ("skip the launch when there is nothing to do" if item == 0 else _INTS),
            )
        numbers.append(int(item))
    x, y, z = (*numbers, 1, 1)[:3]
    return x, y, z


_SMALLER = "make the blocks larger and the grid smaller, or let each thread do more (a grid-stride loop)"


def check_grid(shape: LaunchShape) -> None:
    """Raise `LaunchConfigError` for more threads than can be counted."""
    for axis, total in enumerate(shape.totals):
        if total > _MAX_AXIS:
            raise LaunchConfigError(
                f"grid {_show(shape.grid)} with blocks of {_show(shape.block)} has {total} threads along"
                f" {'xyz'[axis]}; at most {_MAX_AXIS} can be counted",
                hint="make the grid smaller and let each thread do more (a grid-stride loop)",
            )
    x, y, z = shape.totals
    if x * y * z > _MAX_TOTAL:
        raise LaunchConfigError(
            f"grid {_show(shape.grid)} with blocks of {_show(shape.block)} has {x * y * z} threads;"
            f" at most {_MAX_TOTAL} can be counted",
            hint="make the grid smaller and let each thread do more (a grid-stride loop)",
        )


def check_shape(shape: LaunchShape, caps: Capabilities, device: str) -> None:
    """Raise `LaunchConfigError` for a block or a grid that the device cannot run."""
    blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
    if blocks > caps.max_blocks:
        raise LaunchConfigError(
            f"a grid of {_show(shape.grid)} has {blocks} blocks; {device} runs at most {caps.max_blocks}", hint=_SMALLER
        )
    for axis, extent_of_grid in enumerate(shape.grid):
        most = min(caps.max_blocks_of_axis, caps.max_blocks_of_later_axes) if axis else caps.max_blocks_of_axis
        if extent_of_grid > most:
            raise LaunchConfigError(
                f"the grid's {'xyz'[axis]} extent is {extent_of_grid} blocks; {device} numbers at most {most}",
                hint=_SMALLER,
            )
    check_block(shape.block, caps, device)


def check_block(block: Extent, caps: Capabilities, device: str) -> None:
    """Raise `LaunchConfigError` for a block that the device cannot run, whatever the kernel is."""
    threads = math.prod(block)
    if threads > caps.largest_block:
        raise LaunchConfigError(
            f"a block of {_show(block)} has {threads} threads; {device} runs at most {caps.largest_block}",
            hint="make the block smaller and the grid larger",
        )
    for axis, (wanted, limit) in enumerate(zip(block, caps.max_work_item_sizes, strict=True)):
        if wanted > limit:
            raise LaunchConfigError(
                f"the block's {'xyz'[axis]} extent is {wanted}; {device} allows {limit}", hint="make the block smaller"
            )


def _show(values: Extent) -> str:
    return "x".join(map(str, values))


_BOUND = 4  # kernel objects of a thread that keep their arguments: programs launch in turns, with buffers in turns


class _KernelObjects:
    """A thread's kernel objects: those whose arguments are known by tokens, and others."""

    __slots__ = ("__weakref__", "bound", "epoch", "free")

    def __init__(self) -> None:
        self.bound: dict[tuple[Any, ...], KernelObject] = {}
        self.free: list[KernelObject] = []
        self.epoch: object = None
        of_threads.add(self)


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.objects = _KernelObjects()


class CompiledKernel:
    """A kernel built for one context; launches from any thread."""

    def __init__(self, context: Context, kernel_source: KernelSource, options: tuple[str, ...]) -> None:
        self.key = next(_keys)
        self.reference = weakref.ref(self)
        self.kernel_source = kernel_source
        self.context = context
        try:
            self._program = build(context, kernel_source.source, options)
        except BuildError as error:
            raise locate(error, kernel_source, context.backend) from error
        self.extract = _extractor(kernel_source, context)
        driver = context.driver
        # what waits for other threads is watched
        self.enqueue = driver.enqueue if kernel_source.waits is None else driver.enqueue_with_event
        self._new_object = driver.kernel
        self._types = [scalar_dtype(p) for p in kernel_source.parameters]
        self._local = _OfThread()
        self._max_threads: int | None = None
        self.used = True  # since it was last looked for what may go

    def _kernel(self, tokens: tuple[Any, ...] | None = None) -> KernelObject:
        """A kernel object for new arguments, taken from this thread's (arguments belong to the object)."""
        local = self._local.objects
        if local.epoch is not self.context.epoch:
            local.free += local.bound.values()
            local.bound.clear()
            local.epoch = self.context.epoch
        if tokens in local.bound:
            return local.bound.pop(tokens)
        if local.free:
            return local.free.pop()
        if len(local.bound) >= _BOUND:
            return local.bound.pop(next(iter(local.bound)))
        return self.new_kernel()

    def new_kernel(self) -> KernelObject:
        """A kernel object of the caller's own."""
        made: KernelObject = self._new_object(self._program, self.kernel_source.name, self._types)
        return made

    @contextmanager
    def any_object(self) -> Iterator[KernelObject]:
        """A kernel object of this thread's, whatever its arguments, to ask the driver about."""
        kernel = self._kernel()
        self._local.objects.free.append(kernel)
        with translate_errors(self.context):
            yield kernel

    def driver_binary(self) -> bytes:
        """What the driver compiled; nothing where it does not tell."""
        with translate_errors(self.context):
            return self.context.driver.binary_of(self._program) or b""

    def is_too_narrow(self, shape: LaunchShape) -> bool:
        """Whether the driver refuses a block of that size for this kernel, but perhaps not if the kernel names it."""
        if self.kernel_source.block_dim is not None or shape.threads <= self.max_threads:
            return False
        return shape.threads <= self.context.capabilities.largest_block

    def check_block(self, shape: LaunchShape) -> None:
        """Raise `LaunchConfigError` where this kernel cannot run with that block."""
        fixed = self.kernel_source.block_dim
        if fixed is not None and fixed != shape.block and self.kernel_source.fused is None:
            raise LaunchConfigError(
                f"the kernel was made for blocks of {_show(fixed)}, not {_show(shape.block)}",
                hint=f"launch it with block {fixed}, or change block_dim= in its @cuda.jit",
            )
        emulated = self.kernel_source.max_threads
        if emulated is not None and shape.threads > emulated:
            raise LaunchConfigError(
                f"a block of {_show(shape.block)} has {shape.threads} threads; with warp operations it has at most"
                f" {emulated} on {self.context.device.name}, as on CUDA devices",
                hint="make the block smaller and the grid larger",
            )
        self._check_cooperative(shape)
        self._check_cluster(shape)
        # of a kernel that was made for its block, one driver still tells what it allows to others
        if shape.threads > self.max_threads and fixed != shape.block:
            raise LaunchConfigError(
                f"a block of {_show(shape.block)} has {shape.threads} threads; this kernel runs with at most"
                f" {self.max_threads} on {self.context.device.name} (it needs many registers)",
                hint="make the block smaller, or give @cuda.jit(block_dim=...) so that the compiler limits registers",
            )

    @property
    def max_threads(self) -> int:
        """Threads of a block that the driver allows for this kernel."""
        if self._max_threads is None:
            with self.any_object() as kernel:
                self._max_threads = self.context.driver.max_threads(kernel)
        return self._max_threads

    def cooperative_blocks(self, threads: int, shared: int) -> int:
        """Blocks of that size that certainly run at the same time, so that they may wait for each other."""
        caps = self.context.capabilities
        if not caps.cooperative_launch:  # blocks that run may be put off: they become one block
            fused = self.kernel_source.fused
            own = self.kernel_source.static_shared // (1 if fused is None else fused.blocks)
            most = caps.max_work_group_size // max(1, threads)
            return max(1, min(most, caps.local_memory_static // max(1, own + shared)))
        used = max(1, self.kernel_source.static_shared + shared)
        whole = -(-threads // caps.warp_size) * caps.warp_size  # registers are given out by the warp
        together = min(self.max_threads // max(1, whole), caps.local_memory_static // used, _BLOCKS_OF_A_UNIT)
        return caps.compute_units * max(1, together)

    def _check_cluster(self, shape: LaunchShape) -> None:
        cluster = self.kernel_source.cluster
        if cluster is not None and any(blocks % size for blocks, size in zip(shape.grid, cluster, strict=True)):
            raise LaunchConfigError(
                f"the grid {_show(shape.grid)} is no multiple of the kernel's cluster of {_show(cluster)} blocks",
                hint="round the grid up, and let blocks that have nothing to do come to the cluster's barriers, too",
            )

    def _check_cooperative(self, shape: LaunchShape) -> None:
        blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
        if not self.kernel_source.cooperative or blocks == 1:
            return
        limit = self.cooperative_blocks(shape.threads, shape.shared)
        if blocks > limit:
            raise LaunchConfigError(
                f"the kernel waits for its whole grid; this device runs {limit}"
                f" block{'s' if limit > 1 else ''} of {shape.threads} threads at the same time, not {blocks}",
                hint="launch fewer blocks and let each do more, or split the kernel where it calls sync()",
            )

    def launch(
        self, queue: Any, shape: LaunchShape, values: Tokens, tokens: Tokens | None = None, epoch: object = None
    ) -> None:
        """Enqueue; ``values`` are the C arguments in order.

        ``tokens`` stand for the values in the context's ``epoch`` from before these were read: `bound` gives the kernel
        object that has them. Nothing is enqueued where the context `only_builds`.
        """
        context = self.context
        if context.only_builds:
            return
        local = self._local.objects
        free = local.free
        # any object will do where no tokens are kept
        kernel = free.pop() if tokens is None and free else self._kernel(tokens)
        kernel.set_args(*values)
        if active.recorder is not None and active.recorder.is_own():
            active.recorder.steps.append(Launch(self, shape, values))
        if tokens is None and self.kernel_source.waits is None:
            self.used = True
            self.enqueue(queue, kernel, shape.sizes)
            free.append(kernel)
        else:
            self._enqueue(queue, kernel, shape, tokens, epoch)

    def bound(self, tokens: Tokens) -> KernelObject | None:
        """This thread's kernel object with the arguments that the tokens stand for, for one `launch_again`."""
        local = self._local.objects
        if active.recorder is not None:  # which wants the arguments
            return None
        return local.bound.pop(tokens, None) if local.epoch is self.context.epoch else None

    def launch_again(self, queue: Any, shape: LaunchShape, kernel: KernelObject, tokens: Tokens, epoch: object) -> None:
        """Enqueue a kernel object with the arguments that it has; see `launch`."""
        if not self.context.only_builds:
            self._enqueue(queue, kernel, shape, tokens, epoch)

    def _enqueue(
        self, queue: Any, kernel: KernelObject, shape: LaunchShape, tokens: Tokens | None, epoch: object
    ) -> None:
        self.used = True
        event = self.enqueue(queue, kernel, shape.sizes)
        if self.kernel_source.waits is not None and self.context.settings.warnings:
            watch(
                self.context.driver,
                event,
                self.kernel_source.python_name,
                self.kernel_source.waits,
                self.context.settings.hang_seconds,
            )
        # not before: signal handlers and finalisers that launch the same kernel would set their arguments in its place
        local = self._local.objects
        if tokens is None or epoch is not self.context.epoch or local.epoch is not epoch:  # arrays may have been closed
            local.free.append(kernel)
        else:
            local.bound[tokens] = kernel


def scalar_dtype(parameter: Parameter) -> Any:
    """The dtype of a number's C parameter; None for memory."""
    if isinstance(parameter.type, Pointer):
        return None
    assert isinstance(parameter.type, Scalar)
    return np.dtype(parameter.type.dtype.name if parameter.type.dtype is not BOOL else "uint8")


def _extractor(kernel_source: KernelSource, context: Context) -> Callable[..., tuple[Any, ...]]:
    """A function from kernel arguments to C arguments, as Python code: it runs at each launch."""
    body, names = c_arguments(kernel_source.parameters, context)
    if kernel_source.fused is not None:  # one part for each block
        blocks, unit = kernel_source.fused.blocks, element_size(DYNAMIC_SHARED.element)
        local = context.driver.local_memory
        names["local"] = lambda n: local(blocks * unit * max(1, -(-n // unit)))
    made: Callable[..., tuple[Any, ...]] = eval(
        compile(f"lambda args, shared, record=None, counts=(): ({body})", "<portagpu launch>", "eval"), names
    )
    return made


def c_arguments(
    parameters: tuple[Parameter, ...], context: Context, *, planned: bool = False
) -> tuple[str, dict[str, Any]]:
    """Python text of a tuple of the C arguments, and the names that it uses beside ``args`` and ``shared``.

    The text is made of integers and fixed attribute names only; device arrays' attributes are read without properties.
    Where a launch is ``planned``, the arguments are the variables ``a0``, ``a1`` ..., the items of a tuple ``a1_0``,
    ``a1_1`` ...
    """
    parts = []
    for p in parameters:
        path = "".join(f"[{int(i)}]" for i in p.path)
        value = "a" + "_".join(str(int(i)) for i in p.path) if planned and p.path else f"args{path}"
        unit = str(int(p.unit)) if p.unit else f"{value}.itemsize"
        match p.role:
            case ParameterRole.POINTER:
                parts.append(f"({value}.base is None and {value}._buffer or {value}.buffer)")
            case ParameterRole.SHAPE:
                parts.append(f"{value}._shape[{int(p.axis)}]")
            case ParameterRole.STRIDE:
                parts.append(f"{value}._strides[{int(p.axis)}] // {unit}")
            case ParameterRole.OFFSET:
                parts.append(f"{value}.offset // {unit}")
            case ParameterRole.SCALAR:
                parts.append(value)
            case ParameterRole.DYNAMIC_SHARED:
                parts.append("local(shared)" if isinstance(p.type, Pointer) else "shared")
            case ParameterRole.FAULT:
                parts.append("record")
            case ParameterRole.GRID_CELLS:
                parts.append("cells()")
            case ParameterRole.COUNTS:
                parts.append(f"counts[{int(p.axis)}]")
            case ParameterRole.SHARED:
                raise AssertionError("kernels have no shared parameters")

    local, memory_of = context.driver.local_memory, context.driver.memory_of

    def cells() -> Any:  # new ones for each launch: launches on two streams may overlap
        return memory_of(np.zeros(1, np.uint32))

    return "".join(f"{part}, " for part in parts), {"local": lambda n: local(max(n, 16)), "cells": cells}


_LINE = re.compile(r"(?:^|[:\s(])(\d+):(\d+):? (?:fatal )?error: (.*)")


def _died(error: BuildError, kernel_source: KernelSource) -> BuildError:
    result = BuildError(
        f"{str(error).splitlines()[0]} (kernel {kernel_source.name})",
        span=next((span for span in kernel_source.lines if span is not None), None),
        hint="this is a fault of the driver: another device or version of it may compile the kernel (`portagpu devices`"
        ", PORTAGPU_DEVICE), or another form of its loops, such as a flag in place of a break out of several",
    )
    result.log, result.died, result.opencl_source = error.log, error.died, error.opencl_source
    return result


def locate(error: BuildError, kernel_source: KernelSource, backend: Backend) -> BuildError:
    """The compiler's complaint with the Python line that it is about."""
    if error.died:
        return _died(error, kernel_source)
    message, span = f"the {backend.title} compiler refused the kernel", None
    for line in error.log.splitlines():
        found = _LINE.search(line)
        if found:
            span = kernel_source.span_of(int(found.group(1)))
            message = f"{message}: {found.group(3).strip()}"
            break
    result = BuildError(
        message,
        span=span,
        hint=f"kernel.{backend.language.inspection}() shows the {backend.language.title}; if the Python code is right,"
        " please report this as a bug",
        notes=[line for line in error.log.splitlines() if line.strip()][:6],
    )
    result.log, result.opencl_source = error.log, error.opencl_source
    return result
