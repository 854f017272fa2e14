"""Host arrays as kernel arguments: `In`, `Out`, `InOut`, and plain NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.context import Context
from portagpu.runtime.creation import to_device
from portagpu.runtime.hostmem import map_back, wrap_host
from portagpu.runtime.stream import Stream


class ArgumentWrapper:
    """A host array for one launch: copied to the device before, back after, or both. Also accepts device arrays."""

    copies_in = True
    copies_out = True

    def __init__(self, value: Any) -> None:
        if isinstance(value, np.void) and value.dtype.names:
            value = np.asarray(value)  # shares the record's memory
        if not isinstance(value, np.ndarray | DeviceNDArray):
            raise ArgumentTypeError(
                f"cuda.{type(self).__name__} wraps a NumPy array, not {type(value).__name__}",
                hint="use np.asarray(...)",
            )
        self.value = value

    @staticmethod
    def for_host_array(value: np.ndarray[Any, Any]) -> ArgumentWrapper:
        """The wrapper of a plain NumPy argument: in and back, or only in when it is read-only."""
        return InOut(value) if value.flags.writeable else In(value)

    def to_device(self, context: Context, stream: Stream, finish: list[Callable[[], None]]) -> DeviceNDArray:
        """The argument on the device; what copies it back is appended to ``finish``."""
        host = self.value
        if isinstance(host, DeviceNDArray):
            return host
        if self.copies_out and not host.flags.writeable:
            raise ArgumentTypeError(
                "the array is read-only and cannot take results", hint="wrap it in cuda.In(...) or pass a copy"
            )
        # without a copy the kernel would write into the caller's array, which `In` promises to leave alone
        shared = wrap_host(context, host) if self.copies_out else None
        if shared is not None:
            finish.append(lambda: map_back(shared, stream))
            return shared
        device = to_device(host, stream=0, copy=self.copies_in, context=context)
        if self.copies_out:
            finish.append(lambda: _copy_back(device, host, stream))
        return device


def _copy_back(device: DeviceNDArray, host: np.ndarray[Any, Any], stream: Stream) -> None:
    stream.synchronize()
    device.copy_to_host(host)


class In(ArgumentWrapper):
    """A host array that the kernel only reads: copied to the device, not back."""

    copies_out = False


class Out(ArgumentWrapper):
    """A host array that the kernel only writes: not copied to the device, only back."""

    copies_in = False


class InOut(ArgumentWrapper):
    """A host array that the kernel reads and writes: copied both ways."""
