"""The back ends by name, and which of them an object of another library belongs to.

`register` makes one known; the first, OpenCL, is the one whose devices programs see unless they ask for another's.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from portagpu.backends.base import Backend, ForeignArray
from portagpu.backends.cuda.backend import Cuda
from portagpu.backends.diagnosis import Diagnosis, diagnosed
from portagpu.backends.offline import OfflineTarget
from portagpu.backends.opencl.backend import OpenCL
from portagpu.backends.sycl.backend import Sycl
from portagpu.device import sources
from portagpu.device.record import DeviceRecord
from portagpu.device.registry import all_devices, discover_all
from portagpu.errors import DeviceSelectionError, did_you_mean
from portagpu.settings import Settings


class _Foreign:
    """Types of objects of other libraries that are taken as they are, of all back ends."""

    __slots__ = ("arrays", "memories", "owners", "queues")

    def __init__(self) -> None:
        self.owners: tuple[tuple[Backend, tuple[type, ...]], ...] = ()
        self.arrays: tuple[type, ...] = ()
        self.memories: tuple[type, ...] = ()
        self.queues: tuple[type, ...] = ()


foreign = _Foreign()


def register(backend: Backend) -> None:
    """Make a back end known under its name; one of the same name is replaced."""
    sources.register(backend)
    known = registered()
    foreign.arrays = tuple(kind for one in known for kind in one.array_types)
    foreign.memories = tuple(kind for one in known for kind in one.memory_types)
    foreign.queues = tuple(kind for one in known for kind in one.queue_types)
    foreign.owners = tuple(
        (one, (*one.queue_types, *one.memory_types, *one.array_types, *one.context_types)) for one in known
    )


def registered() -> tuple[Backend, ...]:
    """All back ends, in the order in which they were registered."""
    return tuple(one for one in sources.registered() if isinstance(one, Backend))


def named(name: str) -> Backend:
    """The back end of a name. Raises `SettingsError` where there is none."""
    found = sources.named(name)
    assert isinstance(found, Backend)
    return found


def backend_of(device: DeviceRecord) -> Backend:
    """The back end of a device."""
    return named(device.backend)


def chosen() -> Backend:
    """The back end whose devices programs see."""
    return named(sources.chosen().name)


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


def owner_of(value: Any) -> Backend:
    """The back end of an object of a foreign type, or of a native context: the chosen one where none knows the type."""
    for one, kinds in foreign.owners:
        if isinstance(value, kinds):
            return one
    return chosen()


def of_dlpack(kind: int) -> Backend | None:
    """The back end whose memory has DLPack's code; None where there is none."""
    return next((one for one in registered() if one.dlpack_kind == kind), None)


def parts_of(value: Any) -> ForeignArray | None:
    """What another library's array consists of; None for a value that no back end takes for one.

    Raises `ArgumentTypeError` for an array that is more than memory.
    """
    for one, _ in foreign.owners:
        found = one.parts_of(value)
        if found is not None:
            return found
    return None


def identity(value: Any) -> Hashable | None:
    """What tells another library's array from others; None for what is none, or has to be looked at each time."""
    for one, _ in foreign.owners:
        found = one.identity(value)
        if found is not None:
            return found
    return None


def room_at(address: int) -> int | None:
    """Bytes from an address to the end of its memory, where a back end can use that."""
    return next((found for one, _ in foreign.owners if (found := one.room_at(address)) is not None), None)


def described(desc: Any) -> ForeignArray | None:
    """What a CUDA Array Interface describes, where a back end can use its memory."""
    return next((found for one, _ in foreign.owners if (found := one.described(desc)) is not None), None)


register(OpenCL())
register(Sycl())
register(Cuda())
