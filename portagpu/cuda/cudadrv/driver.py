"""Contexts, streams, events and errors of the driver, under CUDA-Python's module name."""

from __future__ import annotations

from portagpu.cuda.devices import Device
from portagpu.cuda.memory_managers import *  # noqa: F403
from portagpu.cuda.memory_managers import __all__ as _managers
from portagpu.errors import CudaAPIError, CudaDriverError
from portagpu.runtime.context import Context
from portagpu.runtime.event import Event
from portagpu.runtime.stream import Stream

__all__ = ["Context", "CudaAPIError", "CudaDriverError", "Device", "Event", "Stream"]
__all__ += _managers
