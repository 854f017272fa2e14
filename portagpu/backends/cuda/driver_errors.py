"""Translation of errors of CUDA's driver to ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portagpu.backends.cuda.library import OUT_OF_MEMORY
from portagpu.errors import DeviceLostError, DriverError, OutOfMemoryError, PortaGPUError

# errors after which a context answers nothing else: addresses, instructions, time, hardware
_LOST = frozenset({4, 214, 218, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 720, 999})
_RESOURCES = 701  # of a launch: too many threads for the registers, or too much shared memory


def translated(error: Any, *, name: str, memory: int | None, is_alive: Callable[[], bool]) -> PortaGPUError:
    """The typed error for a `CudaError`; see `portagpu.backends.backend.Backend.translated`."""
    if error.code == OUT_OF_MEMORY:
        free = "" if memory is None else f" of {memory} bytes"
        return OutOfMemoryError(
            f"{name}{free} has no memory left ({error})",
            hint="free arrays (del, or array.close()), or work in smaller pieces; the process can go on",
        )
    if error.code in _LOST and not is_alive():
        return DeviceLostError(
            f"{name} is lost ({error}); a kernel probably wrote out of bounds or ran too long",
            hint="nothing more can run on it in this process, other libraries' work neither: start a new one, and check"
            " indices against the shape",
        )
    if error.code == _RESOURCES:
        return DriverError(
            f"the launch asks for more registers or shared memory than {name} has ({error})",
            hint="make the block smaller, or give @cuda.jit(block_dim=...) so that the compiler limits registers",
        )
    return DriverError(f"{error.routine} failed on {name}: {error}")
