"""The devices of this machine: each is offered only after a kernel was built and run on it."""

from __future__ import annotations

import hashlib
import json
import logging
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyopencl as cl

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.device.drivers import register_drivers
from portagpu.device.probe_child import to_json
from portagpu.device.prober import probe, works
from portagpu.errors import DeviceSelectionError, NoDeviceError
from portagpu.files import write_atomically
from portagpu.settings import Settings

_SCHEMA = 1
_MAX_CRASHES = 12
_PROBE_SECONDS = 120
_log = logging.getLogger(__name__)
_lock = threading.RLock()
_devices: tuple[DeviceRecord, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeviceRecord:
    """An OpenCL device: what it is, what it can do, or why it does not work and what helps."""

    index: int
    name: str
    vendor: str
    platform: str
    driver_version: str
    device_type: DeviceType
    cl_device: cl.Device
    capabilities: Capabilities | None
    problem: str | None
    remedy: str | None

    @property
    def works(self) -> bool:
        """Whether a kernel ran on it."""
        return self.capabilities is not None

    @property
    def key(self) -> str:
        """Stable identity of device and driver, for caches and stores."""
        return f"{self.platform}|{self.name}|{self.driver_version}"


def devices(settings: Settings | None = None) -> tuple[DeviceRecord, ...]:
    """All devices, broken ones too; probed once per process, remembered on disk per driver version."""
    global _devices
    with _lock:
        if _devices is None:
            _devices = _discover(settings or Settings.from_environment())
        return _devices


def working_devices(settings: Settings | None = None) -> tuple[DeviceRecord, ...]:
    """Devices on which a kernel ran."""
    return tuple(d for d in devices(settings) if d.works)


def _discover(settings: Settings) -> tuple[DeviceRecord, ...]:
    register_drivers(settings)
    found: list[DeviceRecord] = []
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        _log.debug("no OpenCL platform: %s", error)
        platforms = []
    for row, platform in enumerate(platforms):
        try:
            members = platform.get_devices()
        except cl.Error as error:
            _log.debug("platform %s has no devices: %s", platform.name, error)
            continue
        found += [_record(len(found) + n, device, settings, (row, n)) for n, device in enumerate(members)]
    return tuple(found)


def _probe_apart(position: tuple[int, int], name: str) -> tuple[Capabilities | None, str | None]:
    """Probe in a child process; a kernel that takes it down is left out of the next try."""
    skip: list[str] = []
    command = [sys.executable, "-m", "portagpu.device.probe_child", *map(str, position)]
    for _ in range(_MAX_CRASHES):
        try:
            done = subprocess.run(
                [*command, *skip], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
            )
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            output, code = (error.stdout or b"").decode(errors="replace"), None
        lines = output.splitlines()
        for line in lines:
            if line.startswith("result "):
                data = json.loads(line.removeprefix("result "))
                values = data["capabilities"]
                return (None if values is None else from_json(values)), data["problem"]
        labels = [line.removeprefix("trial ") for line in lines if line.startswith("trial ")]
        last = labels[-1] if labels else "works"
        _log.debug("the driver of %s failed on probe %s (%s)", name, last, code)
        if last == "works" or last in skip:
            what = f"hangs for {_PROBE_SECONDS} s" if code is None else f"ends the process (status {code})"
            return None, f"its driver {what} when it runs a kernel"
        skip.append(last)
    return None, "its driver crashes on too many kernels"


def from_json(values: dict[str, Any]) -> Capabilities:
    """Capabilities from JSON values. Raises TypeError, KeyError or ValueError for foreign ones."""
    values = dict(values)
    values["device_type"] = DeviceType(values["device_type"])
    values["extensions"] = frozenset(values["extensions"])
    for name in ("opencl_c_version", "max_work_item_sizes"):
        values[name] = tuple(values[name])
    return Capabilities(**values)


def _record(
    index: int, device: cl.Device, settings: Settings, position: tuple[int, int] | None = None
) -> DeviceRecord:
    kind = DeviceType.GPU if device.type & cl.device_type.GPU else DeviceType.CPU
    identity = {
        "platform": device.platform.name.strip(),
        "name": " ".join(device.name.split()),
        "driver_version": f"{device.driver_version.strip()} / {device.version.strip()}",
    }
    capabilities, problem = _remembered(identity, settings)
    if capabilities is None and problem is None:
        if position is not None:
            capabilities, problem = _probe_apart(position, identity["name"])
        else:
            problem = works(device)
            capabilities = None if problem else probe(device)
        _remember(identity, capabilities, problem, settings)
    return DeviceRecord(
        index=index,
        vendor=device.vendor.strip(),
        device_type=capabilities.device_type if capabilities else kind,
        cl_device=device,
        capabilities=capabilities,
        problem=problem,
        remedy=_remedy(problem),
        **identity,
    )


def _remedy(problem: str | None) -> str | None:
    if problem is None:
        return None
    if "target CPU" in problem:
        return (
            "this build of the driver is older than the CPU: install a newer one from the system's packages,"
            " or `pip install 'portagpu[cpu]'`"
        )
    return "update or reinstall the driver; `portagpu doctor` shows which library it is"


def _cache_file(identity: dict[str, str], settings: Settings) -> Path:
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]
    return settings.cache_dir / "devices" / f"{digest}-v{_SCHEMA}.json"


def _remembered(identity: dict[str, str], settings: Settings) -> tuple[Capabilities | None, str | None]:
    """What an earlier process found; an unreadable or foreign file is ignored (and rewritten later)."""
    try:
        data: dict[str, Any] = json.loads(_cache_file(identity, settings).read_text())
        if data["identity"] != identity or data["problem"] is not None:
            return None, None  # a broken device is tried again
        return from_json(data["capabilities"]), None
    except (OSError, ValueError, KeyError, TypeError):
        return None, None


def _remember(
    identity: dict[str, str], capabilities: Capabilities | None, problem: str | None, settings: Settings
) -> None:
    values = None if capabilities is None else to_json(capabilities)
    data = {"identity": identity, "problem": problem, "capabilities": values}
    try:
        write_atomically(_cache_file(identity, settings), json.dumps(data, indent=1).encode())
    except OSError as error:
        _log.debug("device probe not remembered: %s", error)


# choice -------------------------------------------------------------------------------------------------------------


def _speed(record: DeviceRecord) -> tuple[int, float, int]:
    caps = record.capabilities
    assert caps is not None
    rank = {DeviceType.GPU: 2, DeviceType.ACCELERATOR: 1, DeviceType.CPU: 0}[caps.device_type]
    throughput = float(caps.compute_units * max(caps.clock_mhz, 1) * max(caps.vector_width_float, 1))
    return rank, throughput, -record.index


def default_device(settings: Settings | None = None) -> DeviceRecord:
    """The device that is used when nothing else is asked for: the settings' selector, else the fastest GPU, else a CPU.

    Raises `NoDeviceError`.
    """
    settings = settings or Settings.from_environment()
    if settings.device is not None:
        return find_device(settings.device, settings)
    working = working_devices(settings)
    if not working:
        raise NoDeviceError(
            "no OpenCL device works on this machine",
            notes=[f"{d.name}: {d.problem}" for d in devices(settings)],
            hint="pip install 'portagpu[cpu]' brings a CPU driver; `portagpu doctor` explains what was found",
        )
    return max(working, key=_speed)


def find_device(selector: str | int, settings: Settings | None = None) -> DeviceRecord:
    """The device that a selector names: an index, "gpu" or "cpu", or a part of its name, vendor or platform.

    Raises `DeviceSelectionError`, which lists what exists.
    """
    everything = devices(settings)
    text = str(selector).strip().lower()
    if text.lstrip("-").isdigit():
        matching = [d for d in everything if d.index == int(text)]
    elif text in {t.value for t in DeviceType}:
        matching = [d for d in everything if d.device_type.value == text]
    else:
        matching = [d for d in everything if text in f"{d.platform}|{d.vendor}|{d.name}|{d.driver_version}".lower()]
    working = [d for d in matching if d.works]
    if working:
        return max(working, key=_speed)
    notes = [f"{d.index}: {d.name} ({d.platform}){'' if d.works else f', which does not work: {d.problem}'}" for d in everything]
    if matching:
        broken = matching[0]
        raise DeviceSelectionError(
            f"the device {selector!r} ({broken.name}) does not work: {broken.problem}", notes=notes, hint=broken.remedy
        )
    raise DeviceSelectionError(
        f"no device matches {selector!r}",
        notes=notes or ["there is no OpenCL device"],
        hint="choose by index, by a part of the name or vendor, or by type: gpu, cpu",
    )


def record_for(cl_device: cl.Device, settings: Settings | None = None) -> DeviceRecord:
    """The record of a device that came with a user's context."""
    for record in devices(settings):
        if record.cl_device == cl_device:
            return record
    return _record(-1, cl_device, settings or Settings.from_environment())
