"""What drivers give out, as far as all of them agree: queues, events, memory, kernels; and arrays as drivers see them.

Handles are the interface's own objects wherever those have the few methods that the protocols here name: nothing is
wrapped, so that a launch costs what its call costs. Everything else about them is asked of the driver.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

HostBytes = np.ndarray[Any, Any]  # contiguous host memory: one axis, elements that Python's buffers can describe


class Queue(Protocol):
    """A queue whose commands run one after the other."""

    def flush(self) -> None:
        """Have the driver start what it was given; may wait for nothing."""

    def finish(self) -> None:
        """Wait until everything so far is done."""


class Completion(Protocol):
    """A command of a queue that can be waited for: a driver's event."""

    def wait(self) -> Any:
        """Wait until the command is done."""


class Memory(Protocol):
    """Memory of a device."""

    @property
    def size(self) -> int:
        """Bytes."""

    def release(self) -> None:
        """Give the memory back now."""


class KernelObject(Protocol):
    """A kernel with the arguments that it has: memory, numbers, and what `Driver.local_memory` gives."""

    def set_args(self, *values: Any) -> None:
        """Set all arguments."""

    def set_arg(self, index: int, value: Any, /) -> None:
        """Set one argument."""


class Strided(Protocol):
    """Elements in memory; ``offset`` and ``strides`` are bytes."""

    @property
    def buffer(self) -> Any:
        """The memory."""

    @property
    def offset(self) -> int:
        """Where the first element is."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""

    @property
    def strides(self) -> tuple[int, ...]:
        """From one element to the next, for each axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""


class Allocator(Protocol):
    """A driver's memory for arrays: what arrays leave may serve the next ones."""

    @property
    def held_blocks(self) -> int:
        """Blocks that are kept for later arrays."""

    @property
    def used_bytes(self) -> int:
        """Bytes of what is in use."""

    def allocate(self, nbytes: int) -> Any:
        """Memory that goes back to the pool. Raises the driver's error."""

    def allocate_apart(self, nbytes: int) -> Any:
        """Memory that goes back to the driver, which waits for all queues before it serves others."""

    def stop_holding(self) -> None:
        """From now on what comes back to the pool goes to the driver."""

    def keep_apart(self, on: bool) -> None:
        """Whether freed memory of `allocate_apart` stays allocated, where the driver may wait when it takes it back."""

    def free_held(self) -> None:
        """Give what is kept to the driver."""
