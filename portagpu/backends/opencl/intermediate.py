"""For back ends that run what an OpenCL driver compiled: its intermediate text, and on which card the device is."""

from __future__ import annotations

from functools import cache

import pyopencl as cl

from portagpu.backends.opencl import programs
from portagpu.device.record import DeviceRecord


def intermediate_text(device: DeviceRecord, source: str, options: tuple[str, ...]) -> str:
    """What the device's driver makes of a program, where its binaries are text. Raises `BuildError`."""
    return programs.text_of(_context(device.native), device, source, options)


def pci_address(device: DeviceRecord) -> str | None:
    """The card's ``domain:bus:slot.function``; None where the driver does not tell."""
    native = device.native
    try:
        bus, slot = native.pci_bus_id_nv, native.pci_slot_id_nv
    except (cl.Error, AttributeError):
        return None
    try:
        domain = native.pci_domain_id_nv
    except (cl.Error, AttributeError):  # an older driver
        domain = 0
    return f"{domain:08x}:{bus:02x}:{slot:02x}.0"


@cache
def _context(device: cl.Device) -> cl.Context:
    """A context to compile in, made at the first program that no cache has."""
    return cl.Context([device])
