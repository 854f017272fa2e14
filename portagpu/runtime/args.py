"""Host arrays as kernel arguments: `In`, `Out`, `InOut`, and plain NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.checks import writable_view
from portagpu.runtime.context import Context
from portagpu.runtime.creation import to_device
from portagpu.runtime.hostmem import SharedSpans, map_back, wrap_host
from portagpu.runtime.stream import Stream


def like_tuple(original: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of other items; a namedtuple of the same class where the original is one."""
    make = getattr(original, "_make", tuple)
    made: tuple[Any, ...] = make(items)
    return made


class HostWork:
    """Host arrays among the arguments of one launch: what they share with the device, and what follows the launch."""

    __slots__ = ("_args", "_spans", "after")

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.after: list[Callable[[], None]] = []
        self._args = args
        self._spans: SharedSpans | None = None

    @property
    def spans(self) -> SharedSpans:
        """The memory of all arrays that the launch writes."""
        if self._spans is None:
            self._spans = SharedSpans(_host_arrays(self._args))
        return self._spans


def _host_arrays(args: tuple[Any, ...]) -> list[np.ndarray[Any, Any]]:
    found = []
    for value in args:
        item = value.value if isinstance(value, ArgumentWrapper) and value.copies_out else value
        item = writable_view(item)
        if isinstance(item, np.ndarray) and item.flags.writeable:
            found.append(item)
        elif isinstance(item, tuple):
            found += _host_arrays(item)
    return found


class ArgumentWrapper:
    """A host array for one launch: copied to the device before, back after, or both. Also accepts device arrays."""

    copies_in = True
    copies_out = True

    def __init__(self, value: Any) -> None:
        value = writable_view(value)
        if not isinstance(value, np.ndarray | DeviceNDArray):
            raise ArgumentTypeError(
                f"cuda.{type(self).__name__} wraps a NumPy array, not {type(value).__name__}",
                hint="use np.asarray(...)",
            )
        self.value = value

    @staticmethod
    def for_host_array(value: np.ndarray[Any, Any]) -> ArgumentWrapper:
        """The wrapper of a plain NumPy argument: in and back, or only in when it is read-only."""
        return InOut(value) if value.flags.writeable else _ReadOnly(value)

    def to_device(self, context: Context, stream: Stream, work: HostWork) -> DeviceNDArray:
        """The argument on the device; what copies it back is added to ``work``."""
        host = self.value
        if isinstance(host, DeviceNDArray):
            return host
        if self.copies_out and not host.flags.writeable:
            raise ArgumentTypeError(
                "the array is read-only and cannot take results", hint="wrap it in cuda.In(...) or pass a copy"
            )
        # without a copy the kernel would write into the caller's array, which `In` promises to leave alone
        shared = wrap_host(context, host, spans=work.spans) if self.copies_out else None
        if shared is not None:
            work.after.append(lambda: map_back(shared, stream))
            return shared
        device = to_device(host, stream=stream, copy=False, context=context)
        if self.copies_in:
            device.copy_to_device(host)  # in the launch's stream, and done when the caller may change the array again
        if self.copies_out:
            work.after.append(lambda: _copy_back(device, host))
        return device


def _copy_back(device: DeviceNDArray, host: np.ndarray[Any, Any]) -> None:
    device.copy_to_host(host)


class In(ArgumentWrapper):
    """A host array that the kernel only reads: copied to the device, not back."""

    copies_out = False


class _ReadOnly(In):
    """A plain NumPy argument that is read-only: kernels that write it do not compile, where `In` lets them scribble."""

    def to_device(self, context: Context, stream: Stream, work: HostWork) -> DeviceNDArray:
        """The argument on the device, read-only."""
        return super().to_device(context, stream, work).as_readonly()


class Out(ArgumentWrapper):
    """A host array that the kernel only writes: not copied to the device, only back."""

    copies_in = False


class InOut(ArgumentWrapper):
    """A host array that the kernel reads and writes: copied both ways."""
