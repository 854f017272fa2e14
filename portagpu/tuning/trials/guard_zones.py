"""Guard zones around device arrays, which detect writes beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu.backends.handles import Memory
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.creation import order_of
from portagpu.runtime.arrays.layout import strides_of
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.ordering import enqueuing

_PATTERN = 0xA5
_ZONE = 1 << 16  # bytes on each side; a row or two of the usual arrays
_WHOLE = 256  # sub-buffers start at multiples of the device's alignment


@dataclass(frozen=True, slots=True)
class Guarded:
    """An array and the memory around it."""

    array: DeviceNDArray
    whole: Memory
    zones: tuple[tuple[int, int], ...]  # offset and length, bytes

    def damage(self) -> str | None:
        """What was overwritten, in words; None if nothing was. Waits for the device."""
        found: list[str] = []
        for number, (start, length) in enumerate(self.zones):
            zone = np.empty(length, np.uint8)
            with enqueuing(self.array.context.default_stream) as queue:
                self.array.context.driver.download(queue, zone, self.whole, offset=start, blocking=True)
            wrong = np.flatnonzero(zone != _PATTERN)
            if wrong.size and number == 0:
                found.append(f"{length - int(wrong[0])} bytes before its start")
            elif wrong.size:
                found.append(f"{int(wrong[-1]) + 1} bytes after its end")
        return f"{wrong_sides}" if (wrong_sides := " and ".join(found)) else None

    def release(self) -> None:
        """Give the memory back."""
        self.whole.release()


def guarded(host: np.ndarray[Any, Any], context: Context) -> Guarded:
    """A device array with a host array's contents between guard zones. It begins at offset 0 of a buffer of its own, as
    ordinary arrays do, and is laid out as `to_device` does, so that kernels are specialised for it in the same way."""
    alignment = max(_WHOLE, context.capabilities.mem_base_alignment)
    before = -(-_ZONE // alignment) * alignment
    total = before + host.nbytes + _ZONE
    driver = context.driver
    whole = driver.memory(total)
    with enqueuing(context.default_stream) as queue:
        driver.fill(queue, whole, _PATTERN, offset=0, nbytes=before)
        driver.fill(queue, whole, _PATTERN, offset=before + host.nbytes, nbytes=_ZONE)
    inner = driver.part(whole, before, max(1, host.nbytes))
    array = DeviceNDArray(host.shape, host.dtype, strides_of(host.shape, host.dtype, order_of(host)), inner, context)
    array.copy_to_device(host)
    return Guarded(array, whole, ((0, before), (before + host.nbytes, _ZONE)))
