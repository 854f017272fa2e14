"""Which device is meant, in text that outlives the process."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pyopencl as cl

from portagpu.backends.opencl.quirks import Hints, hints_for


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIdentity:
    """Names of a device and its driver, stripped; two equal cards of one machine have the same identity."""

    platform: str
    name: str
    vendor: str
    driver_version: str
    device_version: str

    @property
    def key(self) -> str:
        """The stable identity for caches and stores: platform, device and driver version."""
        return f"{self.platform}|{self.name}|{self.driver_version}"

    @property
    def digest(self) -> str:
        """A file name for this identity."""
        return hashlib.sha256(f"{self.key}|{self.device_version}".encode()).hexdigest()[:24]

    @property
    def hints(self) -> Hints:
        """What to try on it beyond the usual."""
        return hints_for(self.platform, self.vendor)


def identity_of(device: cl.Device) -> DeviceIdentity:
    """The identity of an OpenCL device. Raises `cl.Error` where the driver does not answer."""
    return DeviceIdentity(
        platform=_clean(device.platform.name),
        name=_clean(device.name),
        vendor=_clean(device.vendor),
        driver_version=_clean(device.driver_version),
        device_version=_clean(device.version),
    )


def all_cl_devices() -> list[cl.Device]:
    """Every device of every platform; a platform that fails to list its devices has none."""
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        return []
    found: list[cl.Device] = []
    for platform in platforms:
        try:
            found += platform.get_devices()
        except cl.Error:
            continue
    return found


def _clean(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())
