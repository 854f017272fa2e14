"""Devices and contexts, under CUDA-Python's module name."""

from __future__ import annotations

from portagpu.cuda.devices import Device, current_context, get_current_device, gpus
from portagpu.cuda.session import require_context
from portagpu.runtime.execution.context import Context, close


def get_context(devnum: int | None = None) -> Context:
    """This thread's context; with ``devnum`` that device is made current first."""
    return current_context(devnum)


def reset() -> None:
    """Close the current context; later use opens a new one."""
    close()


__all__ = ["Device", "get_context", "get_current_device", "gpus", "require_context", "reset"]
