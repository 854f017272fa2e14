"""Translation of the SYCL run time's errors to ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.backends.sycl.library import SyclError
from portagpu.errors import DeviceLostError, DriverError, OutOfMemoryError, PortaGPUError

_OUT_OF_MEMORY = ("OUT_OF_HOST_MEMORY", "OUT_OF_DEVICE_MEMORY", "INVALID_BUFFER_SIZE", "INVALID_USM_SIZE")
_OUT_OF_RESOURCES = "OUT_OF_RESOURCES"
_LOST = "DEVICE_LOST"


def translated(error: Any, *, name: str, memory: int | None, is_alive: Callable[[], bool]) -> PortaGPUError:
    """The typed error for a `SyclError`; see `portagpu.backends.backend.Backend.translated`."""
    text, code = str(error), getattr(error, "code", None)
    if _LOST in text or (_OUT_OF_RESOURCES in text and not is_alive()):
        return DeviceLostError(
            f"{name} is lost ({text}); a kernel probably wrote out of bounds or ran too long",
            hint="nothing more can run on it in this process: start a new one, and check indices against the shape",
        )
    if code == SyclError.MEMORY or _OUT_OF_RESOURCES in text or any(word in text for word in _OUT_OF_MEMORY):
        free = "" if memory is None else f" of {memory} bytes"
        return OutOfMemoryError(
            f"{name}{free} has no memory left ({text})",
            hint="free arrays (del, or array.close()), or work in smaller pieces; the process can go on",
        )
    return DriverError(f"the SYCL run time failed on {name}: {text}")
