"""Translation of PyOpenCL's errors to ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.errors import DeviceLostError, DriverError, OutOfMemoryError, PortaGPUError

_OUT_OF_MEMORY = frozenset({-4, -6, -61})  # MEM_OBJECT_ALLOCATION_FAILURE, OUT_OF_HOST_MEMORY, INVALID_BUFFER_SIZE
_OUT_OF_RESOURCES = -5
_FAULT = -9999
_PERHAPS_LOST = frozenset({-14, -36, -34})  # a failed wait, a bad queue, a bad context: all have harmless causes, too


def translated(error: Any, *, name: str, memory: int | None, is_alive: Callable[[], bool]) -> PortaGPUError:
    """The typed error for an error of PyOpenCL; see `portagpu.backends.backend.Backend.translated`."""
    code = getattr(error, "code", None)
    routine = getattr(error, "routine", "") or "the driver"
    if code == _FAULT or (code in (*_PERHAPS_LOST, _OUT_OF_RESOURCES) and not is_alive()):
        return DeviceLostError(
            f"{name} is lost (code {code} in {routine}); a kernel probably wrote out of bounds or ran too long",
            hint="nothing more can run on it in this process: start a new one, and check indices against the shape",
        )
    if code in _OUT_OF_MEMORY or code == _OUT_OF_RESOURCES:
        free = "" if memory is None else f" of {memory} bytes"
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
