"""Grid and block of a launch: what programs give for them, and what can be counted and what devices run of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portagpu.backends.launches import LaunchSizes
from portagpu.device.capabilities import Capabilities
from portagpu.errors import LaunchConfigError, LaunchConfigTypeError
from portagpu.ir.program import GridShape

Extent = tuple[int, int, int]

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
                f"grid {shown(shape.grid)} with blocks of {shown(shape.block)} has {total} threads along"
                f" {'xyz'[axis]}; at most {_MAX_AXIS} can be counted",
                hint="make the grid smaller and let each thread do more (a grid-stride loop)",
            )
    x, y, z = shape.totals
    if x * y * z > _MAX_TOTAL:
        raise LaunchConfigError(
            f"grid {shown(shape.grid)} with blocks of {shown(shape.block)} has {x * y * z} threads;"
            f" at most {_MAX_TOTAL} can be counted",
            hint="make the grid smaller and let each thread do more (a grid-stride loop)",
        )


def check_shape(shape: LaunchShape, caps: Capabilities, device: str) -> None:
    """Raise `LaunchConfigError` for a block or a grid that the device cannot run."""
    blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
    if blocks > caps.max_blocks:
        raise LaunchConfigError(
            f"a grid of {shown(shape.grid)} has {blocks} blocks; {device} runs at most {caps.max_blocks}",
            hint=_SMALLER,
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
            f"a block of {shown(block)} has {threads} threads; {device} runs at most {caps.largest_block}",
            hint="make the block smaller and the grid larger",
        )
    for axis, (wanted, limit) in enumerate(zip(block, caps.max_work_item_sizes, strict=True)):
        if wanted > limit:
            raise LaunchConfigError(
                f"the block's {'xyz'[axis]} extent is {wanted}; {device} allows {limit}", hint="make the block smaller"
            )


def shown(values: Extent) -> str:
    """The three extents as texts of errors show them."""
    return "x".join(map(str, values))
