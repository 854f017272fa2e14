"""Errors of drivers as ours."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from portagpu.errors import PortaGPUError

if TYPE_CHECKING:
    from portagpu.backends.backend import Backend


class Failing(Protocol):
    """A context, as far as errors go."""

    @property
    def backend(self) -> Backend:
        """The device's back end."""

    def translated(self, error: Exception) -> PortaGPUError:
        """The typed error for one of the driver's."""


class translate_errors:
    """Context manager: an error of the driver inside becomes `OutOfMemoryError`, `DeviceLostError` or `DriverError`."""

    __slots__ = ("_context",)

    def __init__(self, context: Failing) -> None:
        self._context = context

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, self._context.backend.errors):
            raise self._context.translated(error) from error
