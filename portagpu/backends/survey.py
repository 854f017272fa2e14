"""What commands ask of all back ends: which hardware they compile for, and what is wrong with drivers and devices."""

from __future__ import annotations

from portagpu.backends.diagnosis import Diagnosis, diagnosed
from portagpu.backends.offline import OfflineTarget
from portagpu.backends.registry import registered
from portagpu.device.registry import all_devices, discover_all
from portagpu.errors import DeviceSelectionError, did_you_mean
from portagpu.settings import Settings


def targets() -> tuple[OfflineTarget, ...]:
    """Hardware that need not be present, for which some back end compiles."""
    return tuple(target for one in registered() for target in one.targets())


def find_target(name: str) -> OfflineTarget:
    """The target of a name. Raises `DeviceSelectionError`, which lists what there is."""
    known = {target.name: target for target in targets()}
    found = known.get(name)
    if found is None:
        raise DeviceSelectionError(
            f"no target for offline compilation is called {name!r}",
            notes=[f"{target.name}: {target.title}" for target in known.values()],
            hint=did_you_mean(name, known).strip()
            or "choose one of these: `portagpu check --list` tells which are installed",
        )
    return found


def diagnose(settings: Settings, *, fresh: bool = True) -> Diagnosis:
    """Look at all drivers and devices; ``fresh`` does it again instead of trusting the cache.

    Never raises for a broken driver or device.
    """
    records = discover_all(settings) if fresh else all_devices(settings)
    reports = [
        one.examine(settings, [r for r in records if r.backend == one.name], fresh=fresh) for one in registered()
    ]
    return diagnosed(reports, records, settings)
