"""Trees of files as Linux shows them, and devices that no driver stands behind."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from portagpu.device import DeviceRecord, DeviceType


@pytest.fixture
def tree(tmp_path):
    """Write files, by their paths below the root, and return the root."""

    def write(files):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())
        return tmp_path

    return write


@pytest.fixture
def card():
    """Make a device's record; further arguments are what the driver tells of it."""

    def make(name="Card X", kind=DeviceType.GPU, **told):
        return DeviceRecord(
            index=0,
            name=name,
            vendor="Maker",
            platform="Platform",
            driver_version="1",
            device_type=kind,
            native=SimpleNamespace(**told),
            capabilities=None,
            problem="none",
            remedy=None,
            backend="opencl",
        )

    return make


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()
