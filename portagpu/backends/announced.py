"""Back ends that are not loaded before one is needed: their names are known, and which objects may be theirs.

A program uses the devices of one back end, mostly. What the others import takes as long as a third of the package.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from portagpu.device.sources import DeviceSource, Discovery, UnusedDriver
from portagpu.settings import Settings

if TYPE_CHECKING:
    from portagpu.backends.backend import Backend
    from portagpu.device.record import DeviceRecord


class Announcement(Protocol):
    """What a back end's own module of that name says; it imports nothing of the others."""

    @property
    def NAME(self) -> str:
        """See `portagpu.device.sources.DeviceSource.name`."""

    @property
    def TITLE(self) -> str:
        """See `portagpu.device.sources.DeviceSource.title`."""

    @property
    def TO_INSTALL(self) -> str:
        """See `portagpu.device.sources.DeviceSource.to_install`."""

    @property
    def DLPACK_KIND(self) -> int | None:
        """See `portagpu.backends.foreign.ForeignObjects.dlpack_kind`."""

    @property
    def MODULE(self) -> str:
        """The module that has the back end, as ``BACKEND``."""

    def may_own(self, value: Any, /) -> bool:
        """Whether an object of another library may be one that the back end takes: it is loaded then, and asked."""


class Announced(DeviceSource):
    """A back end by what its announcement says; anything else is asked of `backend`, which loads it."""

    def __init__(self, announcement: Announcement, then: Callable[[], None]) -> None:
        """``then`` is called once it is loaded."""
        self._announcement, self._then = announcement, then
        self._backend: Backend | None = None
        self.may_own = announcement.may_own

    @property
    def name(self) -> str:
        """The back end's name."""
        return self._announcement.NAME

    @property
    def title(self) -> str:
        """What people call it."""
        return self._announcement.TITLE

    @property
    def to_install(self) -> str:
        """What brings a device of its kind to a machine that has none."""
        return self._announcement.TO_INSTALL

    @property
    def dlpack_kind(self) -> int | None:
        """DLPack's code of its devices' memory."""
        return self._announcement.DLPACK_KIND

    @property
    def loaded(self) -> Backend | None:
        """The back end, where something has needed it."""
        return self._backend

    @property
    def backend(self) -> Backend:
        """The back end."""
        if self._backend is None:
            self._backend = importlib.import_module(self._announcement.MODULE).BACKEND
            self._then()
        return self._backend

    def discover(self, settings: Settings, *, fresh: bool, renumber: bool) -> Discovery:
        """List every device now."""
        return self.backend.discover(settings, fresh=fresh, renumber=renumber)

    def describe(self, native: Any, settings: Settings) -> DeviceRecord:
        """The record of a device that came with a user's context."""
        return self.backend.describe(native, settings)

    def unused_drivers(self, settings: Settings) -> Sequence[UnusedDriver]:
        """Drivers that are installed and not in use."""
        return self.backend.unused_drivers(settings)
