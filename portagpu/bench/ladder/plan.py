"""What a step gets and what it makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from portagpu.device.capabilities import Capabilities
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """Row-major device arrays of one dtype: a (m, k), b (k, n), and c (m, n) for the result."""

    a: DeviceNDArray
    b: DeviceNDArray
    c: DeviceNDArray

    @property
    def context(self) -> Context:
        """The device's context."""
        return self.c.context

    @property
    def capabilities(self) -> Capabilities:
        """What the device can do."""
        return self.c.context.capabilities

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self.c.itemsize)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A step that is ready: ``enqueue`` starts one product into ``Operands.c`` and does not wait.

    ``tile`` and ``thread_tile``: rows and columns of C of a block, and of a thread (None: no such tile).
    ``note``: what else the step chose.
    """

    enqueue: Callable[[], None]
    tile: tuple[int, int] | None
    thread_tile: tuple[int, int] | None
    note: str = ""


def flops_per_byte(tile: tuple[int, int] | None, itemsize: int) -> float | None:
    """Operations for each byte that a tile of C loads: 2 m n for (m + n) elements at each step along k."""
    if tile is None:
        return None
    rows, columns = tile
    return 2 * rows * columns / ((rows + columns) * itemsize)


__all__ = ["Operands", "Prepared", "flops_per_byte"]
