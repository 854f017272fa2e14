"""Devices as functions of arrays name them."""

from __future__ import annotations

from typing import Any

from portagpu.device import find_device
from portagpu.device.record import DeviceRecord
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.execution.context import Context, current_context


def record_of(device: DeviceRecord | str) -> DeviceRecord:
    """The device that an array's ``device`` or a selector ("cpu", "cuda:0") names.

    Raises `DeviceSelectionError`, and `ArgumentTypeError` for anything else.
    """
    if isinstance(device, DeviceRecord):
        return device
    if isinstance(device, str):
        return find_device(device)
    raise ArgumentTypeError(
        f"device= is a device, not {type(device).__name__}",
        hint='pass x.device, or a selector such as "gpu" or "cuda:0"',
    )


def context_on(device: Any) -> Context:
    """The context of a device, or the current one. Raises as `record_of`."""
    if device is None:
        return current_context()
    current = current_context()
    record = record_of(device)
    return current if current.device is record else Context.for_device(record)
