"""Translation of PyOpenCL's errors to ours."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import pyopencl as cl

from portagpu.errors import DeviceLostError, DriverError, OutOfMemoryError, PortaGPUError

if TYPE_CHECKING:
    from portagpu.runtime.execution.context import Context

_OUT_OF_MEMORY = frozenset({-4, -6, -61})  # MEM_OBJECT_ALLOCATION_FAILURE, OUT_OF_HOST_MEMORY, INVALID_BUFFER_SIZE
_OUT_OF_RESOURCES = -5
_FAULT = -9999
_PERHAPS_LOST = frozenset({-14, -36, -34})  # a failed wait, a bad queue, a bad context: all have harmless causes, too


class translate_cl_errors:
    """Context manager: an error of PyOpenCL inside becomes `OutOfMemoryError`, `DeviceLostError` or `DriverError`."""

    __slots__ = ("_context",)

    def __init__(self, context: Context | None) -> None:
        self._context = context

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, cl.Error):
            raise translated(error, self._context) from error


def translated(error: cl.Error, context: Context | None) -> PortaGPUError:
    """The typed error for an error of PyOpenCL."""
    code = getattr(error, "code", None)
    routine = getattr(error, "routine", "") or "the driver"
    name = context.device.name if context is not None else "the device"
    if code == _FAULT or (
        code in (*_PERHAPS_LOST, _OUT_OF_RESOURCES) and context is not None and not context.is_alive()
    ):
        if context is not None:
            context.lost = True
        return DeviceLostError(
            f"{name} is lost (code {code} in {routine}); a kernel probably wrote out of bounds or ran too long",
            hint="nothing more can run on it in this process: start a new one, and check indices against the shape",
        )
    if code in _OUT_OF_MEMORY or code == _OUT_OF_RESOURCES:
        free = f" of {context.capabilities.global_memory} bytes" if context is not None else ""
        return OutOfMemoryError(
            f"{name}{free} has no memory left ({error})",
            hint="free arrays (del, or array.close()), or work in smaller pieces; the process can go on",
        )
    if code in _PERHAPS_LOST:
        return DriverError(
            f"{routine} failed on {name}: {error}",
            hint="an array, stream or event of another context, or one that failed, was used",
        )
    return DriverError(f"{routine} failed on {name}: {error}")
