"""Vector registers of a CPU: how many there are, and their lanes, from its capabilities."""

from __future__ import annotations

from portagpu.device.capabilities import Capabilities


def register_count(caps: Capabilities) -> int:
    """Architectural vector registers: 32 with 512-bit vectors (AVX-512), 16 below (AVX2)."""
    return 32 if caps.vector_width_float >= 16 else 16


def native_lanes(caps: Capabilities, itemsize: int) -> int:
    """Lanes of the device's vector registers for an element size."""
    width = caps.vector_width_float * 4 // itemsize
    return min(16, max(2, width))
