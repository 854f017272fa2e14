"""Devices as functions of arrays name them."""

from __future__ import annotations

from typing import Any

from portagpu.device import record_of
from portagpu.runtime.execution.context import Context, current_context


def context_on(device: Any) -> Context:
    """The context of a device, or the current one. Raises as `record_of`."""
    if device is None:
        return current_context()
    current = current_context()
    record = record_of(device)
    return current if current.device is record else Context.for_device(record)
