"""The back ends of this process by name: where devices come from, and what runs kernels on them.

A back end registers itself; the one that was registered first, OpenCL, is the one whose devices a program sees unless
``PORTAGPU_BACKEND`` or a selector such as ``"sycl:cpu"`` names another. What a back end is beyond a source of devices
says `portagpu.backends.backend`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from portagpu.errors import SettingsError, did_you_mean
from portagpu.settings import Settings, backend_wanted

if TYPE_CHECKING:
    from portagpu.device.record import DeviceRecord


class UnusedDriver(Protocol):
    """A driver that is installed and serves no device, why, and what helps."""

    @property
    def library(self) -> str:
        """The driver's file."""

    @property
    def problem(self) -> str | None:
        """Why it serves no device."""

    @property
    def remedy(self) -> str | None:
        """What helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The devices that were found, by their numbers; ``absent``: names of known ones that are missing, by number."""

    records: tuple[DeviceRecord, ...]
    absent: Mapping[int, str] = field(default_factory=dict)


class DeviceSource(Protocol):
    """What lists devices."""

    @property
    def name(self) -> str:
        """The back end's name, lower case."""

    @property
    def title(self) -> str:
        """What people call it."""

    @property
    def to_install(self) -> str:
        """What brings a device of its kind to a machine that has none."""

    def discover(self, settings: Settings, *, fresh: bool, renumber: bool) -> Discovery:
        """List every device now. ``fresh`` probes each anew, ``renumber`` forgets numbers of earlier processes.

        None where its packages or drivers are missing: `unused_drivers` and `to_install` tell what helps.
        """

    def describe(self, native: Any, settings: Settings) -> DeviceRecord:
        """The record of a device, in the back end's own terms, that came with a user's context."""

    def unused_drivers(self, settings: Settings) -> Sequence[UnusedDriver]:
        """Drivers that are installed and not in use."""


_sources: dict[str, DeviceSource] = {}


def register(source: DeviceSource) -> None:
    """Make a back end known under its name; one of the same name is replaced."""
    _sources[source.name] = source


def named(name: str) -> DeviceSource:
    """The back end of a name. Raises `SettingsError` where none is registered under it."""
    found = _sources.get(name)
    if found is None:
        hint = f"{did_you_mean(name, tuple(_sources))}PORTAGPU_BACKEND is one of {', '.join(_sources)}"
        raise SettingsError(f"there is no back end {name!r}", hint=hint)
    return found


def registered() -> tuple[DeviceSource, ...]:
    """All back ends, in the order in which they were registered."""
    return tuple(_sources.values())


def chosen(settings: Settings | None = None) -> DeviceSource:
    """The back end whose devices programs see. Raises `SettingsError` where the settings name one that is unknown."""
    name = backend_wanted() if settings is None else settings.backend
    return next(iter(_sources.values())) if name is None else named(name)


def split_selector(selector: str | int) -> tuple[DeviceSource | None, str]:
    """The back end that a selector such as ``"sycl:cpu"`` begins with, or None, and what is left of it."""
    text = str(selector).strip()
    head, colon, rest = text.partition(":")
    found = _sources.get(head.strip().lower()) if colon else None
    return (None, text) if found is None else (found, rest.strip())
