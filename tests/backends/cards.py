"""The cards of CUDA that work on this machine; none where there is no driver of CUDA."""

from __future__ import annotations

from portagpu.backends.registry import named
from portagpu.device.registry import devices

records = tuple(record for record in devices(source=named("cuda")) if record.works)
