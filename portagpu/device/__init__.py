"""Devices and drivers: discovery, capabilities, choice."""

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.device.record import DeviceRecord
from portagpu.device.registry import (
    all_devices,
    default_device,
    devices,
    drivers_are_loaded,
    find_device,
    record_for,
    record_of,
    working_devices,
)

__all__ = [
    "Capabilities",
    "DeviceRecord",
    "DeviceType",
    "all_devices",
    "default_device",
    "devices",
    "drivers_are_loaded",
    "find_device",
    "record_for",
    "record_of",
    "working_devices",
]
