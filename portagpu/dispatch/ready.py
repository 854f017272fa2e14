"""Launches that are ready: compiled, checked and repeated for arguments of the same types, by the package itself.

Beside a launch of `kernel[grid, block](*args)` they leave out what users are told of it, and what only arguments need
that are no device arrays and numbers. Whoever makes one sees to it that what the kernel writes overlaps with no other
argument.
"""

from __future__ import annotations

from typing import Any

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream, enqueuing
from portagpu.runtime.programs.launch import Extent, LaunchShape, check_shape


class ReadyLaunch:
    """A kernel of a context with a grid and a block."""

    __slots__ = ("_compiled", "_extract", "_shape")

    def __init__(
        self, kernel: Dispatcher[..., Any], grid: Extent, block: Extent, args: tuple[Any, ...], context: Context
    ) -> None:
        """Compile for arguments like these. Raises what a launch raises."""
        shape = LaunchShape(grid, block, 0)
        overload = kernel.overload(args, shape, context)
        self._shape = shape.fused(overload.kernel_source.fused)
        compiled = overload.compiled
        check_shape(self._shape, context.capabilities, context.device.name)
        compiled.check_block(self._shape)
        self._compiled = compiled.reference  # the dispatcher forgets it with its context
        self._extract = compiled.extract

    def again(self, stream: Stream, args: tuple[Any, ...]) -> bool:
        """Launch; False where the kernel is gone."""
        compiled = self._compiled()
        if compiled is None:
            return False
        with enqueuing(stream) as queue:
            compiled.launch(queue, self._shape, self._extract(args, 0))
        return True
