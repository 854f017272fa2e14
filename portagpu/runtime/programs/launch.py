"""Launch of a generated kernel: build, check of its own limits, binding of arguments, enqueueing."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from portagpu.backends.handles import KernelObject
from portagpu.backends.source import KernelSource
from portagpu.errors import BuildError, LaunchConfigError
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.errors import translate_errors
from portagpu.runtime.execution.recorder import Launch, active
from portagpu.runtime.execution.weak_registry import of_threads
from portagpu.runtime.programs.build import build
from portagpu.runtime.programs.build_errors import locate
from portagpu.runtime.programs.c_arguments import argument_extractor, scalar_dtype
from portagpu.runtime.programs.hang_watch import watch
from portagpu.runtime.programs.launch_shape import LaunchShape, shown

Tokens = tuple[Any, ...]

_keys = itertools.count()
_BLOCKS_OF_A_UNIT = 16  # every GPU with inline PTX keeps at least as many small blocks on a compute unit
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
        self.extract = argument_extractor(kernel_source, context)
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
                f"the kernel was made for blocks of {shown(fixed)}, not {shown(shape.block)}",
                hint=f"launch it with block {fixed}, or change block_dim= in its @cuda.jit",
            )
        emulated = self.kernel_source.max_threads
        if emulated is not None and shape.threads > emulated:
            raise LaunchConfigError(
                f"a block of {shown(shape.block)} has {shape.threads} threads; with warp operations it has at most"
                f" {emulated} on {self.context.device.name}, as on CUDA devices",
                hint="make the block smaller and the grid larger",
            )
        self._check_cooperative(shape)
        self._check_cluster(shape)
        # of a kernel that was made for its block, one driver still tells what it allows to others
        if shape.threads > self.max_threads and fixed != shape.block:
            raise LaunchConfigError(
                f"a block of {shown(shape.block)} has {shape.threads} threads; this kernel runs with at most"
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
                f"the grid {shown(shape.grid)} is no multiple of the kernel's cluster of {shown(cluster)} blocks",
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
