"""Devices as JSON values, for reports and tools."""

from __future__ import annotations

from portagpu.device.record import DeviceRecord


def device_as_json(record: DeviceRecord) -> dict[str, object]:
    """A device and its capabilities as JSON values."""
    capabilities: dict[str, object] | None = None
    if record.capabilities is not None:
        values = {name: getattr(record.capabilities, name) for name in record.capabilities.__slots__}
        values["device_type"] = record.capabilities.device_type.value
        values["extensions"] = sorted(record.capabilities.extensions)
        capabilities = values
    return {
        "backend": record.backend,
        "index": record.index,
        "name": record.name,
        "vendor": record.vendor,
        "platform": record.platform,
        "driver_version": record.driver_version,
        "type": record.device_type.value,
        "works": record.works,
        "problem": record.problem,
        "remedy": record.remedy,
        "capabilities": capabilities,
    }
