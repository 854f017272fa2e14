"""Launches that are ready: compiled, checked and repeated for arguments of the same types, by the package itself.

Beside a launch of `kernel[grid, block](*args)` they leave out what users are told of it, and what only arguments need
that are no device arrays and numbers. Whoever makes one sees to it that what the kernel writes overlaps with no other
argument; `launch` looks itself.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.dispatch.arguments.conversion import check_context
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.programs.launch_shape import Extent, LaunchShape, check_shape

_MOST = 4096  # launches that a context remembers
_LEAST_INT, _MOST_INT = -(2**63), 2**63


class _Noting(threading.local):
    launches: list[Any] | None = None


noting = _Noting()
"""Where a thread's launches are noted, with their arguments, while somebody wants to know them."""


class ReadyLaunch:
    """A kernel of a context with a grid and a block."""

    __slots__ = ("_compiled", "_extract", "_shape", "is_plain")

    def __init__(
        self, kernel: Dispatcher[..., Any], grid: Extent, block: Extent, args: tuple[Any, ...], context: Context
    ) -> None:
        """Compile for arguments like these. Raises what a launch raises."""
        for value in args:
            if isinstance(value, DeviceNDArray):
                check_context(value, context, "an operand")
        shape = LaunchShape(grid, block, 0)
        overload = kernel.overload(args, shape, context)
        source = overload.kernel_source
        self.is_plain = not (source.faults or source.prints)
        """Whether nothing has to be done before and after the launch."""
        self._shape = shape.fused(source.fused)
        compiled = overload.compiled
        check_shape(self._shape, context.capabilities, context.device.name)
        compiled.check_block(self._shape)
        self._compiled = compiled.reference  # the dispatcher forgets it with its context
        self._extract = compiled.extract

    def again(self, stream: Stream, args: tuple[Any, ...], settles: bool = True) -> bool:
        """Launch; False where the kernel is gone. ``settles``: see `enqueuing`."""
        compiled = self._compiled()
        if compiled is None:
            return False
        if noting.launches is not None:
            noting.launches.append((self, args))
        queue = stream.begin(settles)
        try:
            compiled.launch(queue, self._shape, self._extract(args, 0))
        except BaseException as error:
            stream.end(queue, error)
            raise
        stream.end(queue)
        return True


def remember(context: Context, key: tuple[Any, ...], ready: Any) -> None:
    """Keep what is ready for the next launch that the key tells."""
    launches = context.expression_launches
    if len(launches) >= _MOST:
        launches.clear()
    launches[key] = ready


def launch(
    kernel: Dispatcher[..., Any], grid: int | Extent, block: int, args: tuple[Any, ...], stream: Stream | int | None = 0
) -> None:
    """What ``kernel[grid, block, stream](*args)`` launches, for kernels of the package.

    Arguments that are neither arrays nor numbers are compile-time arguments: equal ones lead to the same code.
    """
    parts = _key(kernel, grid, block, args)
    context: Context | None = None if parts is None else parts[0]
    where: Stream | None = None
    if context is not None:
        if type(stream) is Stream:
            where = stream if stream.context is context else None
        elif stream is None or stream == 0:
            where = current_stream(context)
    if parts is None or context is None or where is None:
        kernel[grid, block, stream](*args)
        return
    key = tuple(parts)
    ready: ReadyLaunch | None = context.expression_launches.get(key)
    if ready is not None and ready.again(where, args):
        return
    extent = (grid, 1, 1) if isinstance(grid, int) else grid
    ready = ReadyLaunch(kernel, extent, (block, 1, 1), args, context)
    if ready.is_plain and ready.again(where, args):
        remember(context, key, ready)
    else:
        kernel[grid, block, stream](*args)


def _key(kernel: Dispatcher[..., Any], grid: Any, block: int, args: tuple[Any, ...]) -> list[Any] | None:
    """What tells the launch from others, the context first; None for one that must be looked at each time."""
    constants = _constants(kernel)
    parts: list[Any] = [None, kernel, grid, block]
    memories: list[int] = []
    for n, value in enumerate(args):
        if n in constants:
            if type(value) is float or type(value) is complex:  # 0.0 and -0.0 are equal
                return None
            parts += (type(value), value)
        elif not _add(value, parts, memories):
            return None
    parts.append(len(set(memories)) == len(memories))
    return parts


def _add(value: Any, parts: list[Any], memories: list[int]) -> bool:
    """Add to a key what kernels are compiled for, of an array, a number or a tuple; False for anything else."""
    kind = type(value)
    if kind is DeviceNDArray:
        if value.deferred is not None:
            value.deferred.evaluate()
        token = value.layout_token
        if parts[0] is None:
            parts[0] = value.context
        if token is None or value.stream or value.context is not parts[0]:
            return False
        parts.append(token)
        memories.append(value.allocation_key)
        return True
    parts.append(kind)
    if kind is int:
        return bool(_LEAST_INT <= value < _MOST_INT)
    if kind is float or kind is bool or issubclass(kind, np.generic):
        return True
    if not issubclass(kind, tuple):
        return False
    parts.append(len(value))
    return all(_add(item, parts, memories) for item in value)


@lru_cache(4096)
def _constants(kernel: Dispatcher[..., Any]) -> frozenset[int]:
    """Places of compile-time arguments; of device functions, too, for which kernels are compiled."""
    source = kernel.source
    return frozenset(n for n, name in enumerate(source.parameters) if name in source.constexpr)
