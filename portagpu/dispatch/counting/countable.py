"""What counting asks of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from portagpu.dispatch.code.requests import Counts
from portagpu.dispatch.overload import Overload
from portagpu.frontend.source.capture import FunctionSource
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.host_arguments import HostWork
from portagpu.runtime.programs.launch_shape import LaunchShape


class Countable(Protocol):
    """See `portagpu.dispatch.dispatcher.Dispatcher`, which is one."""

    extensions: list[Any]

    @property
    def source(self) -> FunctionSource:
        """The captured Python text."""
        ...

    def bind_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Positional arguments, with defaults."""
        ...

    def adopt(self, args: tuple[Any, ...], lent: Mapping[int, DeviceNDArray] | None = None) -> tuple[Any, ...]:
        """Arguments whose other libraries' arrays are NumPy arrays of the same memory."""
        ...

    def prepare(self, args: tuple[Any, ...], context: Context, stream: Stream, work: HostWork) -> tuple[Any, ...]:
        """Arguments as kernels take them."""
        ...

    def counting(self, args: tuple[Any, ...], shape: LaunchShape, context: Context, counts: Counts) -> Overload:
        """The specialisation for prepared arguments whose threads count their work."""
        ...
