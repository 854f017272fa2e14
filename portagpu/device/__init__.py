"""Devices and drivers: discovery, capabilities, choice."""

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.device.drivers.records import DriverRecord, DriverSource, DriverState
from portagpu.device.drivers.register import register_drivers
from portagpu.device.registry import (
    DeviceRecord,
    default_device,
    devices,
    drivers_are_loaded,
    find_device,
    record_for,
    working_devices,
)

__all__ = [
    "Capabilities",
    "DeviceRecord",
    "DeviceType",
    "DriverRecord",
    "DriverSource",
    "DriverState",
    "default_device",
    "devices",
    "drivers_are_loaded",
    "find_device",
    "record_for",
    "register_drivers",
    "working_devices",
]
