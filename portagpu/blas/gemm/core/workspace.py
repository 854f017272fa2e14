"""Workspaces: scratch memory of products, kept for the next one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

import numpy as np

from portagpu.blas.gemm.core.array_cache import ArrayCache
from portagpu.blas.gemm.core.fill import clear
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.context import Context, context_of
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream

R = TypeVar("R")
_REMEMBERED = 32  # arrays of a context
_SHARE = 32  # of the device's memory, for all of them: a larger array is not kept
_COUNTERS = 1024


class Workspaces:
    """Arrays by thread, stream and shape. A stream runs one product after the other, so these can share them; one that
    begins in the middle of another has its own.

    A context's take a 32nd of its memory at most. A recording of launches holds the arrays that it uses, so that one
    which goes from here lives as long as the recording, and the next product that is not recorded gets another; a
    recording counts what it holds itself.
    """

    def __init__(self) -> None:
        self._kept = ArrayCache(_REMEMBERED, _SHARE)

    def zeros(self, stream: Stream, role: str, count: int) -> DeviceNDArray:
        """Numbers of 32 bits that are zero, and are again when the product that uses them is done."""
        count = max(_COUNTERS, 1 << (count - 1).bit_length())
        return self.of(stream, role, (count,), np.dtype(np.int32), first=clear)

    def of(
        self,
        stream: Stream,
        role: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        first: Callable[[DeviceNDArray, Stream], None] | None = None,
    ) -> DeviceNDArray:
        """An uninitialised array for one product on a stream, another one for each role. Raises `OutOfMemoryError`.

        ``first`` is called with an array that is new.
        """
        context = context_of(stream)
        key = (stream.token, threading.get_ident(), active.depth, role, shape, dtype)
        found = self._kept.get(context, key)
        if found is not None:
            return found
        made = device_array(shape, dtype, context=context)
        if first is not None:
            recorder = active.recorder
            with nullcontext() if recorder is None else recorder.aside():
                first(made, stream)
        self._kept.keep(context, key, made)
        return made

    def kept_bytes(self, context: Context) -> int:
        """Bytes that are kept in a context."""
        return self._kept.kept_bytes(context)

    def forget(self, context: Context) -> None:
        """Drop those of a context."""
        self._kept.forget(context)


workspaces = Workspaces()


def with_own_scratch(call: Callable[..., R], *arguments: Any, **keywords: Any) -> R:
    """Make a call; one that begins meanwhile, in a finaliser or signal handler, has scratch memory of its own."""
    depth = active.depth
    active.depth = depth + 1
    try:
        return call(*arguments, **keywords)
    finally:
        active.depth = depth
