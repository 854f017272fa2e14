"""What the namespace tells of itself: the array API standard's inspection functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.device import all_devices, record_of
from portagpu.device.record import DeviceRecord
from portagpu.errors import DTypeError
from portagpu.runtime.execution.context import current_context
from portagpu.xp.data_types import isdtype


class ArrayNamespaceInfo:
    """The result of `__array_namespace_info__`."""

    def capabilities(self) -> dict[str, Any]:
        """What is there that the standard leaves open."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self) -> DeviceRecord:
        """The current device."""
        return current_context().device

    def default_dtypes(self, *, device: DeviceRecord | str | None = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of results where none is named: NumPy's, or single precision where a device has no other."""
        double = _has_double(self._device(device))
        return {
            "real floating": np.dtype(np.float64 if double else np.float32),
            "complex floating": np.dtype(np.complex128 if double else np.complex64),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: DeviceRecord | str | None = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The standard's dtypes that a device has, by name; of one kind, or of several. Raises `DTypeError`."""
        double = _has_double(self._device(device))
        found = {
            row.name: row.numpy for row in dtypes.ALL if row is not dtypes.FLOAT16 and (double or not row.needs_fp64)
        }
        if kind is None:
            return found
        if not isinstance(kind, str | tuple):
            raise DTypeError(f"kind= is a name, or a tuple of names, not {kind!r}", hint='such as "real floating"')
        return {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}

    def devices(self) -> tuple[DeviceRecord, ...]:
        """The devices that work."""
        return tuple(device for device in all_devices() if device.works)

    def _device(self, device: DeviceRecord | str | None) -> DeviceRecord:
        return self.default_device() if device is None else record_of(device)


def _has_double(device: DeviceRecord) -> bool:
    return device.capabilities is not None and device.capabilities.fp64


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807 - the standard's name
    """What the namespace has, by methods: capabilities, default_device, default_dtypes, devices, dtypes."""
    return ArrayNamespaceInfo()


__all__ = ["__array_namespace_info__"]
